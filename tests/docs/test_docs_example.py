"""The example of the connector page is the file beside it, and does what the page says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from docs_pages import CONNECTOR, EXAMPLE, Run, blocks, python_blocks

HERE = Path(__file__).resolve().parent
FORGOTTEN = " - group.extra_retained"


def _closing(out: str) -> dict[str, int]:
    """Counts of the closing line by word."""
    line = out.strip().splitlines()[-1]
    return {word: int(n) for n, word in re.findall(r"(\d+) ([a-z/]+)", line)}


def test_page_shows_the_file() -> None:
    """The last Python block is the example, byte for byte."""
    assert python_blocks()["small_connector.py"] == EXAMPLE.read_text("utf-8")


def test_example_stands_alone() -> None:
    """Nothing is imported but the standard library, torch and the ports."""
    for text in python_blocks().values():
        modules = set(re.findall(r"^(?:from|import) ([\w.]+)", text, re.MULTILINE))
        others = {m for m in modules if m.partition(".")[0] not in sys.stdlib_module_names}
        assert others <= {"torch", "kvconform.ports", "small_connector"}


SHIPPED = (
    "coverage/cold_consumer",
    "coverage/draft_tail",
    "coverage/fallback",
    "coverage/layout_chunked_local",
    "coverage/layout_full_only",
    "coverage/part_written",
    "coverage/prefill_steps",
    "coverage/unaligned_hit",
    "coverage/warm_consumer",
    "coverage/whole_prompt",
    "readiness",
)
"""Matrices of every scenario and kind of group; all of them together take minutes."""


def test_example_passes_what_applies(kvconform: Run) -> None:
    """With its honest claims no shipped case fails, and those left out lack a named claim."""
    done = kvconform("run", *SHIPPED, "--connector", "small_connector:make_connector")
    assert done.returncode == 0, done.stdout + done.stderr
    counts = _closing(done.stdout)
    assert counts["passed"] > 150
    assert counts["failed"] == counts["untestable"] == counts["errors"] == 0
    assert _reasons(done.stdout) == {"chunk_control", "transfer_control"}


def test_example_with_chunk_control_passes_what_applies(kvconform: Run) -> None:
    """With ``chunk_control`` what is left out is about held copies and draft models."""
    done = kvconform("run", *SHIPPED, "--connector", "controlled:make_connector")
    assert done.returncode == 0, done.stdout + done.stderr
    counts = _closing(done.stdout)
    assert counts["passed"] > 450
    assert counts["failed"] == counts["untestable"] == counts["errors"] == 0
    assert _reasons(done.stdout) == {"eagle", "transfer_control"}


def _reasons(out: str) -> set[str]:
    part = out.partition("not applicable, by capability\n")[2].partition("\n\n")[0]
    return {line.split()[1] for line in part.splitlines()}


def test_example_is_right_on_ranks_and_mixed_groups(kvconform: Run) -> None:
    """Several ranks, kinds of groups, chunk sizes, budgets and both schedulings together."""
    done = kvconform(
        "run", str(HERE / "mixed.yaml"), "--connector", "small_connector:make_connector"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert _closing(done.stdout)["n/a"] == 0


def test_shown_failure_is_what_the_run_prints(kvconform: Run, shown: Path) -> None:
    """A lookup that forgets ``extra_retained`` prints the failure that the page explains."""
    source = (shown / "small_connector.py").read_text("utf-8")
    assert source.count(FORGOTTEN) == 1
    (shown / "small_connector.py").write_text(source.replace(FORGOTTEN, ""), encoding="utf-8")
    failure, closing = (
        block.text
        for block in blocks(CONNECTOR)
        if block.language == "text"
        and ("failure 1 of 1" in block.text or "kvconform: " in block.text)
    )
    case = re.findall(r"--case '(.*)'", failure)[0]
    done = kvconform(
        "run", "coverage/fallback", "--connector", "controlled:make_connector", "--case", case
    )
    assert done.returncode == 1
    assert done.stdout.endswith(closing)
    rest = done.stdout
    for part in failure.split("...\n"):
        assert part in rest, f"not printed, or not in this order:\n{part}"
        rest = rest.partition(part)[2]


@pytest.mark.parametrize("at", range(5))
def test_shown_commands_run(kvconform: Run, at: int) -> None:
    """Each command of the console block ends with 0 on the shown modules."""
    (block,) = (b for b in blocks(CONNECTOR) if b.language == "console")
    lines = [line.removeprefix("$ kvconform ") for line in block.text.splitlines()]
    assert len(lines) == 5
    words = lines[at].split()
    if words[0] == "run" and words[1].startswith("-"):
        words[1:1] = ["coverage/cold_consumer"]  # all matrices run in the tests above
    done = kvconform(*words)
    assert done.returncode == 0, done.stdout + done.stderr
