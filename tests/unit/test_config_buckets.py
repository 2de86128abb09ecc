"""Classic bounds are the kernel's own, to the last bit, or a mistake that names the nearest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.config.load import parse
from exporter.errors import ConfigError
from exporter.model.histogram import MAX_SCALE, bucket_count, upper_bound

SCALES = st.integers(0, MAX_SCALE)


def buckets(listed: str, scale: int = 2) -> tuple[float, ...] | None:
    text = f"targets: [{{pid: 1, buckets: {listed}}}]\nhistograms: {{scale: {scale}}}"
    return parse(text, "c.yaml").targets[0].buckets


def refused(listed: str, scale: int = 2) -> str:
    with pytest.raises(ConfigError) as caught:
        buckets(listed, scale)
    return str(caught.value)


def test_without_buckets_the_default_holds() -> None:
    """None stands for the default bounds; a target need not list them."""
    assert parse("- 1", "c.yaml").targets[0].buckets is None


@given(SCALES.flatmap(lambda s: st.tuples(st.just(s), st.integers(0, bucket_count(s) - 1))))
def test_every_bound_of_the_kernel_is_known_by_nine_digits(at: tuple[int, int]) -> None:
    """Nine digits, as our own messages print them, mean exactly the bound of the kernel."""
    scale, index = at
    bound = upper_bound(index, scale)
    assert buckets(f"[{bound:.9g}]", scale) == (bound,)


@given(SCALES, st.floats(1e-12, 1e12))
def test_what_is_no_bound_is_refused_with_its_neighbours(scale: int, seconds: float) -> None:
    """A value is snapped within 1e-6 of a bound; else the bounds named enclose it, and are good."""
    bounds = [upper_bound(i, scale) for i in range(bucket_count(scale))]
    near = [bound for bound in bounds if abs(seconds - bound) <= 1e-6 * bound]
    if near:
        assert buckets(f"[{seconds!r}]", scale) == tuple(near)
        return
    named = refused(f"[{seconds!r}]", scale).split("the nearest: ")[1].split(" and ")
    expected = [*[b for b in bounds if b < seconds][-1:], *[b for b in bounds if b > seconds][:1]]
    assert buckets(f"[{', '.join(named)}]", scale) == tuple(expected)


def test_a_scale_decides_what_a_bound_is() -> None:
    """2^(1/2) s is a bound at scale 1 and none at scale 0."""
    assert buckets("[1, 1.41421356]", scale=1) == (1.0, 2**0.5)
    assert refused("[1, 1.41421356]", scale=0) == (
        "c.yaml:1:33: buckets: expected a bound of the kernel at scale 0, "
        "found the number 1.41421356; the nearest: 1 and 2"
    )


def test_bounds_increase() -> None:
    """Equal after snapping is not increasing."""
    assert refused("[0.5, 0.50000001]") == (
        "c.yaml:1:35: buckets: expected bounds that increase, found the number 0.50000001 "
        "after 0.5; sort them and remove doubles"
    )
    assert "c.yaml:1:33: buckets: expected bounds that increase" in refused("[4, 1]")


def test_at_most_64_bounds() -> None:
    """64 are good, the 65th is refused where it stands."""
    powers = [format(upper_bound(i, 2), ".9g") for i in range(65)]
    assert len(buckets(f"[{', '.join(powers[:64])}]") or ()) == 64
    assert refused(f"[{', '.join(powers)}]").endswith(
        "buckets: expected at most 64 bounds, found 65"
    )


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("[]", "a list of bounds in seconds, found an empty list; leave it out for ours"),
        ("5", "a list of bounds in seconds, found the number 5; leave it out for ours"),
        ("[.inf]", "a bound in seconds, above 0, found the number .inf; "
         "leave it out: +Inf is always there"),
        ("[.nan]", "a bound in seconds, above 0, found the number .nan"),
        ("[-1]", "a bound in seconds, above 0, found the number -1"),
        ("[0]", "a bound in seconds, above 0, found the number 0"),
        ("[true]", "a bound in seconds, above 0, found true"),
        ("['1']", "a bound in seconds, above 0, found the text '1'; write it without quotes"),
        ("[10ms]", "a bound in seconds, above 0, found the text '10ms'"),
    ],
)  # fmt: skip
def test_what_is_no_number_of_seconds(listed: str, message: str) -> None:
    """Bounds are positive finite numbers, in a list that is not empty."""
    assert refused(listed).endswith(f"buckets: expected {message}")


def test_with_a_wrong_scale_only_the_scale_is_reported() -> None:
    """Bounds cannot be judged without a scale; they are not blamed for it."""
    assert refused("[0.3]", scale=9).count("\n") == 0
