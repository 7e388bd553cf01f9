"""All combinations of axis values: which rows there are, and which are selected."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from kvconform.matrix.model import ONLY, Axis, Row

MAX_ROWS = 200_000

Point = tuple[int, ...]
"""One combination: for each factor, the position of its entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """Axes that vary together: one axis, or the coupled axes of a ``zip``.

    ``axes`` are positions of axes, ``entries`` the value positions of each combination.
    """

    axes: tuple[int, ...]
    entries: tuple[tuple[int, ...], ...]


Condition = tuple[tuple[int, frozenset[int]], ...]
"""Factor positions and the entries of each that are meant; all must hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """The product of factors, in the order of their first axes; the last varies fastest."""

    axes: tuple[Axis, ...]
    factors: tuple[Factor, ...]

    @property
    def size(self) -> int:
        """Number of combinations before anything is excluded."""
        return prod(len(factor.entries) for factor in self.factors)

    def factor_names(self) -> tuple[str, ...]:
        """Names of the factors: those of their axes, joined by ``+``."""
        return tuple(
            "+".join(self.axes[axis].name for axis in factor.axes) for factor in self.factors
        )

    def factor_of(self) -> dict[str, int]:
        """Position of the factor of each axis, by the axis's name."""
        return {
            self.axes[axis].name: at for at, factor in enumerate(self.factors) for axis in factor.axes
        }

    def point(self, values: Mapping[str, int]) -> Point | None:
        """The point with these value positions by axis name; None if a ``zip`` has no such entry."""
        point = []
        for factor in self.factors:
            entry = tuple(values[self.axes[axis].name] for axis in factor.axes)
            if entry not in factor.entries:
                return None
            point.append(factor.entries.index(entry))
        return tuple(point)

    def key(self, point: Point) -> str:
        """A name of the point with every axis in it, defaults included."""
        labels = {}
        for factor, at in zip(self.factors, point, strict=True):
            for axis, value in zip(factor.axes, factor.entries[at], strict=True):
                labels[axis] = f"{self.axes[axis].id}.{self.axes[axis].labels[value]}"
        return "-".join(labels[axis] for axis in sorted(labels))

    def parse(self, key: str) -> Point | None:
        """The point of a key that may be older than the axes; None if there is none any more.

        Axes that have gone are passed over; one that came later takes its default.
        """
        said = dict(token.partition(".")[::2] for token in key.split("-"))
        values: dict[str, int] = {}
        for axis in self.axes:
            label = said.get(axis.id)
            if label in axis.labels:
                values[axis.name] = axis.labels.index(label)
            elif label is None and axis.default is not None:
                values[axis.name] = axis.default
            else:
                return None
        return self.point(values)

    def described(self) -> list[Any]:
        """Plain data that changes with every axis, label, default and combination."""
        axes = [[axis.id, list(axis.labels), axis.default] for axis in self.axes]
        return [axes, [[list(f.axes), [list(e) for e in f.entries]] for f in self.factors]]

    def points(self) -> Iterable[Point]:
        """Every combination, in product order."""
        return product(*(range(len(factor.entries)) for factor in self.factors))

    def condition(self, sets: Iterable[Mapping[str, Iterable[int]]]) -> Condition:
        """What holds for points whose values lie in all ``sets`` (axis name -> value positions)."""
        allowed: dict[int, list[frozenset[int]]] = {}
        names = [axis.name for axis in self.axes]
        for mapping in sets:
            for name, positions in mapping.items():
                allowed.setdefault(names.index(name), []).append(frozenset(positions))
        result = []
        for at, factor in enumerate(self.factors):
            tests = [
                (column, one)
                for column, axis in enumerate(factor.axes)
                for one in allowed.get(axis, ())
            ]
            if tests:
                entries = frozenset(
                    number
                    for number, entry in enumerate(factor.entries)
                    if all(entry[column] in one for column, one in tests)
                )
                result.append((at, entries))
        return tuple(result)

    def rows(self, points: Sequence[Point], line: int, fresh: Sequence[int] = ()) -> list[Row]:
        """The rows of ``points``; ``line`` is where the matrix declares them."""
        fresh = fresh or (0,) * len(points)
        if not self.axes:
            return [Row(id=ONLY, values={}, line=line) for _ in points]
        tables = [
            [
                [
                    (
                        axis,
                        self.axes[axis].name,
                        self.axes[axis].values[value],
                        self.axes[axis].token(value),
                    )
                    for axis, value in zip(factor.axes, entry, strict=True)
                ]
                for entry in factor.entries
            ]
            for factor in self.factors
        ]
        order = [axis for factor in self.factors for axis in factor.axes]
        shuffled = order != sorted(order)
        rows = []
        for point, first in zip(points, fresh, strict=True):
            cells = [cell for table, at in zip(tables, point, strict=True) for cell in table[at]]
            if shuffled:
                cells.sort(key=lambda cell: cell[0])
            rows.append(
                Row(
                    id="-".join([cell[3] for cell in cells if cell[3] is not None]) or ONLY,
                    values={cell[1]: cell[2] for cell in cells},
                    line=line,
                    fresh=first,
                )
            )
        return rows

    def distinct(self, points: Sequence[Point], names: Iterable[str]) -> dict[Point, int]:
        """Distinct value positions of the named axes, each with its first point's position."""
        wanted = set(names)
        columns = [
            (at, [entry[column] for entry in factor.entries])
            for at, factor in enumerate(self.factors)
            for column, axis in enumerate(factor.axes)
            if self.axes[axis].name in wanted
        ]
        first: dict[Point, int] = {}
        for number, point in enumerate(points):
            first.setdefault(tuple([table[point[at]] for at, table in columns]), number)
        return first

    def named(self, key: Point, names: Iterable[str]) -> dict[str, Any]:
        """The values that a key of `distinct` stands for, by axis name."""
        wanted = set(names)
        axes = [
            self.axes[axis]
            for factor in self.factors
            for axis in factor.axes
            if self.axes[axis].name in wanted
        ]
        return {axis.name: axis.values[at] for axis, at in zip(axes, key, strict=True)}


def holds(condition: Condition, point: Point) -> bool:
    """Whether ``point`` is meant by ``condition``."""
    return all(point[at] in entries for at, entries in condition)


def sample(rows: Sequence[str], count: int, seed: int) -> list[int]:
    """Positions of ``count`` rows, in order, chosen by a hash of seed and row id.

    The choice depends on each row's id alone, so that it is the same on every machine and a
    changed axis keeps most of the rows that it can.
    """

    def rank(at: int) -> tuple[bytes, int]:
        return hashlib.sha256(f"{seed}:{rows[at]}".encode()).digest(), at

    return sorted(sorted(range(len(rows)), key=rank)[:count])
