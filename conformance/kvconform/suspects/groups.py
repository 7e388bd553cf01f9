"""The failures of a run in groups, each with the axis values to blame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kvconform.matrix.model import Matrix
from kvconform.results.record import CaseRecord, Outcome
from kvconform.suspects.cases import table_of
from kvconform.suspects.explain import explain
from kvconform.suspects.outcomes import Outcomes
from kvconform.suspects.table import Table
from kvconform.suspects.words import describe

_MEASURED = {Outcome.PASS, Outcome.FAIL, Outcome.EXPECTED_FAILURE, Outcome.UNEXPECTED_PASS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Cases of one matrix that fail the same ``checks`` (clause and check), by their ids.

    ``passed`` are the measured cases that do not, ``void`` those that measured nothing.
    """

    matrix: str
    checks: tuple[tuple[str, str], ...]
    failed: tuple[str, ...]
    passed: tuple[str, ...]
    void: tuple[str, ...]

    @property
    def clauses(self) -> str:
        """The clauses that fail, each once."""
        return ", ".join(dict.fromkeys(clause for clause, _ in self.checks))

    def outcomes(self, table: Table) -> Outcomes:
        """The group's view of a table that has its cases."""
        return Outcomes.of(table, failed=self.failed, passed=self.passed, void=self.void)


def groups_of(records: Iterable[CaseRecord]) -> list[Group]:
    """Groups of failures, the largest first; checks that fail in the same cases are one group."""
    by_matrix: dict[str, list[CaseRecord]] = {}
    for record in records:
        by_matrix.setdefault(record.matrix, []).append(record)
    groups = [group for name, some in by_matrix.items() for group in _of_matrix(name, some)]
    return sorted(groups, key=lambda group: (-len(group.failed), group.matrix, group.checks))


def _of_matrix(name: str, records: Sequence[CaseRecord]) -> list[Group]:
    measured = [record.case for record in records if record.outcome in _MEASURED]
    void = tuple(record.case for record in records if record.outcome not in _MEASURED)
    failing: dict[tuple[str, str], list[str]] = {}
    for record in records:
        for check in record.checks if record.outcome in _MEASURED else ():
            if check.outcome is Outcome.FAIL:
                failing.setdefault((check.clause, check.check), []).append(record.case)
    same: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for check_name, cases in sorted(failing.items()):
        same.setdefault(tuple(cases), []).append(check_name)
    return [
        Group(
            matrix=name,
            checks=tuple(checks),
            failed=cases,
            passed=tuple(case for case in measured if case not in set(cases)),
            void=void,
        )
        for cases, checks in same.items()
    ]


def blame(
    matrices: Mapping[str, Matrix], records: Iterable[CaseRecord], *, most: int
) -> list[tuple[Group, str]]:
    """The largest groups of failures that have a choice of axes, each with a sentence.

    A failure alone has nothing in common with others, and failures that are all expected are
    known already.
    """
    records = list(records)
    expected = {one.case for one in records if one.outcome is Outcome.EXPECTED_FAILURE}
    told: list[tuple[Group, str]] = []
    for group in groups_of(records):
        matrix = matrices.get(group.matrix)
        if matrix is None or len(group.failed) == 1 or expected.issuperset(group.failed):
            continue
        known = {*group.failed, *group.passed, *group.void}
        rows = [row for row in matrix.rows if f"{matrix.name}[{row.id}]" in known]
        if len(rows) < len(known):
            continue
        told.append((group, describe(explain(group.outcomes(table_of([(matrix, rows)]))))))
        if len(told) == most:
            break
    return told
