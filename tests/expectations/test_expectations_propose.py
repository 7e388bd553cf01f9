"""``kvconform expect``: entries that mean the failures and nothing else."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvconform.cli import main
from kvconform.expectations import CaseSpace
from kvconform.expectations.propose import propose, render_proposals
from kvconform.results.journal import Journal, RecordsWriter, RunHeader, plain
from kvconform.results.record import CaseRecord, CheckResult, Outcome

ROWS = [f"win.{w}-keep.{k}-left.{s}" for w in (8, 16) for k in (0, 3) for s in ("ready", "missing")]


def record(case: str, outcome: Outcome, *clauses: str) -> CaseRecord:
    """A record with one check for each clause."""
    checks = [CheckResult(check="c", clause=one, outcome=outcome) for one in clauses]
    matrix = case.partition("[")[0]
    return CaseRecord(case=case, matrix=matrix, source="m:1", outcome=outcome, checks=tuple(checks))


def journal(*records: CaseRecord, **matrices: int) -> Journal:
    """A journal of these records; ``matrices`` are the numbers of all cases."""
    found = {name.replace("_", "-"): count for name, count in matrices.items()}
    made = Journal(header=RunHeader(connector="vendor:x", connector_version="2", matrices=found))
    for one in records:
        made.apply(plain(one.to_json()))
    return made


def tiny(clauses: dict[str, tuple[str, ...]]) -> list[CaseRecord]:
    """Records of all rows of ``tiny``: those in ``clauses`` fail by these."""
    return [
        record(f"tiny[{row}]", Outcome.FAIL, *clauses[row])
        if row in clauses
        else record(f"tiny[{row}]", Outcome.PASS, "COV-1")
        for row in ROWS
    ]


def test_the_entries_in_full() -> None:
    """By matrix and clauses, shared components first, then single cases; the rest is counted."""
    fails = {row: ("COV-1",) for row in ROWS if "keep.3" in row and "missing" in row}
    fails["win.8-keep.0-left.ready"] = ("RDY-1", "COV-1")
    records = [
        *tiny(fails),
        record("on[a.1]", Outcome.FAIL, "TRM-1"),
        record("on[a.2]", Outcome.UNTESTABLE, "TRM-1"),
        record("part[a.1]", Outcome.FAIL, "TRM-1"),
        record("part[a.2]", Outcome.FAIL, "TRM-1"),
        record("part[a.3]", Outcome.ERROR),
        record("part[a.4]", Outcome.UNTESTABLE),
    ]
    text = render_proposals(journal(*records, tiny=8, on=2, part=96), dt.date(2026, 1, 31))
    review = 'review: "2026-05-01"'
    assert (
        text
        == f"""\
# 7 failures of vendor:x 2
# part: only 4 cases are recorded, so its failures stand one by one
# 2 more cases broke the suite or never ran; nothing explains them
- case: tiny[keep.3,left.missing]  # 2 cases
  clauses: [COV-1]
  status: fails
  reason: TODO
  {review}
- case: tiny[win.8-keep.0-left.ready]  # 1 case
  clauses: [COV-1, RDY-1]
  status: fails
  reason: TODO
  {review}
- case: "on"  # 2 cases
  clauses: [TRM-1]
  status: fails
  reason: TODO
  {review}
- case: part[a.1]  # 1 case
  clauses: [TRM-1]
  status: fails
  reason: TODO
  {review}
- case: part[a.2]  # 1 case
  clauses: [TRM-1]
  status: fails
  reason: TODO
  {review}
"""
    )


def test_nothing_to_expect() -> None:
    """A file that the loader takes."""
    text = render_proposals(journal(*tiny({}), tiny=8), dt.date(2026, 1, 31))
    assert text == "# 0 failures of vendor:x 2\n[]\n"


def test_a_component_that_is_an_id_too() -> None:
    """Alone it would mean one case of several."""
    fails = {"a.1": Outcome.FAIL, "a.2": Outcome.PASS, "a.1-b.5": Outcome.FAIL}
    records = [record(f"m[{row}]", outcome, "COV-1") for row, outcome in fails.items()]
    (proposal,) = propose(journal(*records, m=3))
    assert str(proposal.pattern) == "m[a.1,*]"


@given(
    st.dictionaries(st.sampled_from(ROWS), st.sets(st.sampled_from(["COV-1", "COV-2"]), min_size=1))
)
def test_patterns_mean_the_failures_and_nothing_else(fails: dict[str, set[str]]) -> None:
    """Each pattern means only cases that fail, by its clauses; together they mean all."""
    records = tiny({row: tuple(clauses) for row, clauses in fails.items()})
    space = CaseSpace.of({"tiny": ROWS})
    meant = set()
    for proposal in propose(journal(*records, tiny=8)):
        for case in space.match(proposal.pattern):
            meant.add(case)
            assert fails.get(case[5:-1], {None}) <= set(proposal.clauses)
    assert meant == {f"tiny[{row}]" for row in fails}


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A records file with one failure."""
    monkeypatch.chdir(tmp_path)
    with RecordsWriter(tmp_path / "r.jsonl") as writer:
        writer.write(RunHeader(connector="vendor:x").to_json())
        writer.write(plain(record("m[a.1]", Outcome.FAIL, "COV-1").to_json()))
    return tmp_path / "r.jsonl"


def test_what_is_written_is_what_is_printed(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``-o`` makes a new file and never replaces one."""
    assert main(["expect", str(records)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("# 1 failure of vendor:x\n")
    assert main(["expect", str(records), "-o", "e.yaml"]) == 0
    assert (tmp_path / "e.yaml").read_text(encoding="utf-8") == printed
    assert main(["expect", str(records), "-o", "e.yaml"]) == 2
    assert main(["expect", str(records), "-o", "no/e.yaml"]) == 2
    assert main(["expect", "nosuch.jsonl"]) == 2
    assert (
        capsys.readouterr().err
        == """\
kvconform: e.yaml is there already; name a new file, or paste what is printed without -o
kvconform: no/e.yaml: cannot be written: No such file or directory
kvconform: nosuch.jsonl: cannot be read: No such file or directory
"""
    )
