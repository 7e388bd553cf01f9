"""``kvconform mutants``: a mutant counts as killed only by a clause that it declares."""

from __future__ import annotations

from pathlib import Path

import pytest
from runner_project import TEMPLATES, Project

from kvconform.cli import main, mutants
from kvconform.registry import Listed
from kvconform.results.journal import Journal
from kvconform.results.record import CaseRecord, CheckResult, Outcome
from kvconform.run import RunResult
from kvconform.run.kills import SEED_MATRICES, Verdict, kill_of


def result(*failed_clauses: str, matrix: str = "m", code: int = 1) -> RunResult:
    """A run in which one case for each clause failed by it."""
    records = {
        f"{matrix}[{at}]": CaseRecord(
            case=f"{matrix}[{at}]",
            matrix=matrix,
            source="m.yaml:1",
            outcome=Outcome.FAIL,
            checks=(CheckResult(check="c", clause=clause, outcome=Outcome.FAIL),),
        )
        for at, clause in enumerate(failed_clauses)
    }
    return RunResult(journal=Journal(records=records), exit_code=code)


@pytest.mark.parametrize(
    ("declared", "failed", "code", "verdict"),
    [
        ("COV-2", ("COV-2",), 1, Verdict.KILLED),
        ("COV-1, COV-2", ("COV-3", "COV-2"), 1, Verdict.KILLED),
        ("COV-1", ("COV-2",), 1, Verdict.WRONG_CLAUSE),
        ("COV-1", (), 0, Verdict.SURVIVED),
        ("COV-1", ("COV-1",), 3, Verdict.ERROR),
    ],
)
def test_verdicts(declared: str, failed: tuple[str, ...], code: int, verdict: Verdict) -> None:
    """Any of the declared clauses is enough; a broken suite proves nothing."""
    mutant = Listed(name="mutant:x", describe={"clause": declared})
    assert kill_of(mutant, result(*failed, code=code), ["m"]).verdict is verdict


def test_the_number_of_failed_seed_cases_is_held_to_what_is_declared() -> None:
    """Only if all matrices of the seed ran."""
    mutant = Listed(name="mutant:x", describe={"clause": "COV-2", "cases": "2"})
    failed = result("COV-2", matrix=SEED_MATRICES[0])
    assert kill_of(mutant, failed, [*SEED_MATRICES, "more"]).miscounted
    assert not kill_of(mutant, failed, SEED_MATRICES[:1]).miscounted


@pytest.fixture
def scripted(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Scripted connectors stand in for the reference and its mutants."""
    project.matrix("m", "pass", "pass2")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", project.environment()["PYTHONPATH"])
    found = [
        Listed(name="scripted:faulty", describe={"clause": "LIF-1", "fault": "One fails."}),
        Listed(name="scripted:connector", describe={"clause": "LIF-1", "fault": "None fails."}),
        Listed(name="scripted:wrong", describe={"clause": "COV-1", "fault": "Another one."}),
    ]
    monkeypatch.setattr(mutants, "list_mutants", lambda: found)
    monkeypatch.setattr(mutants, "REFERENCE", "scripted:connector")
    monkeypatch.setattr(mutants, "MUTANT_PROVIDER", "scripted")
    return project


def test_the_kill_table(scripted: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A line a mutant and the closing line; one survivor is enough to fail."""
    words = ["m.yaml", "--templates", str(TEMPLATES), "--device", "cpu"]
    assert main(["mutants", *words]) == 1
    captured = capsys.readouterr()
    assert (
        captured.out
        == """\
mutant              declared  failed  clauses that failed  verdict       fault
scripted:faulty     LIF-1        1/2  LIF-1                killed        One fails.
scripted:connector  LIF-1        0/2  -                    survived      None fails.
scripted:wrong      COV-1        1/2  LIF-1                wrong clause  Another one.

mutants: 1 killed, 1 survived, 1 by the wrong clause
"""
    )
    assert sorted(captured.err.splitlines()) == [
        "scripted:connector: 0 of 2 cases failed",
        "scripted:connector: 0 of 2 cases failed",
        "scripted:faulty: 1 of 2 cases failed",
        "scripted:wrong: 1 of 2 cases failed",
    ]
    assert scripted.folder.exists()


@pytest.mark.usefixtures("scripted")
def test_mutants_are_chosen_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    """With or without their provider's name."""
    words = ["m.yaml", "--templates", str(TEMPLATES), "--device", "cpu"]
    assert main(["mutants", "faulty", *words]) == 0
    assert capsys.readouterr().out.endswith(
        "mutants: 1 killed, 0 survived, 0 by the wrong clause\n"
    )
    assert main(["mutants", "scripted:nosuch", *words]) == 2
    assert (
        "no mutant is named 'scripted:nosuch'; there are scripted:faulty" in capsys.readouterr().err
    )


@pytest.mark.usefixtures("scripted")
def test_a_reference_that_is_not_clean_proves_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing else is run then."""
    monkeypatch.setattr(mutants, "REFERENCE", "scripted:faulty")
    assert main(["mutants", "m.yaml", "--templates", str(TEMPLATES), "--device", "cpu"]) == 1
    captured = capsys.readouterr()
    assert "the reference is not clean" in captured.err
    assert "failure 1 of 1: m[act.pass]" in captured.out
