"""Names on the command line become files; several files are judged together."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvconform import resources
from kvconform.matrix import (
    MatrixError,
    MatrixNotFoundError,
    find_matrices,
    load_matrices,
    shipped_names,
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: str) -> Path:
    """A working folder with matrices, a layout and other files."""
    for name in (
        "b.yaml",
        "sub/a.yaml",
        "sub/layouts/l.yaml",
        ".hidden/c.yaml",
        "notes.txt",
        "own.yml",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tiny)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_folder_and_file(here: Path) -> None:
    """A folder gives its matrices and those below, layouts and hidden ones not; each file once."""
    assert find_matrices(["."]) == [Path("b.yaml"), Path("sub/a.yaml")]
    assert find_matrices([here / "sub", "own.yml", "sub/a.yaml"]) == [
        here / "sub/a.yaml",
        Path("own.yml"),
    ]


@pytest.mark.usefixtures("here")
def test_shipped() -> None:
    """Bare names mean shipped matrices, from any folder, and no name means all of them."""
    base = resources.matrix_dir()
    for name in ("coverage/unaligned_hit", "coverage/unaligned_hit.yaml"):
        assert find_matrices([name]) == [base / "coverage" / "unaligned_hit.yaml"]
    assert base / "coverage" / "cold_consumer.yaml" in find_matrices(["coverage"])
    everything = [path.relative_to(base).with_suffix("").as_posix() for path in find_matrices()]
    assert everything == shipped_names()
    assert {"coverage/cold_consumer", "coverage/unaligned_hit"} <= set(everything)


def test_path_wins(here: Path) -> None:
    """What exists in the working folder is meant, even if a shipped matrix has the name."""
    (here / "coverage").mkdir()
    (here / "coverage" / "mine.yaml").touch()
    assert find_matrices(["coverage"]) == [Path("coverage/mine.yaml")]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("coverage/unaligned_hitt", "coverage/unaligned_hit"),
        ("unaligned_hit", "coverage/unaligned_hit"),
        ("unaligned-hit", "coverage/unaligned_hit"),
        ("unalined_hit", "coverage/unaligned_hit"),
    ],
)
@pytest.mark.usefixtures("here")
def test_unknown_name(name: str, nearest: str) -> None:
    """An unknown name is answered with the nearest shipped one."""
    with pytest.raises(MatrixNotFoundError) as caught:
        find_matrices([name])
    assert caught.value.nearest[0] == nearest
    start = f"no file, folder or shipped matrix is named {name!r} (did you mean {nearest!r}"
    assert str(caught.value).startswith(start)


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 5000, "../matrix/nothing"])
@pytest.mark.usefixtures("here")
def test_impossible_name(name: str) -> None:
    """A name that nothing can have is not found, like any other."""
    with pytest.raises(MatrixNotFoundError):
        find_matrices([name])


@pytest.mark.usefixtures("here")
def test_folder_without_matrices() -> None:
    """A folder with nothing to run is an error, not an empty run."""
    Path("empty").mkdir()
    for name in ("empty", "sub/layouts"):
        with pytest.raises(MatrixNotFoundError) as caught:
            find_matrices([name])
        message = f"the folder {name!r} holds no matrix (*.yaml, files in layouts/ not counted)"
        assert str(caught.value) == message


def test_problems_of_several_files(here: Path, templates: Path, tiny: str) -> None:
    """All files are judged before anything is told, equal names among them."""
    (here / "z.yaml").write_text(tiny.replace("hash_block: 8", "hash_block: x"))
    with pytest.raises(MatrixError) as caught:
        load_matrices(["z.yaml", "b.yaml", "sub/a.yaml", "none.yaml"], templates=[templates])
    assert str(caught.value).splitlines() == [
        "none.yaml:1:1: no such file",
        "sub/a.yaml:2:7: two matrices are named 'tiny' (the other is b.yaml)",
        "z.yaml:7:15: layout.hash_block: expected an integer >= 1 or {axis: NAME}, got the text 'x'",
    ]
    assert [matrix.name for matrix in load_matrices(["b.yaml"], templates=[templates])] == ["tiny"]
