"""How fast the suite is, as ratios within one run: machines differ, their own measure does not.

Rendering and collecting many rows is set against as many empty pytest cases of the same form; the
work of cases is told as it is, since it has no fair rival.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kvconform.matrix import RowsFile, load_matrices
from kvconform.ports import KvconformError
from kvconform.render import render
from kvconform.results.journal import read_records

_MATRIX = """\
format: 1
name: many-rows
title: As many rows as are asked for
scenario: admission
clauses: [COV-1]
requires: [chunk_control]
source: none
layout:
  hash_block: 8
  groups: [{{name: full, kind: full, block_size: 8}}]
given:
  prompt_tokens: 65
  output_tokens: {{axis: output}}
  chunks: [{{needed_at: {{axis: boundary}}, state: ready}}]
axes:
  - {{name: boundary, id: bound, values: [8, 16, 24, 32, 40, 48, 56, 64]}}
  - {{name: output, id: out, values: {outputs}}}
"""

_EMPTY = """\
from pathlib import Path
import json
import pytest

IDS = json.loads(Path(__file__).with_suffix(".json").read_text())

@pytest.fixture
def stage(row):
    return row

@pytest.mark.parametrize("row", range(len(IDS)), ids=IDS)
def test_empty(stage):
    pass
"""


class SpeedError(KvconformError):
    """What was to be timed did not run: says what, and what it printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTimes:
    """Seconds of each case's own work, imports apart."""

    seconds: tuple[float, ...]

    def __str__(self) -> str:
        median = statistics.median(self.seconds) * 1000
        return (
            f"{len(self.seconds)} cases: {sum(self.seconds):.2f} s in all, "
            f"median {median:.1f} ms, slowest {max(self.seconds) * 1000:.1f} ms"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectTimes:
    """Seconds to render and collect ``rows``, and to write and collect as many empty cases."""

    rows: int
    rendered: float
    empty: float

    def __str__(self) -> str:
        return (
            f"{self.rows} rows: render and collect {self.rendered:.2f} s, "
            f"empty cases {self.empty:.2f} s, ratio {self.rendered / self.empty:.2f}"
        )


def time_cases(paths: Sequence[str], connector: str) -> CaseTimes:
    """Run the cases of ``paths`` as a user would; each record says what its case took."""
    with tempfile.TemporaryDirectory() as name:
        records = Path(name) / "records.jsonl"
        arguments = ["run", *paths, "--connector", connector, "--records", str(records), "-q"]
        _run([sys.executable, "-m", "kvconform", *arguments], "the cases")
        found = read_records(records).records.values()
        return CaseTimes(seconds=tuple(record.seconds for record in found))


def time_collection(rows: int) -> CollectTimes:
    """Render and collect ``rows`` rows (a multiple of 8) in a new process, and empty ones."""
    outputs = list(range(1, rows // 8 + 1))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "many_rows.yaml"
        source.write_text(_MATRIX.format(outputs=outputs))
        rendered = folder / "rendered"
        start = time.perf_counter()
        (matrix,) = load_matrices([source])
        render([matrix], rendered)
        _collect(rendered)
        took = time.perf_counter() - start
        ids = [row_id for path in sorted(rendered.glob("test_*.json")) for row_id in RowsFile.read(path).ids]
        return CollectTimes(rows=len(ids), rendered=took, empty=_time_empty(folder / "empty", ids))


def _time_empty(folder: Path, ids: Sequence[str]) -> float:
    """The same ids and one fixture, in modules of the same size, with nothing of ours in them."""
    folder.mkdir()
    start = time.perf_counter()
    for part, first in enumerate(range(0, len(ids), 500)):
        (folder / f"test_{part}.py").write_text(_EMPTY)
        (folder / f"test_{part}.json").write_text(json.dumps(list(ids[first : first + 500])))
    (folder / "pytest.ini").write_text("[pytest]\n")
    _collect(folder)
    return time.perf_counter() - start


def _collect(folder: Path) -> None:
    options = ["--collect-only", "-q", "-p", "no:cacheprovider"]
    _run([sys.executable, "-m", "pytest", *options, str(folder)], f"collecting {folder.name}")


def _run(command: Sequence[str], what: str) -> None:
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)  # noqa: S603
    if done.returncode:
        raise SpeedError(f"{what} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
