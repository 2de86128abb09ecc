"""What is served at which path. No sockets here: a request goes in, a response comes out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol, TypeVar

from exporter.errors import ProctreeError, UsageError
from exporter.model.snapshot import Snapshot
from exporter.publish.exposition import CONTENT_TYPES, Exposition
from exporter.publish.negotiate import accepts_gzip, choose_format
from exporter.publish.request import Request, Response

log = logging.getLogger(__name__)

T = TypeVar("T")

HTML = "text/html; charset=utf-8"
JSON = "application/json"
_OWN = ("/-/healthy", "/-/ready", "/-/reload", "/api/v1/targets")


class Exporter(Protocol):
    """What the pages are made from: the service, or a fake in a test.

    `ready` must return at once. `snapshot` is called by one thread, one call at a time, `reload`
    and `targets` likewise by another.
    """

    def ready(self) -> bool: ...
    def snapshot(self) -> Snapshot: ...
    def reload(self) -> None: ...
    def targets(self) -> list[dict[str, Any]]: ...


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags `--web.*`. Raises UsageError for a path that cannot be."""

    telemetry_path: str = "/metrics"
    lifecycle: bool = False
    api: bool = False

    def __post_init__(self) -> None:
        path = self.telemetry_path
        if not path.startswith("/") or not path.isascii() or set(path) & set(' ?#"<>\\'):
            raise UsageError(f"--web.telemetry-path: expected a path like /metrics, found {path!r}")
        if path in _OWN:
            raise UsageError(f"--web.telemetry-path: {path} is taken, choose another")


class Slow(NamedTuple):
    """A response that takes time: to be made by the thread of that name."""

    lane: str
    make: Callable[[], Response]


class Site:
    def __init__(self, exporter: Exporter, exposition: Exposition, flags: Flags) -> None:
        self._exporter = exporter
        self._exposition = exposition
        self._flags = flags
        self._pages: dict[str, tuple[str, Callable[[Request], Response | Slow]]] = {
            "/": ("GET, HEAD", lambda _: Slow("control", self._index)),
            "/-/healthy": ("GET, HEAD", lambda _: _text("proctree-exporter is healthy.")),
            "/-/ready": ("GET, HEAD", self._ready),
            "/-/reload": ("POST", self._reload),
            "/api/v1/targets": ("GET, HEAD", self._api_targets),
            flags.telemetry_path: ("GET, HEAD", self._metrics),
        }

    def answer(self, request: Request) -> Response | Slow:
        """Never raises, and never takes long: what would is given back as Slow."""
        if request.path not in self._pages:
            return _text("There is nothing here; see /", HTTPStatus.NOT_FOUND)
        methods, page = self._pages[request.path]
        if request.method not in methods.split(", "):
            text = f"{request.method} is not for {request.path}, only {methods}"
            return _text(text, HTTPStatus.METHOD_NOT_ALLOWED, {"Allow": methods})
        return guarded(lambda: page(request), request.path)

    def _ready(self, _: Request) -> Response:
        if self._exporter.ready():
            return _text("proctree-exporter is ready.")
        return _text("proctree-exporter is not ready.", HTTPStatus.SERVICE_UNAVAILABLE)

    def _metrics(self, request: Request) -> Response | Slow:
        if not self._exporter.ready():
            return self._ready(request)
        format_ = choose_format(request.headers.get("accept", ""))
        gzip = accepts_gzip(request.headers.get("accept-encoding", ""))
        headers = {"Vary": "Accept, Accept-Encoding"}  # for caches: one URL, six bodies
        if gzip:
            headers["Content-Encoding"] = "gzip"

        def make() -> Response:
            body = self._exposition.render(self._exporter.snapshot(), format_, gzip=gzip)
            return Response(HTTPStatus.OK, body, CONTENT_TYPES[format_], headers)

        return Slow("scrape", make)

    def _reload(self, _: Request) -> Response | Slow:
        if not self._flags.lifecycle:
            text = "Reloading over HTTP is off; --web.enable-lifecycle allows it."
            return _text(text, HTTPStatus.FORBIDDEN)

        def make() -> Response:
            try:
                self._exporter.reload()
            except ProctreeError as e:
                return _text(f"failed to reload config: {e}", HTTPStatus.INTERNAL_SERVER_ERROR)
            return _text("The config is reloaded.")

        return Slow("control", make)

    def _api_targets(self, _: Request) -> Response | Slow:
        if not self._flags.api:
            return _text("The API is off; --web.enable-api allows it.", HTTPStatus.FORBIDDEN)

        def make() -> Response:
            import json  # 1 MiB, for those who use it

            # In ASCII, lone surrogates included: as valid as JSON gets.
            body = json.dumps({"status": "success", "data": self._exporter.targets()})
            return Response(HTTPStatus.OK, body.encode() + b"\n", JSON)

        return Slow("control", make)

    def _index(self) -> Response:
        links = [
            (self._flags.telemetry_path, "metrics"),
            ("/-/healthy", "alive?"),
            ("/-/ready", "attached and in sync?"),
        ]
        if self._flags.api:
            links.append(("/api/v1/targets", "targets as JSON"))
        items = "".join(f'<li><a href="{_html(p)}">{_html(p)}</a>: {t}</li>\n' for p, t in links)
        table = _table(self._exporter.targets()) if self._flags.api else ""
        page = (
            '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
            "<title>proctree-exporter</title></head>\n<body>\n<h1>proctree-exporter</h1>\n"
            "<p>System calls of whole process trees: how often, how they fail, how long they take."
            f"</p>\n<ul>\n{items}</ul>\n{table}</body>\n</html>\n"
        )
        return Response(HTTPStatus.OK, page.encode("utf-8", "replace"), HTML)


def guarded(make: Callable[[], T], what: str) -> T | Response:
    """The response, or one line about why there is none: here, in the log, and no traceback."""
    try:
        return make()
    except Exception as e:
        reason = " ".join(str(e).split())
        if not isinstance(e, ProctreeError):
            reason = f"{type(e).__name__}: {reason}"
        log.error("%s failed: %s", what, reason)
        return _text(f"{what} failed: {reason}", HTTPStatus.INTERNAL_SERVER_ERROR)


def _text(
    text: str, status: HTTPStatus = HTTPStatus.OK, headers: dict[str, str] | None = None
) -> Response:
    return Response(status, f"{text}\n".encode("utf-8", "replace"), headers=headers or {})


def _table(rows: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [_cells("th", names), *(_cells("td", (row.get(n, "") for n in names)) for row in rows)]
    return f"<table>\n{''.join(lines)}</table>\n"


def _cells(tag: str, values: Iterable[object]) -> str:
    return "<tr>" + "".join(f"<{tag}>{_html(str(v))}</{tag}>" for v in values) + "</tr>\n"


def _html(text: str) -> str:
    """html.escape, without the 2 MiB of entities that come with it."""
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(char, entity)
    return text
