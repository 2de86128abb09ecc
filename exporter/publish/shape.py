"""Which histograms are shown in which format, and what things cost because of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from exporter.model.admission import NOTHING, Costs, Price
from exporter.model.histogram import CLASSIC_LOG2

_ONE = Price(1, 1)
_PER_TARGET = 2  # up, trees
_PER_LABEL_SET = 12  # info, processes, start time, forks, execs, 4 states, 3 outcomes
_PER_IN_FLIGHT = 2  # how many and how old


@dataclass(frozen=True, slots=True)
class Shape:
    """The setting `histograms`: by what, and in which form.

    With `classic` "class" only the classes have classic buckets; those by call are then native or
    nothing, and so not in text at all.
    """

    by: Literal["syscall", "class", "both"] = "syscall"
    classic: bool | Literal["class"] = True
    native: bool = True

    @property
    def calls_in_text(self) -> bool:
        return self.by != "class" and self.classic != "class"

    @property
    def calls_in_protobuf(self) -> bool:
        return self.calls_in_text or (self.by != "class" and self.native)

    @property
    def by_class(self) -> bool:
        return self.by != "syscall"


def costs(shape: Shape, bounds: int = len(CLASSIC_LOG2)) -> Costs:
    """What things cost; `bounds` is the number of classic bounds of targets that do not say.

    A histogram is in text a bucket per bound, +Inf, the sum and the count. Prometheus takes from
    protobuf the same samples, or, where there is a native one, that and no other.
    """
    histogram = Price(3, 1 if shape.native else 3)
    bound = Price(1, 0 if shape.native else 1) if shape.classic else NOTHING
    by_call = histogram if shape.calls_in_text else Price(0, int(shape.calls_in_protobuf))
    return Costs(
        target=_ONE * _PER_TARGET,
        own=_ONE * _PER_LABEL_SET,
        call=_ONE + by_call,
        call_bound=bound if shape.calls_in_text else NOTHING,
        class_=histogram if shape.by_class else NOTHING,
        class_bound=bound if shape.by_class else NOTHING,
        error=_ONE,
        in_flight=_ONE * _PER_IN_FLIGHT,
        bounds=bounds,
    )
