"""io.prometheus.client as google.protobuf sees it: the oracle for our hand-written encoder.

The fields and numbers are those of https://github.com/prometheus/client_model, metrics.proto;
what no exporter of ours sends (summaries, float histograms) is left out.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
    unknown_fields,
)
from google.protobuf.internal.decoder import _DecodeVarint32  # type: ignore[attr-defined]
from google.protobuf.message import Message

_PACKAGE = "io.prometheus.client"
_FIELDS = {
    "Timestamp": "1 int64 seconds; 2 int32 nanos",
    "LabelPair": "1 string name; 2 string value",
    "Gauge": "1 double value",
    "Counter": "1 double value; 3 Timestamp created_timestamp",
    "Exemplar": "1 LabelPair* label; 2 double value; 3 Timestamp timestamp",
    "Bucket": "1 uint64 cumulative_count; 2 double upper_bound; 3 Exemplar exemplar",
    "BucketSpan": "1 sint32 offset; 2 uint32 length",
    "Histogram": "1 uint64 sample_count; 2 double sample_sum; 3 Bucket* bucket; 5 sint32 schema;"
    " 6 double zero_threshold; 7 uint64 zero_count; 12 BucketSpan* positive_span;"
    " 13 sint64* positive_delta; 15 Timestamp created_timestamp; 16 Exemplar* exemplars",
    "Metric": "1 LabelPair* label; 2 Gauge gauge; 3 Counter counter; 7 Histogram histogram;"
    " 6 int64 timestamp_ms",
    "MetricFamily": "1 string name; 2 string help; 3 MetricType type; 4 Metric* metric;"
    " 5 string unit",
}
_TYPES = ("COUNTER", "GAUGE", "SUMMARY", "UNTYPED", "HISTOGRAM", "GAUGE_HISTOGRAM")


def _family_class() -> type[Message]:
    file = descriptor_pb2.FileDescriptorProto(
        name="metrics.proto", package=_PACKAGE, syntax="proto2"
    )
    kinds = file.enum_type.add(name="MetricType")
    for number, name in enumerate(_TYPES):
        kinds.value.add(name=name, number=number)
    field = descriptor_pb2.FieldDescriptorProto
    for message_name, fields in _FIELDS.items():
        message = file.message_type.add(name=message_name)
        for text in fields.split(";"):
            number_text, kind, name = text.split()
            repeated = kind.endswith("*")
            kind = kind.rstrip("*")
            entry = message.field.add(name=name, number=int(number_text))
            entry.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
            if kind in _FIELDS:
                entry.type, entry.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
            elif kind == "MetricType":
                entry.type, entry.type_name = field.TYPE_ENUM, f".{_PACKAGE}.{kind}"
            else:
                entry.type = field.Type.Value(f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.MetricFamily"))


MetricFamily: Any = _family_class()


def decode(body: bytes | bytearray) -> list[Any]:
    """The families of a delimited stream; anything left over or unknown is an error."""
    families, at = [], 0
    data = bytes(body)
    while at < len(data):
        size, at = _DecodeVarint32(data, at)
        family = MetricFamily.FromString(data[at : at + size])
        assert not len(unknown_fields.UnknownFieldSet(family))
        families.append(family)
        at += size
    assert at == len(data)
    return families


def to_text(families: list[Any]) -> str:
    return "".join(text_format.MessageToString(family) + "\n" for family in families)
