"""Matrices become modules that are readable, safe and unique, and nothing else is touched."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import pytest
from runner_project import TEMPLATES, Project

from kvconform.matrix import Matrix, load_matrices
from kvconform.render import (
    ROWS_PER_MODULE,
    DuplicateMatrixError,
    ForeignFolderError,
    RenderedFolder,
    RenderError,
    render,
)


def load(*paths: Path, templates: Sequence[Path] = (TEMPLATES,)) -> list[Matrix]:
    """The matrices of these files."""
    return load_matrices(paths, templates=templates)


def render_to(folder: Path, *paths: Path) -> RenderedFolder:
    """Render these files with the scripted templates."""
    return render(load(*paths), folder, templates=(TEMPLATES,))


def test_a_module_is_thin_and_readable(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole module: title, rows from the file beside it, the scenario's steps."""
    monkeypatch.chdir(tmp_path)
    render_to(tmp_path / "out", project.matrix("two-cases", "pass", "fail"))
    assert (
        (tmp_path / "out" / "test_two_cases.py").read_text(encoding="utf-8")
        == '''\
"""two-cases: Scripted (rendered from two_cases.yaml; do not edit)"""

from pathlib import Path

import pytest

from kvconform.matrix import RowsFile

ROWS = RowsFile.read(Path(__file__).with_suffix(".json"))
CHECKS = ('no-exception', 'every-request-ends')


@pytest.mark.parametrize("row", ROWS, ids=ROWS.ids)
def test_faults(stage):
    if stage.act() != "forget":
        stage.conclude()
'''
    )


@pytest.mark.parametrize(
    "title",
    [
        '"""',
        "'''",
        '""" + __import__("os").system("false") + """',
        "\\",
        "\\u0022\\u0022",
        '"',
        "x\\",
    ],
)
def test_titles_cannot_become_code(project: Project, tmp_path: Path, title: str) -> None:
    """Quotes and backslashes of a matrix lose their meaning in text for readers."""
    quoted = "'" + title.replace("'", "''") + "'"
    plain = render_to(tmp_path / "plain", project.matrix("plain", "pass"))
    odd = render_to(tmp_path / "odd", project.matrix("odd", "pass", title=quoted))
    trees = [
        ast.parse((folder.path / f"{folder.modules[0]}").read_text(encoding="utf-8"))
        for folder in (plain, odd)
    ]
    assert [ast.dump(node) for node in trees[0].body[1:]] == [
        ast.dump(node) for node in trees[1].body[1:]
    ]
    assert ast.get_docstring(trees[1]).startswith("odd: ")


def test_many_rows_are_split_and_names_stay_unique(project: Project, tmp_path: Path) -> None:
    """The second piece of one matrix does not take the name of another matrix."""
    acts = [f"a{number}" for number in range(ROWS_PER_MODULE + 1)]
    big, other = project.matrix("many", *acts), project.matrix("many-2", "pass")
    folder = render_to(tmp_path / "out", big, other)
    assert folder.cases == ROWS_PER_MODULE + 2
    assert sorted(folder.modules) == ["test_many.py", "test_many_2.py", "test_many_2_.py"]


def test_rendering_again_removes_what_is_stale_and_nothing_else(
    project: Project, tmp_path: Path
) -> None:
    """A file of the user's own in a rendered folder survives; a matrix that is gone does not."""
    out = tmp_path / "out"
    one, two = project.matrix("one", "pass"), project.matrix("two", "pass")
    render_to(out, one, two)
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    render_to(out, two)
    assert sorted(path.name for path in out.iterdir()) == [
        "conftest.py",
        "kvconform-render.json",
        "notes.txt",
        "pytest.ini",
        "test_two.json",
        "test_two.py",
    ]


def test_a_foreign_folder_is_refused_untouched(project: Project, tmp_path: Path) -> None:
    """Files that no render has put there are somebody's work."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "conftest.py").write_text("mine", encoding="utf-8")
    with pytest.raises(ForeignFolderError, match=r"holds 'conftest\.py' and was not rendered"):
        render_to(out, project.matrix("one", "pass"))
    assert [path.name for path in out.iterdir()] == ["conftest.py"]


def test_a_file_is_no_folder(project: Project, tmp_path: Path) -> None:
    """Nothing is written over a file."""
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    with pytest.raises(ForeignFolderError, match="is a file"):
        render_to(tmp_path / "out", project.matrix("one", "pass"))


def test_matrices_of_one_name_are_refused(project: Project, tmp_path: Path) -> None:
    """Their cases would have the same ids."""
    one = project.matrix("one", "pass")
    other = one.with_name("copy.yaml")
    other.write_text(one.read_text(encoding="utf-8"), encoding="utf-8")
    matrices = [*load(one), *load(other)]
    with pytest.raises(DuplicateMatrixError, match=r"two matrices are named 'one'"):
        render(matrices, tmp_path / "out", templates=(TEMPLATES,))


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ nosuch }}", "'nosuch' is undefined"),
        ("def (", "SyntaxError"),
        ("{% for %}", "Expected"),
        ("{{ title | ident }}", "is no Python identifier"),
    ],
)
def test_a_broken_template_is_named(
    project: Project, tmp_path: Path, template: str, text: str
) -> None:
    """The error names the template and the cause, and nothing is written."""
    mine = tmp_path / "mine"
    mine.mkdir()
    definition = (TEMPLATES / "faults.scenario.yaml").read_text(encoding="utf-8")
    (mine / "faults.scenario.yaml").write_text(definition, encoding="utf-8")
    (mine / "faults.py.j2").write_text(template, encoding="utf-8")
    matrices = load(project.matrix("one", "pass", title="A b"), templates=(mine,))
    with pytest.raises(RenderError, match=r"faults\.py\.j2") as caught:
        render(matrices, tmp_path / "out", templates=(mine,))
    assert text in str(caught.value)
    assert not (tmp_path / "out").exists()
