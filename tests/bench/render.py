"""How long an exposition takes: `python tests/bench/render.py`, ms for each format, best of 5."""

from __future__ import annotations

import random
import time

from exporter.model.histogram import bucket_count
from exporter.model.labels import LabelSet
from exporter.model.snapshot import Call, Snapshot, TargetState, TreeState
from exporter.publish.exposition import Exposition
from exporter.publish.negotiate import Format
from exporter.publish.shape import Shape

SCALE = 2
CALLS = 60  # of each tree
#: The buckets of config/examples/kubernetes.yaml: 2**-16 s to 2**4 s by 16, as the kernel's.
BOUNDS = tuple(((log2 + 30) << SCALE) - 1 for log2 in range(-16, 5, 4))


def snapshot(trees: int) -> Snapshot:
    """So many pods of one target, each call with about 20 buckets in use and two errors."""
    rng = random.Random(1)
    calls, states = [], []
    for number in range(trees):
        labels: LabelSet = (
            ("target", "pods"), ("namespace", f"team-{number % 7}"),
            ("pod", f"web-5c9d7f8b6d-{number:05}"), ("container", "app"), ("workload", "web"),
        )  # fmt: skip
        info = {"kind": "kubernetes", "root": ""}
        states.append(TreeState(labels, 9, {}, 7, 7, {}, 10**18, info))
        for call in range(CALLS):
            buckets = [0] * bucket_count(SCALE)
            for _ in range(20):
                at = min(max(int(rng.gauss(60, 8)), 0), len(buckets) - 1)
                buckets[at] += rng.randrange(1, 10**6)
            errors = (("EAGAIN", rng.randrange(1, 999)), ("ENOENT", rng.randrange(1, 999)))
            sum_ns = rng.randrange(10**15)
            calls.append(Call(labels, f"call{call}", 3, sum_ns, buckets, errors, 10**18))
    names = tuple(name for name, _ in states[0].labels)
    targets = [TargetState("pods", (), True, trees, BOUNDS)]
    return Snapshot(10**18, 10**18, SCALE, calls, [], states, targets, {}, names)


def best_ms(exposition: Exposition, subject: Snapshot, format_: Format, *, gzip: bool) -> float:
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        exposition.render(subject, format_, gzip=gzip)
        times.append(time.perf_counter() - begin)
    return min(times) * 1000


def main() -> None:
    for trees in (10, 110, 1000):
        subject = snapshot(trees)
        for shape in (Shape(), Shape(by="both", classic="class")):
            exposition = Exposition(shape)
            text = exposition.render(subject, Format.TEXT)
            samples = sum(not line.startswith(b"#") for line in text.splitlines())
            print(f"{trees} trees, {shape}: {samples} samples, {len(text) >> 10} KiB of text")
            for format_ in Format:
                plain, gzip = (
                    best_ms(exposition, subject, format_, gzip=gzip) for gzip in (False, True)
                )
                print(f"  {format_.value:12} {plain:7.1f} ms, with gzip {gzip:7.1f} ms")


if __name__ == "__main__":
    main()
