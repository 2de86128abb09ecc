"""What the service has of OpenTelemetry, put together from its config and its parts.

Imported only where the config has `otlp`; what sends, which is large, only once that is opened.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from exporter.config.model import Config
from exporter.kernel.span_events import SpanEvents
from exporter.kernel.tracing import Tracing
from exporter.model.labeller import Labeller
from exporter.model.monitor import Monitor
from exporter.model.resource import Place
from exporter.model.resources import Resources
from exporter.model.snapshot import Snapshot
from exporter.model.spans.exemplars import Exemplars
from exporter.model.spans.listing import followed
from exporter.model.tracker import Paths
from exporter.publish.otlp.settings import Settings, resolve
from exporter.publish.shape import Shape

if TYPE_CHECKING:
    from exporter.telemetry.telemetry import Telemetry

log = logging.getLogger(__name__)

_HOLD_BACK_NS = 10**10  # of events, longer than metadata is waited for


class Otlp:
    """One exporter's. `exemplars` are None where no spans are sent."""

    def __init__(self, settings: Settings, config: Config, paths: Paths, node: str) -> None:
        """`node` is the machine's name, "" where only itself knows."""
        self._settings, self._config, self._paths, self._node = settings, config, paths, node
        scale = config.histograms.scale
        self.exemplars = Exemplars(scale) if settings.traces else None

    @classmethod
    def of(cls, config: Config, paths: Paths, environ: Mapping[str, str]) -> Otlp | None:
        """None where nothing is sent. Raises ConfigError; warnings are logged."""
        if config.otlp is None:
            return None
        settings = resolve(config.otlp, environ)
        for warning in settings.warnings:
            log.warning("%s", warning)
        if not (settings.metrics or settings.traces):
            return None
        return cls(settings, config, paths, config.kubernetes.node or environ.get("NODE_NAME", ""))

    def resources(self, labeller: Labeller) -> Resources:
        from exporter.model.host import read_host  # brings OpenSSL, for a hash

        host = read_host(self._paths.rootfs, self._paths.procfs, self._node)
        self._place = Place.of(host, dict(self._settings.resource))
        return Resources(self._place, labeller.facts)

    def open(
        self, tracing: Tracing, monitor: Monitor, snapshot: Callable[[], Snapshot],
        shape: Callable[[], Shape],
    ) -> Telemetry:  # fmt: skip
        """Once there are `resources`. `monitor` tells its losses then. Raises ServiceError."""
        from exporter.telemetry.telemetry import Kernel, Model, Telemetry

        procfs, rules, config = self._paths.procfs, tracing.span_rules, self._config
        kernel = Kernel(
            events=SpanEvents(tracing.events_fd) if rules else None,
            refused=rules.refused if rules else lambda: 0,
            lost=tracing.span_events_lost,
            list_processes=lambda knows: followed(tracing.list_processes(), knows, procfs),
        )
        model = Model(
            snapshot=snapshot,
            shape=shape,
            target_of=monitor.target_of,
            last_target_of=monitor.last_target_of,
            resource_of=monitor.resource_of,
            note=self.exemplars.note if self.exemplars else lambda span: None,
        )
        telemetry = Telemetry(
            self._settings, self._place, kernel, model, processes=config.limits.processes,
            hold_back_ns=config.metadata_timeout_ns + _HOLD_BACK_NS,
        )  # fmt: skip
        monitor.losses = telemetry.losses
        return telemetry
