"""A target's spans switched on, changed and off while it calls: no count is lost, no span wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.caller import caller
from tests.harness import build, exporter, workload
from tests.integration import collector as otelcol
from tests.integration.collector import collector
from tests.integration.otlp_json import Span
from tests.kernel.spans import config
from tests.kernel.test_reload_named import calling, refused
from tests.kernel.trees import reconfigure, until

needs_collector = pytest.mark.skipif(otelcol.MISSING is not None, reason=otelcol.MISSING or "")
LIFECYCLE = "--web.enable-lifecycle"
OTLP = {"shutdown_timeout": "30s"}
DROPPED = "proctree_exporter_dropped_spans_total"
EVERY = {"syscalls": ["getppid"], "max_per_second": 1_000_000}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("story", tmp_path_factory.mktemp("programs"), "-static")


@needs_collector
def test_on_changed_and_off(tmp_path: Path) -> None:
    """Of the calls between two reloads each has a span, or none, as the config is then."""
    with collector(tmp_path) as backend, caller() as it, caller() as other:
        # So that the kernel's part is there from the start.
        another = {"name": "another", "pid": other.pid, "spans": {"slower_than": "1h"}}

        def text(**spans: Any) -> str:
            own = {"name": "it", "pid": it.pid, **({"spans": spans} if spans else {})}
            return config(backend.http, own, another, otlp=OTLP)

        with exporter(text(), LIFECYCLE) as running:
            steps: list[tuple[dict[str, Any], int, int]] = [
                ({}, 101, 0),
                (EVERY, 1009, 1009),
                ({**EVERY, "slower_than": "1h"}, 499, 0),
                ({**EVERY, "slower_than": "0s"}, 499, 499),
                ({**EVERY, "syscalls": ["getpid"]}, 211, 0),
                ({"intervals": True}, 307, 0),
                (EVERY, 211, 211),
                ({}, 401, 0),
            ]
            made = spans = 0
            for asked, calls, expected in steps:
                reconfigure(running, text(**asked))
                it.call(calls)
                made, spans = made + calls, spans + expected
                scrape = until(running, lambda s, n=made: s.calls("it", "getppid") == n)
            assert scrape.lost() == 0
            assert running.stop() == 0
            assert "level=error" not in running.log
        found = [span for span in backend.spans() if span.name == "getppid"]
    assert len(found) == len({span.span_id for span in found}) == spans
    assert not any(scrape.all(DROPPED).values())


@needs_collector
def test_no_count_is_lost_meanwhile(tmp_path: Path) -> None:
    """Twelve reloads of a target that calls all the time; in the end each call is counted, and no
    span is of one that was not asked for."""
    with collector(tmp_path) as backend, caller() as it, caller() as other:
        every = {"name": "another", "pid": other.pid, "spans": {"slower_than": "1h"}}
        asked: list[dict[str, Any]] = [
            {"processes": True}, {"slower_than": "1ms"}, {"syscalls": ["getpid"]}, {},
        ]  # fmt: skip

        def text(turn: int) -> str:
            spans = asked[turn % len(asked)]
            own = {"name": "it", "pid": it.pid, **({"spans": spans} if spans else {})}
            return config(backend.http, own, every, otlp=OTLP)

        with exporter(text(0), LIFECYCLE) as running:
            with calling({"it": it}) as made:
                for turn in range(12):
                    reconfigure(running, text(turn))
            scrape = running.scrape()
            assert scrape.calls("it", "getppid") == made["it"]
            assert scrape.timed("it", "getppid") == made["it"]
            assert scrape.lost() == 0
            assert running.stop() == 0
        calls = [span for span in backend.spans() if "proctree.syscall" in span.attributes]
        assert all(span.end_ns - span.start_ns >= 1_000_000 for span in calls)
        assert not any(span.name in ("getpid", "another") for span in calls)


@needs_collector
def test_processes_come_and_go(story: Path, tmp_path: Path) -> None:
    """Switched off, the spans that are open end; switched on again, they begin anew."""
    on, off = {"processes": True}, {"intervals": True}
    with collector(tmp_path) as backend, workload(story, "wait") as tree, caller() as other:
        tree.expect("ready")
        every = {"name": "another", "pid": other.pid, "spans": {"slower_than": "1h"}}

        def text(spans: dict[str, Any]) -> str:
            own = {"name": "it", "pid": tree.pid, "spans": spans}
            return config(backend.http, own, every, otlp=OTLP)

        def sent() -> list[Span]:
            return [s for s in backend.spans() if s.attributes.get("process.pid") == tree.pid]

        with exporter(text(on), LIFECYCLE) as running:
            reconfigure(running, text(off))
            backend.until(lambda: len(sent()) == 1, "its span has ended")
            reconfigure(running, text(on))
            tree.go()
            assert tree.end() == 0
            backend.until(lambda: len(sent()) == 2, "its second span has ended")
            assert running.stop() == 0
        first, second = sent()
    assert "process.exit.code" not in first.attributes
    assert second.attributes["process.exit.code"] == 0
    assert first.span_id != second.span_id
    assert first.end_ns <= second.start_ns <= second.end_ns


def test_what_a_reload_cannot_do() -> None:
    """The first spans from events, and any key of `otlp`: refused, and all goes on as before."""
    with caller() as it:
        plain = {"name": "it", "pid": it.pid}
        url = "http://127.0.0.1:9"
        otlp = {**OTLP, "headers": {"key": "hunter2"}}
        with exporter(config(url, plain, otlp=otlp), LIFECYCLE) as running:
            reconfigure(running, config(url, {**plain, "spans": {"intervals": True}}, otlp=otlp))
            for spans in ({"processes": True}, EVERY):
                told = refused(running, config(url, {**plain, "spans": spans}, otlp=otlp))
                assert "restart the exporter for the first target with them" in told
            for key, value in {
                "endpoint": "http://127.0.0.1:10", "metrics": True, "interval": "7s",
                "headers": {"key": "hunter3"}, "compression": "gzip", "protocol": "grpc",
            }.items():  # fmt: skip
                told = refused(running, config(url, plain, otlp={**otlp, key: value}))
                assert f"otlp.{key} is fixed at start" in told
                assert "hunter" not in told
            it.call(1009)
            assert running.scrape().calls("it", "getppid") == 1009
            assert running.stop() == 0
