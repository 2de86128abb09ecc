"""How long an exposition takes: `python tests/bench/render.py`, ms for each format, best of 5."""

from __future__ import annotations

import random
import time

from exporter.model.histogram import bucket_count
from exporter.model.snapshot import Call, Snapshot, TargetState
from exporter.publish.exposition import Exposition
from exporter.publish.negotiate import Format
from exporter.publish.shape import Shape

SCALE = 2


def snapshot(calls: int) -> Snapshot:
    """60 calls to the target, each with about 20 buckets in use and two errors."""
    rng = random.Random(1)
    made = []
    for number in range(calls):
        buckets = [0] * bucket_count(SCALE)
        for _ in range(20):
            buckets[min(max(int(rng.gauss(60, 8)), 0), len(buckets) - 1)] += rng.randrange(1, 10**6)
        errors = (("EAGAIN", rng.randrange(1, 999)), ("ENOENT", rng.randrange(1, 999)))
        target, syscall = f"/kubepods.slice/pod{number // 60}", f"call{number % 60}"
        made.append(Call(target, syscall, 3, rng.randrange(10**15), buckets, errors, 10**18))
    targets = [
        TargetState(f"/kubepods.slice/pod{number}", "cgroup", "/kubepods.slice/**", True, 1, 9,
                    {}, 7, 7, {}, 10**18)
        for number in range(-(-calls // 60))
    ]  # fmt: skip
    return Snapshot(10**18, 10**18, SCALE, made, [], targets, {"map_full": 0})


def best_ms(exposition: Exposition, subject: Snapshot, format_: Format, gzip: bool) -> float:
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        exposition.render(subject, format_, gzip=gzip)
        times.append(time.perf_counter() - begin)
    return min(times) * 1000


def main() -> None:
    for calls in (550, 5500):
        subject = snapshot(calls)
        exposition = Exposition()
        text = exposition.render(subject, Format.TEXT)
        samples = sum(not line.startswith(b"#") for line in text.splitlines())
        print(f"{calls} calls, {samples} samples, {len(text) >> 10} KiB of text")
        for format_ in Format:
            plain, gzip = (best_ms(exposition, subject, format_, gzip) for gzip in (False, True))
            print(f"  {format_.value:12} {plain:7.1f} ms, with gzip {gzip:7.1f} ms")
        by_class = best_ms(Exposition(Shape(by="both")), subject, Format.TEXT, gzip=False)
        print(f"  {'by: both':12} {by_class:7.1f} ms as text")


if __name__ == "__main__":
    main()
