"""The pages to learn and to work from: what they show is what happens."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from docs_pages import ROOT, blocks, commands

from kvconform.cli import COMMANDS

DOCS = ROOT / "docs"
FIRST = DOCS / "examples" / "first_connector.py"
WORKFLOW = DOCS / "examples" / "kvconform.yml"


def kvconform(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line in a folder."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
    command = [sys.executable, "-m", "kvconform", *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_the_tutorial_shows_the_file_and_says_what_happens(tmp_path: Path) -> None:
    """Its connector passes, and broken as it says fails as it says, with the axis to blame."""
    page = DOCS / "tutorial.md"
    (shown,) = (block.text for block in blocks(page) if block.language == "python")
    assert shown == FIRST.read_text("utf-8")
    good, bad = (block.text.strip() for block in blocks(page) if block.language == "text")
    (words,) = commands(page)
    (tmp_path / "first_connector.py").write_text(shown, encoding="utf-8")
    whole = kvconform(tmp_path, *words)
    assert (whole.returncode, whole.stdout.splitlines()[-1]) == (0, good)
    broken = shown.replace("index % per_chunk,", "0,")
    assert broken != shown
    (tmp_path / "first_connector.py").write_text(broken, encoding="utf-8")
    failed = kvconform(tmp_path, *words)
    assert (failed.returncode, failed.stdout.splitlines()[-1]) == (1, bad)
    assert "^ token" in failed.stdout
    assert re.search(r"all \d+, and no passing case, have chunk\.2", failed.stdout)


@pytest.mark.slow
def test_the_commands_of_the_page_on_debugging_do_what_it_says(tmp_path: Path) -> None:
    """One after another, in one folder; only those on the faulty connector fail."""
    for words in commands(DOCS / "debug.md"):
        done = kvconform(tmp_path, *words)
        faulty = words[0] != "render" and "keep.0" not in " ".join(words)
        judges = words[0] == "run" or (words[0] == "explain" and "[" in words[1])
        assert done.returncode == (1 if faulty and judges else 0), (words, done.stderr)
        assert done.stdout
    shown = [line for block in blocks(DOCS / "debug.md") for line in block.text.splitlines()]
    (line,) = (line.strip().removeprefix("$ ") for line in shown if "pytest" in line)
    words = shlex.split(line)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "1 failed" in done.stdout


@pytest.fixture
def workflow() -> dict[str, object]:
    """The workflow file, read as the service reads it."""
    read: dict[str, object] = yaml.safe_load(WORKFLOW.read_text("utf-8"))
    return read


@pytest.mark.slow
def test_the_workflow_runs_what_there_is(workflow: dict, tmp_path: Path) -> None:
    """Its lines are accepted, every part of the run is one of its jobs, and the lines work."""
    (job,) = workflow["jobs"].values()
    lines = [step["run"] for step in job["steps"] if "run" in step]
    ours = [shlex.split(line) for line in lines if line.startswith("kvconform ")]
    assert [words[1] for words in ours] == ["check", "run"]
    parts = job["strategy"]["matrix"]["shard"]
    assert f"{len(parts)}" == re.search(r"/(\d+)", lines[-1])[1]
    (tmp_path / "first_connector.py").write_text(FIRST.read_text("utf-8"), encoding="utf-8")
    project = '[tool.kvconform]\nconnector = "first_connector:make_connector"\nmatrices = ["smoke", "isolation/salt"]\n'
    (tmp_path / "pyproject.toml").write_text(project, encoding="utf-8")
    total = 0
    for part in parts:
        words = [word.replace("${{ matrix.shard }}", str(part)) for word in shlex.split(lines[-1].replace("${{ matrix.shard }}", str(part)))]
        own = words[1 : words.index("--")]
        COMMANDS["run"].parser().parse_intermixed_args(own[1:])
        done = kvconform(tmp_path, *own)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / f"junit-{part}.xml").exists()
        total += int(re.search(r"(\d+) passed", done.stdout.splitlines()[-1])[1])
    assert total == int(
        re.search(r"(\d+) passed", kvconform(tmp_path, "run", "-q").stdout.splitlines()[-1])[1]
    )


def test_the_commands_of_the_page_on_results_do_what_it_says(tmp_path: Path) -> None:
    """One after another, in one folder; the run on the faulty connector and the comparison end with 1."""
    codes = {"run": {0, 1}, "diff": {1}, "report": {0}, "repro": {0}}
    for words in commands(DOCS / "results.md"):
        if "FILE" in words or "--help" in words:
            continue
        done = kvconform(tmp_path, *words)
        assert done.returncode in codes[words[0]], (words, done.stderr)
    names = ("results.md", "results.html", "results.xml", "test_case.py")
    assert all((tmp_path / name).stat().st_size > 1000 for name in names)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "test_case.py"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    assert "a hit of 3968 tokens" in done.stdout
