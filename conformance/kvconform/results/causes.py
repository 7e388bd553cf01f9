"""Bad cases by what broke them: the clause, the check and its answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kvconform.contract.clauses import CLAUSES
from kvconform.results.cause import cause, generalized
from kvconform.results.failure import bad_checks
from kvconform.results.record import CaseRecord, Outcome


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Cause:
    """Why a case is not in order; ``clause`` and ``check`` are empty where no check says it."""

    clause: str
    check: str
    text: str

    def __str__(self) -> str:
        """``COV-2 hit-is-covered: hit of # tokens``."""
        return f"{self.clause} {self.check}: {self.text}" if self.check else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseGroup:
    """Cases that share their first cause, sorted by id."""

    cause: Cause
    records: tuple[CaseRecord, ...]


def causes(record: CaseRecord) -> frozenset[Cause]:
    """All causes of a bad case: what failed or, if nothing did, what could not be measured."""
    bad = bad_checks(record)
    failed = [check for check in bad if check.outcome is Outcome.FAIL] or bad
    found = {
        Cause(clause=check.clause, check=check.check, text=cause(check)) for check in failed
    }
    return frozenset(found or {first_cause(record)})


def first_cause(record: CaseRecord) -> Cause:
    """The cause by which a bad case is counted."""
    bad = bad_checks(record)
    if bad and record.outcome is not Outcome.ERROR:
        return Cause(clause=bad[0].clause, check=bad[0].check, text=cause(bad[0]))
    lines = record.reason.strip().splitlines() or ["nothing says why"]
    return Cause(clause="", check="", text=f"{record.outcome.value}: {generalized(lines[0])}")


def grouped(records: Iterable[CaseRecord]) -> list[CauseGroup]:
    """Bad cases by their first cause, the largest group first."""
    found: dict[Cause, list[CaseRecord]] = {}
    for record in sorted(records, key=lambda one: one.case):
        found.setdefault(first_cause(record), []).append(record)
    groups = [CauseGroup(cause=one, records=tuple(some)) for one, some in found.items()]
    return sorted(groups, key=lambda group: (-len(group.records), group.cause))


def breaks_safety(record: CaseRecord) -> bool:
    """Whether a clause failed that binds every connector; one that nobody here knows is such."""
    return any(
        check.clause not in CLAUSES or CLAUSES[check.clause].safe
        for check in record.checks
        if check.outcome is Outcome.FAIL
    )
