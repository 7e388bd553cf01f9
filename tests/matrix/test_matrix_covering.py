"""Covering selections of a matrix: what is chosen, locked, kept through edits, and proved."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kvconform.cli import main
from kvconform.matrix import Matrix, MatrixError, find_matrices, load_matrices, load_matrix
from kvconform.matrix.gate import unexercised
from kvconform.matrix.lint import clauses_without_case, lint
from kvconform.matrix.lock import LockState
from kvconform.matrix.plan import Level, Plan, Shard, ShardError, cut
from kvconform.matrix.tuples import count_tuples, prove

Load = Callable[..., Matrix]

WIDE = """\
format: 1
name: wide
title: Many axes
scenario: cold_consumer
clauses: [COV-1]
layout:
  hash_block: 8
  blocks_per_chunk: {axis: blocks}
  groups:
    - name: swa
      kind: sliding
      block_size: 8
      window: {axis: window}
      extra_retained: {axis: extra}
      eagle: {axis: eagle}
engine:
  scheduling: {axis: scheduling}
given:
  prompt_tokens: {axis: prompt}
axes:
  - {name: blocks, id: chunk, values: [1, 2, 4]}
  - {name: window, id: win, values: [8, 9, 16, 40]}
  - {name: extra, id: keep, values: [0, 1, 3]}
  - {name: eagle, id: eagle, values: [false, true]}
  - {name: scheduling, id: sched, values: [sync, async]}
  - {name: prompt, id: prompt, values: [64, 65, 80]}
exclude:
  - {when: {eagle: [true]}, then: {prompt: [64]}}
implies:
  - {when: {window: [40]}, then: {extra: [0], scheduling: [sync]}}
select: {strength: 2}
"""


@pytest.fixture
def wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A matrix of six axes in a folder of its own, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "wide.yaml"
    path.write_text(WIDE, encoding="utf-8")
    return path


def keys(path: Path) -> list[str]:
    """The rows that a lock keeps."""
    return [key for key, _ in json.loads(path.with_suffix(".lock").read_text("utf-8"))["rows"]]


def pairs(matrix: Matrix) -> set[tuple[tuple[str, object], ...]]:
    """Every pair of axis values that some row has."""
    return {
        pair for row in matrix.rows for pair in itertools.combinations(sorted(row.values.items()), 2)
    }


def test_every_pair_that_the_constraints_allow_is_in_some_row(wide: Path) -> None:
    """Against brute force: the pairs of all allowed rows, in far fewer rows."""
    few, every = load_matrix(wide), load_matrix(wide, plan=Plan(level=Level.FULL))
    assert len(few.rows) < len(every.rows) / 8
    assert pairs(few) == pairs(every)
    assert not prove(few)
    assert {row.id for row in few.rows} <= {row.id for row in every.rows}


def test_implications(wide: Path) -> None:
    """Where ``when`` holds, every set of ``then`` does."""
    rows = load_matrix(wide, plan=Plan(level=Level.FULL)).rows
    wide_windows = [row.values for row in rows if row.values["window"] == 40]
    assert {(row["extra"], row["scheduling"]) for row in wide_windows} == {(0, "sync")}
    others = [row.values for row in rows if row.values["window"] == 8]
    assert len({(row["extra"], row["scheduling"]) for row in others}) == 6


def test_parts_have_their_own_strength(wide: Path) -> None:
    """All triples of three axes, pairs elsewhere."""
    part = "select:\n  strength: 2\n  parts: [{axes: [blocks, extra, prompt], strength: 3}]\n"
    wide.write_text(WIDE.replace("select: {strength: 2}\n", part), encoding="utf-8")
    matrix = load_matrix(wide)
    triples = {tuple(row.values[name] for name in ("blocks", "extra", "prompt")) for row in matrix.rows}
    assert len(triples) == 27
    assert not prove(matrix)


def test_presets_are_in(wide: Path) -> None:
    """A row that is asked for is one of the rows."""
    row = "{blocks: 4, window: 16, extra: 3, eagle: true, scheduling: async, prompt: 80}"
    wide.write_text(
        WIDE.replace("{strength: 2}", f"{{strength: 1, presets: [{row}]}}"), encoding="utf-8"
    )
    wanted = "chunk.4-win.16-keep.3-eagle.on-sched.async-prompt.80"
    assert wanted in {row.id for row in load_matrix(wide).rows}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{strength: 2}", "{strength: 2, presets: [{blocks: 4}]}",
         ("wide.yaml:31:33: a preset names a value of every axis; window, extra, eagle, scheduling, "
         "prompt is missing")),
        ("{strength: 2}", "{strength: 2, parts: [{axes: [blocs], strength: 3}]}",
         "wide.yaml:31:39: no axis is named 'blocs' (did you mean 'blocks'?)"),
        ("{strength: 2}", "{parts: [{axes: [blocks], strength: 3}], sample: 3, seed: 1}",
         "wide.yaml:31:10: 'parts' belongs to a 'strength'"),
        ("{strength: 2}", "{strength: 2, sample: 3}",
         "wide.yaml:31:1: expected 'sample' with its 'seed', or 'strength'"),
        ("then: {extra: [0], scheduling: [sync]}", "then: {extra: [0, 1, 3]}",
         "wide.yaml:30:5: this implies removes no row"),
        ("then: {prompt: [64]}}", ("then: {prompt: [64]}}\n  - {when: {eagle: [false]}}\n"
         "  - {when: {prompt: [65, 80]}}"),
         "wide.yaml:27:1: no row is left: exclude[0], exclude[1] and exclude[2] remove all 432 rows"),
    ],
)  # fmt: skip
def test_selections_that_make_no_sense(wide: Path, old: str, new: str, message: str) -> None:
    """Each is told at its place, with what was expected."""
    wide.write_text(WIDE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(MatrixError) as caught:
        load_matrix(wide)
    assert str(caught.value) == message


def test_a_lock_keeps_rows_through_an_edit(
    wide: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One more value adds rows and takes none; only --relock chooses anew."""
    assert main(["lock", "wide.yaml"]) == 0
    before = keys(wide)
    assert {row.id for row in load_matrix(wide).rows} == set(before)
    wide.write_text(WIDE.replace("[8, 9, 16, 40]", "[8, 9, 16, 40, 17]"), encoding="utf-8")
    assert load_matrix(wide).choice.state is LockState.STALE
    assert {row.id for row in load_matrix(wide).rows} > set(before)
    assert main(["check", "wide.yaml"]) == 2
    assert "wide.yaml:31:1: the lock is older than the matrix" in capsys.readouterr().err
    assert main(["lock", "wide.yaml", "--check"]) == 1
    assert main(["lock", "wide.yaml"]) == 0
    extended = keys(wide)
    assert extended[: len(before)] == before
    assert f"stale: {len(extended)} rows, {len(before)} kept, " in capsys.readouterr().out
    assert main(["check", "wide.yaml"]) == 0
    assert main(["lock", "wide.yaml", "--relock"]) == 0
    assert len(keys(wide)) <= len(extended)


