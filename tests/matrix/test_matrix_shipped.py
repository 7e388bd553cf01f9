"""The shipped seed matrices, against figures worked out here from the seed's own rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvconform import resources
from kvconform.matrix import find_matrices, load_matrix


def test_unaligned_hit(templates: Path) -> None:
    """96 rows, each pinned to the verdict that the first retained block gives."""
    matrix = load_matrix(find_matrices(["coverage/unaligned_hit"])[0], templates=[templates])
    assert len(matrix.rows) == 96
    assert "win.128-keep.3-bound.3968-eagle.on-left.missing" in {row.id for row in matrix.rows}
    needed = 0
    for row in matrix.rows:
        window, extra = row.values["window"], row.values["extra_retained"]
        boundary, left = row.values["boundary"], row.values["left_chunk"]
        first_block = (boundary - window + 1 - extra) // 64
        needs_left = first_block // 4 < -(-boundary // 256) - 1
        needed += needs_left
        by_state = {"present": boundary, "missing": 0, "pending": "later", "loading": "later"}
        case = matrix.case(row)
        assert case.pinned == {"verdict": by_state[left] if needs_left else boundary}, row.id
        swa = case.layout.groups[case.layout.index("swa")]
        assert (swa.window, swa.extra_retained, swa.eagle) == (window, extra, row.values["eagle"])
        assert [case.layout.chunk_tokens(at) for at in range(3)] == [1024, 256, 32]
        assert case.given == {
            "prompt_tokens": 4353,
            "boundary": boundary,
            "chunks": [
                {"needed_at": boundary, "state": "ready"},
                {"group": "swa", "left_of": boundary, "state": left},
            ],
        }
    assert needed == 64


def test_cold_consumer(templates: Path) -> None:
    """6 rows; one extra token stores and loads nothing more, three do."""
    matrix = load_matrix(find_matrices(["coverage/cold_consumer"])[0], templates=[templates])
    assert [row.id for row in matrix.rows] == [
        f"keep.{extra}-sched.{scheduling}"
        for extra in (0, 1, 3)
        for scheduling in ("sync", "async")
    ]
    for row in matrix.rows:
        case = matrix.case(row)
        more = row.values["extra_retained"] > 1
        assert case.pinned == {
            "verdict": 32,
            "stored": {"full": [0, 1], "swa": [1, 2, 3, 5, 6, 7] if more else [2, 3, 6, 7]},
            "loaded": {"full": [0, 1], "swa": [5, 6, 7] if more else [6, 7]},
        }
        assert case.layout.scheduling == row.values["scheduling"]
        assert case.given == {"prompt_tokens": 33, "output_tokens": 1, "consumers": [32]}


@pytest.mark.parametrize("path", find_matrices(), ids=lambda path: path.stem)
def test_every_shipped_matrix(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every shipped matrix loads with the shipped templates, and is called by its bare name from afar."""
    monkeypatch.chdir(tmp_path)
    matrix = load_matrix(path)
    assert matrix.file == path.relative_to(resources.matrix_dir()).as_posix()
    assert matrix.name == path.stem.replace("_", "-")
    assert all(matrix.case(row) for row in matrix.rows[:200])
