"""A thousand trees, some with names of 500 characters, as one exporter would show them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from exporter.model.histogram import bucket_count, index_of
from exporter.model.labels import LabelSet
from exporter.model.snapshot import Call, InFlight, Snapshot, TargetState, TreeState
from exporter.model.typical import CALLS, ERRORS, IN_FLIGHT
from exporter.publish.exposition import CONTENT_TYPES, Exposition
from exporter.publish.negotiate import choose_format
from exporter.publish.shape import Shape

SCALE = 2
LONG = "n" * 500


class Crowd:
    """Each scrape finds ten more of each call, which take from 1 µs on, twice as long each."""

    def __init__(self, trees: int, calls: int, shape: Shape) -> None:
        self._label_sets: list[LabelSet] = [
            (("target", "pods"), ("namespace", "shop"), ("pod", f"web-{number:06}"))
            for number in range(trees - 1)
        ]
        self._label_sets.append((("target", LONG), ("namespace", LONG), ("pod", LONG)))
        self._calls = CALLS[:calls]
        self._errors = {
            name: tuple(errno for call, errno in ERRORS if call == name) for name in self._calls
        }
        self._began_ns = time.time_ns()
        self._scrapes = 0
        self._exposition = Exposition(shape)

    def render(self, accept: str) -> tuple[str, bytearray]:
        format_ = choose_format(accept)
        return CONTENT_TYPES[format_], self._exposition.render(self._snapshot(), format_)

    def _snapshot(self) -> Snapshot:
        self._scrapes += 1
        trees = len(self._label_sets)
        times = [1000 * 2**step for step in range(10)]
        buckets = [0] * bucket_count(SCALE)
        for duration_ns in times:
            buckets[index_of(duration_ns, SCALE)] = self._scrapes
        sum_ns = sum(times) * self._scrapes
        life = {"ok": self._scrapes, "error": 1, "signal": 0}
        states = {"running": 1, "sleeping": 3, "stopped": 0, "uninterruptible": 0}
        return Snapshot(
            time_ns=time.time_ns(),
            started_ns=self._began_ns,
            scale=SCALE,
            label_names=("target", "namespace", "pod"),
            calls=[
                Call(
                    labels, name, 0, sum_ns, buckets,
                    tuple((errno, self._scrapes) for errno in self._errors[name]), self._began_ns,
                )
                for labels in self._label_sets for name in self._calls
            ],
            in_flight=[
                InFlight(labels, name, 1, 10**11)
                for labels in self._label_sets for name in (*IN_FLIGHT, "fsync")
            ],
            trees=[
                TreeState(
                    labels, 4, states, self._scrapes, 1, life, self._began_ns,
                    began_ns=self._began_ns,
                )
                for labels in self._label_sets
            ],
            targets=[TargetState("pods", (), True, trees - 1), TargetState(LONG, (), True, 1)],
            lost_calls={"map_full": 0},
            series_limit=10**6,
            tree_slots=trees,
            tree_limit=10**4,
            build_info={"version": "0"},
        )  # fmt: skip


@contextmanager
def crowd(trees: int, calls: int, shape: Shape) -> Iterator[str]:
    """The address at which it is scraped."""
    found = Crowd(trees, calls, shape)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = found.render(self.headers.get("Accept", ""))
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
