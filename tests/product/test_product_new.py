"""Starts for matrices and connectors: they work as written, and overwrite nothing."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest
from product_vendor import command

from kvconform.cli import main
from kvconform.project import Project, read_project


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files land in an empty working folder."""
    monkeypatch.chdir(tmp_path)


def test_a_new_matrix_is_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page on scenarios runs it."""
    assert main(["new", "matrix", "late-store"]) == 0
    assert (
        capsys.readouterr().out == "written: late_store.yaml\ntry: kvconform run late_store.yaml\n"
    )
    assert main(["check", "late_store.yaml"]) == 0
    assert "name: late-store\n" in (tmp_path / "late_store.yaml").read_text("utf-8")


def test_a_new_connector_runs_and_passes_what_applies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the settings beside it; single chunks it cannot control, and says so."""
    assert main(["new", "connector", "my-kv"]) == 0
    assert capsys.readouterr().out == (
        "written: my-kv/my_kv.py\nwritten: my-kv/pyproject.toml\ntry: cd my-kv && kvconform run\n"
    )
    folder = tmp_path / "my-kv"
    assert read_project(folder) == Project(connector="my_kv:make_connector")
    assert (
        tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]["name"] == "my-kv"
    )
    done = command(
        *(sys.executable, "-m", "kvconform", "run", "-q"),
        *("coverage/cold_consumer", "coverage/unaligned_hit"),
        folder=folder,
    )
    assert done.code == 0, (done.out, done.err)
    assert done.out.endswith(" passed, 0 failed, 96 n/a, 0 untestable, 0 errors\n")


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If one file is there, no other is written either."""
    (tmp_path / "pyproject.toml").write_text("mine", "utf-8")
    assert main(["new", "connector", "my-kv", "-o", "."]) == 2
    assert capsys.readouterr().err == (
        "kvconform: pyproject.toml is there already; nothing is written\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["pyproject.toml"]
    assert (tmp_path / "pyproject.toml").read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["matrix", "Late_Store"], ("'Late_Store' cannot be a name: it takes small letters, digits "
         "and single hyphens, and begins with a letter; say 'late-store'")),
        (["matrix", "../x"], "'../x' cannot be a name"),
        (["connector", "import"], "'import' cannot be a name"),
        (["matrix", "fine", "-o", "a-file/below"], ("a-file/below: cannot be written into: "
         "Not a directory")),
    ],
)  # fmt: skip
def test_names_and_folders_that_do_not_work_are_told(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, exit code 2, no file."""
    (tmp_path / "a-file").write_text("", "utf-8")
    assert main(["new", *words]) == 2
    assert capsys.readouterr().err.startswith(f"kvconform: {message}")
    assert [path.name for path in tmp_path.iterdir()] == ["a-file"]
