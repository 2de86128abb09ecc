"""The threads that bring numbers and spans to OpenTelemetry; imported only where `otlp` is on.

None of them holds a lock that counting or scraping waits for while it waits itself.
"""
