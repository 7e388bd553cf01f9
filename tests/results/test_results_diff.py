"""Two runs compared: every change has its kind, and what is a regression ends with 1."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from results_records import HOSTILE, check, record, write

from kvconform.cli import main
from kvconform.results.compare_text import MOST_BYTES
from kvconform.results.record import CaseRecord

STAYS = record("stays", "pass")


def diff(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    before: list[CaseRecord],
    after: list[CaseRecord],
    *words: str,
    **header: object,
) -> tuple[int, str]:
    """Exit code and answer; a case that stays the same makes every two runs comparable."""
    old = write(tmp_path / "old", STAYS, *before)
    new = write(tmp_path / "new", STAYS, *after, **header)
    code = main(["diff", str(old), str(new), *words])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, captured.out


def kinds(out: str) -> dict[str, int]:
    """Counts by kind, *same* left out."""
    found = re.findall(r"^ +(\S.*?)  +(\d+)  ", out, re.MULTILINE)
    return {kind: int(count) for kind, count in found if kind != "same"}


ENTRY = {"expectations": ("known.yaml:2",)}


@pytest.mark.parametrize(
    ("outcomes", "kind", "code"),
    [
        ("pass -> fail", "broken", 1),
        ("pass -> untestable", "broken", 1),
        ("pass -> error", "broken", 1),
        ("n/a -> fail", "broken", 1),
        ("xfail -> fail", "broken", 1),
        ("xpass -> fail", "broken", 1),
        ("pass -> n/a", "pass -> n/a", 1),
        ("pass -> xfail", "expectation", 0),
        ("pass -> xpass", "expectation", 0),
        ("fail -> xfail", "expectation", 0),
        ("xfail -> xpass", "expectation", 0),
        ("xfail -> pass", "expectation", 0),
        ("fail -> pass", "fixed", 0),
        ("error -> pass", "fixed", 0),
        ("fail -> n/a", "withdrawn", 0),
        ("n/a -> pass", "now applies", 0),
        ("fail -> untestable", "other cause", 0),
    ],
)
def test_every_change_has_its_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], outcomes: str, kind: str, code: int
) -> None:
    """Outcome by outcome."""
    was, now = outcomes.split(" -> ")
    out = diff(tmp_path, capsys, [record("a", was)], [record("a", now)])
    assert (kinds(out[1]), out[0]) == ({kind: 1}, code)


@pytest.mark.parametrize("outcome", ["pass", "fail", "n/a", "xfail", "untestable", "error"])
def test_nothing_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], outcome: str
) -> None:
    """What failed before and fails alike is no regression, whatever its numbers."""
    before, after = record("a", outcome, got="hit of 3"), record("a", outcome, got="hit of 5")
    code, out = diff(tmp_path, capsys, [before], [after])
    assert (code, kinds(out)) == (0, {})
    assert out.endswith("kvconform diff: no regression\n")


def test_what_an_entry_takes_out_is_no_regression(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`unsupported` has a reason that somebody wrote; a claim that vanishes has none."""
    code, out = diff(tmp_path, capsys, [record("a", "pass")], [record("a", "n/a", **ENTRY)])
    assert (code, kinds(out)) == (0, {"expectation": 1})
    assert "known.yaml:2" in out


@pytest.mark.parametrize(
    ("checks", "header", "found"),
    [
        ((check("pass"), check("n/a", name="hit-is-best", clause="COV-3")), {}, {"checks lost": 1}),
        ((check("pass"),), {}, {"checks lost": 1}),
        ((check("pass"),), {"contract": 99}, {}),
        ((check("n/a"), check("pass", name="hit-is-best")), {"contract": 99}, {"checks lost": 1}),
    ],
)
def test_a_case_that_passes_with_fewer_checks_is_a_regression(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    checks: tuple[object, ...],
    header: dict[str, object],
    found: dict[str, int],
) -> None:
    """A claim was taken back; a check that another contract does not have is no loss."""
    both = (check("pass"), check("pass", name="hit-is-best", clause="COV-3"))
    old, new = record("a", "pass", checks=both), record("a", "pass", checks=checks)
    code, out = diff(tmp_path, capsys, [old], [new], **header)
    assert (code, kinds(out)) == (bool(found), found)
    assert ("different revisions of the contract" in out) == bool(header)


