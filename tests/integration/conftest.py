"""Tests that run the real exporter need what the kernel tests need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    possible = os.geteuid() == 0 and Path("/sys/kernel/btf/vmlinux").exists()
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        item.add_marker("kernel")
        if not possible and not os.environ.get("CI"):
            item.add_marker(pytest.mark.skip(reason="needs root and a kernel with BTF"))
