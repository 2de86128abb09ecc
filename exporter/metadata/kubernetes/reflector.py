"""Keeps the store in step with the server: a list, then a watch from where the list ended.

The rules of resource versions are those of the Kubernetes API concepts, "Efficient detection of
changes", and of client-go's reflector: the first list may come from the server's cache (version 0),
so that a whole cluster of exporters does not fall upon etcd; later ones must be the newest, so that
nothing goes back in time.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping
from http.client import HTTPResponse
from typing import Any

from exporter.metadata.kubernetes.client import ANSWER_S, Client
from exporter.metadata.kubernetes.failure import Failure, reason_of_status
from exporter.metadata.kubernetes.health import Health
from exporter.metadata.kubernetes.pod import Pod, parse
from exporter.metadata.kubernetes.store import Pods

PAGE = 500
MOST_PAGES = 1000
MOST_PAGE_BYTES = 32 << 20
MOST_LINE_BYTES = 4 << 20  # one pod: etcd takes 1.5 MiB

_LIST_S = 120.0  # for a page
_WATCH_S = (120, 180)
#: A watch that ends sooner is not begun anew at once.
_SHORTEST_WATCH_S = 1.0


class Reflector:
    """`step` again and again; it raises Failure, and goes on from there when called again."""

    def __init__(self, client: Client, node: str, pods: Pods, health: Health) -> None:
        self._client, self._node, self._pods, self._health = client, node, pods, health
        self._version = ""  # up to which we know all; "" before a list
        self._newest = False  # whether lists must be

    def step(self) -> None:
        """One list, or one watch until it ends."""
        if self._version:
            self._watch()
        else:
            self._list()

    def _list(self) -> None:
        # From a cache there are no pages. So where that fails, too, the next one is the newest.
        query = {} if self._newest else {"resourceVersion": "0"}
        self._newest = True
        kept: set[str] = set()
        for _ in range(MOST_PAGES):
            metadata, items = self._page(query)
            kept.update(pod.uid for pod in items if self._put(pod))
            more = metadata.get("continue")
            if not more:
                self._version = _version(metadata)
                self._pods.retire_others(kept)
                self._health.in_step()
                return
            query = {"continue": str(more)}
        raise Failure("bad_answer", f"a list of more than {MOST_PAGES} pages")

    def _page(self, query: Mapping[str, str]) -> tuple[Mapping[str, Any], list[Pod]]:
        query = {**self._selector(), "limit": str(PAGE), **query}
        with self._client.pods(query, idle_s=ANSWER_S, whole_s=_LIST_S) as answer:
            text = answer.read(MOST_PAGE_BYTES + 1)
            if len(text) > MOST_PAGE_BYTES:
                raise Failure("bad_answer", f"a page of more than {MOST_PAGE_BYTES} bytes")
            page = json.loads(text, object_hook=_shrunk)
            items = page.get("items") if isinstance(page, dict) else None
            if not isinstance(items, list):
                raise Failure("bad_answer", "expected a list of pods, found something else")
            _version(_metadata(page))
            return _metadata(page), [pod for pod in items if isinstance(pod, Pod)]

    def _watch(self) -> None:
        seconds = random.randint(*_WATCH_S)
        query = {
            **self._selector(), "watch": "true", "allowWatchBookmarks": "true",
            "resourceVersion": self._version, "timeoutSeconds": str(seconds),
        }  # fmt: skip
        began, at_most = time.monotonic(), seconds + ANSWER_S
        try:
            # Where no pod changes, on any node, even bookmarks do not come.
            with self._client.pods(query, idle_s=at_most, whole_s=at_most) as answer:
                while line := _line(answer):
                    self._apply(json.loads(line))
        except Failure as failure:
            # What was said is lost or means nothing to us: only a list tells what is there.
            if failure.reason in ("gone", "bad_answer"):
                self._version = ""
            raise
        took = time.monotonic() - began
        if took < _SHORTEST_WATCH_S:
            raise Failure("bad_answer", "the watch ended as soon as it began")
        # The server ends it on time. Where something on the way did, all that we know is that it
        # began, and that nothing was missing then.
        self._in_step(since_s=0.0 if took > seconds - 1 else took)

    def _in_step(self, since_s: float = 0.0) -> None:
        self._pods.tidy()
        self._health.in_step(since_s)
        self._health.went_well()

    def _apply(self, event: Any) -> None:
        kind, it = (event.get("type"), event.get("object")) if isinstance(event, dict) else ("", "")
        if kind == "ERROR" and isinstance(it, dict):
            self._version = ""
            code = it.get("code")
            reason = reason_of_status(code if isinstance(code, int) else 500)
            raise Failure(reason, f"the watch ended: {str(it.get('message'))[:500]}")
        version = _version(_metadata(it))
        pod = parse(it)
        if kind in ("ADDED", "MODIFIED", "DELETED") and pod:
            self._put(pod)  # a deleted one, too: it may have been missed before
            if kind == "DELETED":
                self._pods.retire([pod.uid])
        elif kind != "BOOKMARK":
            raise Failure("bad_answer", f"expected an event of a watch, found {str(kind)[:50]!r}")
        self._version = version
        self._in_step()

    def _put(self, pod: Pod) -> bool:
        fits = self._pods.put(pod)
        if not fits:
            self._health.count("too_many")
        return fits

    def _selector(self) -> dict[str, str]:
        return {"fieldSelector": f"spec.nodeName={self._node}"}


def _shrunk(document: dict[str, Any]) -> object:
    """Pods are cut down while a page is parsed, so that never more than one is there in full."""
    whole = isinstance(document.get("metadata"), dict) and "spec" in document
    return parse(document) if whole else document


def _metadata(document: Any) -> Mapping[str, Any]:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def _version(metadata: Mapping[str, Any]) -> str:
    version = metadata.get("resourceVersion")
    if not isinstance(version, str) or not version:
        raise Failure("bad_answer", "expected a resourceVersion, found none")
    return version


def _line(answer: HTTPResponse) -> bytes:
    """Empty at the end. What was cut off in the middle comes again, in the next watch."""
    line = answer.readline(MOST_LINE_BYTES + 1)
    if len(line) > MOST_LINE_BYTES:
        raise Failure("bad_answer", f"an event of more than {MOST_LINE_BYTES} bytes")
    if line and not line.endswith(b"\n"):
        raise Failure("unreachable", "the watch ended in the middle of an event")
    return line
