"""Conjunctions that no passing row meets: the tightest around some rows, the largest around one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import and_

from kvconform.suspects.outcomes import Outcomes
from kvconform.suspects.table import Conjunction, Rows

Condition = tuple[int, tuple[int, ...]]


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
        """Whether some conjunction, of however many axes, holds for ``rows`` and no passing row."""
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

    def _shared(self, rows: Rows) -> list[Condition]:
        """For each axis the values of ``rows``, if a passing row has another one."""
        conditions = []
        for axis in range(len(self.table.axes)):
            values = self.table.values(axis, rows)
            if values and self.passed & ~self.table.with_values(axis, values):
                conditions.append((axis, values))
        return conditions

    def _passing(self, conditions: Iterable[Condition]) -> Rows:
        return reduce(and_, (self.table.with_values(*one) for one in conditions), self.passed)

    def _found_around(self, number: int) -> Iterator[Box]:
        own = self.table.rows[number].positions
        for size in range(1, self.order + 1):
            for axes in combinations(range(len(own)), size):
                for conjunction in self._grown(axes, own):
                    failed = self.failed & self.table.meeting(conjunction)
                    tight = tuple((axis, self.table.values(axis, failed)) for axis in axes)
                    if all(values for _, values in tight):
                        yield Box(conjunction=tight, failed=failed)

    def _grown(self, axes: Sequence[int], own: Sequence[int | None]) -> Iterator[Conjunction]:
        """Conjunctions on these axes that include the row with the values ``own``.

        From all values that may be in one, those of passing rows are taken out one by one, in
        every order that leaves the row's own values in.
        """
        if self._passing((axis, _single(own[axis])) for axis in axes):
            return
        start = tuple((axis, self._addable(axis, axes, own)) for axis in axes)
        todo, seen = [start], {start}
        while todo:
            self.spend()
            conjunction = todo.pop()
            passing = self._passing(conjunction)
            if not passing:
                yield conjunction
                continue
            row = self.table.rows[passing.bit_length() - 1].positions
            for at, (axis, values) in enumerate(conjunction):
                rest = tuple(value for value in values if value != row[axis])
                if row[axis] in {None, own[axis]} or not rest:
                    continue
                smaller = (*conjunction[:at], (axis, rest), *conjunction[at + 1 :])
                if smaller not in seen:
                    seen.add(smaller)
                    todo.append(smaller)

    def _addable(
        self, axis: int, axes: Sequence[int], own: Sequence[int | None]
    ) -> tuple[int, ...]:
        """Values of failing rows that, alone beside the row's own, let no passing row in."""
        passing = self._passing((other, _single(own[other])) for other in axes if other != axis)
        return tuple(
            value
            for value in self.table.values(axis, self.failed)
            if value == own[axis] or not passing & self.table.having[axis][value]
        )


def _single(value: int | None) -> tuple[int, ...]:
    """The row's own value; of an axis that it lacks, none: what then is left is in every box."""
    return () if value is None else (value,)


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
