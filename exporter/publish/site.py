"""What is served at which path. No sockets here: a request goes in, a response comes out."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from http import HTTPStatus
from threading import BoundedSemaphore, Lock
from typing import Any, Protocol
from urllib.parse import urlsplit

from exporter.errors import ProctreeError
from exporter.model.snapshot import Snapshot
from exporter.publish.exposition import CONTENT_TYPES, Exposition
from exporter.publish.flags import Flags
from exporter.publish.negotiate import accepts_gzip, choose_format

log = logging.getLogger(__name__)

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
JSON = "application/json"
_HTML = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>proctree-exporter</title></head>
<body>
<h1>proctree-exporter</h1>
<p>System calls of whole process trees: how often, how they fail, how long they take.</p>
<ul>
%s
</ul>
<table>
%s
</table>
</body>
</html>
"""
_MOST_WAITING = 16  # scrapes, or reloads and the like, the one under way included


class Exporter(Protocol):
    """What the pages are made from: the service, or a fake in a test.

    `ready` must return at once. `snapshot` is called once at a time, from any thread; `reload` and
    `targets` likewise, maybe while a snapshot is taken.
    """

    def ready(self) -> bool: ...
    def snapshot(self) -> Snapshot: ...
    def reload(self) -> None: ...
    def targets(self) -> list[dict[str, Any]]: ...


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str  # a path and a query, or, from a proxy, a whole URL
    accept: str = ""
    accept_encoding: str = ""
    authorization: str = field(default="", repr=False)
    client: str = ""  # its address

    @property
    def path(self) -> str:
        try:
            return urlsplit(self.target).path
        except ValueError:
            return ""


@dataclass(frozen=True, slots=True)
class Response:
    status: HTTPStatus
    body: bytes | bytearray
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


class _Turns:
    """One at a time; a few wait for their turn, more are told to come again."""

    def __init__(self) -> None:
        self._places = BoundedSemaphore(_MOST_WAITING)
        self._turn = Lock()

    def take(self, make: Callable[[], Response]) -> Response:
        if not self._places.acquire(blocking=False):
            text = "Too many requests at once, come again."
            return text_response(text, HTTPStatus.SERVICE_UNAVAILABLE)
        try:
            with self._turn:
                return make()
        finally:
            self._places.release()


class Site:
    """Answers requests, in as many threads as there are."""

    def __init__(self, exporter: Exporter, exposition: Exposition, flags: Flags) -> None:
        self._exporter = exporter
        self._exposition = exposition
        self._flags = flags
        self._scrapes, self._jobs = _Turns(), _Turns()
        self._pages: dict[str, tuple[str, Callable[[Request], Response]]] = {
            "/": ("GET, HEAD", self._index),
            "/-/healthy": ("GET, HEAD", lambda _: text_response("proctree-exporter is healthy.")),
            "/-/ready": ("GET, HEAD", self._ready),
            "/-/reload": ("POST", self._reload),
            "/api/v1/targets": ("GET, HEAD", self._api_targets),
            flags.telemetry_path: ("GET, HEAD", self._metrics),
        }

    def answer(self, request: Request) -> Response:
        """Never raises: what fails is one line, here and in the log, and no traceback."""
        path = request.path
        if path not in self._pages:
            return text_response("There is nothing here; see /", HTTPStatus.NOT_FOUND)
        methods, page = self._pages[path]
        if request.method not in methods.split(", "):
            text = f"{request.method} is not for {path}, only {methods}"
            return text_response(text, HTTPStatus.METHOD_NOT_ALLOWED, {"Allow": methods})
        try:
            return page(request)
        except Exception as e:
            reason = " ".join(str(e).split())
            if not isinstance(e, ProctreeError):
                reason = f"{type(e).__name__}: {reason}"
            log.error("%s failed: %s", path, reason)
            return text_response(f"{path} failed: {reason}", HTTPStatus.INTERNAL_SERVER_ERROR)

    def _ready(self, _: Request) -> Response:
        if self._exporter.ready():
            return text_response("proctree-exporter is ready.")
        return text_response("proctree-exporter is not ready.", HTTPStatus.SERVICE_UNAVAILABLE)

    def _metrics(self, request: Request) -> Response:
        if not self._exporter.ready():
            return self._ready(request)
        format_ = choose_format(request.accept)
        gzip = accepts_gzip(request.accept_encoding)
        headers = {"Vary": "Accept, Accept-Encoding"}  # for caches: one URL, six bodies
        if gzip:
            headers["Content-Encoding"] = "gzip"

        def make() -> Response:
            body = self._exposition.render(self._exporter.snapshot(), format_, gzip=gzip)
            return Response(HTTPStatus.OK, body, CONTENT_TYPES[format_], headers)

        return self._scrapes.take(make)

    def _reload(self, _: Request) -> Response:
        if not self._flags.lifecycle:
            text = "Reloading over HTTP is off; --web.enable-lifecycle allows it."
            return text_response(text, HTTPStatus.FORBIDDEN)

        def make() -> Response:
            try:
                self._exporter.reload()
            except ProctreeError as e:
                return text_response(
                    f"failed to reload config: {e}", HTTPStatus.INTERNAL_SERVER_ERROR
                )
            return text_response("The config is reloaded.")

        return self._jobs.take(make)

    def _api_targets(self, _: Request) -> Response:
        if not self._flags.api:
            return text_response(
                "The API is off; --web.enable-api allows it.", HTTPStatus.FORBIDDEN
            )

        def make() -> Response:
            # In ASCII, lone surrogates included: as valid as JSON gets.
            body = json.dumps({"status": "success", "data": self._exporter.targets()})
            return Response(HTTPStatus.OK, body.encode() + b"\n", JSON)

        return self._jobs.take(make)

    def _index(self, _: Request) -> Response:
        links = [
            (self._flags.telemetry_path, "metrics"),
            ("/-/healthy", "alive?"),
            ("/-/ready", "attached and in sync?"),
        ]
        if not self._flags.api:
            return _page(links, [])
        links.append(("/api/v1/targets", "targets as JSON"))

        def make() -> Response:
            rows = self._exporter.targets()
            flat = [{k: v for k, v in row.items() if not isinstance(v, list)} for row in rows]
            return _page(links, flat)

        return self._jobs.take(make)


def text_response(
    text: str, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """One line."""
    return Response(status, f"{text}\n".encode("utf-8", "replace"), TEXT, headers or {})


def _page(links: Iterable[tuple[str, str]], rows: list[dict[str, Any]]) -> Response:
    items = [f'<li><a href="{escape(path)}">{escape(path)}</a>: {is_}</li>' for path, is_ in links]
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = [names, *([str(row.get(name, "")) for name in names] for row in rows)] if rows else []
    cells = ["".join(f"<td>{escape(cell)}</td>" for cell in line) for line in table]
    page = _HTML % ("\n".join(items), "\n".join(f"<tr>{line}</tr>" for line in cells))
    return Response(HTTPStatus.OK, page.encode("utf-8", "replace"), HTML)
