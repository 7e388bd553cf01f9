"""Fixtures of the tests that run what the documentation shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from docs_pages import Run, python_blocks


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    """A folder with the modules of the connector page, as a reader would copy them."""
    for name, text in python_blocks().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def kvconform(shown: Path) -> Run:
    """Runs the command line in the folder of the shown modules."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "kvconform", *words],
            cwd=shown,
            env={**env, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=1500,
            check=False,
        )

    return run
