"""A case as one file: alone in a folder it ends as it does in a run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from runner_project import CONNECTOR, TEMPLATES, Outcome, Project

from kvconform.cli import main
from kvconform.matrix import RowsFile, find_matrices, load_matrices
from kvconform.repro import Subject, stand_alone

OURS = ("--connector", CONNECTOR, "--templates", TEMPLATES)


def pytest_in(project: Project, *words: str) -> Outcome:
    """Plain pytest in the project's folder."""
    return project.python("-m", "pytest", "-p", "no:cacheprovider", "-q", *words)


def case_of(text: str) -> dict[str, object]:
    """The plain data in a file."""
    (found,) = (
        node.value
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CASE"
    )
    value = ast.literal_eval(found)
    assert isinstance(value, dict)
    return value


@pytest.mark.slow
def test_a_users_own_case_needs_neither_its_matrix_nor_its_template(project: Project) -> None:
    """Pass, failure, skip and error are those of the run, on the connector that was named."""
    acts = ("pass", "fail", "untestable", "unclaimed", "error")
    matrix = project.matrix("m", *acts)
    for act in acts:
        done = project.command("repro", f"m[act.{act}]", "m.yaml", *OURS, "-o", f"{act}.py")
        assert (done.code, done.err) == (0, "")
        assert done.out == f"written: {act}.py\ntry: pytest {act}.py\n"
    matrix.unlink()
    done = pytest_in(project, *(f"{act}.py" for act in acts), "--records", "r.jsonl")
    assert done.code == 4  # the option is known to who loads the plugin before
    done = pytest_in(project, *(f"{act}.py" for act in acts))
    assert done.code == 1
    assert "2 failed, 1 passed, 1 skipped, 1 error" in done.out
    assert f"connector {CONNECTOR} 1.2, engine built-in" in done.out
    assert "kvconform: 1 passed, 1 failed, 1 n/a, 1 untestable, 1 errors\n" in done.out
    assert pytest_in(project, "unclaimed.py").code == 5


def test_the_connector_is_chosen_as_for_rendered_modules(project: Project) -> None:
    """The one in the file, or that of the command line; a session has one of them."""
    project.matrix("m", "pass")
    for name, words in (
        ("one", OURS),
        ("two", ("--connector", "scripted:faulty", "--templates", TEMPLATES)),
    ):
        assert project.command("repro", "m[act.pass]", "m.yaml", *words, "-o", f"{name}.py").code == 0
    assert pytest_in(project, "one.py").code == 0
    assert pytest_in(project, "two.py").code == 1
    assert pytest_in(project, "-p", "kvconform.plugin", "two.py", "--connector", CONNECTOR).code == 0
    done = pytest_in(project, "one.py", "two.py")
    assert done.code == 4
    assert "(scripted:connector, scripted:faulty)" in done.err
    (project.folder / "gone.py").write_text(
        (project.folder / "one.py").read_text("utf-8").replace(CONNECTOR, "nosuch"), "utf-8"
    )
    done = pytest_in(project, "gone.py")
    assert done.code == 4
    assert "no connector is named 'nosuch'" in done.err
    assert "Traceback" not in done.out + done.err


def test_records_say_where_and_how(project: Project) -> None:
    """Connector, settings, templates and matrix of the run; how the case ended there."""
    project.matrix("m", "fail")
    done = project.run("m.yaml", "--connector-config", "size=4", "--records", "r.jsonl", "-q")
    assert done.code == 1
    done = project.command("repro", "m[act.fail]", "--records", "r.jsonl")
    assert (done.code, done.err) == (0, "")
    assert f"\nCONNECTOR = '{CONNECTOR}'\nCONNECTOR_CONFIG = {{'size': 4}}\n" in done.out
    assert "# There it ended so: fail, LIF-1 no-exception: ValueError: # is no block\n" in done.out
    assert f"#   kvconform run m.yaml --connector {CONNECTOR} --connector-config size=4 " in done.out


