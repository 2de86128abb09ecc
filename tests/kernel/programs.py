"""What tests of `match` share: programs under any name, configs, and who counted what."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.harness import Scrape, Workload, workload

Build = Callable[..., Path]


@contextmanager
def programs(build: Build) -> Iterator[Path]:
    """A folder that every user may read, with the program `steps` (workloads/steps.c)."""
    with tempfile.TemporaryDirectory(prefix="programs-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(build("steps", "-static"), folder / "steps")
        yield folder


def copy(folder: Path, name: str) -> Path:
    """The program under another name, which may be a path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / "steps", path)
    return path


def config(*targets: Mapping[str, Any], **top: Any) -> str:
    """As YAML, of which JSON is a part."""
    return json.dumps({"targets": targets, **top}, ensure_ascii=False)


def run(*command: str | Path, **options: Any) -> None:
    """To the end, which must be a good one."""
    subprocess.run([*map(str, command)], check=True, stdin=subprocess.DEVNULL, **options)


@contextmanager
def waiting(program: Path, *steps: str) -> Iterator[Workload]:
    """One that has come to its first `wait`."""
    with workload(program, *steps) as it:
        it.expect("ready")
        yield it


def finish(*workloads: Workload) -> None:
    """They go on, to their ends and those of all that they began."""
    for it in workloads:
        it.go()
        assert it.process.stdout
        assert it.process.stdout.read() == ""
        assert it.process.wait() == 0


def counted(scrape: Scrape, syscall: str = "getppid") -> dict[str, float]:
    """Calls by target, or by target's further labels; only those that were made."""
    return scrape.all("proctree_syscalls_total", syscall=syscall)


def exe_of(it: Workload) -> str:
    """As /proc names it; bytes that are no text as os.fsdecode has them."""
    return str(Path(f"/proc/{it.pid}/exe").readlink())
