"""Failures of a run in groups, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvconform.cli import main
from kvconform.matrix import find_matrices, load_matrices
from kvconform.results.record import CaseRecord, CheckResult, Outcome
from kvconform.suspects.groups import blame, groups_of

(MATRIX,) = load_matrices(find_matrices(["isolation/salt"]))


def record(row, outcome=Outcome.PASS, *checks):
    """A record of one row of isolation/salt; ``checks`` are clause and check that failed."""
    return CaseRecord(
        case=f"salt[{row.id}]",
        matrix="salt",
        source="m:1",
        outcome=outcome,
        checks=tuple(
            CheckResult(clause=clause, check=check, outcome=Outcome.FAIL) for clause, check in checks
        ),
    )


def test_checks_that_fail_in_the_same_cases_are_one_group():
    """Two groups here: both checks on some cases, one of them on more."""
    two = (("ISO-1", "never-shared"), ("COV-1", "bytes-after-load"))
    records = [
        record(row, Outcome.FAIL, *two)
        if row.values["blocks_per_chunk"] == 2
        else record(row, Outcome.FAIL, ("COV-3", "hit-is-best"))
        if row.values["scheduling"] == "async"
        else record(row)
        for row in MATRIX.rows
    ]
    groups = groups_of(records)
    assert [(group.clauses, len(group.failed), len(group.passed)) for group in groups] == [
        ("COV-1, ISO-1", 8, 8),
        ("COV-3", 4, 12),
    ]
    told = [sentence for _, sentence in blame({"salt": MATRIX}, records, most=5)]
    assert told == [
        "8 of 16 failed; all 8, and no passing case, have chunk.2.",
        "4 of 16 failed; all 4, and no passing case, have chunk.1 and sched.async.",
    ]


@pytest.mark.parametrize("outcome", [Outcome.NOT_APPLICABLE, Outcome.UNTESTABLE, Outcome.ERROR])
def test_what_measured_nothing_is_in_no_group(outcome):
    """It neither failed nor passed."""
    rows = MATRIX.rows
    records = [record(row, Outcome.FAIL, ("ISO-1", "never-shared")) for row in rows[:2]]
    records += [record(row, outcome) for row in rows[2:4]] + [record(row) for row in rows[4:]]
    (group,) = groups_of(records)
    assert (len(group.failed), len(group.passed), len(group.void)) == (2, 12, 2)


def test_what_is_known_or_alone_is_not_told():
    """One failure has nothing in common with others; expected ones are explained already."""
    alone = [record(MATRIX.rows[0], Outcome.FAIL, ("ISO-1", "never-shared"))]
    alone += [record(row) for row in MATRIX.rows[1:]]
    assert blame({"salt": MATRIX}, alone, most=5) == []
    expected = [
        record(row, Outcome.EXPECTED_FAILURE, ("ISO-1", "never-shared")) for row in MATRIX.rows[:4]
    ]
    assert blame({"salt": MATRIX}, [*expected, *alone[4:]], most=5) == []


def test_explain_runs_more_rows_where_answers_tie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """From records alone; with --probe a few cases are run on the connector of the records."""
    monkeypatch.chdir(tmp_path)
    words = ["run", "isolation/salt", "--connector", "mutant:salt-ignored", "--max-cases", "5"]
    assert main([*words, "--records", "r.jsonl", "-q"]) == 1
    assert main(["explain", "r.jsonl", "isolation/salt"]) == 0
    without = capsys.readouterr().out
    assert "salt, COV-1" in without
    assert "All 5 failed; no axis makes a difference." in without
    assert main(["explain", "r.jsonl", "isolation/salt", "--probe"]) == 0
    assert "nothing was left to run" in capsys.readouterr().out


def test_explain_says_what_it_cannot_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """No file, no records, other matrices: one line and exit code 2."""
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "none.jsonl"]) == 2
    assert capsys.readouterr().err == (
        "kvconform: none.jsonl: cannot be read: No such file or directory\n"
    )
    Path("bad.jsonl").write_text("{}\n", encoding="utf-8")
    assert main(["explain", "bad.jsonl"]) == 2
    assert "bad.jsonl:1" in capsys.readouterr().err
    words = ["run", "isolation/salt", "--connector", "mutant:salt-ignored", "-q"]
    assert main([*words, "--records", "r.jsonl"]) == 1
    assert main(["explain", "r.jsonl", "caps"]) == 2
    assert "no matrix here is named 'salt'" in capsys.readouterr().err
