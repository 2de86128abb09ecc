"""Which series may be exposed: a ceiling, and what each thing costs of it.

The ceiling holds twice: for the samples of the text format, and for the series that Prometheus
takes from protobuf, where a native histogram is one. What is taken is taken for good, until its
account expires; `places.py` has the decisions.
"""

from __future__ import annotations

from dataclasses import dataclass

from exporter.model.target import Target

#: One part in so many of the ceiling is not for new names: it is there for the errors of calls that
#: were admitted before it was reached. Gauges, which take nothing for good, may use it meanwhile.
_SPARE = 20


@dataclass(frozen=True, slots=True)
class Price:
    """In samples of the text format, and in series as Prometheus takes them from protobuf."""

    text: int
    native: int

    def __add__(self, other: Price) -> Price:
        return Price(self.text + other.text, self.native + other.native)

    def __sub__(self, other: Price) -> Price:
        return Price(self.text - other.text, self.native - other.native)

    def __mul__(self, times: int) -> Price:
        return Price(self.text * times, self.native * times)

    @property
    def most(self) -> int:
        """By the budget that it weighs on more."""
        return max(self.text, self.native)


NOTHING = Price(0, 0)


@dataclass(frozen=True, slots=True)
class Prices:
    """What the series of one target's label sets cost."""

    own: Price  # processes, threads, start time, forks, execs, exits, info
    call: Price  # its count and its histogram
    class_: Price
    error: Price
    in_flight: Price

    @property
    def account(self) -> Price:
        """What is set aside for each label set: its own metrics, and all of its `other`."""
        return self.own + self.call + self.class_ + self.error + self.in_flight


@dataclass(frozen=True, slots=True)
class Costs:
    """What things cost; the publishing floor knows. `*_bound` is for each classic bound."""

    target: Price  # up, trees
    own: Price
    call: Price
    call_bound: Price
    class_: Price
    class_bound: Price
    error: Price
    in_flight: Price
    bounds: int  # of targets that do not say

    def of(self, target: Target) -> Prices:
        bounds = self.bounds if target.buckets is None else len(target.buckets)
        return Prices(
            own=self.own,
            call=self.call + self.call_bound * bounds,
            class_=self.class_ + self.class_bound * bounds,
            error=self.error,
            in_flight=self.in_flight,
        )

    def reserved(self, target: Target) -> Price:
        """What is set aside for each target: its own metrics, and room for one label set."""
        return self.target + self.of(target).account


class Budget:
    """How much of the ceiling is taken."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = NOTHING

    @property
    def left(self) -> int:
        return self.limit - self.used.most

    @property
    def tight(self) -> bool:
        """Whether the spare part is being used: hardly anything more is admitted."""
        return self.left <= self.limit // _SPARE

    def take(self, price: Price) -> bool:
        """True, and taken, if there is room beside the spare part."""
        return self._take(price, self.limit - self.limit // _SPARE)

    def take_spare(self, price: Price) -> bool:
        """True, and taken, if there is any room at all."""
        return self._take(price, self.limit)

    def _take(self, price: Price, limit: int) -> bool:
        after = self.used + price
        if after.most > limit:
            return False
        self.used = after
        return True
