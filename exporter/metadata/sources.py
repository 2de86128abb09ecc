"""All that is asked about containers, as one: the API first, then the files of the engines."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from exporter.errors import ServiceError
from exporter.metadata.kubernetes import Pods, PodWatch, Settings
from exporter.metadata.runtimes import Runtimes
from exporter.model.metadata import SANDBOX, ContainerRef, Facts

log = logging.getLogger(__name__)


class Sources:
    """Implements `exporter.model.metadata.Metadata`, and says how current the pods are."""

    def __init__(self, rootfs: Path, api: Settings | None) -> None:
        """`api` None: no pods are asked for. Where there is no API server, that is logged."""
        self._runtimes = Runtimes(rootfs)
        self._pods = Pods()
        self._watch: PodWatch | None = None
        if api is not None:
            try:
                self._watch = PodWatch(api, self._pods)
            except ServiceError as error:
                log.warning("pods are known from the container engine's files only: %s", error)

    @property
    def asks_api(self) -> bool:
        return self._watch is not None

    def start(self) -> None:
        if self._watch:
            self._watch.start()

    def stop(self) -> None:
        if self._watch:
            self._watch.stop()

    def facts(self, ref: ContainerRef) -> Facts | None:
        pod = self._pods.facts(ref) if self._watch else None
        if pod and (pod.container not in ("", SANDBOX) or not ref.id):
            return pod
        engine = self._runtimes.facts(ref)
        if pod is None:
            # What only the API knows, the workload and the pod's labels, may still come.
            wait = self._watch is not None and engine is not None and bool(ref.pod_uid)
            return replace(engine, complete=False) if wait and engine else engine
        if engine is None:
            # The API cannot tell a sandbox from a container that it is too late to hear of.
            guess = self._watch is not None and self._watch.failing() and not pod.complete
            return replace(pod, container="") if guess else pod
        return replace(pod, container=engine.container, image=engine.image, complete=True)

    def version(self) -> int:
        return self._pods.version() + self._runtimes.version()

    def age_seconds(self) -> float | None:
        return self._watch.age_seconds() if self._watch else None

    def failures(self) -> Mapping[str, int]:
        return self._watch.failures() if self._watch else {}

    def known(self) -> int | None:
        return len(self._pods) if self._watch else None
