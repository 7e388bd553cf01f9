"""Nothing that the suite tells depends on Python's hash seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TRACE = "traces/tenants_side_by_side"


def records(folder: Path, seed: str) -> list[dict[str, object]]:
    """Records of a mutant's run, traces included, without times."""
    path = folder / f"{seed}.jsonl"
    words = ["run", TRACE, "smoke", "--connector", "mutant:salt-ignored", "--device", "cpu"]
    subprocess.run(
        [sys.executable, "-m", "kvconform", *words, "--no-project", "-q", "--records", str(path)],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=False,
        timeout=300,
    )
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [{**line, "seconds": 0} for line in lines]


def test_two_hash_seeds_give_the_same_records(tmp_path: Path) -> None:
    """Verdicts, texts and every event of a failing case."""
    one, other = records(tmp_path, "1"), records(tmp_path, "2")
    assert one == other
    assert any(line.get("trace") for line in one)
