"""A child that restricts itself is its parent's, unless forks are not followed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.kernel.test_calls import calls_of, counted

RESTRICT = {"prctl", "landlock_create_ruleset", "landlock_restrict_self", "exit_group"}


def test_a_child_that_restricts_itself(build: Callable[..., Path]) -> None:
    """Its landlock calls show under its parent's target, whether or not the kernel has landlock."""
    calls = calls_of(counted(build("restricted")))
    assert {name: calls.get(name, 0) for name in RESTRICT} == dict.fromkeys(RESTRICT, 3)
    assert calls["getppid"] == 7
    assert calls["fork"] == 3


def test_a_child_that_is_not_followed(build: Callable[..., Path]) -> None:
    """With `follow_forks: false` none of its calls shows; its parent's all do."""
    calls = calls_of(counted(build("restricted"), target=", follow_forks: false"))
    assert calls == {"getppid": 7, "fork": 3, "wait4": 3}
