"""A project folder in which the command line is run as users do, with scripted cases."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
FAKES = HERE / "fakes"
TEMPLATES = FAKES / "templates"
CONNECTOR = "scripted:connector"

MATRIX = """\
format: 1
name: {name}
title: {title}
scenario: faults
clauses: [LIF-1, TRM-1]
layout:
  hash_block: 8
  groups: [{{name: full, kind: full, block_size: 8}}]
given:
  act: {{axis: act}}
axes:
  - {{name: act, id: act, values: [{acts}]}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command came to."""

    code: int
    out: str
    err: str


class Project:
    """A folder with matrices of scripted cases."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def matrix(self, name: str, *acts: str, title: str = "Scripted") -> Path:
        """Write a matrix with one case for each of ``acts``."""
        path = self.folder / f"{name.replace('-', '_')}.yaml"
        text = MATRIX.format(name=name, title=title, acts=", ".join(acts))
        path.write_text(text, encoding="utf-8")
        return path

    def environment(self) -> dict[str, str]:
        """The test process must find the scripted stage."""
        paths = [str(FAKES), *filter(None, [os.environ.get("PYTHONPATH")])]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
        return {**kept, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "100"}

    def command(self, *words: str | Path) -> Outcome:
        """Run ``kvconform`` with these words in the folder."""
        return self.python("-m", "kvconform", *words)

    def run(self, *words: str | Path) -> Outcome:
        """``kvconform run`` with the scripted connector and templates."""
        own, rest = _split(words)
        return self.command(
            "run",
            *own,
            "--connector",
            CONNECTOR,
            "--device",
            "cpu",
            "--templates",
            TEMPLATES,
            *rest,
        )

    def python(self, *words: str | Path) -> Outcome:
        """Run this interpreter in the folder."""
        done = subprocess.run(
            [sys.executable, *map(str, words)],
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Outcome(code=done.returncode, out=done.stdout, err=done.stderr)


def _split(words: Sequence[str | Path]) -> tuple[Sequence[str | Path], Sequence[str | Path]]:
    at = list(words).index("--") if "--" in words else len(words)
    return words[:at], words[at:]
