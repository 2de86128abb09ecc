"""Tests that run the real exporter need what the kernel tests need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import harness
from tests.integration.kube import pods
from tests.integration.kube.cluster import Cluster, cluster
from tests.integration.kube.node import Node, node


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    possible = os.geteuid() == 0 and Path("/sys/kernel/btf/vmlinux").exists()
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        item.add_marker("kernel")
        if not possible and not os.environ.get("CI"):
            item.add_marker(pytest.mark.skip(reason="needs root and a kernel with BTF"))


@pytest.fixture(scope="package")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """With an account that has an exporter's rights, and its token in the file `token`."""
    with cluster(tmp_path_factory.mktemp("kube")) as it:
        it.account("exporter")
        it.allow("exporter")
        (it.folder / "token").write_text(it.token("exporter"))
        yield it


@pytest.fixture(scope="package")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harness.build("contained", tmp_path_factory.mktemp("programs"), "-static")


@pytest.fixture
def here(
    control_plane: Cluster, tmp_path: Path, program: Path, request: pytest.FixtureRequest
) -> Iterator[Node]:
    """A node of the control plane for each test, which is named after it."""
    pods.delete_all(control_plane)
    name = request.node.name.removeprefix("test_").replace("_", "-")
    with node(control_plane, name, tmp_path, program) as it:
        yield it
