"""Cases that the command line names by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kvconform.matrix import Matrix, load_matrices
from kvconform.matrix.plan import Level, Plan


def with_cases(
    matrices: Sequence[Matrix], cases: Sequence[str], templates: Sequence[Path]
) -> list[Matrix]:
    """The matrices with the rows of ``cases`` too: one may be named that its matrix does not select."""
    wanted: dict[str, set[str]] = {}
    for case in cases:
        name, _, row = case.partition("[")
        wanted.setdefault(name, set()).add(row.removesuffix("]"))
    return [_with_rows(matrix, wanted.get(matrix.name, set()), templates) for matrix in matrices]


def _with_rows(matrix: Matrix, rows: set[str], templates: Sequence[Path]) -> Matrix:
    own = {row.id for row in matrix.rows}
    if rows <= own:
        return matrix
    plan = Plan(level=Level.FULL)
    (every,) = load_matrices([matrix.path], templates=templates, plan=plan)
    return every.only([at for at, row in enumerate(every.rows) if row.id in own | rows])
