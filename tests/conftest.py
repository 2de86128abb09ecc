"""In CI nothing that matters is skipped: a test that did not run is a failure."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("proctree", deadline=None)  # no time limits in tests
settings.load_profile("proctree")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = len(reporter.stats.get("skipped", [])) if reporter else 0
    if os.environ.get("CI") and skipped and exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"CI: {skipped} tests were skipped, which is a failure", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
