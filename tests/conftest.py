"""In CI nothing that matters is skipped: a test that did not run is a failure.

Tests run one after the other; with PYTEST_ARGS="-n 2" two at a time, which is faster: one waits for
a compiler or a clock while the other goes on. What could see the other's processes is kept apart
here: tests that follow by names, which others use as well, come one after the other; those that are
`alone` follow the whole machine, and wait until nobody else is at it.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.kernel.cgroup_tree import ROOT, remove_leftovers

collect_ignore = ["vm"]  # they set the clock: scripts/test-vm runs them, by name

settings.register_profile("proctree", deadline=None)  # no time limits in tests
settings.load_profile("proctree")

_BY_NAME = re.compile(
    r"test_(match|exclude|explain|group_by|reload_named|systemd|cgroup_|containers|pods|kube)"
)


class _ByFile(LoadScopeScheduling):
    """Tests of a file share fixtures, and so a worker; those that follow by names are one file."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        by_name = _BY_NAME.match(Path(path).name) and "/unit/" not in path
        return "names" if by_name else path


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _ByFile:
    return _ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=is_alone)  # last, when the others of the file are done


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


def pytest_sessionstart(session: pytest.Session) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ and os.geteuid() == 0 and ROOT.exists():
        remove_leftovers()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = len(reporter.stats.get("skipped", [])) if reporter else 0
    if os.environ.get("CI") and skipped and exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"CI: {skipped} tests were skipped, which is a failure", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
