"""What an entry makes of an outcome, and what it never excuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kvconform.expectations import Expectations
from kvconform.results.record import CaseRecord, CheckResult, Outcome

Load = Callable[..., Expectations]

CASE = "tiny[win.8-keep.3-left.ready]"


def record(outcome: Outcome, *failing: str, reason: str = "") -> CaseRecord:
    """A record of the case with one passed check, and one of ``outcome`` for each clause."""
    checks = [CheckResult(check="a", clause="TRM-1", outcome=Outcome.PASS)]
    checks += [CheckResult(check="b", clause=clause, outcome=outcome) for clause in failing]
    return CaseRecord(
        case=CASE,
        matrix="tiny",
        source="m:1",
        outcome=outcome,
        reason=reason,
        checks=tuple(checks) if failing or outcome is Outcome.PASS else (),
    )


def entry(status: str, *clauses: str, case: str = "tiny[keep.3]", versions: str = "") -> str:
    """One entry."""
    lines = [f"- case: {case}", f"  status: {status}", "  reason: it is late", "  link: x#1"]
    lines += [f"  clauses: [{', '.join(clauses)}]"] if clauses else []
    lines += [f'  versions: "{versions}"'] if versions else []
    return "\n".join([*lines, '  review: "2026-12-31"', ""])


PASSED = record(Outcome.PASS)
FAILED = record(Outcome.FAIL, "COV-1")


@pytest.mark.parametrize(
    ("text", "before", "outcome", "reason"),
    [
        (entry("fails"), FAILED, Outcome.EXPECTED_FAILURE, "it is late (x#1)"),
        (
            entry("fails"),
            record(Outcome.UNTESTABLE, "COV-1"),
            Outcome.EXPECTED_FAILURE,
            "it is late (x#1)",
        ),
        (entry("fails", "COV-1", "COV-2"), FAILED, Outcome.EXPECTED_FAILURE, "it is late (x#1)"),
        (
            entry("fails", "COV-2"),
            FAILED,
            Outcome.FAIL,
            "COV-1 is not among the expected clauses (COV-2)",
        ),
        (
            entry("fails", "COV-1"),
            record(Outcome.FAIL, "COV-1", "RDY-1"),
            Outcome.FAIL,
            "RDY-1 is not among the expected clauses (COV-1)",
        ),
        (
            entry("fails", "COV-1") + entry("fails", "RDY-1", case="tiny[left.ready]"),
            record(Outcome.FAIL, "COV-1", "RDY-1"),
            Outcome.EXPECTED_FAILURE,
            "it is late (x#1)",
        ),
        (entry("fails"), PASSED, Outcome.UNEXPECTED_PASS, "expected to fail: it is late (x#1)"),
        (entry("flaky"), PASSED, Outcome.PASS, "flaky, passed: it is late (x#1)"),
        (entry("flaky"), FAILED, Outcome.EXPECTED_FAILURE, "flaky, failed: it is late (x#1)"),
        (
            entry("flaky", "COV-2"),
            FAILED,
            Outcome.FAIL,
            "COV-1 is not among the expected clauses (COV-2)",
        ),
    ],
)
def test_what_becomes_of_an_outcome(
    load: Load, text: str, before: CaseRecord, outcome: Outcome, reason: str
) -> None:
    """By status and clauses; the entry is named in the record, and judging twice changes nothing."""
    expected = load(text)
    judged = expected.judge(before)
    assert (judged.outcome, judged.reason) == (outcome, reason)
    assert judged.expectations[0] == "e.yaml:1"
    assert judged.checks == before.checks
    assert expected.judge(judged) == judged
    assert Expectations().judge(judged) == before


@pytest.mark.parametrize(
    "before",
    [
        record(Outcome.ERROR, reason="KeyError: 3"),
        record(Outcome.UNTESTABLE, reason="given up after 2 hangs and crashes"),
        record(Outcome.NOT_APPLICABLE, reason="chunk_control"),
    ],
)
@pytest.mark.parametrize("status", ["fails", "flaky"])
def test_what_is_never_expected(load: Load, status: str, before: CaseRecord) -> None:
    """A fault of the suite, a case that nobody ran and one that does not apply stay what they are."""
    assert load(entry(status)).judge(before) == before


def test_consequences_need_no_explanation(load: Load) -> None:
    """After a failure the checks that could not be made any more do not count."""
    late = CheckResult(check="c", clause="RDY-1", outcome=Outcome.UNTESTABLE)
    dead = replace(FAILED, checks=(*FAILED.checks, late))
    assert load(entry("fails", "COV-1")).judge(dead).outcome is Outcome.EXPECTED_FAILURE
    assert load(entry("fails", "RDY-1")).judge(dead).outcome is Outcome.FAIL


def test_only_the_cases_of_an_entry_are_judged(load: Load) -> None:
    """Another case fails as ever."""
    assert load(entry("fails", case="tiny[keep.0]")).judge(FAILED) == FAILED


def test_unsupported_is_not_run_and_no_pass(load: Load) -> None:
    """Not applicable, with the entry's reason."""
    expected = load(entry("unsupported"))
    assert expected.unsupported(CASE) == "unsupported: it is late (x#1)"
    assert expected.unsupported("tiny[win.8-keep.0-left.ready]") == ""
    skipped = record(Outcome.NOT_APPLICABLE, reason=expected.unsupported(CASE))
    assert expected.judge(skipped).expectations == ("e.yaml:1",)
    assert expected.judge(skipped).outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("versions", "version", "active"),
    [
        (">=0.30,<0.31", "0.30.2", True),
        (">=0.30,<0.31", "0.31.0", False),
        (">=0.30", "0.31.0.dev1+cpu", True),
        ("", "", True),
    ],
)
def test_versions_switch_entries(load: Load, versions: str, version: str, active: bool) -> None:
    """Also when the version is learned after loading."""
    text = entry("fails", versions=versions)
    judged = load(text, version=version).judge(FAILED)
    assert (judged.outcome is Outcome.EXPECTED_FAILURE) is active
    assert load(text, version=None).for_version(version).judge(FAILED) == judged


def test_a_resumed_run_judges_anew(load: Load) -> None:
    """Verdicts follow the files of today; only what was left out, or now is, runs again."""
    judged = load(entry("fails")).judge(FAILED)
    left_out = load(entry("unsupported")).judge(
        record(Outcome.NOT_APPLICABLE, reason="unsupported: it is late (x#1)")
    )
    nothing, flaky, unsupported = Expectations(), load(entry("flaky")), load(entry("unsupported"))
    assert nothing.rejudge(judged) == FAILED
    assert flaky.rejudge(judged) == flaky.judge(FAILED)
    assert unsupported.rejudge(judged) is None
    assert nothing.rejudge(left_out) is None
    assert unsupported.rejudge(left_out) == left_out
