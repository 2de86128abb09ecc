"""Pods are restarted for what a running exporter cannot change, and for nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exporter.config.catalog import TOP, keys_of
from exporter.config.fixed import fixed_at_start
from exporter.config.load import load
from exporter.config.model import Config
from tests.helm.chart import config, needs_helm, one, render

pytestmark = needs_helm
PODS = {"name": "pods", "kubernetes": {}}
NOBODYS = {"config": {"labels": ["cgroup"], "targets": [{"name": "init", "pid": 1}]}}

#: By what changes: values of `config` that a reload carries.
LIVE: dict[str, dict[str, Any]] = {
    "targets": {"targets": [{"name": "shop", "kubernetes": {"namespace": "shop"}}, PODS]},
    "exclude": {"exclude": {"comm": "pause"}},
    "static_labels": {"static_labels": {"site": "fra1"}},
    "keep_gone": {"keep_gone": "1h"},
    "histograms.buckets": {"histograms": {"buckets": [1]}},
    "histograms.native": {"histograms": {"native": False}},
}
#: The same, of those that are fixed at start.
FIXED: dict[str, dict[str, Any]] = {
    "labels": {"labels": ["pod"]},
    "pod_labels": {"pod_labels": ["app"]},
    "metadata_timeout": {"metadata_timeout": "20s"},
    "kubernetes": {"kubernetes": {"server": "https://10.0.0.1:6443"}},
    "histograms.by": {"histograms": {"by": "class", "classic": True}},
    "histograms.classic": {"histograms": {"classic": True}},
    "histograms.scale": {"histograms": {"scale": 3}},
    "limits": {"limits": {"trees": 256}},
    "otlp": {"otlp": {"metrics": True}},
    "self_cost": {"self_cost": True},
}


def installed(values: dict[str, Any], folder: Path) -> tuple[str, Config]:
    """What restarts pods where it differs; and the config."""
    manifests = render(values)
    template = one(manifests, "DaemonSet")["spec"]["template"]
    file = folder / "config.yaml"
    file.write_text(config(manifests))
    return str(template), load(str(file), "/sys/fs/cgroup")


@pytest.mark.parametrize("key", LIVE)
def test_no_restart_for_what_a_reload_carries(key: str, tmp_path: Path) -> None:
    """The pods' template stays the same."""
    before, old = installed({}, tmp_path)
    after, new = installed({"config": LIVE[key]}, tmp_path)
    assert (after, fixed_at_start(new)) == (before, fixed_at_start(old))
    assert new != old


@pytest.mark.parametrize("key", FIXED)
def test_a_restart_for_what_is_fixed_at_start(key: str, tmp_path: Path) -> None:
    """The template differs, so that the DaemonSet replaces its pods."""
    before, old = installed({}, tmp_path)
    after, new = installed({"config": FIXED[key]}, tmp_path)
    assert fixed_at_start(new) != fixed_at_start(old)
    assert after != before


@pytest.mark.parametrize("target", [PODS, {"name": "x", "pid": 2, "spans": {"processes": True}}])
def test_a_restart_for_the_first_target_that_needs_more(
    target: dict[str, Any], tmp_path: Path
) -> None:
    """The API server, or the part of the kernel's program that tells of events."""
    before, _ = installed(NOBODYS, tmp_path)
    targets = [*NOBODYS["config"]["targets"], target]
    after, _ = installed({"config": {**NOBODYS["config"], "targets": targets}}, tmp_path)
    assert after != before


def test_nothing_is_forgotten() -> None:
    """Each key of the config is here: a new one must say what it is."""
    told = {key.partition(".")[0] for key in [*LIVE, *FIXED]}
    assert told == set(keys_of(TOP))
