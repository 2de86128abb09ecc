"""Kernel tests run on the real kernel or not at all; in CI not running is a failure."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import harness
from tests.kernel.trees import idle_exporter


def _why_not() -> str | None:
    if os.geteuid() != 0:
        return "needs root"
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "needs a kernel with BTF"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = _why_not()
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        item.add_marker("kernel")
        if reason and not os.environ.get("CI"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles a workload by name, once."""
    folder = tmp_path_factory.mktemp("workloads")
    return lambda name, *flags: harness.build(name, folder, *flags)


@pytest.fixture(scope="module")
def idle() -> Iterator[harness.Exporter]:
    """Its file's own; see trees.following."""
    with idle_exporter() as running:
        yield running
