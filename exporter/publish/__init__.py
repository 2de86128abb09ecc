"""Who is told: everything here reads a `Snapshot`, and nothing here touches the kernel.

From a snapshot to bytes, in this order:
- shape: the setting which histograms are shown
- buckets: a call's durations as a histogram, the classic bounds and the native spans
- digest: a snapshot merged, cleaned and sorted, each sum computed once
- catalog: every metric, its type, labels and help; families: filled from a digest
- process: the client library's own metrics about this process
- text, protobuf: the formats
- negotiate: which format a client gets; exposition: all of the above together

Over HTTP:
- listen: where; site: what is served at which path
- web/: what --web.config.file asks of clients before the site answers
- server: the server; connection: which of its connections go when there are too many
"""
