"""Values of the wrong type fail before anything is installed, and the message says where."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helm.chart import CHART, needs_helm, refusal, render

pytestmark = needs_helm

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"service": {"port": "metrics"}}, "at '/service/port': got string, want integer"),
    ({"service": {"port": 65536}}, "at '/service/port': maximum: got 65,536, want 65,535"),
    ({"podMonitor": {"enabled": "yes"}}, "at '/podMonitor/enabled': got string, want boolean"),
    ({"tolerations": {"operator": "Exists"}}, "at '/tolerations': got object, want array"),
    ({"podLabels": {"a": 1}}, "at '/podLabels/a': got number, want string"),
    ({"image": {"pullPolicy": "always"}}, "at '/image/pullPolicy': value must be one of 'Always',"),
    ({"image": {"digest": "0123"}}, "at '/image/digest': '0123' does not match pattern"),
    ({"extraArgs": ["web.enable-api"]}, "at '/extraArgs/0': 'web.enable-api' does not match"),
    ({"env": {"A B": "c"}}, "at '/env': additional properties 'A B' not allowed"),
    ({"serviceMonitors": {}}, "at '': additional properties 'serviceMonitors' not allowed"),
    ({"podMonitor": {"intervall": "1m"}}, "at '/podMonitor': additional properties 'intervall'"),
    ({"config": {"targets": 4711}}, "at '/config/targets': got number, want array"),
    ({"config": {"limits": {"trees": 0}}}, "at '/config/limits/trees': minimum: got 0, want 1"),
    ({"config": {"label": []}}, "at '/config': additional properties 'label' not allowed"),
    ({"config": {"otlp": {"protocol": "udp"}}}, "at '/config/otlp/protocol': value must be one of"),
    (
        {"config": {"targets": [{"name": "x", "kubernetes": {"namespaces": "a"}}]}},
        "at '/config/targets/0/kubernetes': additional properties 'namespaces' not allowed",
    ),
]


@pytest.mark.parametrize(("values", "says"), WRONG, ids=[json.dumps(v) for v, _ in WRONG])
def test_a_wrong_value_is_refused_and_the_message_says_where(
    values: dict[str, Any], says: str
) -> None:
    """The path of the value, what was found and what is wanted, on a line of its own."""
    message = refusal(
        "install", "r", CHART, "--dry-run=client", "-f", "-", stdin=json.dumps(values)
    )
    assert any(says in line for line in message.splitlines()), message
    assert "values don't meet the specifications of the schema" in message


def test_charts_that_have_this_one_as_a_part_may_say_global() -> None:
    """Helm puts it into the values of every chart below another."""
    assert render({"global": {"imageRegistry": "x"}}) == render({})
