"""What is left to somebody who took the running exporter over: attempts, one by one.

tests/kernel/confined.py makes them, once confined as the exporter is and once free, so that what is
refused is known to be possible.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness import ROOT

_VICTIM = """
import ctypes, sys
secret = ctypes.create_string_buffer(b"a secret")
print(ctypes.addressof(secret), flush=True)
sys.stdin.read()
"""
_NOT_HERE = "ENOSYS"  # and nobody else's: see the free ones


def attempts(folder: Path, *free: str) -> Any:
    victim = subprocess.Popen(
        [sys.executable, "-c", _VICTIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with victim, socket.socket(socket.AF_UNIX) as engine:
        assert victim.stdin
        assert victim.stdout
        folder.mkdir()
        engine.bind(str(folder / "engine"))
        engine.listen()
        arguments = [str(victim.pid), victim.stdout.readline().strip(), str(folder / "engine")]
        said = subprocess.run(
            [sys.executable, "-m", "tests.kernel.confined", *arguments, str(folder), *free],
            stdout=subprocess.PIPE, check=True, cwd=ROOT,
        )  # fmt: skip
        return json.loads(said.stdout)


@pytest.fixture(scope="module")
def confined(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return attempts(tmp_path_factory.mktemp("confined") / "it")


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return attempts(tmp_path_factory.mktemp("free") / "it", "free")


def test_all_of_it_was_done(confined: Any) -> None:
    """The filter is loaded, here and wherever the tests run."""
    assert confined["lacks"] == []


def test_none_of_the_refused_is_there(confined: Any, free: Any) -> None:
    """As if the kernel did not have it; and it has: without the filter the same is no ENOSYS."""
    assert {what for what, became in free["refused"].items() if became == _NOT_HERE} == set()
    assert {
        what: became for what, became in confined["refused"].items() if became != _NOT_HERE
    } == {}


def test_what_it_needs_goes_on(confined: Any) -> None:
    """Maps, threads, names, files to read, other processes."""
    assert {what: became for what, became in confined["allowed"].items() if became != "ok"} == {}
