"""Conjunctions that no passing row meets: the tightest around some rows, the largest around one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import and_

from kvconform.suspects.outcomes import Outcomes
from kvconform.suspects.table import Condition, Conjunction, Rows


class EffortError(Exception):
    """More was tried than the limits allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A conjunction that no passing row meets, and the failing rows that meet it."""

    conjunction: Conjunction
    failed: Rows


class Boxes:
    """Boxes of at most ``order`` axes among measured rows; ``effort`` is how many may be tried."""

    def __init__(self, outcomes: Outcomes, *, order: int, effort: int) -> None:
        self.table = outcomes.table
        self.failed = outcomes.failed
        self.passed = outcomes.passed
        self.order = order
        self.effort = effort
        self._around: dict[int, list[Box]] = {}

    def tightest(self, rows: Rows) -> list[Conjunction]:
        """The conjunctions of fewest axes that all of ``rows`` and no passing row meet."""
        if not self.fit_together(rows):
            return []
        conditions = self._shared(rows)
        for size in range(self.order + 1):
            found = [few for few in combinations(conditions, size) if not self._passing(few)]
            if found:
                return found
        return []

    def nearest(self, rows: Rows) -> Conjunction:
        """The conjunction that all of ``rows`` and fewest passing rows meet, of fewest axes."""
        conditions = self._shared(rows)
        every = (few for size in range(self.order + 1) for few in combinations(conditions, size))
        return min(every, key=lambda few: self._passing(few).bit_count())

    def fit_together(self, rows: Rows) -> bool:
        """Whether all of ``rows`` and no passing row meet some conjunction of any number of axes."""
        return not self._passing(self._shared(rows))

    def around(self, number: int) -> list[Box]:
        """Boxes that a failing row meets, without those that another of as few axes contains.

        Raises `EffortError`.
        """
        if number not in self._around:
            self._around[number] = _outermost(self._found_around(number))
        return self._around[number]

    def spend(self) -> None:
        """Count one more trial; raises `EffortError`."""
        self.effort -= 1
        if self.effort < 0:
            raise EffortError

    def _shared(self, rows: Rows) -> Conjunction:
        """For each axis the values of ``rows``, if a passing row has another one."""
        conditions = ((axis, self.table.values(axis, rows)) for axis in range(len(self.table.axes)))
        return tuple(one for one in conditions if self.passed & ~self.table.with_values(*one))

    def _passing(self, conditions: Iterable[Condition]) -> Rows:
        return reduce(and_, (self.table.with_values(*one) for one in conditions), self.passed)

    def _found_around(self, number: int) -> Iterator[Box]:
        row = 1 << number
        own = [(axis, self.table.values(axis, row)) for axis in range(len(self.table.axes))]
        for size in range(1, self.order + 1):
            for conjunction in combinations(own, size):
                if self._passing(conjunction):
                    continue
                for grown in self._grown(conjunction):
                    failed = self.failed & self.table.meeting(grown)
                    tight = tuple((axis, self.table.values(axis, failed)) for axis, _ in grown)
                    yield Box(conjunction=tight, failed=failed)

    def _grown(self, own: Conjunction) -> Iterator[Conjunction]:
        """The largest conjunctions that include ``own``, which no passing row meets.

        From all values that may be in one, those of passing rows are taken out one by one, in
        every way that leaves the own ones in.  Some that are found are not the largest.
        """
        start = self._start(own)
        todo, seen = [start], {start}
        while todo:
            self.spend()
            conjunction = todo.pop()
            passing = self._passing(conjunction)
            if not passing:
                yield conjunction
                continue
            row = passing & -passing
            for at, (axis, values) in enumerate(conjunction):
                (out,) = self.table.values(axis, row)
                if out in own[at][1]:
                    continue
                rest = tuple(value for value in values if value != out)
                smaller = (*conjunction[:at], (axis, rest), *conjunction[at + 1 :])
                if smaller not in seen:
                    seen.add(smaller)
                    todo.append(smaller)

    def _start(self, own: Conjunction) -> Conjunction:
        """With each value of failing rows that alone, beside the own ones, lets no passing row in."""
        start = []
        for axis, _ in own:
            passing = self._passing(one for one in own if one[0] != axis)
            values = tuple(
                value
                for value in self.table.values(axis, self.failed)
                if not passing & self.table.having[axis][value]
            )
            start.append((axis, values))
        return tuple(start)


def _outermost(boxes: Iterable[Box]) -> list[Box]:
    """Those of fewest axes for the same failing rows, if none of as few axes holds for more.

    ``boxes`` come by number of axes.
    """
    of_rows: dict[Rows, list[Box]] = {}
    for box in boxes:
        equal = of_rows.setdefault(box.failed, [])
        if not equal or (len(equal[0].conjunction) == len(box.conjunction) and box not in equal):
            equal.append(box)
    outer: list[Rows] = []
    for failed in sorted(of_rows, key=lambda rows: (-rows.bit_count(), rows)):
        size = len(of_rows[failed][0].conjunction)
        if not any(
            failed & ~larger == 0 and len(of_rows[larger][0].conjunction) <= size
            for larger in outer
        ):
            outer.append(failed)
    return [box for failed in outer for box in of_rows[failed]]
