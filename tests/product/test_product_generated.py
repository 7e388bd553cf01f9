"""What a command writes for the repository is the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WRITERS = {
    "reference": ["reference", "--write", "reference"],
    "contract": ["contract", "--write", "contract.md"],
    "schema": ["schema", "records"],
    "render": ["render", "-o", "rendered", "smoke"],
}


def _written(words: list[str], folder: Path, seed: str) -> dict[str, str]:
    """What a fresh process with its own hash seed leaves, addresses being random anyway."""
    folder.mkdir()
    (folder / "reference").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "kvconform", *words],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    files = {str(f.relative_to(folder)): f.read_text("utf-8") for f in folder.rglob("*") if f.is_file()}
    return {**files, "<out>": done.stdout}


@pytest.mark.parametrize("words", WRITERS.values(), ids=WRITERS.keys())
def test_two_processes_write_the_same(words: list[str], tmp_path: Path) -> None:
    """Names, orders and values, and nothing that says where an object lay."""
    one = _written(words, tmp_path / "one", "1")
    other = _written(words, tmp_path / "other", "2")
    assert one == other
    assert max(map(len, one.values())) > 500
    assert not [name for name, text in one.items() if " at 0x" in text]
