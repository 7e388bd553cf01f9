"""What people see: columns, colours on a terminal, and cases told event by event."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from kvconform.results.journal import read_records
from kvconform.results.record import Outcome
from kvconform.results.tables import table

CASE = "unaligned-hit[win.128-keep.3-bound.3968-eagle.off-left.missing]"
FAILING = ("run", "coverage/unaligned_hit", "--connector", "mutant:seed-undone", "--case", CASE)


def kvconform(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The command line, in an environment that says nothing of colours but what ``env`` does."""
    clean = {
        key: value
        for key, value in os.environ.items()
        if key not in {"NO_COLOR", "FORCE_COLOR"} and not key.startswith("PYTEST_")
    }
    command = [sys.executable, "-m", "kvconform", *words]
    return subprocess.run(
        command, env={**clean, **env}, capture_output=True, text=True, check=False
    )


def test_tables_have_figures_to_the_right() -> None:
    """Text to the left, as the last column; brackets are text and no markup."""
    assert table([["clause", "n", ""], ["m[bold]", "9", "x [/] y"], ["A", "10", "z"]]) == (
        "  clause    n\n  m[bold]   9  x [/] y\n  A        10  z"
    )


def test_colours_are_for_terminals_alone() -> None:
    """The same words in both; none where NO_COLOR or a pipe asks for none."""
    plain = kvconform(*FAILING).stdout
    coloured = kvconform(*FAILING, FORCE_COLOR="1").stdout
    assert "\x1b[" not in plain
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert "\x1b[" not in kvconform(*FAILING, FORCE_COLOR="1", NO_COLOR="1").stdout
    assert "^ token 3584: not there" in plain


def test_a_case_is_told_event_by_event() -> None:
    """Whether it passes or not, with the exit code of its verdict."""
    passed = kvconform("explain", CASE)
    assert passed.returncode == 0, passed.stderr
    assert passed.stdout.startswith(f"{CASE}: pass\n")
    assert "\n     1  consumer asked with 0 local tokens: miss\n" in passed.stdout
    failed = kvconform("explain", CASE, "--connector", "mutant:seed-undone")
    assert failed.returncode == 1
    assert "asynchronous hit of 3968 tokens  <- COV-2, COV-3\n" in failed.stdout
    assert "  COV-2  hit-is-covered: fail; expected a miss, got a hit of 3968 tokens\n" in failed.stdout


def test_a_case_that_nobody_has_is_answered_with_the_nearest() -> None:
    """In one line."""
    unknown = kvconform("explain", CASE.replace("missing", "mising"))
    assert unknown.returncode == 2
    assert unknown.stderr.endswith(f"did you mean {CASE}?\n")
    assert len(unknown.stderr.splitlines()) == 1


def test_records_have_the_scene_of_what_failed_alone(tmp_path: Path) -> None:
    """A picture of the lookup that was wrong, and a moment for each line of the trace."""
    file = tmp_path / "records.jsonl"
    kvconform(*FAILING, "--records", str(file))
    record = read_records(file).records[CASE]
    assert record.outcome is Outcome.FAIL
    assert record.scene is not None
    assert len(record.scene.moments) == len(record.trace)
    (picture,) = record.scene.pictures
    assert {"hit-is-covered", "hit-is-best"} <= set(picture.checks)
    assert (picture.expected, picture.got) == (0, 3968)
    tracks = {track.group: track for track in picture.tracks}
    assert tracks["swa"].needed == ((3776, 3968),)
    assert tracks["swa"].verified == ((3584, 4096),)
    assert tracks["swa"].stored == ((3840, 4096),)
    assert tracks["full"].stored == ((0, 4096),)
