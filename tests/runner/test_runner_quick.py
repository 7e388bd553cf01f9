"""The quick kill table, what has no mutant, and the pages that are made of registries."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvconform.cli import main, mutants
from kvconform.contract.clauses import CHECKS, CLAUSES
from kvconform.contract.field_classes import FIELD_CLASSES
from kvconform.matrix import find_matrices, load_matrices
from kvconform.matrix.gate import exemptions, used_by_mutants
from kvconform.pages.contract import contract_page
from kvconform.pages.kill_table import kill_page
from kvconform.pages.page import differences
from kvconform.registry import Listed, list_mutants
from kvconform.run.inline import Player
from kvconform.run.kills import Verdict
from kvconform.run.quick import Grounds, QuickKill, by_killer, by_search, gaps

COLD = "cold-consumer[keep.0-sched.sync]"


@pytest.fixture(scope="module")
def grounds() -> Grounds:
    """One matrix, on which the reference must pass."""
    matrices = load_matrices(find_matrices(["coverage/cold_consumer"]))
    return Grounds.of(matrices, Player(matrices), "reference")


def mutant(name: str, clause: str = "TRM-1", killer: str = COLD) -> Listed:
    """What a provider tells of a mutant."""
    return Listed(name=name, describe={"clause": clause, "killer": killer, "fault": "One."})


def test_verdicts_on_the_case_that_a_mutant_names(grounds: Grounds) -> None:
    """Killed, survived, by the wrong clause; a line without a case proves nothing."""
    listed = [
        mutant("mutant:never-at-rest"),
        mutant("reference"),
        mutant("mutant:blocks-kept", "COV-1"),
        mutant("mutant:lying", killer=""),
        mutant("mutant:null", killer="no-such[case]"),
    ]
    found = {kill.mutant: kill for kill in by_killer(listed, grounds)}
    assert found["mutant:never-at-rest"].verdict is Verdict.KILLED
    assert found["mutant:never-at-rest"].failed == ("TRM-1",)
    assert found["reference"].verdict is Verdict.SURVIVED
    assert found["mutant:blocks-kept"].verdict is Verdict.WRONG_CLAUSE
    assert "names no case" in found["mutant:lying"].problem
    assert "no shipped matrix has" in found["mutant:null"].problem
    assert found["mutant:null"].verdict is Verdict.ERROR


def test_a_case_that_the_reference_fails_proves_nothing(grounds: Grounds) -> None:
    """The same mutant, held against a reference that is none."""
    wrong = Grounds(
        player=grounds.player, matrices=grounds.matrices, reference="mutant:blocks-kept"
    )
    (kill,) = by_killer([mutant("mutant:never-at-rest")], wrong)
    assert kill.verdict is Verdict.ERROR
    assert "the reference does not pass" in kill.problem


def test_a_search_stops_at_the_first_case_and_names_it(grounds: Grounds) -> None:
    """A mutant that has no case yet finds one."""
    (kill,) = by_search([mutant("mutant:never-at-rest", killer="")], grounds)
    assert (kill.verdict, kill.played) == (Verdict.KILLED, 1)
    assert kill.case in grounds.player.cases


def test_gaps_are_told_unless_exempt() -> None:
    """Every clause, every check, every class."""
    whole = QuickKill(
        mutant="m",
        fault="",
        declared=(),
        classes=tuple(FIELD_CLASSES),
        failed=tuple(CLAUSES),
        checks=tuple(CHECKS),
    )
    assert gaps([whole], {}) == []
    none = gaps([], {("field class", "C1"): "why", ("clause", "COV-1"): "why"})
    assert len(none) == len(FIELD_CLASSES) + len(CLAUSES) + len(CHECKS) - 2
    assert "no mutant stands for the field class C2" in none


def test_classes_of_mutants_are_known_and_exemptions_needed() -> None:
    """A class that nobody knows would count for nothing."""
    used = {name for kind, name in used_by_mutants(list_mutants()) if kind == "field class"}
    exempt = {name for kind, name in exemptions() if kind == "field class"}
    assert used <= set(FIELD_CLASSES)
    assert used | exempt == set(FIELD_CLASSES)
    assert not used & exempt


def test_the_contract_page_has_everything() -> None:
    """Each clause with its checks, each mutant, each class."""
    matrices = load_matrices(find_matrices(["smoke", "coverage/fallback"]))
    page = contract_page(matrices, list_mutants(), exemptions())
    for clause in CLAUSES.values():
        assert f"## {clause.id}\n" in page
        assert clause.text in page
    for name in CHECKS:
        assert f"`{name}`" in page
    for one in list_mutants():
        assert f"`{one.name.removeprefix('mutant:')}`" in page
    for name, title in FIELD_CLASSES.items():
        assert f"| {name} | {title} |" in page
    assert "`coverage/fallback`" in page


def test_pages_are_compared_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """--check tells what differs and how to mend it; --write mends it."""
    page = tmp_path / "kill-table.md"
    names = ["mutant:never-at-rest"]
    monkeypatch.setattr(mutants, "list_mutants", lambda: [mutant(name) for name in names])
    monkeypatch.setattr(mutants, "load", lambda _: load_matrices(find_matrices(["coverage/cold_consumer"])))
    monkeypatch.setattr(mutants, "gaps", lambda *_: [])
    words = ["mutants", "--quick"]
    assert main([*words, "--check", str(page)]) == 1
    assert f"run: kvconform mutants --quick --write {page}" in capsys.readouterr().out
    assert main([*words, "--write", str(page)]) == 0
    assert main([*words, "--check", str(page)]) == 0
    page.write_text(page.read_text("utf-8").replace("TRM-1", "TRM-2"), "utf-8")
    assert main([*words, "--check", str(page)]) == 1
    monkeypatch.setattr(mutants, "gaps", lambda *_: ["no mutant fails the clause COV-1"])
    assert main(words) == 1
    assert "no mutant fails the clause COV-1 (write one" in capsys.readouterr().out
    assert main(["mutants", "--write", str(page)]) == 2
    assert main([*words, "never-at-rest", "coverage", "--write", str(page)]) == 2


def test_what_a_cell_says_cannot_end_it() -> None:
    """A fault with a bar in it."""
    kill = QuickKill(mutant="mutant:x", fault="a | b", declared=("COV-1",), classes=())
    assert r"a \| b" in kill_page([kill])
    assert differences(Path("no-such-page.md"), "text") == ["no-such-page.md is missing"]
