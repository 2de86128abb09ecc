"""A running exporter takes over the ConfigMap as the kubelet brings it, unless it is broken.

The kubelet writes a folder for each version, and makes all of it visible at once by renaming a link
over another (pkg/volume/util/atomic_writer.go): no file changes, and no file's folder does.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.caller import Caller, caller, until
from tests.harness import Exporter, exporter
from tests.helm.chart import config, needs_helm, render

pytestmark = needs_helm
SUCCESSFUL = "proctree_exporter_config_last_reload_successful"


class Mounted:
    """A ConfigMap in a pod."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "config.yaml"
        self._data, self._versions = folder / "..data", count()

    def write(self, text: str) -> None:
        """A new version, and the end of the one before."""
        before = self._data.resolve()
        version = self.folder / f"..2026_11_20_{next(self._versions)}"
        version.mkdir()
        (version / "config.yaml").write_text(text)
        link = self.folder / "..data_tmp"
        link.symlink_to(version.name)
        link.rename(self._data)
        if not self.file.is_symlink():
            self.file.symlink_to("..data/config.yaml")
        if before != self._data:
            shutil.rmtree(before)


def following(**pids: int) -> str:
    """What the chart makes of a list of targets."""
    targets = [{"name": name, "pid": pid} for name, pid in pids.items()]
    return config(render({"config": {"targets": targets, "labels": None, "limits": {"trees": 8}}}))


class Followed:
    """A process that is followed, and how many calls it has made."""

    def __init__(self, running: Exporter, process: Caller, mounted: Mounted) -> None:
        self.running, self.process, self.mounted, self.calls = running, process, mounted, 0

    def counts_on(self) -> None:
        """Exactly, from where it was."""
        self.process.call(10_007)
        self.calls += 10_007
        assert self.running.scrape().calls("it", "getppid") == self.calls

    def successful(self) -> float:
        return self.running.scrape().value(SUCCESSFUL)


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Followed]:
    mounted = Mounted(tmp_path_factory.mktemp("mounted"))
    with caller() as it:
        mounted.write(following(it=it.pid))
        with exporter("[1]", f"--config.file={mounted.file}") as running:
            yield Followed(running, it, mounted)


@pytest.mark.parametrize(
    ("part", "broken", "says"),
    [
        (r"pid: \d+", "pid: nobody", "expected a PID from 1 to 4194304, found the text 'nobody'"),
        ("pid:", "pidd:", "unknown key 'pidd'; did you mean 'pid'?"),
        ("targets:.*", "targets: []", "expected a list of targets, found an empty list"),
        ("targets:.*", "targets: [", "not valid YAML"),
        ("trees: 8", "trees: 9", "limits.trees is fixed at start (now 8, found 9)"),
    ],
)
def test_a_broken_one_is_refused_and_the_old_one_goes_on(
    followed: Followed, part: str, broken: str, says: str
) -> None:
    """A metric and a log line say so; counts go on, to the last call."""
    followed.counts_on()
    good = following(it=followed.process.pid)
    text, found = re.subn(part, broken, good, flags=re.DOTALL)
    assert found == 1
    followed.mounted.write(text)
    until(lambda: followed.successful() == 0, "it is refused")
    until(lambda: says in followed.running.log, f"the log says: {says}")
    followed.counts_on()
    followed.mounted.write(good)
    until(lambda: followed.successful() == 1, "the good one is taken")
    followed.counts_on()


def test_a_good_one_is_taken_over_without_a_restart(followed: Followed) -> None:
    """A target that comes is followed from then on, and those that stay keep their counts."""
    followed.counts_on()
    with caller() as other:
        followed.mounted.write(following(other=other.pid, it=followed.process.pid))

        def both() -> bool:
            return followed.running.scrape().value("proctree_target_up", target="other") == 1

        until(both, "the other is followed")
        other.call(1009)
        assert followed.running.scrape().calls("other", "getppid") == 1009
        followed.counts_on()
        followed.mounted.write(following(it=followed.process.pid))
        until(lambda: not both(), "the other is not followed any more")
        followed.counts_on()
    assert followed.running.scrape().lost() == 0