def test_a_lock_lives_through_axes_that_come_and_go(wide: Path) -> None:
    """A new axis takes its default in old rows, whose ids stay; a value that goes takes its rows."""
    main(["lock", "wide.yaml"])
    before = [row.id for row in load_matrix(wide).rows]
    more = WIDE.replace(
        "exclude:", "  - {name: output, id: out, values: [1, 2], default: 1}\nexclude:", 1
    ).replace("prompt_tokens: {axis: prompt}", "prompt_tokens: {axis: prompt}\n  output_tokens: {axis: output}")
    wide.write_text(more, encoding="utf-8")
    after = [row.id for row in load_matrix(wide).rows]
    assert set(before) <= set(after)
    wide.write_text(WIDE.replace("[8, 9, 16, 40]", "[8, 9, 40]"), encoding="utf-8")
    left = {row.id for row in load_matrix(wide).rows}
    assert {one for one in before if "win.16" not in one} <= left


def test_locks_that_are_not_to_be_trusted(wide: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of another matrix, no lock at all, or edited by hand: said, with what to do."""
    main(["lock", "wide.yaml"])
    lock = wide.with_suffix(".lock")
    text = lock.read_text("utf-8")
    capsys.readouterr()
    first = keys(wide)[0]
    lock.write_text(text.replace(f'["{first}", ', f'["{first}", 9'), encoding="utf-8")
    assert main(["check", "wide.yaml"]) == 2
    assert "the lock was edited by hand (run: kvconform lock wide.yaml)" in capsys.readouterr().err
    lock.write_text(text.replace('"wide"', '"other"'), encoding="utf-8")
    with pytest.raises(MatrixError, match=r"wide.lock: is the lock of the matrix 'other'; delete it"):
        load_matrix(wide)
    lock.write_text("{", encoding="utf-8")
    with pytest.raises(MatrixError, match=r"wide.yaml:31:1: wide.lock: is no lock file"):
        load_matrix(wide)


def test_a_lock_that_locks_nothing_goes(wide: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows that are not selected by strength need none."""
    main(["lock", "wide.yaml"])
    wide.write_text(WIDE.replace("{strength: 2}", "all"), encoding="utf-8")
    assert main(["check", "wide.yaml"]) == 2
    assert "wide.lock locks rows that the matrix does not select" in capsys.readouterr().err
    assert main(["lock", "wide.yaml"]) == 0
    assert not wide.with_suffix(".lock").exists()


def test_levels_and_strengths(wide: Path) -> None:
    """Quick has the pairs, a strength what it says, full everything; another seed other rows."""
    wide.write_text(WIDE.replace("{strength: 2}", "all"), encoding="utf-8")
    own, quick = load_matrix(wide), load_matrix(wide, plan=Plan(level=Level.QUICK))
    assert not own.partial
    assert quick.partial
    assert pairs(quick) == pairs(own)
    assert len(quick.rows) < len(own.rows) / 8
    three = load_matrix(wide, plan=Plan(strength=3))
    assert len(quick.rows) < len(three.rows) < len(own.rows)
    other = load_matrix(wide, plan=Plan(strength=3, seed=7))
    assert {row.id for row in other.rows} != {row.id for row in three.rows}
    assert not prove(other)


def test_shards_are_parts_of_a_whole(wide: Path) -> None:
    """Every case is in one part, and stays there when other cases come."""
    wide.write_text(WIDE.replace("{strength: 2}", "all"), encoding="utf-8")
    matrix = load_matrix(wide)
    parts = [cut([matrix], shard=Shard(number=at, of=3)) for at in (1, 2, 3)]
    ids = [{row.id for row in part[0].rows} for part in parts]
    assert set.union(*ids) == {row.id for row in matrix.rows}
    assert sum(map(len, ids)) == len(matrix.rows)
    few = load_matrix(wide, plan=Plan(strength=2))
    assert {row.id for row in cut([few], shard=Shard(number=1, of=3))[0].rows} <= ids[0]


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/", "-1/3"])
def test_shards_that_are_none(text: str) -> None:
    """Said with what was expected."""
    with pytest.raises(ShardError, match="expected k/n with k from 1 to n"):
        Shard.parse(text)


def test_an_upper_limit_keeps_the_rows_that_hold_most(wide: Path) -> None:
    """Fewer cases, those first that were first to hold most pairs; no matrix gets them all."""
    matrix = load_matrix(wide)
    (few,) = cut([matrix], max_cases=5)
    assert len(few.rows) == 5
    assert sorted(row.fresh for row in few.rows) == sorted(row.fresh for row in matrix.rows)[-5:]
    both = cut(load_matrices(find_matrices(["coverage", "isolation"])), max_cases=60)
    assert sum(len(one.rows) for one in both) == 60
    assert all(one.rows for one in both)


def test_what_a_run_held_is_counted(wide: Path) -> None:
    """All pairs with strength 2, fewer triples; both by a count of one's own."""
    matrix = load_matrix(wide)
    two, three = count_tuples([matrix])
    assert (two.held, two.valid) == (len(pairs(matrix)), len(pairs(matrix)))
    assert three.held < three.valid
    (fewer, _) = count_tuples(cut([matrix], max_cases=3))
    assert fewer.held < fewer.valid == two.valid


def test_lint_tells_what_the_constraints_take_away(wide: Path) -> None:
    """A value that no row has, and pairs that vanish though no constraint speaks of them."""
    text = WIDE.replace(
        "then: {prompt: [64]}}", "then: {prompt: [64]}}\n  - {when: {prompt: [64]}, then: {eagle: [false]}}"
    )
    wide.write_text(text, encoding="utf-8")
    told = [str(problem) for problem in lint(load_matrix(wide))]
    assert told[0] == (
        "wide.yaml:26:5: no row has the value '64' of the axis 'prompt' (the constraints leave it out)"
    )
    assert any("of blocks and prompt are in no row, which follows from several" in one for one in told)
    wide.write_text(WIDE, encoding="utf-8")
    assert lint(load_matrix(wide)) == []


@pytest.mark.usefixtures("wide")
def test_a_missing_lock_is_told_and_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    """A matrix works without one."""
    assert main(["check", "wide.yaml"]) == 0
    assert "wide.yaml has no lock: its rows may change" in capsys.readouterr().err


def test_the_gate_names_what_nothing_exercises() -> None:
    """All shipped matrices pass it; without some of them it tells what is missing."""
    matrices = load_matrices(find_matrices())
    assert unexercised(matrices) == []
    assert clauses_without_case(matrices) == []
    fewer = [matrix for matrix in matrices if matrix.scenario != "caps"]
    assert [line for line in unexercised(fewer) if "request_caps" in line]
    assert clauses_without_case(fewer) == ["CAP-1"]
    kinds = [matrix for matrix in matrices if "chunked_local" not in str(matrix.document)]
    assert any("group kind 'chunked_local'" in line for line in unexercised(kinds))


def test_a_pin_that_the_oracle_contradicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Told by the check, at its place, with what the oracle says; right pins pass."""
    (shipped,) = find_matrices(["coverage/cold_consumer"])
    text = Path(shipped).read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    Path("right.yaml").write_text(text, encoding="utf-8")
    assert main(["check", "right.yaml"]) == 0
    Path("wrong.yaml").write_text(text.replace("verdict: 32", "verdict: 16"), encoding="utf-8")
    capsys.readouterr()
    assert main(["check", "wrong.yaml"]) == 2
    assert capsys.readouterr().err == (
        "kvconform: wrong.yaml:26:1: verdict is pinned to 16, the oracle says 32 "
        "(in row [keep.0-sched.sync])\n"
    )
