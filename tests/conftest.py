"""In CI nothing that matters is skipped: a test that did not run is a failure.

`make test` runs two tests at a time. What could see the other's processes is kept apart here: tests
that follow by names, which others use as well, come one after the other; those that are `alone`
follow the whole machine, and wait until nobody else is at it.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("proctree", deadline=None)  # no time limits in tests
settings.load_profile("proctree")

_BY_NAME = re.compile(
    r"test_(match|exclude|explain|group_by|reload_named|systemd|cgroup_|containers|pods|kube)"
)


@pytest.hookimpl(tryfirst=True)  # before the names of groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        by_name = _BY_NAME.match(item.path.name) and "unit" not in item.path.parts
        group = "names" if by_name else item.path.name
        item.add_marker(pytest.mark.xdist_group("alone" if is_alone(item) else group))
    items.sort(key=is_alone)  # last, when the others are done


def is_alone(item: pytest.Item) -> bool:
    return item.get_closest_marker("alone") is not None


@pytest.fixture(autouse=True)
def _room(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Tests that are alone keep out all others, unit tests aside."""
    if "PYTEST_XDIST_WORKER" not in os.environ or "unit" in request.node.path.parts:
        yield
        return
    place = tmp_path_factory.getbasetemp().parent / "room"
    with place.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if is_alone(request.node) else fcntl.LOCK_SH)
        yield


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = len(reporter.stats.get("skipped", [])) if reporter else 0
    if os.environ.get("CI") and skipped and exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"CI: {skipped} tests were skipped, which is a failure", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
