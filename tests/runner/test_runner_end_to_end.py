"""The real stage and engine: connectors that misbehave get a verdict by clause, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runner_project import Project

CASES = ("cold-consumer[keep.0-sched.sync]", "cold-consumer[keep.3-sched.async]")


def run(project: Project, connector: str, tmp_path: Path, *words: str) -> list[dict[str, object]]:
    """Run two cases of the cold consumer against a connector; returns their records."""
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
    return records


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
    for record in run(project, connector, tmp_path, *words):
        assert record["outcome"] == "fail"
        failed = [check["clause"] for check in record["checks"] if check["outcome"] == "fail"]
        assert clause in failed
