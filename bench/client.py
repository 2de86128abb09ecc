"""A scraper: real HTTP, the body read to its end.

`python -m bench.client HOST:PORT TIMES` is one that scrapes beside us.
"""

from __future__ import annotations

import http.client
import sys
import time

ACCEPT = {
    "text": "text/plain;version=0.0.4",
    "OpenMetrics": "application/openmetrics-text;version=1.0.0",
    "protobuf": "application/vnd.google.protobuf;"
    "proto=io.prometheus.client.MetricFamily;encoding=delimited",
}


def get(address: str, path: str, **headers: str) -> tuple[float, bytes, str]:
    """Seconds from connect to the last byte; the body; its type. ValueError if not 200."""
    begin = time.perf_counter()
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read()
    seconds = time.perf_counter() - begin
    connection.close()
    if response.status != 200:
        raise ValueError(f"{path}: expected 200, found {response.status}: {body[:200]!r}")
    return seconds, body, response.headers["Content-Type"]


def scrape(address: str, form: str, *, gzip: bool) -> tuple[float, bytes, str]:
    headers = {"Accept": ACCEPT[form]}
    if gzip:
        headers["Accept-Encoding"] = "gzip"
    return get(address, "/metrics", **headers)


if __name__ == "__main__":
    for _ in range(int(sys.argv[2])):
        scrape(sys.argv[1], "text", gzip=False)
