"""Valid rows as sets of bits: which of them have which value of which axis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

from kvconform.matrix.model import Axis
from kvconform.ports import KvconformError

Rows = int
"""A set of rows: bit ``n`` stands for the row at position ``n`` of the table."""

Conjunction = tuple[tuple[int, tuple[int, ...]], ...]
"""Axis positions and the value positions of each that are meant, both in order; all must hold."""

_NONE = -1


class DuplicateRowError(KvconformError, ValueError):
    """Two rows of a table have one id."""


class UnknownRowError(KvconformError, LookupError):
    """An outcome was told of a row that the table does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row; ``positions`` has for each axis that of its value, None if it has no such axis."""

    id: str
    positions: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """The valid rows, run or not, brought into an order of their own.

    A row that lacks an axis meets every condition on it.  Raises `DuplicateRowError`.
    """

    axes: tuple[Axis, ...]
    rows: tuple[Row, ...]
    having: tuple[tuple[Rows, ...], ...] = field(init=False, repr=False)
    """For each axis and value the rows that have it."""
    lacking: tuple[Rows, ...] = field(init=False, repr=False)
    """For each axis the rows that have no such axis."""
    numbers: dict[str, int] = field(init=False, repr=False)
    """Position of each row by its id."""

    def __post_init__(self) -> None:
        rows = tuple(sorted(self.rows, key=lambda row: (_cells(row), row.id)))
        numbers = {row.id: at for at, row in enumerate(rows)}
        if len(numbers) < len(rows):
            raise DuplicateRowError("each row of a table needs an id of its own")
        cells = np.array([_cells(row) for row in rows], dtype=np.int32)
        columns = cells.reshape(len(rows), len(self.axes)).T
        having = tuple(
            tuple(_packed(column == value) for value in range(len(axis.values)))
            for axis, column in zip(self.axes, columns, strict=True)
        )
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "numbers", numbers)
        object.__setattr__(self, "having", having)
        object.__setattr__(self, "lacking", tuple(_packed(column == _NONE) for column in columns))

    @property
    def all(self) -> Rows:
        """Every row."""
        return (1 << len(self.rows)) - 1

    def named(self, ids: Iterable[str]) -> Rows:
        """The rows of these ids; raises `UnknownRowError`."""
        mask = np.zeros(len(self.rows), dtype=np.bool_)
        for one in ids:
            if one not in self.numbers:
                raise UnknownRowError(f"no row of the table is named {one!r}")
            mask[self.numbers[one]] = True
        return _packed(mask)

    def only(self, rows: Rows) -> Table:
        """A table of these rows alone."""
        return Table(axes=self.axes, rows=tuple(self.rows[at] for at in members(rows)))

    def with_values(self, axis: int, values: Iterable[int]) -> Rows:
        """The rows that meet the condition that their value of ``axis`` is one of these."""
        return reduce(or_, (self.having[axis][value] for value in values), self.lacking[axis])

    def meeting(self, conjunction: Conjunction) -> Rows:
        """The rows that meet every condition."""
        rows = self.all
        for axis, values in conjunction:
            rows &= self.with_values(axis, values)
        return rows

    def values(self, axis: int, rows: Rows) -> tuple[int, ...]:
        """Positions of the values that some of ``rows`` have."""
        return tuple(at for at, having in enumerate(self.having[axis]) if having & rows)


def members(rows: Rows) -> Iterator[int]:
    """Positions of the rows of a set, in order."""
    while rows:
        lowest = rows & -rows
        yield lowest.bit_length() - 1
        rows ^= lowest


def _cells(row: Row) -> tuple[int, ...]:
    return tuple(_NONE if at is None else at for at in row.positions)


def _packed(mask: NDArray[np.bool_]) -> Rows:
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")
