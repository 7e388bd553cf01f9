"""What a run is asked to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kvconform.case import Case
from kvconform.expectations import CaseSpace
from kvconform.matrix import Matrix

CASE_SECONDS = 60.0
"""A case that takes longer is a hang, unless the user sets another limit."""

MAX_RESTARTS = 30
"""After so many hangs and crashes the cases that are left are given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One run of matrices against one connector.

    ``case_seconds`` is wall-clock time of one case.  ``cases`` are whole case ids, empty for
    all.  ``expect`` are files of expected failures.  ``resume`` keeps the records that the file
    has.  With ``show_output`` the test process
    writes to the terminal itself.
    """

    connector: str = "reference"
    device: str = "auto"
    records: Path | None = None
    resume: bool = False
    case_seconds: float = CASE_SECONDS
    max_restarts: int = MAX_RESTARTS
    connector_config: Sequence[str] = ()
    templates: tuple[Path, ...] = ()
    cases: tuple[str, ...] = ()
    expect: tuple[str, ...] = ()
    pytest_args: tuple[str, ...] = ()
    show_output: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseIndex:
    """The cases of some matrices by id, each built only when it is asked for.

    ``smoke`` are the ids of those that tell whether any other is worth running.
    """

    matrices: Mapping[str, Matrix]
    rows: Mapping[str, tuple[str, int]] = field(repr=False)
    smoke: tuple[str, ...] = ()

    @classmethod
    def of(cls, matrices: Sequence[Matrix]) -> CaseIndex:
        """Index of all rows of ``matrices``, in their order."""
        smoky = {matrix.name for matrix in matrices if matrix.smoke}
        rows = {
            f"{matrix.name}[{row.id}]": (matrix.name, at)
            for matrix in matrices
            for at, row in enumerate(matrix.rows)
        }
        smoke = tuple(case for case in rows if case.partition("[")[0] in smoky)
        by_name = {matrix.name: matrix for matrix in matrices}
        return cls(matrices=by_name, rows=rows, smoke=smoke)

    def space(self) -> CaseSpace:
        """All rows, as patterns find them."""
        return CaseSpace.of(
            {name: [row.id for row in matrix.rows] for name, matrix in self.matrices.items()},
            partial=[name for name, matrix in self.matrices.items() if matrix.partial],
        )

    def case(self, case_id: str) -> Case:
        """The case of that id; raises KeyError if there is none."""
        name, at = self.rows[case_id]
        matrix = self.matrices[name]
        return matrix.case(matrix.rows[at])
