"""Where telemetry is sent: the endpoint, how it is spoken to, headers that go along.

No message has the value of a header in it, nor a URL that may hold a secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exporter.config.nodes import At, Entries, Node, Scalar, quote
from exporter.config.report import Report
from exporter.config.suggest import did_you_mean
from exporter.model.otlp import (
    ENDPOINT,
    EXPECTED_ENDPOINT,
    HEADER_NAME,
    HEADER_VALUE,
    OUR_HEADERS,
    PROTOCOLS,
    Fault,
    endpoint_fault,
    header_name_fault,
    header_value_fault,
)

MAX_HEADERS = 64


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A URL to send to, as it was written."""

    def read(self, key: str, node: Node, report: Report) -> str | None:
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            report.unexpected(key, node, EXPECTED_ENDPOINT)
            return None
        if fault := endpoint_fault(node.text):
            _report(key, node, fault, report)
            return None
        return node.text

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": ENDPOINT}


@dataclass(frozen=True, slots=True)
class SpokenProtocol:
    """How it is spoken to."""

    def read(self, key: str, node: Node, report: Report) -> str | None:
        match node:
            case Scalar(value=str() as value) if value in PROTOCOLS:
                return value
            case Scalar(value=str() as value) if value.lower() in ("http", "http/json"):
                mend = "it speaks protobuf, not JSON: write http/protobuf"
            case Scalar(value=str() as value):
                mend = did_you_mean(value, PROTOCOLS)
            case _:
                mend = ""
        report.unexpected(key, node, f"one of {', '.join(PROTOCOLS)}", mend)
        return None

    def schema(self) -> dict[str, Any]:
        return {"enum": list(PROTOCOLS)}


@dataclass(frozen=True, slots=True)
class Headers:
    """Names of headers and their values, in the order of the file. It may be empty."""

    def read(self, key: str, node: Node, report: Report) -> tuple[tuple[str, str], ...] | None:
        if not isinstance(node, Entries):
            # A scalar may be the environment's form, name=value.
            found = "text" if isinstance(node, Scalar) and isinstance(node.value, str) else ""
            expected = "a mapping of headers to values, such as {x-scope-orgid: shop}"
            _report(key, node, Fault(expected, found), report)
            return None
        if len(node.pairs) > MAX_HEADERS:
            found = f"expected at most {MAX_HEADERS} headers, found {len(node.pairs)}"
            report.error(node.pairs[MAX_HEADERS][0].at, f"{key}: {found}")
            return None
        read: list[tuple[str, str]] = []
        seen: dict[str, At] = {}
        for name, value in node.pairs:
            if fault := header_name_fault(name.text):
                _report(key, name, fault, report)
            elif first := seen.get(name.text.lower()):
                told = f"the header {quote(name.text)} is listed twice, first on line {first.line}"
                report.error(name.at, f"{key}: {told}; remove one of them")
            elif (text := _value(f"{key}.{name.text}", value, report)) is not None:
                read.append((name.text, text))
            seen.setdefault(name.text.lower(), name.at)
        return tuple(read)

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "propertyNames": {"pattern": HEADER_NAME, "not": {"enum": list(OUR_HEADERS)}},
            "additionalProperties": {"type": "string", "pattern": HEADER_VALUE},
        }


def _value(key: str, node: Node, report: Report) -> str | None:
    if not isinstance(node, Scalar) or node.value is None:
        report.unexpected(key, node, "text")
    elif not isinstance(node.value, str):
        _report(key, node, Fault("text", "a number, true or false", "quote it"), report)
    elif fault := header_value_fault(node.text):
        _report(key, node, fault, report)
    else:
        return node.text
    return None


def _report(key: str, node: Node, fault: Fault, report: Report) -> None:
    if fault.found:
        end = f"; {fault.mend}" if fault.mend else ""
        report.error(node.at, f"{key}: expected {fault.expected}, found {fault.found}{end}")
    else:
        report.unexpected(key, node, fault.expected, fault.mend)