@pytest.mark.parametrize(
    "title", ['"""', "\\", "'''; import os", "a\\nb", "# {{ title }}"]
)
def test_what_a_matrix_says_stays_text(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], title: str
) -> None:
    """It stands in comments and in the data, and nowhere else."""
    monkeypatch.chdir(project.folder)
    quoted = title if title.startswith('"\\') else "'" + title.replace("'", "''") + "'"
    plain, odd = project.matrix("plain", "pass"), project.matrix("odd", "pass", title=quoted)
    texts = []
    for path in (plain, odd):
        words = ["repro", f"{path.stem}[act.pass]", path.name, "--templates", str(TEMPLATES)]
        assert main(words) == 0
        texts.append(capsys.readouterr().out)
    trees = [[node for node in ast.parse(text).body if "CASE =" not in ast.unparse(node)] for text in texts]
    assert [ast.dump(node) for node in trees[0]] == [ast.dump(node) for node in trees[1]]
    assert not {char for char in texts[1] if not char.isprintable()} - {"\n"}


def test_every_scenario_stands_alone() -> None:
    """The data of the file builds an equal case, pins and axes included, for each template."""
    matrices = load_matrices(find_matrices([]))
    scenarios = {matrix.scenario: matrix for matrix in matrices}
    assert len(scenarios) == 9
    for matrix in (*scenarios.values(), *(one for one in matrices if one.document["pins"])):
        row = matrix.rows[-1]
        text = stand_alone(matrix, row, Subject(connector="reference", command="kvconform run"))
        compile(text, "case.py", "exec")
        assert "axis" not in str(case_of(text)["header"]["document"]).replace("axis.", "")
        (handle,) = RowsFile.from_json(case_of(text))
        assert handle.case() == matrix.case(row)
        assert handle.case().fingerprint == matrix.case(row).fingerprint
        assert "stage.conclude()" in text


def test_a_real_failure_and_a_repaired_connector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: Project
) -> None:
    """A mutant's case fails alone, and passes on the reference; also by its matrix's path."""
    monkeypatch.chdir(tmp_path)
    row = load_matrices(find_matrices(["isolation/salt"]))[0].rows[0].id
    words = ["--connector", "mutant:salt-ignored", "-o", "case.py"]
    assert main(["repro", f"isolation/salt[{row}]", *words]) == 0
    done = pytest_in(project, "case.py")
    assert done.code == 1
    assert "ISO-1" in done.out
    done = pytest_in(project, "-p", "kvconform.plugin", "case.py", "--connector", "reference")
    assert done.code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["salt[nosuch]"], "there is no case 'salt[nosuch]': "),
        (["slat[a]"], "there is no case 'slat[a]': no matrix here is named so; the nearest are\n"),
        (["unaligned-hit[win.128-keep.0-bound.3904-eagle.off-left.pendin]"], "there is no case "),
        (["isolation/slat[a]"], "no file, folder or shipped matrix is named 'isolation/slat'"),
        (["salt[a]", "-o", "case.txt"], "case.txt: pytest reads files that end with .py"),
        (["salt[a]", "--records", "none.jsonl"], "none.jsonl: cannot be read: No such file"),
        (["salt[a]", "--store", "fs", "--connector", "x"], "--store and --connector name what"),
    ],
)
def test_mistakes_are_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    told: str,
) -> None:
    """With the nearest ids; exit code 2, no file."""
    monkeypatch.chdir(tmp_path)
    assert main(["repro", *words]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"kvconform: {told}")
    if "pendin]" in words[0]:
        assert "left.pending]\n" in captured.err
    assert not list(tmp_path.iterdir())


def test_a_file_is_never_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may hold what people wrote."""
    monkeypatch.chdir(tmp_path)
    Path("case.py").write_text("mine", "utf-8")
    row = load_matrices(find_matrices(["isolation/salt"]))[0].rows[0].id
    assert main(["repro", f"salt[{row}]", "-o", "case.py"]) == 2
    assert "case.py is there already" in capsys.readouterr().err
    assert Path("case.py").read_text("utf-8") == "mine"
