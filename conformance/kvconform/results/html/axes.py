"""Axes of a matrix as recorded cases have them, and the two that tell failures apart best."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log

from kvconform.results.html.text import name

NO_VALUE = -1
"""The position of a case on an axis that it does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis and the values that cases have on it, as labels in order."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """All axes of a matrix; ``positions`` has a row for each case, with a position for each axis."""

    axes: tuple[Axis, ...]
    positions: tuple[tuple[int, ...], ...]


def grid_of(cases: Sequence[Mapping[str, object]]) -> Grid:
    """The axes of cases, each given as values by axis, in the order in which they first come."""
    names = dict.fromkeys(axis for case in cases for axis in case)
    ranks = [_ranks(case[axis] for case in cases if axis in case) for axis in names]
    return Grid(
        axes=tuple(
            Axis(name=name(axis), values=tuple(label(value) for value in rank.values()))
            for axis, rank in zip(names, ranks, strict=True)
        ),
        positions=tuple(
            tuple(
                places[_key(case[axis])] if axis in case else NO_VALUE
                for axis, places in zip(names, map(_places, ranks), strict=True)
            )
            for case in cases
        ),
    )


def telling_axes(grid: Grid, failed: Sequence[bool]) -> tuple[int, ...]:
    """Positions of the two axes whose values together say most about which cases ``failed``.

    The one with more values comes first.  Axes with one value are taken only where there are no
    others; fewer than two axes are given where there are no more.
    """
    several = [at for at, axis in enumerate(grid.axes) if len(axis.values) > 1]
    if len(several) < 2:  # noqa: PLR2004 - a pair
        single = [at for at in range(len(grid.axes)) if at not in several]
        return tuple((several + single)[:2])
    pairs = list(combinations(several, 2))
    best = max(
        pairs,
        key=lambda pair: (
            round(_told([tuple(row[at] for at in pair) for row in grid.positions], failed), 9),
            -pairs.index(pair),
        ),
    )
    return tuple(sorted(best, key=lambda at: (-len(grid.axes[at].values), at)))


def label(value: object) -> str:
    """A value of an axis in words."""
    if isinstance(value, str):
        return name(value)
    return name(json.dumps(value, ensure_ascii=False, default=str))


def _told(cells: Sequence[Hashable], failed: Sequence[bool]) -> float:
    """The mutual information of cells and failures, less what so many cells say by chance (nats)."""
    total = len(cells)
    both, alone, bad = Counter(zip(cells, failed, strict=True)), Counter(cells), Counter(failed)
    told = sum(
        count / total * log(count * total / (alone[cell] * bad[fails]))
        for (cell, fails), count in both.items()
    )
    return told - (len(alone) - 1) * (len(bad) - 1) / (2 * total)


def _ranks(values: Iterable[object]) -> dict[str, object]:
    """Values by key: numbers by size, others as they first come."""
    found: dict[str, object] = {}
    for value in values:
        found.setdefault(_key(value), value)
    numbers = [value for value in found.values() if isinstance(value, int | float)]
    if len(numbers) == len(found):
        return {_key(value): value for value in sorted(numbers)}
    return found


def _places(ranks: Mapping[str, object]) -> dict[str, int]:
    return {key: at for at, key in enumerate(ranks)}


def _key(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)
