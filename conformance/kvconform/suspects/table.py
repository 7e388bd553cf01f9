"""Valid rows as sets of bits: which of them have which value of which axis."""

from __future__ import annotations

from collections import Counter
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

Condition = tuple[int, tuple[int, ...]]
"""An axis and value positions of it, in order, of which a row must have one.

The position after the last value stands for having no such axis.
"""

Conjunction = tuple[Condition, ...]
"""Conditions on different axes, in their order, which must all hold."""


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

    Raises `DuplicateRowError`.
    """

    axes: tuple[Axis, ...]
    rows: tuple[Row, ...]
    having: tuple[tuple[Rows, ...], ...] = field(init=False, repr=False)
    """For each axis and value the rows that have it; last the rows that lack the axis."""
    numbers: dict[str, int] = field(init=False, repr=False)
    """Position of each row by its id."""

    def __post_init__(self) -> None:
        sizes = [len(axis.values) for axis in self.axes]
        cells = {row.id: _cells(row, sizes) for row in self.rows}
        rows = tuple(sorted(self.rows, key=lambda row: (cells[row.id], row.id)))
        numbers = {row.id: at for at, row in enumerate(rows)}
        if len(numbers) < len(rows):
            twice = next(id_ for id_, count in Counter(row.id for row in rows).items() if count > 1)
            raise DuplicateRowError(f"two rows are named {twice!r}; each needs an id of its own")
        shape = len(rows), len(sizes)
        columns = np.array([cells[row.id] for row in rows], dtype=np.int32).reshape(shape).T
        having = tuple(
            tuple(_packed(column == value) for value in range(size + 1))
            for size, column in zip(sizes, columns, strict=True)
        )
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "numbers", numbers)
        object.__setattr__(self, "having", having)

    @property
    def all(self) -> Rows:
        """Every row."""
        return (1 << len(self.rows)) - 1

    def named(self, ids: Iterable[str]) -> Rows:
        """The rows of these ids; raises `UnknownRowError`."""
        mask = self.mask(0)
        for one in ids:
            if one not in self.numbers:
                raise UnknownRowError(f"no row of the table is named {one!r}")
            mask[self.numbers[one]] = True
        return _packed(mask)

    def mask(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether each row, in order, is one of ``rows``."""
        count = len(self.rows)
        packed = np.frombuffer(rows.to_bytes(count // 8 + 1, "little"), dtype=np.uint8)
        return np.unpackbits(packed, count=count, bitorder="little").astype(np.bool_)

    def only(self, rows: Rows) -> Table:
        """A table of these rows alone."""
        return Table(axes=self.axes, rows=tuple(self.rows[at] for at in members(rows)))

    def with_values(self, axis: int, values: Iterable[int]) -> Rows:
        """The rows whose value of ``axis`` is one of these."""
        return reduce(or_, (self.having[axis][value] for value in values), 0)

    def meeting(self, conjunction: Conjunction) -> Rows:
        """The rows that meet every condition."""
        rows = self.all
        for axis, values in conjunction:
            rows &= self.with_values(axis, values)
        return rows

    def meeting_any(self, alternatives: Iterable[Conjunction]) -> Rows:
        """The rows that meet one of the conjunctions at least."""
        return reduce(or_, map(self.meeting, alternatives), 0)

    def values(self, axis: int, rows: Rows) -> tuple[int, ...]:
        """Positions of the values that some of ``rows`` have."""
        return tuple(at for at, having in enumerate(self.having[axis]) if having & rows)


def members(rows: Rows) -> Iterator[int]:
    """Positions of the rows of a set, in order."""
    while rows:
        lowest = rows & -rows
        yield lowest.bit_length() - 1
        rows ^= lowest


def _cells(row: Row, sizes: Iterable[int]) -> tuple[int, ...]:
    return tuple(size if at is None else at for at, size in zip(row.positions, sizes, strict=True))


def _packed(mask: NDArray[np.bool_]) -> Rows:
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")
