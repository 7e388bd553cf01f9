"""Random models and faults seeded into them, by which the search for suspects is measured."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from kvconform import covering
from kvconform.covering.prng import SplitMix
from kvconform.matrix.model import Axis
from kvconform.suspects.table import Condition, Conjunction, Row, Rows, Table

MOST_ROWS = 8_192
"""Rows of a model before any is excluded."""

_AXES = range(6, 13)
_MOST_VALUES = 5
_MOST_EXCLUDES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """All valid rows of a model, and those that a covering selection runs."""

    table: Table
    selected: Rows


def random_model(numbers: SplitMix, strength: int) -> Sampled:
    """6 to 12 axes of 2 to 5 values, up to 3 excludes, and a selection of this strength.

    The last axis is coupled to the first, of which it is a coarser form.
    """
    sizes = _random_sizes(_AXES.start + numbers.below(len(_AXES)) - 1, numbers)
    excludes = tuple(
        _random_exclude(sizes, numbers) for _ in range(numbers.below(_MOST_EXCLUDES + 1))
    )
    model = covering.Model(sizes=sizes, forbidden=excludes)
    valid = [
        point
        for point in product(*map(range, sizes))
        if not any(all(point[at] in values for at, values in exclude) for exclude in excludes)
    ]
    axes = [_axis(at, size) for at, size in enumerate((*sizes, (sizes[0] + 1) // 2))]
    rows = [Row(id=_name(point), positions=(*point, point[0] // 2)) for point in valid]
    table = Table(axes=tuple(axes), rows=tuple(rows))
    selection = covering.select(model, strength)
    return Sampled(table=table, selected=table.named(map(_name, selection.rows)))


def random_fault(sampled: Sampled, order: int, numbers: SplitMix) -> Conjunction:
    """Conditions on up to ``order`` axes, some of them of several values.

    Some selected row meets them, and not every valid row does.
    """
    table = sampled.table
    while True:
        axes = numbers.permutation(len(table.axes))[: 1 + numbers.below(order)]
        fault = tuple(_random_condition(table, axis, numbers) for axis in sorted(axes))
        rows = table.meeting(fault)
        if rows & sampled.selected and rows != table.all:
            return fault


def _random_condition(table: Table, axis: int, numbers: SplitMix) -> Condition:
    size = len(table.axes[axis].values)
    several = numbers.below(3) == 0
    count = (numbers.below(size) or 1) if several else 1
    return axis, tuple(sorted(numbers.permutation(size)[:count]))


def _random_sizes(count: int, numbers: SplitMix) -> tuple[int, ...]:
    sizes = [2] * count
    for _ in range(2 * count):
        at = numbers.below(count)
        larger = [size + (at == other) for other, size in enumerate(sizes)]
        if larger[at] <= _MOST_VALUES and prod(larger) <= MOST_ROWS:
            sizes = larger
    return tuple(sizes)


def _random_exclude(sizes: tuple[int, ...], numbers: SplitMix) -> covering.Clause:
    """One value of each of two factors, never together."""
    factors = sorted(numbers.permutation(len(sizes))[:2])
    return tuple((at, frozenset({numbers.below(sizes[at])})) for at in factors)


def _axis(at: int, size: int) -> Axis:
    labels = tuple(map(str, range(size)))
    return Axis(name=f"axis{at}", id=f"x{at}", values=tuple(range(size)), labels=labels)


def _name(point: tuple[int, ...]) -> str:
    return "-".join(map(str, point))
