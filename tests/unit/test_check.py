"""`check --estimate-series`: what is said beforehand is what comes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from exporter import cli
from exporter.config.load import parse
from exporter.costs import costs_of, estimate, most_trees, reserved
from exporter.errors import ConfigError
from exporter.model.admission import Price

PODS = """
labels: [namespace, pod, container, workload]
targets: [{name: pods, kubernetes: {}}]
histograms: {by: both, classic: class, buckets: [%s]}
limits: {trees: %d}
"""
FOUR = "0.0000152587890625, 0.0009765625, 0.0625, 4"
SIX = "0.0000152587890625, 0.000244140625, 0.00390625, 0.0625, 1, 16"


def said(
    capsys: pytest.CaptureFixture[str], path: Path, text: str, *flags: str
) -> tuple[int, list[str]]:
    path.write_text(text)
    status = cli.run(["check", "--config.file", str(path), *flags])
    return status, [line for line in capsys.readouterr().out.splitlines() if "estimate" in line]


def test_110_pods_fit_and_nothing_is_folded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a rendered scrape of the same pods shows; with what is set aside for `other`."""
    path = tmp_path / "c.yaml"
    assert said(capsys, path, PODS % (FOUR, 512), "--estimate-series", "110") == (0, [
        "estimate: 110 trees, each with 60 different calls, 12 different errors and 4 calls in"
        " flight, take 18945 of 20000 samples in text, and 17730 of 20000 series where Prometheus"
        " takes native histograms",
        "estimate: nothing is folded into other",
    ])  # fmt: skip
    found = estimate(parse(PODS % (FOUR, 512), "f"), 110)
    assert (found.trees, found.shared, found.folded) == (110, 0, 0)
    assert found.used == Price(18_945, 17_730)


def test_what_is_folded_is_said_and_how_many_trees_would_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The number that fits is the largest that does."""
    config = parse(PODS % (SIX, 512), "f")
    most = most_trees(config, 110)
    assert estimate(config, most).folded == 0
    assert estimate(config, most + 1).folded > 0
    assert most_trees(config, most - 1) == most - 1
    _, lines = said(capsys, tmp_path / "c.yaml", PODS % (SIX, 512), "--estimate-series", "110")
    assert f"nothing is folded up to {most} trees" in lines[1]
    assert "0 trees have no series of their own" in lines[1]


def test_trees_that_would_share_other_are_counted() -> None:
    """There is room for some hundred label sets, whatever they call."""
    config = parse(PODS % (FOUR, 4096), "f")
    found = estimate(config, 2000)
    assert found.shared == 2000 - (19_000 - 25) // 23
    assert found.used.text <= 20_000


def test_without_a_number_it_is_limits_trees(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the kernel has room for at most."""
    _, lines = said(capsys, tmp_path / "c.yaml", PODS % (FOUR, 77), "--estimate-series")
    assert lines[0].startswith("estimate: 77 trees")


def test_targets_of_one_tree_are_no_more_than_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two PIDs are two trees, however many are asked for; a pattern takes the rest."""
    path = tmp_path / "c.yaml"
    _, lines = said(capsys, path, "[1, 2]", "--estimate-series", "9")
    assert lines[0].startswith("estimate: 2 trees")
    assert lines[1] == "estimate: these targets are 2 trees at most, not 9"
    text = "[1, {name: x, cgroup: /y/*}, {name: z, pid: 3, group_by: comm}]"
    _, lines = said(capsys, path, text, "--estimate-series", "9")
    assert lines[0].startswith("estimate: 9 trees")
    assert len(lines) == 2


@pytest.mark.parametrize("number", ["0", "-1", "x", "4097", "9" * 5000, "\u0663"])
def test_a_number_that_is_none_is_bad_usage(
    number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what was expected, and no traceback."""
    with pytest.raises(SystemExit) as ended:
        said(capsys, tmp_path / "c.yaml", "[1]", f"--estimate-series={number}")
    assert ended.value.code == 2
    assert "expected a number of trees from 1 to 4096" in capsys.readouterr().err


def test_a_config_is_refused_whose_reserve_does_not_fit() -> None:
    """Each target with room for one label set; one sample less, and it is refused."""
    text = "{histograms: {by: both}, targets: [1, 2, {name: x, pid: 3, buckets: [1, 4, 16]}]}"
    config = parse(text, "f")
    # Of each: 14 of its own; of `other` a call, 1 + 16, a class, 16, an error, in flight 2. Of one,
    # 10 buckets fewer, twice.
    needed = 3 * (14 + 17 + 16 + 1 + 2) - 20
    assert reserved(config, costs_of(config)).most == needed
    costs_of(replace(config, limits=replace(config.limits, series=needed)))
    with pytest.raises(ConfigError, match=f"the 3 targets alone need {needed}: raise it"):
        costs_of(replace(config, limits=replace(config.limits, series=needed - 1)))


def test_shapes_decide_what_a_call_costs() -> None:
    """In text the buckets count; where native histograms go out, in protobuf they do not."""
    text = "{histograms: {%s}, targets: [1]}"
    prices = {}
    for shape in ("by: syscall", "by: class", "by: both, classic: class", "native: false",
                  "classic: false"):  # fmt: skip
        config = parse(text % shape, "f")
        prices[shape] = costs_of(config).of(config.targets[0])
    assert {shape: (found.call, found.class_) for shape, found in prices.items()} == {
        "by: syscall": (Price(17, 2), Price(0, 0)),
        "by: class": (Price(1, 1), Price(16, 1)),
        "by: both, classic: class": (Price(1, 2), Price(16, 1)),
        "native: false": (Price(17, 17), Price(0, 0)),
        "classic: false": (Price(4, 2), Price(0, 0)),
    }
