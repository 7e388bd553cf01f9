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
from kvconform.results.failure import connector_title
from kvconform.results.journal import Journal
from kvconform.results.record import CaseRecord, Outcome

MOST_COMPONENTS = 4
"""A pattern with more says less than the ids of its cases."""

REVIEW_DAYS = 90
"""So long after the proposal an entry is to be looked at again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A pattern that means failures by ``clauses`` and no other recorded case."""

    pattern: Pattern
    clauses: tuple[str, ...]
    cases: int


def propose(journal: Journal) -> list[Proposal]:
    """Patterns for all failures, by matrix, those that mean most cases first.

    Of a matrix that was recorded in part only, nobody knows what a pattern would mean, so each of
    its failures is named by its id.
    """
    by_matrix: dict[str, list[CaseRecord]] = {}
    for record in journal.records.values():
        by_matrix.setdefault(record.matrix, []).append(record)
    partly = partly_recorded(journal)
    return [
        proposal
        for matrix, records in by_matrix.items()
        for proposal in sorted(
            _propose(matrix, records, whole=matrix not in partly),
            key=lambda proposal: -proposal.cases,
        )
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
    failures = sum(map(_is_failure, journal.records.values()))
    lines = [
        f"# {failures} failure{'s' * (failures != 1)} of {connector_title(journal.header)}",
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
    rows = [_row(record) for record in records]
    failed = {_row(record): failing_clauses(record) for record in records if _is_failure(record)}
    left = dict.fromkeys(failed)
    groups: dict[frozenset[str], list[str]] = {}
    for row, clauses in failed.items():
        groups.setdefault(frozenset(clauses), []).append(row)

    def shared(some: Sequence[str]) -> Iterator[Proposal]:
        for components, covered in _cover(some, set(rows) - set(some)):
            clauses = sorted({clause for row in covered for clause in failed[row]})
            # Alone, a component that is an id too would mean that case only.
            more = (ANY,) if len(components) == 1 and components[0] in rows else ()
            pattern = Pattern(matrix=matrix, components=(*components, *more))
            yield Proposal(pattern=pattern, clauses=tuple(clauses), cases=len(covered))
            for row in covered:
                left.pop(row, None)

    if whole:
        for group in groups.values():
            yield from shared(group)
        # What nothing of its own kind shares components with may share them with other kinds.
        yield from shared(list(left))
    for row in left:
        pattern = Pattern(matrix=matrix, components=(row,))
        yield Proposal(pattern=pattern, clauses=tuple(sorted(failed[row])), cases=1)


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
