"""Which workload a pod belongs to, as people know it: the Deployment, not its ReplicaSet.

Told by the pod alone: its owner's name, and the labels that controllers put on it. To ask for the
owner of the owner would need more rights than those on pods.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

#: The label whose value ends the ReplicaSet's name, by the kind of what made the ReplicaSet.
_TEMPLATE_HASHES = {
    "Deployment": "pod-template-hash",
    "Rollout": "rollouts-pod-template-hash",  # of Argo
}
_STAMPED = re.compile(r"(.+)-(\d{8,10})")


def workload(kind: str, name: str, labels: Mapping[str, str]) -> tuple[str, str]:
    """(name, kind) of the workload, from the pod's controller and the pod's labels."""
    if kind == "ReplicaSet":
        for maker, label in _TEMPLATE_HASHES.items():
            stem = name.removesuffix(f"-{labels.get(label, '')}")
            if stem not in (name, ""):
                return stem, maker
    if kind == "Job":
        stamped = _STAMPED.fullmatch(name)
        if stamped and _is_schedule(int(stamped[2])):
            return stamped[1], "CronJob"
    return name, kind


def _is_schedule(stamp: int) -> bool:
    """Whether a CronJob would write it: minutes since 1970, or seconds before Kubernetes 1.21.

    Both count from 2017 here, and seconds end in 2033, so that a date that somebody wrote
    (backup-20250131, backup-2025013123) is none.
    """
    return 24_720_000 <= stamp < 100_000_000 or 1_483_228_800 <= stamp < 2_000_000_000
