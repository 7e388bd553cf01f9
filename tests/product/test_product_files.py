"""Schemas for editors, and the commands that hold files against what they should be."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from kvconform.cli import main
from kvconform.cli.schema import NAMES, schema
from kvconform.resources import matrix_dir, schema_dir, templates_dir

SHIPPED = [*sorted(matrix_dir().rglob("*.yaml")), *sorted(templates_dir().glob("*.yaml"))]
NAMED = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")

MATRIX = """\
format: 1
name: {name}
title: Two lengths
scenario: cold_consumer
clauses: [COV-1]
layout: {layout}
given: {{prompt_tokens: {{axis: length}}}}
axes:
  - {{name: length, id: len, values: [33, 65]}}
"""
LAYOUT = "hash_block: 4\ngroups: [{name: full, kind: full, block_size: 16}]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with one matrix and the layout that it uses."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine" / "layouts").mkdir(parents=True)
    (tmp_path / "mine" / "one.yaml").write_text(MATRIX.format(name="one", layout="plain"), "utf-8")
    (tmp_path / "mine" / "layouts" / "plain.yaml").write_text(LAYOUT, "utf-8")
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_schema_prints_a_schema_that_stands_alone(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Valid by the metaschema, and with no reference out of it."""
    assert main(["schema", name]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == schema(name)
    Draft202012Validator.check_schema(printed)
    assert all(ref.startswith("#") for ref in re.findall(r'"\$ref": "(.*?)"', json.dumps(printed)))


def test_every_schema_can_be_printed() -> None:
    """No file of the folder is left out."""
    files = sorted(path.name for path in schema_dir().iterdir())
    assert files == sorted(f"{name}.schema.json" for name in NAMES)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_shipped_files_name_their_schema_and_keep_it(path: Path) -> None:
    """The first line leads an editor to the schema of this kind of file, which the file obeys."""
    text = path.read_text("utf-8")
    named = NAMED.match(text)
    assert named is not None, text.partition("\n")[0]
    target = (path.parent / named[1]).resolve()
    kind = (
        "scenario"
        if path.parent == templates_dir()
        else ("layout" if path.parent.name == "layouts" else "matrix")
    )
    assert target == schema_dir() / f"{kind}.schema.json"
    assert list(Draft202012Validator(schema(kind)).iter_errors(yaml.safe_load(text))) == []


@pytest.mark.usefixtures("folder")
def test_check_counts_the_layouts_of_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """Beside the matrices there."""
    assert main(["check", "mine"]) == 0
    assert capsys.readouterr().out == "1 matrix, 2 cases, 1 layout: ok\n"


def test_check_tells_what_is_wrong_with_a_layout_that_no_matrix_uses(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By schema and by meaning, each fault once, together with those of matrices."""
    layouts = folder / "mine" / "layouts"
    (layouts / "odd.yaml").write_text(LAYOUT.replace("16", "6"), "utf-8")
    (layouts / "typo.yaml").write_text(LAYOUT.replace("hash_block", "hash_blok"), "utf-8")
    (layouts / "plain.yaml").write_text(LAYOUT.replace("kind: full", "kind: ful"), "utf-8")
    (layouts / "empty.yaml").write_text("", "utf-8")
    (folder / "mine" / "two.yaml").write_text(MATRIX.format(name="two", layout="plane"), "utf-8")
    assert main(["check", "mine"]) == 2
    told = capsys.readouterr().err.replace("kvconform: mine/", "").splitlines()
    assert [line.partition(": ")[0] for line in told] == [
        "layouts/empty.yaml:1:1",
        "layouts/odd.yaml:2:10",
        "layouts/plain.yaml:2:29",
        "layouts/typo.yaml:1:1",
        "layouts/typo.yaml:1:1",
        "two.yaml:6:9",
    ]
    assert "block_size 6 is not a multiple of hash_block 4" in told[1]
    assert "did you mean 'hash_block'?" in told[4]
    assert "did you mean 'plain'?" in told[5]


def test_render_check_tells_changed_missing_and_extra_files(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both ways; what Python leaves behind does not count, and nothing is written."""
    assert main(["render", "mine", "-o", "cases"]) == 0
    cases = folder / "cases"
    (cases / "__pycache__").mkdir()
    capsys.readouterr()
    assert main(["render", "mine", "--check", "cases"]) == 0
    assert capsys.readouterr().out == "cases: up to date\n"
    (cases / "test_one.py").write_text("", "utf-8")
    (cases / "test_one.json").unlink()
    (cases / "test_gone.py").write_text("", "utf-8")
    assert main(["render", "mine", "--check", "cases"]) == 1
    assert capsys.readouterr().out == (
        "extra    test_gone.py\n"
        "missing  test_one.json\n"
        "changed  test_one.py\n"
        "\n"
        "cases: 3 files differ\n"
    )
    assert not (cases / "test_one.json").exists()


def test_render_check_sees_a_matrix_that_came_or_went(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The manifest counts as a file."""
    assert main(["render", "mine", "-o", "cases"]) == 0
    (folder / "mine" / "two.yaml").write_text(MATRIX.format(name="two", layout="plain"), "utf-8")
    capsys.readouterr()
    assert main(["render", "mine", "--check", "cases"]) == 1
    assert capsys.readouterr().out.splitlines()[:3] == [
        "changed  kvconform-render.json",
        "missing  test_two.json",
        "missing  test_two.py",
    ]
    assert main(["render", "mine", "--check", "nosuch"]) == 2
    assert capsys.readouterr().err == "kvconform: nosuch is no folder; render into it first\n"
