"""Records of cases that could not tell their own end: hangs and crashes, seen from outside."""

from __future__ import annotations

from kvconform.case import Case
from kvconform.contract.clauses import CHECKS
from kvconform.results.journal import plain
from kvconform.results.record import CaseRecord, CheckResult, Outcome

HANG_CHECK = "every-request-ends"
CRASH_CHECK = "no-exception"


def hang_record(case: Case, connector: str, seconds: float, trace: tuple[str, ...] = ()) -> CaseRecord:
    """The case was still running after ``seconds`` and its process was killed."""
    return _failed(
        case,
        connector,
        HANG_CHECK,
        expected="the case ends",
        detail=f"hang: the case was still running after {seconds:g} s",
        seconds=seconds,
        trace=trace,
    )


def crash_record(case: Case, connector: str, how: str, trace: tuple[str, ...] = ()) -> CaseRecord:
    """The test process died in the middle of the case; ``how`` says of what."""
    return _failed(
        case,
        connector,
        CRASH_CHECK,
        expected="the process lives on",
        detail=f"native crash: {how}",
        trace=trace,
    )


def not_run_record(case: Case, connector: str, reason: str) -> CaseRecord:
    """The case was given up without being run: counts as a failure, says nothing of the clauses."""
    return CaseRecord(
        case=case.id,
        matrix=case.matrix,
        source=case.source,
        outcome=Outcome.UNTESTABLE,
        reason=reason,
        axes=plain(case.axes),
        clauses=case.clauses,
        connector=connector,
    )


def _failed(
    case: Case,
    connector: str,
    check: str,
    *,
    expected: str,
    detail: str,
    seconds: float = 0.0,
    trace: tuple[str, ...] = (),
) -> CaseRecord:
    result = CheckResult(
        check=check,
        clause=CHECKS[check].clause,
        outcome=Outcome.FAIL,
        expected=expected,
        got=detail.partition(":")[0],
        detail=detail,
    )
    return CaseRecord(
        case=case.id,
        matrix=case.matrix,
        source=case.source,
        outcome=Outcome.FAIL,
        checks=(result,),
        axes=plain(case.axes),
        clauses=case.clauses,
        connector=connector,
        seconds=seconds,
        trace=trace,
    )
