"""The pods that are known, and what is answered about them.

One thread writes, others read; all of it is bounded. What is gone stays known for a while, so that
the last numbers of a short-lived container find their labels.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from exporter.metadata.kubernetes.pod import Container, Pod
from exporter.model.metadata import SANDBOX, ContainerRef, Facts

MOST = 10_000
#: Of one pod's labels and containers: more than a cluster's own make, less than hurts.
MOST_CHARACTERS = 65_536
KEEP_S = 300.0


class Pods:
    """Pods and their containers, by what a cgroup's path tells. Implements `Metadata`."""

    def __init__(
        self,
        most: int = MOST,
        keep_s: float = KEEP_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._keep_s, self._clock = most, keep_s, clock
        self._lock = threading.Lock()
        self._version = 0
        self._pods: dict[str, Pod] = {}
        self._containers: dict[str, tuple[str, Container]] = {}  # id -> UID of its pod, itself
        self._static: dict[str, str] = {}  # config hash -> UID
        # Since when, oldest first.
        self._gone_pods: dict[str, float] = {}
        self._gone_containers: dict[str, float] = {}

    def __len__(self) -> int:
        """How many are there; without those that are gone."""
        with self._lock:
            return len(self._pods) - len(self._gone_pods)

    def version(self) -> int:
        return self._version

    def facts(self, ref: ContainerRef) -> Facts | None:
        """Where all containers of the pod are known and this is none of them, it is the sandbox: or
        one that the API has not heard of yet, so that is not complete."""
        with self._lock:
            uid, container = self._containers.get(ref.id, (ref.pod_uid, None))
            uid = uid if uid in self._pods else self._static.get(uid, "")
            pod = self._pods.get(uid)
            if pod is None:
                return None
            ended = pod.ended or uid in self._gone_pods
        unknown = SANDBOX if ref.id and pod.settled else ""
        return Facts(
            namespace=pod.namespace,
            pod=pod.name,
            container=container.name if container else unknown,
            workload=pod.workload,
            workload_kind=pod.workload_kind,
            image=container.image if container else "",
            pod_labels=pod.labels,
            # The runtime makes the cgroup before the API hears of the container.
            complete=container is not None or not ref.id or ended,
        )

    def put(self, pod: Pod) -> bool:
        """Adds or replaces one; False where there is no room for it."""
        with self._lock:
            old = self._pods.get(pod.uid)
            if pod.size > MOST_CHARACTERS or (old is None and not self._make_room()):
                return False
            back = self._gone_pods.pop(pod.uid, None) is not None
            if pod == old and not back:
                return True
            self._pods[pod.uid] = pod
            if pod.config_hash:
                self._static[pod.config_hash] = pod.uid
            for id_, container in pod.containers.items():
                self._containers[id_] = pod.uid, container
                self._gone_containers.pop(id_, None)
            for id_ in (old.containers.keys() if old else set()) - pod.containers.keys():
                self._gone_containers.setdefault(id_, self._clock())
            while len(self._gone_containers) > self._most:
                self._forget_container(next(iter(self._gone_containers)))
            self._version += 1
            return True

    def retire(self, uids: Iterable[str]) -> None:
        """These are no more; unknown ones are ignored."""
        with self._lock:
            for uid in uids:
                if uid in self._pods and uid not in self._gone_pods:
                    self._gone_pods[uid] = self._clock()
                    self._version += 1

    def retire_others(self, uids: set[str]) -> None:
        """All but these are no more."""
        self.retire(self._pods.keys() - uids)

    def tidy(self) -> None:
        """Forgets what has been gone for long enough. Call it every now and then."""
        with self._lock:
            old = self._clock() - self._keep_s
            for uid in [uid for uid, since in self._gone_pods.items() if since <= old]:
                self._forget_pod(uid)
            for id_ in [id_ for id_, since in self._gone_containers.items() if since <= old]:
                self._forget_container(id_)

    def _make_room(self) -> bool:
        if len(self._pods) >= self._most and self._gone_pods:
            self._forget_pod(next(iter(self._gone_pods)))
        return len(self._pods) < self._most

    def _forget_pod(self, uid: str) -> None:
        self._gone_pods.pop(uid)
        pod = self._pods.pop(uid)
        # A mirror pod that was made anew has another UID, and the same hash and containers.
        for id_ in pod.containers:
            if self._containers.get(id_, ("",))[0] == uid:
                del self._containers[id_]
        if self._static.get(pod.config_hash) == uid:
            del self._static[pod.config_hash]
        self._version += 1

    def _forget_container(self, id_: str) -> None:
        self._gone_containers.pop(id_)
        self._containers.pop(id_, None)
        self._version += 1
