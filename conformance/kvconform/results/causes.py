"""Bad cases by what broke them: the clause, the check and its answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvconform.contract.clauses import CLAUSES, Severity
from kvconform.results.cause import cause, generalized
from kvconform.results.failure import bad_checks
from kvconform.results.record import CaseRecord, CheckResult, Outcome

_SEVERITIES = tuple(Severity)
_ORDER = {clause: at for at, clause in enumerate(CLAUSES)}


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

    @property
    def example(self) -> CaseRecord:
        """The case to show: the one with the shortest trace, which is the quickest to read."""
        return min(self.records, key=lambda record: len(record.trace))


def causes(record: CaseRecord) -> frozenset[Cause]:
    """All causes of a bad case: what failed or, if nothing did, what could not be measured."""
    bad = bad_checks(record)
    failed = [check for check in bad if check.outcome is Outcome.FAIL] or bad
    found = {
        Cause(clause=check.clause, check=check.check, text=cause(check)) for check in failed
    }
    return frozenset(found or {first_cause(record)})


def first_cause(record: CaseRecord) -> Cause:
    """The cause by which a bad case is counted: of what failed, that of the worst severity."""
    bad = bad_checks(record)
    if bad and record.outcome is not Outcome.ERROR:
        leading = _leading(bad)
        return Cause(clause=leading.clause, check=leading.check, text=cause(leading))
    lines = record.reason.strip().splitlines() or ["nothing says why"]
    return Cause(clause="", check="", text=f"{record.outcome.value}: {generalized(lines[0])}")


def grouped(records: Iterable[CaseRecord]) -> list[CauseGroup]:
    """Bad cases by their first cause: the worst severity first, then the largest group."""
    found: dict[Cause, list[CaseRecord]] = {}
    for record in sorted(records, key=lambda one: one.case):
        found.setdefault(first_cause(record), []).append(record)
    groups = [CauseGroup(cause=one, records=tuple(some)) for one, some in found.items()]
    return sorted(groups, key=lambda one: (_rank(one.cause.clause), -len(one.records), one.cause))


def _leading(checks: Sequence[CheckResult]) -> CheckResult:
    """Failed before untestable, worse before less bad, then as the contract lists them."""
    return min(
        checks,
        key=lambda one: (
            one.outcome is not Outcome.FAIL,
            _rank(one.clause),
            _ORDER.get(one.clause, len(_ORDER)),
        ),
    )


def _rank(clause: str) -> int:
    """0 for the worst severity; unknown clauses come last."""
    known = CLAUSES.get(clause)
    return _SEVERITIES.index(known.severity) if known is not None else len(_SEVERITIES)


def breaks_safety(record: CaseRecord) -> bool:
    """Whether a clause failed that binds every connector; one that nobody here knows is such."""
    return any(
        check.clause not in CLAUSES or CLAUSES[check.clause].safe
        for check in record.checks
        if check.outcome is Outcome.FAIL
    )
