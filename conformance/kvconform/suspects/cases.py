"""The table of the rows of matrices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kvconform.matrix.model import Axis, Matrix, value_key
from kvconform.matrix.model import Row as MatrixRow
from kvconform.suspects.table import Row, Table

MATRIX = "matrix"
"""Name and id of the axis by which several matrices are told apart."""


def table_of(parts: Iterable[tuple[Matrix, Iterable[MatrixRow]]]) -> Table:
    """The rows of each matrix, by case ids; rows that it does not select may be among them.

    Axes of one name are one axis.  Several matrices are told apart by an axis of their own.
    """
    parts = [(matrix, tuple(rows)) for matrix, rows in parts]
    axes = _merged(axis for matrix, _ in parts for axis in matrix.axes)
    names = tuple(matrix.name for matrix, _ in parts)
    apart = [Axis(name=MATRIX, id=MATRIX, values=names, labels=names)] if len(parts) > 1 else []
    rows = []
    for number, (matrix, some) in enumerate(parts):
        first = (number,) if apart else ()
        for row in some:
            positions = tuple(_position(axis, row) for axis in axes)
            rows.append(Row(id=f"{matrix.name}[{row.id}]", positions=first + positions))
    return Table(axes=(*apart, *axes), rows=tuple(rows))


def _merged(axes: Iterable[Axis]) -> list[Axis]:
    """One axis of each name, with the values of all."""
    merged: dict[str, Axis] = {}
    for axis in axes:
        known = merged.setdefault(axis.name, axis)
        fresh = [at for key, at in axis.positions.items() if key not in known.positions]
        values = tuple(axis.values[at] for at in fresh)
        labels = tuple(axis.labels[at] for at in fresh)
        merged[axis.name] = replace(
            known, values=known.values + values, labels=known.labels + labels
        )
    return list(merged.values())


def _position(axis: Axis, row: MatrixRow) -> int | None:
    return axis.positions[value_key(row.values[axis.name])] if axis.name in row.values else None
