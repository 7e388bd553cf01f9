"""Rows become cases, straight from a matrix or through a rows file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pytest

from kvconform.case import Case
from kvconform.matrix import Matrix, RowsFile, RowsFileError, build_case
from kvconform.ports import Group, GroupKind, Layout, Scheduling

Load = Callable[[str], Matrix]

EXTRAS = """\
source: vllm-project/vllm#56709
requires: [chunk_control]
engine: {scheduling: async, max_batched_tokens: 32}
expect:
  pins:
    - {when: {window: [16], eagle: [true]}, verdict: later}
    - {when: {eagle: [true]}, verdict: {axis: window}, stored: {full: [0, 1]}}
"""


def test_whole_case(load: Load, tiny: str) -> None:
    """A case has everything: identity, clauses, layout, parameters and pinned values."""
    matrix = load(tiny + EXTRAS)
    assert matrix.case(matrix.rows[1]) == Case(
        id="tiny[win.8-eagle.on]",
        matrix="tiny",
        source="m.yaml:14",
        scenario="admission",
        clauses=("COV-1",),
        requires=("chunk_control",),
        layout=Layout(
            hash_block=8,
            groups=(
                Group(name="full", kind=GroupKind.FULL, block_size=16),
                Group(name="swa", kind=GroupKind.SLIDING, block_size=8, window=8, eagle=True),
            ),
            scheduling=Scheduling.ASYNC,
            max_batched_tokens=32,
        ),
        given={"prompt_tokens": 64, "chunks": [{"needed_at": 32, "state": "ready"}]},
        axes={"window": 8, "eagle": True},
        pinned={"verdict": 8, "stored": {"full": [0, 1]}},
    )


def test_first_matching_pin(load: Load, tiny: str) -> None:
    """The first pin whose sets hold the row's values decides alone; without one nothing is pinned."""
    matrix = load(tiny + EXTRAS)
    assert [matrix.case(row).pinned for row in matrix.rows] == [
        {},
        {"verdict": 8, "stored": {"full": [0, 1]}},
        {},
        {"verdict": "later"},
    ]


def test_sections_by_reference(load: Load, tiny: str) -> None:
    """Lists and mappings can be axis values, and each case gets a copy of its own."""
    text = tiny.replace("chunks: [{needed_at: 32, state: ready}]", "chunks: {axis: chunks}")
    text += (
        "  - name: chunks\n    id: chunks\n    values:\n"
        "      - {label: one, value: [{needed_at: 8, state: ready}]}\n"
        "      - {label: two, value: [{needed_at: 8, state: ready}, {index: [1], state: missing}]}\n"
    )
    matrix = load(text + "exclude: [{when: {chunks: [two]}, then: {eagle: [true]}}]\n")
    row = matrix.rows[1]
    assert row.id == "win.8-eagle.off-chunks.two"
    case = matrix.case(row)
    chunks = case.given["chunks"]
    assert chunks == [{"needed_at": 8, "state": "ready"}, {"index": [1], "state": "missing"}]
    assert isinstance(chunks, list)
    chunks.clear()
    assert matrix.case(row).given["chunks"] != []


def test_rows_file(load: Load, tiny: str, tmp_path: Path) -> None:
    """A rows file gives the same cases, by position, in slices and from a plain header."""
    matrix = load(tiny + EXTRAS)
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(matrix.to_json()), encoding="utf-8")
    rows = RowsFile.read(path)
    assert rows.ids == [row.id for row in matrix.rows]
    assert [handle.id for handle in rows] == rows.ids
    assert [handle.case() for handle in rows] == [matrix.case(row) for row in matrix.rows]
    assert rows[-1].case() == matrix.case(matrix.rows[-1])
    assert [handle.id for handle in rows[1:3]] == rows.ids[1:3]
    assert rows.header == matrix.header
    assert build_case(matrix.to_json()["header"], matrix.rows[0]) == build_case(
        matrix, matrix.rows[0]
    )
    with pytest.raises(IndexError):
        rows[4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "not the rows of a matrix of format 1; render it anew"),
        ("[]", "not the rows of a matrix of format 1; render it anew"),
        ('{"format": 2}', "not the rows of a matrix of format 1; render it anew"),
        ('{"format": 1}', "the rows are damaged (KeyError('header')); render them anew"),
        (
            '{"format": 1, "header": {}, "rows": []}',
            "the rows are damaged (KeyError('clauses')); render them anew",
        ),
        ("{", "cannot be read as rows: "),
    ],
)
def test_damaged_rows_file(tmp_path: Path, text: str, message: str) -> None:
    """A rows file that is none says so, with its name and what to do."""
    path = tmp_path / "rows.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RowsFileError) as caught:
        RowsFile.read(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_ten_thousand_rows(load: Load, tiny: str, tmp_path: Path) -> None:
    """Ten thousand rows load in seconds on any machine, and read back without being built."""
    text = tiny.replace("[8, 16]", str(list(range(1, 51)))).replace(
        "needed_at: 32", "needed_at: {axis: cut}"
    )
    text += f"  - {{name: cut, id: cut, values: {list(range(100))}}}\n"
    text = text.replace("prompt_tokens: 64", "prompt_tokens: 100")
    start = perf_counter()
    matrix = load(text)
    assert len(matrix.rows) == 10_000
    assert len({row.id for row in matrix.rows}) == 10_000
    assert perf_counter() - start < 5
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(matrix.to_json()), encoding="utf-8")
    start = perf_counter()
    rows = RowsFile.read(path)
    assert len(rows) == 10_000
    assert perf_counter() - start < 1
    assert rows[9_999].case() == matrix.case(matrix.rows[9_999])
