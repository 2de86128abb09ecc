"""Which series of one label set are exposed: decisions that are taken once.

A call, a class or an error is admitted when it is first seen, or folded into `other` for good: an
admitted one never moves, so `other` only grows and sums stay exact. Room for the label set's own
metrics and for its `other` is set aside before there is a `Places`.
"""

from __future__ import annotations

from exporter.kernel.syscalls import OTHER
from exporter.model.admission import NOTHING, Budget, Price, Prices
from exporter.model.classes import class_of


class Places:
    """The names under which the calls and errors of one label set are exposed."""

    def __init__(self, budget: Budget, prices: Prices, since_ns: int) -> None:
        self.prices = prices
        self.calls: dict[str, int] = {OTHER: since_ns}  # admitted -> since when
        self._budget = budget
        self._classes = {OTHER}
        self._errors = {(OTHER, OTHER)}
        self._folded_calls: set[str] = set()
        self._folded_errors: set[tuple[str, str]] = set()
        self._shown: dict[str, int] = {}  # counts shown last, where it may soon matter
        self._moved: dict[str, int | None] = {}  # the same of calls with errors without a place

    def price(self, prices: Prices) -> Price:
        """What was taken, at these prices, beside what is set aside for every label set."""
        return (
            prices.call * (len(self.calls) - 1)
            + prices.class_ * (len(self._classes) - 1)
            + prices.error * (len(self._errors) - 1)
        )

    @property
    def folded(self) -> int:
        """How many samples went into `other` instead."""
        calls = self.prices.call * len(self._folded_calls)
        return (calls + self.prices.error * len(self._folded_errors)).text

    def call(self, syscall: str, since_ns: int) -> str:
        """The name under which a call is exposed; `since_ns` is when it was 0, if it is new."""
        if syscall in self.calls:
            return syscall
        if syscall not in self._folded_calls:
            class_ = class_of(syscall)
            price = NOTHING if class_ in self._classes else self.prices.class_
            if self._budget.take(price + self.prices.call):
                self._classes.add(class_)
                self.calls[syscall] = max(since_ns, self.calls[OTHER])
                self._shown[syscall] = 0
                return syscall
            self._folded_calls.add(syscall)
        return OTHER

    def shown(self, syscall: str) -> str | None:
        """The name under which a call is exposed; None where it has not been seen yet."""
        if syscall in self.calls:
            return syscall
        return OTHER if syscall in self._folded_calls else None

    def error(self, syscall: str, errno: str) -> str | None:
        """The name under which an error of an exposed call goes out; None: see `move`."""
        key = (syscall, errno)
        if key in self._errors:
            return errno
        if errno != OTHER and key not in self._folded_errors:
            if self._budget.take(self.prices.error):
                self._errors.add(key)
                return errno
            self._folded_errors.add(key)
        if (syscall, OTHER) in self._errors:
            return OTHER
        if syscall in self._moved:
            return None
        if self._budget.take_spare(self.prices.error):
            self._errors.add((syscall, OTHER))
            return OTHER
        self._moved[syscall] = self._shown.get(syscall)
        return None

    def move(self, syscall: str, count: int, homeless: int) -> int:
        """How many failed calls go out in the call `other`, errors and all, instead of in this one.

        Where there is no room for one more sample, errors have no series that they may go to: in
        that of `other` they could exceed its calls. So the calls that failed go with them. No
        count ever falls: an error whose call was shown here already waits for the next call.
        """
        if syscall not in self._moved:
            return 0
        shown = self._moved[syscall]
        moved = min(homeless, count - (count if shown is None else shown))
        self._moved[syscall] = count - moved
        return moved

    @property
    def tight(self) -> bool:
        """Whether the next error may find no room."""
        return self._budget.tight

    def remember(self, shown: dict[str, int]) -> None:
        """The counts shown now, for `move`; nothing, unless the budget is tight."""
        self._shown = shown