def test_a_failure_that_becomes_unsafe_is_a_regression(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lost benefit before, wrong bytes now; the other way round it is just another cause."""
    best = record("a", "fail", checks=(check("fail", "a miss", clause="COV-3", name="hit-is-best"),))
    safe = record("a", "fail", checks=(check("fail", "hit of 8"),))
    code, out = diff(tmp_path, capsys, [best], [safe])
    assert (code, kinds(out)) == (1, {"worse": 1})
    code, out = diff(tmp_path, capsys, [safe], [best])
    assert (code, kinds(out)) == (0, {"other cause": 1})
    assert "1 x COV-3 hit-is-best: a miss" in out
    assert "before: COV-2 hit-is-covered: hit of #" in out


def test_gone_new_and_renamed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A new id with the same fingerprint, or the same axes in the same matrix, is no new case."""
    before = [
        record("one", "pass"),
        record("two", "pass"),
        record("lost", "pass"),
        record("failed", "fail"),
    ]
    after = [
        record("uno", "pass", fingerprint="m-one"),
        record("due", "fail", axes={"row": "two"}),
        record("fresh", "fail"),
    ]
    code, out = diff(tmp_path, capsys, before, after)
    assert (code, kinds(out)) == (
        1,
        {"broken": 1, "gone": 1, "dropped": 1, "new": 1, "renamed": 1},
    )
    assert "m[uno]; was m[one]" in out
    assert "m[due]; was m[two]; pass -> fail; the case was edited" in out


def test_cases_that_look_alike_are_not_taken_for_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two gone cases with one fingerprint could each be the new one."""
    before = [record(row, "pass", fingerprint="same") for row in ("a", "b")]
    code, out = diff(tmp_path, capsys, before, [record("c", "pass", fingerprint="same")])
    assert (code, kinds(out)) == (1, {"gone": 2, "new": 1})


def test_common_leaves_out_what_one_run_did_not_ask_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """But not what it asked for and did not get."""
    old = write(tmp_path / "old", STAYS, record("a", "pass"), record("b", "pass"))
    new = write(tmp_path / "new", STAYS, record("n", "pass"), missing=["m[b]"])
    assert main(["diff", str(old), str(new)]) == 1
    assert kinds(capsys.readouterr().out) == {"not run": 1, "gone": 1, "new": 1}
    assert main(["diff", str(old), str(new), "--common"]) == 1
    out = capsys.readouterr().out
    assert kinds(out) == {"not run": 1}
    assert "the second run left 1 cases out: it ended early" in out


def test_other_connectors_and_matrices_are_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once each; the comparison goes on."""
    after = [record("x", "pass", matrix="other")]
    code, out = diff(tmp_path, capsys, [], after, connector="vendor:y", engine="vllm 0.33.0")
    assert code == 0
    assert "note: different connectors: vendor:x 2.0, then vendor:y 2.0\n" in out
    assert "note: different engines: built-in, then vllm 0.33.0\n" in out
    assert "note: matrices of the second run alone: other\n" in out


def test_runs_without_a_case_in_common_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, exit code 2."""
    old = write(tmp_path / "old", record("a", "pass"))
    new = write(tmp_path / "new", record("b", "pass", matrix="other"))
    assert main(["diff", str(old), str(new)]) == 2
    assert capsys.readouterr().err == (
        "kvconform: the two runs have no case in common: m in the first, other in the second\n"
    )


@pytest.mark.slow
def test_a_comment_is_short_enough_and_counts_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Thousands of long failures, each of its own cause, and hostile texts."""
    before = [record(f"r.{n}", "pass") for n in range(3000)]
    after = [
        record(f"r.{n}", "fail", got=chr(97 + n % 26) * (n // 26 + 1), trace=(HOSTILE * 50,) * 90)
        for n in range(3000)
    ]
    code, out = diff(tmp_path, capsys, before, after, "--markdown")
    assert code == 1
    assert len(out.encode("utf-8")) <= MOST_BYTES
    assert "| broken | 3000 |" in out
    assert "more causes" in out


def test_a_comment_obeys_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hostile names, ids and answers stand in code, without line ends or control characters."""
    old = record(HOSTILE, "pass")
    new = record(HOSTILE, "fail", got=HOSTILE, reason=HOSTILE, trace=(HOSTILE,))
    for words in (["--markdown"], []):
        code, out = diff(tmp_path, capsys, [old], [new], *words, connector=HOSTILE)
        assert code == 1
        assert not {char for char in out if not char.isprintable()} - {"\n"}
        if words:
            outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", out)
            outside = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)
            assert "<img" not in outside
            assert "@everyone" not in outside
            assert outside.count("<details>") == outside.count("</details>") == 1


