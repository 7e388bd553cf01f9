"""The real stage and engine: connectors that misbehave get a verdict by clause, never a traceback."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from runner_project import Outcome, Project

CASES = ("cold-consumer[keep.0-sched.sync]", "cold-consumer[keep.3-sched.async]")


def run(
    project: Project, connector: str, tmp_path: Path, *words: str
) -> tuple[Outcome, list[dict[str, Any]]]:
    """Run two cases of the cold consumer against a connector; returns their records, too."""
    chosen = [word for case in CASES for word in ("--case", case)]
    done = project.command(
        "run",
        "coverage/cold_consumer",
        *("--connector", f"vendor:{connector}", "--device", "cpu"),
        *("--records", "r.jsonl", *chosen, *words),
    )
    assert done.code == 1, done
    assert "Traceback" not in done.out + done.err
    lines = (tmp_path / "r.jsonl").read_text(encoding="utf-8").splitlines()
    records = [event for event in map(json.loads, lines) if event["event"] == "case"]
    assert [record["case"] for record in records] == list(CASES)
    return done, records


@pytest.mark.parametrize(
    ("connector", "clause", "words"),
    [
        ("raises", "LIF-1", ()),
        ("exits", "LIF-1", ()),
        ("hangs", "TRM-1", ("--case-timeout", "3")),
        ("answers_text", "LIF-1", ()),
        ("fails_to_start", "LIF-1", ()),
        ("is_nothing", "LIF-1", ()),
    ],
)
def test_misbehaviour_is_a_failure_of_a_clause(
    project: Project, tmp_path: Path, connector: str, clause: str, words: tuple[str, ...]
) -> None:
    """Both cases fail by the clause, and the run goes on from the first to the second."""
    for record in run(project, connector, tmp_path, *words)[1]:
        assert record["outcome"] == "fail"
        failed = [check["clause"] for check in record["checks"] if check["outcome"] == "fail"]
        assert clause in failed


@pytest.mark.parametrize(
    ("connector", "told"),
    [
        ("raises_interrupt", "KeyboardInterrupt: (no text) at vendor.py:"),
        ("raises_exit", "SystemExit: (no text) at vendor.py:"),
        ("raises_generator_exit", "GeneratorExit: (no text) at vendor.py:"),
        ("raises_refusal", "UnsupportedLayoutError: (no text) at vendor.py:"),
        (
            "raises_unreadable",
            "UnreadableError: (its __str__ raises UnreadableError) at vendor.py:",
        ),
        ("answers_unreadable", "returned (its __repr__ raises UnreadableError), expected "),
    ],
)
def test_whatever_a_hook_raises_or_answers_fails_its_case_alone(
    project: Project, tmp_path: Path, connector: str, told: str
) -> None:
    """LIF-1 with what it was and in which step, and the same process goes on."""
    done, records = run(project, connector, tmp_path)
    assert done.err == ""
    for record in records:
        (check,) = [check for check in record["checks"] if check["outcome"] == "fail"]
        assert check["clause"] == "LIF-1"
        assert check["got"].startswith(told)
        assert check["detail"] == "step 1: in get_num_new_matched_tokens"
        assert told in record["trace"][check["event"]]


def test_a_request_that_never_ends_is_what_is_told(project: Project, tmp_path: Path) -> None:
    """With what was answered, how often; all of it in the records, and in few lines."""
    done, records = run(project, "always_later", tmp_path)
    check = next(check for check in records[0]["checks"] if check["clause"] == "TRM-1")
    asked = sum("producer asked" in line for line in records[0]["trace"])
    assert check["expected"] == "'producer' ends"
    assert check["got"] == f"it does not; asked {asked} times, always later"
    assert check["event"] == len(records[0]["trace"]) - 2  # one more request asks after it
    (other,) = check["more"]
    assert other.startswith("it does not; asked ")
    assert "expected 'consumer-1' ends: " in other
    first = done.out.partition("failure 2 of")[0]
    assert f"  got        {check['got']}\n" in first
    assert "producer asked with 0 local tokens: later (x " in first
    assert len(first.partition("  trace  ")[2].partition("  axes  ")[0].splitlines()) < 12


@pytest.mark.parametrize("verbose", [(), ("--verbose",)])
def test_a_hang_shows_the_call_in_which_it_hangs(
    project: Project, tmp_path: Path, verbose: tuple[str, ...]
) -> None:
    """The connector's own, first of the stack; a stack is no list of events."""
    done, records = run(project, "hangs", tmp_path, "--case-timeout", "3", *verbose)
    for record in records:
        assert record["trace"] == []
        assert re.fullmatch(r".*vendor\.py:\d+ in <lambda>", record["stack"][0])
    stack = done.out.partition("  stack      (innermost call first)\n")[2]
    assert stack.splitlines()[0].strip() == records[0]["stack"][0]


@pytest.mark.parametrize("command", ["run", "pytest"])
def test_a_ctrl_c_ends_the_run_in_the_middle_of_a_hook(
    project: Project, tmp_path: Path, command: str
) -> None:
    """Also of a connector that swallows the exception: no verdict comes of it."""
    options = ("--connector", "vendor:swallows_interrupts", "--device", "cpu")
    if command == "pytest":
        assert project.command("render", "coverage/cold_consumer", "-o", "out").code == 0
        words = ["pytest", "-p", "no:cacheprovider", "out", *options, "--records", "r.jsonl"]
    else:
        words = ["kvconform", "run", "coverage/cold_consumer", *options, "--records", "r.jsonl"]
    running = subprocess.Popen(
        [sys.executable, "-m", *words],
        cwd=tmp_path,
        env=project.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "busy").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert running.returncode == (2 if command == "pytest" else 130), out + err
    assert '"event":"case"' not in (tmp_path / "r.jsonl").read_text(encoding="utf-8")
