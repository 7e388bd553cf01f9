"""What is allowed and yet no good: values that no row has, pairs that vanish, locks that lag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from kvconform.contract.clauses import CLAUSES
from kvconform.covering import Strength, TooLargeError, coverage
from kvconform.matrix.document import read_document
from kvconform.matrix.lock import LockState, lock_path
from kvconform.matrix.model import Matrix
from kvconform.matrix.problems import Problem
from kvconform.matrix.tuples import prove

_STATES = {
    LockState.STALE: "the lock is older than the matrix",
    LockState.EDITED: "the lock was edited by hand",
}


def lint(matrix: Matrix) -> list[Problem]:
    """Everything that is no good about one valid matrix with its own selection of rows."""
    document = read_document(matrix.path, matrix.file)

    def problem(path: tuple[str | int, ...], message: str, hint: str = "") -> Problem:
        line, column = document.at(path, key=True)
        return Problem(file=matrix.file, line=line, column=column, message=message, hint=hint)

    found = []
    if matrix.choice.state in _STATES:
        told = _STATES[matrix.choice.state]
        found.append(problem(("select",), told, f"run: kvconform lock {matrix.file}"))
    elif matrix.choice.lock is None and lock_path(matrix.path).exists():
        told = f"{lock_path(matrix.path).name} locks rows that the matrix does not select"
        found.append(problem(("name",), told, f"run: kvconform lock {matrix.file}"))
    found += [problem(("select",), told) for told in prove(matrix)]
    for axis, label in _unused_values(matrix):
        names = [one.name for one in matrix.axes]
        told = f"no row has the value {label!r} of the axis {axis!r}"
        found.append(problem(("axes", names.index(axis)), told, "the constraints leave it out"))
    for told in _implied_gaps(matrix):
        found.append(problem(("axes",), told, "say so in one exclude, or relax a constraint"))
    return found


def clauses_without_case(matrices: Sequence[Matrix]) -> list[str]:
    """Ids of clauses that no matrix covers."""
    covered = {clause for matrix in matrices for clause in matrix.clauses}
    return [clause for clause in CLAUSES if clause not in covered]


def _unused_values(matrix: Matrix) -> Iterator[tuple[str, str]]:
    """Names of axes and labels of values that no chosen row has."""
    for axis in matrix.axes:
        seen = {axis.find(row.values[axis.name]) for row in matrix.rows}
        yield from (
            (axis.name, label) for at, label in enumerate(axis.labels) if at not in seen
        )


def _implied_gaps(matrix: Matrix) -> Iterator[str]:
    """Pairs of factor values that no row can have although no constraint speaks of just them.

    A constraint about the two factors is meant to leave pairs out; what only follows from
    several constraints, or from one about more factors, is easily overlooked.
    """
    model = matrix.choice.model
    meant = {
        frozenset(factor for factor, _ in clause) for clause in model.forbidden
    }
    for one, other in combinations(range(len(model.sizes)), 2):
        if any(len(factors) <= 2 and factors <= {one, other} for factors in meant):  # noqa: PLR2004 - pairs
            continue
        size = model.sizes[one] * model.sizes[other]
        if not model.forbidden:
            return
        pair = Strength(base=1, parts=((frozenset({one, other}), 2),))
        try:
            valid = coverage(model, pair, ())[1].valid
        except TooLargeError:
            return
        if valid < size:
            names = matrix.choice.factors
            yield (
                f"{size - valid} of the {size} pairs of {names[one]} and {names[other]} are in no "
                "row, which follows from several constraints or from one about more axes"
            )
