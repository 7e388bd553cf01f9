"""Records of cases that could not tell their own end: hangs and crashes, seen from outside."""

from __future__ import annotations

from dataclasses import replace

from kvconform.case import Case
from kvconform.contract.clauses import CHECKS, CLAUSES
from kvconform.results.journal import plain
from kvconform.results.record import CaseRecord, CheckResult, Outcome

HANG_CHECK = "every-request-ends"
CRASH_CHECK = "no-exception"


def hang_record(
    case: Case, connector: str, seconds: float, stack: tuple[str, ...] = ()
) -> CaseRecord:
    """The case was still running after ``seconds`` and its process was killed."""
    told = CheckResult(
        check=HANG_CHECK,
        clause=CHECKS[HANG_CHECK].clause,
        outcome=Outcome.FAIL,
        expected="the case ends",
        got="hang",
        detail=f"hang: the case was still running after {seconds:g} s",
    )
    record = _bare(case, connector)
    return replace(record, outcome=Outcome.FAIL, checks=(told,), seconds=seconds, stack=stack)


def crash_record(case: Case, connector: str, how: str, stack: tuple[str, ...] = ()) -> CaseRecord:
    """The test process died in the middle of the case; ``how`` says of what."""
    told = CheckResult(
        check=CRASH_CHECK,
        clause=CHECKS[CRASH_CHECK].clause,
        outcome=Outcome.FAIL,
        expected="the process lives on",
        got=f"native crash: {how}",
    )
    return replace(_bare(case, connector), outcome=Outcome.FAIL, checks=(told,), stack=stack)


def not_run_record(case: Case, connector: str, reason: str) -> CaseRecord:
    """The case was given up without being run: counts as a failure, says nothing of the clauses."""
    return replace(_bare(case, connector), reason=reason)


def is_unsound(record: CaseRecord) -> bool:
    """Whether a case broke a clause that binds every connector, or measured nothing."""
    if record.outcome in {Outcome.UNTESTABLE, Outcome.ERROR}:
        return True
    return record.outcome is Outcome.FAIL and any(
        CLAUSES[check.clause].safe for check in record.checks if check.outcome is Outcome.FAIL
    )


def _bare(case: Case, connector: str) -> CaseRecord:
    return CaseRecord(
        case=case.id,
        matrix=case.matrix,
        source=case.source,
        outcome=Outcome.UNTESTABLE,
        axes=plain(case.axes),
        clauses=case.clauses,
        fingerprint=case.fingerprint,
        connector=connector,
    )
