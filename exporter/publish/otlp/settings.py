"""What is sent by OTLP, where and how: the config, over the environment, over the defaults.

Sources: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ and
https://opentelemetry.io/docs/specs/otel/metrics/sdk_exporters/otlp/. The defaults of the interval
and of the queue are ours; for OTEL_METRIC_EXPORT_INTERVAL the specification has a minute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from opentelemetry.sdk.environment_variables import (
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
    OTEL_BSP_MAX_QUEUE_SIZE,
    OTEL_BSP_SCHEDULE_DELAY,
    OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE,
    OTEL_METRIC_EXPORT_INTERVAL,
    OTEL_RESOURCE_ATTRIBUTES,
    OTEL_SDK_DISABLED,
    OTEL_SERVICE_NAME,
)

from exporter.model.otlp import MIN_INTERVAL_NS, Otlp
from exporter.publish.otlp.environment import Environment
from exporter.publish.otlp.signals import Signal, is_selected, resolve_signal

Temporality = Literal["cumulative", "delta", "lowmemory"]

_TEMPORALITIES: tuple[Temporality, ...] = ("cumulative", "delta", "lowmemory")
_LEAST_DELAY_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """What is not sent has no Signal. Sizes count spans; a batch is no larger than the queue.

    `resource` are the attributes of OTEL_RESOURCE_ATTRIBUTES but for `service.name`; that, or
    rather OTEL_SERVICE_NAME, is `service_name`. `warnings` are for the log.
    """

    metrics: Signal | None = None
    traces: Signal | None = None
    interval_ns: int = 30_000_000_000
    shutdown_timeout_ns: int = 1_000_000_000
    temporality: Temporality = "cumulative"
    resource: tuple[tuple[str, str], ...] = ()
    service_name: str | None = None
    queue_size: int = 32_768
    batch_size: int = 4_096
    schedule_delay_ns: int = 1_000_000_000
    warnings: tuple[str, ...] = ()


_DEFAULT = Settings()


def resolve(otlp: Otlp, environment: Mapping[str, str], *, read_files: bool = True) -> Settings:
    """Raises UsageError for a variable that counts and cannot be meant.

    `read_files`: those of certificates must be there and in order.
    """
    variables = Environment(environment)
    metrics = traces = None
    if variables.flag(OTEL_SDK_DISABLED):
        variables.warnings.append("OTEL_SDK_DISABLED is true: nothing is sent by OTLP")
    else:
        if otlp.metrics and is_selected("metrics", variables):
            metrics = resolve_signal("metrics", otlp, variables, read_files=read_files)
        if otlp.traces and is_selected("traces", variables):
            traces = resolve_signal("traces", otlp, variables, read_files=read_files)
    if not metrics and not traces:
        return Settings(warnings=_once(variables.warnings))
    interval_ns = otlp.interval_ns or variables.duration_ns(
        OTEL_METRIC_EXPORT_INTERVAL, least_ns=MIN_INTERVAL_NS
    )
    shutdown_ns = otlp.shutdown_timeout_ns
    temporality = variables.choice(
        _TEMPORALITIES, OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE
    )
    resource, service_name = _resource(variables)
    queue_size, batch_size = _sizes(variables)
    delay_ns = variables.duration_ns(OTEL_BSP_SCHEDULE_DELAY, least_ns=_LEAST_DELAY_NS)
    return Settings(
        metrics=metrics,
        traces=traces,
        interval_ns=interval_ns or _DEFAULT.interval_ns,
        shutdown_timeout_ns=_DEFAULT.shutdown_timeout_ns if shutdown_ns is None else shutdown_ns,
        temporality=temporality or _DEFAULT.temporality,
        resource=resource,
        service_name=service_name,
        queue_size=queue_size,
        batch_size=batch_size,
        schedule_delay_ns=delay_ns or _DEFAULT.schedule_delay_ns,
        warnings=_once(variables.warnings),
    )


def _resource(variables: Environment) -> tuple[tuple[tuple[str, str], ...], str | None]:
    found = variables.variable(OTEL_RESOURCE_ATTRIBUTES)
    attributes = dict(found.pairs() if found else ())
    service = attributes.pop("service.name", "")
    return tuple(attributes.items()), variables.text(OTEL_SERVICE_NAME) or service or None


def _sizes(variables: Environment) -> tuple[int, int]:
    """Of the queue and of a batch."""
    queue = variables.number(OTEL_BSP_MAX_QUEUE_SIZE, least=1) or _DEFAULT.queue_size
    name = OTEL_BSP_MAX_EXPORT_BATCH_SIZE
    batch = variables.number(name, least=1)
    found = variables.variable(name)
    if found and batch and batch > queue:
        raise found.refused(f"at most what OTEL_BSP_MAX_QUEUE_SIZE is ({queue})")
    return queue, batch or min(_DEFAULT.batch_size, queue)


def _once(warnings: Iterable[str]) -> tuple[str, ...]:
    """Both signals may have the same to say."""
    return tuple(dict.fromkeys(warnings))
