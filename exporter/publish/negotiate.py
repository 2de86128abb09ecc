"""Which format and which encoding a client gets, by its Accept and Accept-Encoding.

prometheus_client's choose_encoder has no protobuf and no q-values (`q=0` is a wish to it, and so it
is to gzip_accepted), and goes by order alone. A header that makes no sense is never an error: who
asks unclearly gets text.
"""

from __future__ import annotations

from enum import Enum


class Format(Enum):
    TEXT = "text"
    OPENMETRICS = "openmetrics"
    PROTOBUF = "protobuf"


def choose_format(accept: str) -> Format:
    """The acceptable format with the highest q; of equals, the one named first.

    Prometheus: https://prometheus.io/docs/instrumenting/content_negotiation/
    """
    best, best_q = Format.TEXT, 0.0
    for element in accept.split(","):
        media_type, parameters, q = _parse(element)
        format_ = _format(media_type, parameters)
        if format_ is not None and q > best_q:
            best, best_q = format_, q
    return best


def accepts_gzip(accept_encoding: str) -> bool:
    """Only where gzip is named: `*` asks for nothing in particular."""
    for element in accept_encoding.split(","):
        coding, _, q = _parse(element)
        if coding == "gzip":
            return q > 0
    return False


def _format(media_type: str, parameters: dict[str, str]) -> Format | None:
    version = parameters.get("version")
    if media_type == "application/vnd.google.protobuf":
        proto = parameters.get("proto"), parameters.get("encoding")
        known = proto == ("io.prometheus.client.MetricFamily", "delimited")
        return Format.PROTOBUF if known else None
    if media_type == "application/openmetrics-text":
        return Format.OPENMETRICS if version in (None, "1.0.0") else None
    if media_type in ("text/plain", "text/*", "*/*"):
        return Format.TEXT if version in (None, "0.0.4") else None
    return None


def _parse(element: str) -> tuple[str, dict[str, str], float]:
    """`type;key=value;q=0.5` as (type, {key: value}, 0.5); a q that is none is 0."""
    name, *rest = element.split(";")
    parameters = {}
    for parameter in rest:
        key, _, value = parameter.partition("=")
        parameters[key.strip().lower()] = value.strip().strip('"')
    try:
        q = float(parameters.pop("q", "1"))
    except ValueError:
        q = 0.0
    return name.strip().lower(), parameters, q if 0 <= q <= 1 else 0.0
