"""The smallest disjunctions of conjunctions that every failing and no passing row meets."""

from __future__ import annotations

from dataclasses import dataclass

from kvconform.suspects.boxes import Boxes, EffortError
from kvconform.suspects.outcomes import Outcomes
from kvconform.suspects.table import Conjunction, Rows, Table, members

Alternatives = tuple[Conjunction, ...]
"""Conjunctions of which one at least must hold; none at all holds for no row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far the search for an exact explanation goes."""

    alternatives: int = 3
    order: int = 4
    """Axes in one conjunction."""
    effort: int = 20_000
    """Conjunctions that may be tried; only explanations with alternatives come near it."""
    ties: int = 100
    """Explanations of one size that are kept."""


def smallest(outcomes: Outcomes, limits: Limits) -> list[Alternatives]:
    """The exact explanations of fewest alternatives and, among these, of fewest axes in all.

    Empty if there are none within the limits.  ``outcomes`` are measured rows alone.
    """
    boxes = Boxes(outcomes, order=limits.order, effort=limits.effort)
    cover = _Cover(boxes, limits)
    try:
        for count in range(_fewest(boxes, limits), limits.alternatives + 1):
            found = cover.find(outcomes.failed, count)
            if found:
                return found
    except EffortError:
        pass
    return []


def nearest(outcomes: Outcomes, limits: Limits) -> Alternatives:
    """The one conjunction that all failing and fewest passing rows meet."""
    return (Boxes(outcomes, order=limits.order, effort=0).nearest(outcomes.failed),)


def widened(
    table: Table, alternatives: Alternatives, *, passed: Rows, wanted: Rows
) -> Alternatives:
    """The same with the values of those ``wanted`` rows that let no passing row in."""
    return tuple(sorted(_widened(table, one, passed, wanted) for one in alternatives))


def _widened(table: Table, conjunction: Conjunction, passed: Rows, wanted: Rows) -> Conjunction:
    wanted &= ~table.meeting(conjunction)
    while wanted:
        row = wanted & -wanted
        alike = tuple((axis, table.values(axis, row)) for axis, _ in conjunction)
        larger = tuple(
            (axis, tuple(sorted({*values, *more})))
            for (axis, values), (_, more) in zip(conjunction, alike, strict=True)
        )
        if not table.meeting(larger) & passed:
            conjunction = larger
        wanted &= ~table.meeting(conjunction) & ~table.meeting(alike)
    return conjunction


def _fewest(boxes: Boxes, limits: Limits) -> int:
    """No fewer alternatives can do: so many failing rows fit into no common conjunction."""
    apart: list[int] = []
    for number in members(boxes.failed):
        if not any(boxes.fit_together(1 << number | 1 << other) for other in apart):
            apart.append(number)
            if len(apart) > limits.alternatives:
                break
    return max(1, len(apart))


class _Cover:
    """Ways to cover failing rows by boxes, remembered by the rows that are left to cover."""

    def __init__(self, boxes: Boxes, limits: Limits) -> None:
        self.boxes = boxes
        self.limits = limits
        self._found: dict[tuple[Rows, int], list[Alternatives]] = {}

    def find(self, rows: Rows, count: int) -> list[Alternatives]:
        """Exactly ``count`` conjunctions for all of ``rows``, of fewest axes in all."""
        key = rows, count
        if key not in self._found:
            self._found[key] = self._one(rows) if count == 1 else self._several(rows, count)
        return self._found[key]

    def _one(self, rows: Rows) -> list[Alternatives]:
        return [(conjunction,) for conjunction in self.boxes.tightest(rows)]

    def _several(self, rows: Rows, count: int) -> list[Alternatives]:
        """Some conjunction must hold for the first of ``rows``: all that can are tried."""
        best: list[Alternatives] = []
        for box in self.boxes.around(next(members(rows))):
            self.boxes.spend()
            rest = rows & ~box.failed
            for others in self.find(rest, count - 1) if rest else ():
                found = tuple(sorted((box.conjunction, *others)))
                if best and _axes(found) > _axes(best[0]):
                    break
                if best and _axes(found) < _axes(best[0]):
                    best = []
                best.append(found)
        return list(dict.fromkeys(best))[: self.limits.ties]


def _axes(alternatives: Alternatives) -> int:
    return sum(map(len, alternatives))
