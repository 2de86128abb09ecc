"""Owners: which target a slot is of, as the config has it now, also when its tree is gone."""

from __future__ import annotations

from exporter.model.resource import Resource
from exporter.model.target import Target
from exporter.telemetry.known import Owner, Owners

A, B = Target("a", "cgroup", cgroup="/a"), Target("b", "cgroup", cgroup="/b")
WEB: Resource = (("service.name", "web"),)
DB: Resource = (("service.name", "db"),)


class World:
    """Trees that are there, that were there, and their names."""

    def __init__(self) -> None:
        self.now: dict[int, Target] = {}
        self.last: dict[int, Target] = {}
        self.names: dict[int, Resource] = {}
        self.owners = Owners(self.now.get, self.last.get, self.names.get)

    def comes(self, slot: int, target: Target, name: Resource | None = WEB) -> None:
        self.now[slot] = self.last[slot] = target
        if name:
            self.names[slot] = name

    def goes(self, slot: int) -> None:
        del self.now[slot]


def test_a_tree_without_a_name_is_nobodys() -> None:
    """Until it has one; that is news, once."""
    world = World()
    world.comes(1, A, name=None)
    assert (world.owners.of(1), world.owners.target_of(1)) == (None, None)
    assert not world.owners.take_news()
    world.names[1] = WEB
    assert world.owners.of(1) == Owner(A, WEB)
    assert (world.owners.take_news(), world.owners.take_news()) == (True, False)
    assert world.owners.target_of(1) is A
    assert not world.owners.take_news()


def test_a_reload_is_seen_at_once() -> None:
    """The target is another one, the Resource stays: it is decided once."""
    world = World()
    world.comes(1, A)
    assert world.owners.of(1) == Owner(A, WEB)
    world.owners.take_news()
    world.comes(1, B, DB)
    assert world.owners.of(1) == Owner(B, WEB)
    assert world.owners.take_news()


def test_a_reload_is_news_without_being_asked_for() -> None:
    """So that who lives in the tree is listed, though nothing happens there."""
    world = World()
    world.comes(1, A)
    world.owners.of(1)
    world.owners.take_news()
    world.comes(1, B)
    assert world.owners.refresh() == []
    assert world.owners.take_news()


def test_a_tree_that_was_gone_before_anybody_asked() -> None:
    """Its last events are on their way."""
    world = World()
    world.comes(1, A)
    world.goes(1)
    assert world.owners.of(1) == Owner(A, WEB)
    assert world.owners.of(2) is None


def test_who_is_gone_is_forgotten_at_the_second_look() -> None:
    """Each slot by itself, and told once; until then it is known."""
    world = World()
    for slot in (1, 2, 3):
        world.comes(slot, A)
        world.owners.of(slot)
    assert world.owners.refresh() == []
    world.goes(1)
    assert world.owners.refresh() == []
    assert world.owners.of(1) == Owner(A, WEB)
    world.goes(2)
    assert world.owners.refresh() == [1]
    assert world.owners.refresh() == [2]
    assert world.owners.refresh() == []
    assert world.owners.of(3) == Owner(A, WEB)


def test_who_is_there_again_begins_anew_to_be_missed() -> None:
    """A target that a reload took off and the next one brought back."""
    world = World()
    world.comes(1, A)
    world.owners.of(1)
    world.goes(1)
    assert world.owners.refresh() == []
    world.comes(1, B)
    assert world.owners.refresh() == []
    world.goes(1)
    assert world.owners.refresh() == []
    assert world.owners.refresh() == [1]
