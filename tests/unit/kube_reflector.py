"""A reflector against a hand-written server, step by step."""

from __future__ import annotations

import pytest

from exporter.metadata.kubernetes import Pods
from exporter.metadata.kubernetes.client import Client
from exporter.metadata.kubernetes.failure import Failure
from exporter.metadata.kubernetes.health import Health
from exporter.metadata.kubernetes.reflector import Reflector
from exporter.model.metadata import ContainerRef
from tests.unit.kube_server import KubeServer


class Reflecting:
    """A reflector, and all around it."""

    def __init__(self, server: KubeServer) -> None:
        self.server, self.pods, self.health = server, Pods(), Health()
        self.reflector = Reflector(Client(server.where()), "node-1", self.pods, self.health)

    def step(self) -> None:
        self.reflector.step()

    def fails(self) -> str:
        with pytest.raises(Failure) as caught:
            self.step()
        return caught.value.reason

    def known(self, *uids: str) -> list[bool]:
        """Whether each is there; not whether it has been."""
        found = [self.pods.facts(ContainerRef("", "?", uid)) for uid in uids]
        return [facts is not None and not facts.complete for facts in found]

    @property
    def in_step_at(self) -> float:
        """By the monotonic clock."""
        assert self.health._in_step_at
        return self.health._in_step_at

    @property
    def asked(self) -> dict[str, str]:
        """The query of the last request, but for what all have."""
        query = dict(self.server.asked[-1].query)
        assert query.pop("fieldSelector") == "spec.nodeName=node-1"
        return query
