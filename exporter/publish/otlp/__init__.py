"""Metrics and spans over OTLP. Only who sends them imports protobuf, and only `grpc` imports gRPC.

What is sent, where and how:
- settings, signals, environment: the config, over OTEL_*, over the defaults; describe: for people

From a snapshot, or spans, to the bytes of a request:
- names: every metric beside its name in Prometheus; resources: the exporter's own Resource
- metrics, points, histogram: a snapshot as requests; deltas: counters as differences
- traces: spans one by one; batch: many of them as a request
- attributes: what both are made of

From a request to a backend:
- queue, worker: spans that wait; delivery, retry: each request until it is taken, or given up
- transport: by http (line, tls, proxy, head) or grpc, to an endpoint; answer, outcome: what came
  of it; health: what the log hears
"""
