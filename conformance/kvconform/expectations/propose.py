"""Entries to paste for the failures that a run recorded."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from kvconform.expectations.judge import failing_clauses
from kvconform.expectations.pattern import ANY, Pattern
from kvconform.matrix.scalars import ScalarError, read_plain
from kvconform.results.journal import Journal
from kvconform.results.record import CaseRecord, Outcome
from kvconform.results.summary import connector_title

MOST_COMPONENTS = 3
"""A pattern with more says less than the ids of its cases."""

REVIEW_DAYS = 90
"""So long after the proposal an entry is to be looked at again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A pattern that means failures by the same clauses and no other recorded case."""

    pattern: Pattern
    clauses: tuple[str, ...]
    cases: int


def propose(journal: Journal) -> list[Proposal]:
    """Patterns for all failures, by matrix and clauses, most general first.

    Of a matrix that was recorded in part only, nobody knows what a pattern would mean, so each of
    its failures is named by its id.
    """
    by_matrix: dict[str, list[CaseRecord]] = {}
    for record in journal.records.values():
        by_matrix.setdefault(record.matrix, []).append(record)
    return [
        proposal
        for matrix, records in by_matrix.items()
        for proposal in _propose(matrix, records, whole=matrix not in partly_recorded(journal))
    ]


def partly_recorded(journal: Journal) -> dict[str, int]:
    """Names of matrices some of whose cases have no record, with the number of those that do."""
    found: dict[str, int] = {}
    for record in journal.records.values():
        found[record.matrix] = found.get(record.matrix, 0) + 1
    known = journal.header.matrices if journal.header is not None else {}
    return {name: count for name, count in found.items() if known.get(name) != count}


def render_proposals(journal: Journal, today: dt.date) -> str:
    """The file of expectations, whose reasons are still to be written."""
    proposals = propose(journal)
    lines = [
        f"# {sum(one.cases for one in proposals)} failures of {connector_title(journal.header)}",
        *(
            f"# {matrix}: only {count} cases are recorded, so its failures stand one by one"
            for matrix, count in partly_recorded(journal).items()
            if any(one.pattern.matrix == matrix for one in proposals)
        ),
    ]
    left_out = sum(_is_no_verdict(record) for record in journal.records.values())
    if left_out:
        lines.append(f"# {left_out} more cases broke the suite or never ran; nothing explains them")
    review = today + dt.timedelta(days=REVIEW_DAYS)
    for one in proposals:
        lines += [
            f"- case: {_scalar(str(one.pattern))}  # {one.cases} case{'s' * (one.cases > 1)}",
            f"  clauses: [{', '.join(one.clauses)}]",
            "  status: fails",
            "  reason: TODO",
            f'  review: "{review}"',
        ]
    return "\n".join([*lines, *([] if proposals else ["[]"])]) + "\n"


def _is_failure(record: CaseRecord) -> bool:
    return record.outcome in {Outcome.FAIL, Outcome.UNTESTABLE} and bool(failing_clauses(record))


def _is_no_verdict(record: CaseRecord) -> bool:
    never_ran = record.outcome is Outcome.UNTESTABLE and not failing_clauses(record)
    return never_ran or record.outcome is Outcome.ERROR


def _propose(matrix: str, records: Sequence[CaseRecord], *, whole: bool) -> Iterator[Proposal]:
    rows = {record.case: _row(record) for record in records}
    groups: dict[tuple[str, ...], list[str]] = {}
    for record in records:
        if _is_failure(record):
            clauses = tuple(sorted(failing_clauses(record)))
            groups.setdefault(clauses, []).append(rows[record.case])
    for clauses, failed in groups.items():
        others = set(rows.values()) - set(failed)
        left = dict.fromkeys(failed)
        for components, covered in _cover(failed, others) if whole else ():
            for row in covered:
                left.pop(row, None)
            if len(components) == 1 and components[0] in rows.values():
                components = (*components, ANY)  # noqa: PLW2901 - alone it is an id
            pattern = Pattern(matrix=matrix, components=components)
            yield Proposal(pattern=pattern, clauses=clauses, cases=len(covered))
        for row in left:
            pattern = Pattern(matrix=matrix, components=(row,))
            yield Proposal(pattern=pattern, clauses=clauses, cases=1)


def _cover(
    failed: Sequence[str], others: Iterable[str]
) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Components that two or more failed rows share and no other row has, greedily, few first."""
    parts = {row: row.split("-") for row in failed}
    foreign = [row.split("-") for row in others]
    open_rows = set(failed)
    for size in range(MOST_COMPONENTS + 1):
        having: dict[tuple[str, ...], set[str]] = {}
        for row in failed:
            for components in combinations(parts[row], size):
                having.setdefault(components, set()).add(row)
        for other in foreign:
            for components in combinations(other, size):
                having.pop(components, None)
        while having:
            best = max(having, key=lambda one: (len(having[one] & open_rows), one))
            gained = having[best] & open_rows
            if len(gained) < 2 and not (size == 0 and gained):  # noqa: PLR2004 - a pattern of one
                break
            yield best, having.pop(best)
            open_rows -= gained


def _row(record: CaseRecord) -> str:
    return record.case.removeprefix(f"{record.matrix}[").removesuffix("]")


def _scalar(text: str) -> str:
    """``text`` as YAML, quoted where a plain word would be read as something else."""
    try:
        return text if read_plain(text) == text else json.dumps(text)
    except ScalarError:
        return json.dumps(text)
