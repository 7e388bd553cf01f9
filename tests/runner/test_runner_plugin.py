"""A rendered folder under plain pytest: options, outcomes, tracebacks and reports."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from runner_project import CONNECTOR, TEMPLATES, Outcome, Project

OURS = ("--connector", CONNECTOR, "--device", "cpu")


@pytest.fixture
def rendered(project: Project) -> Project:
    """A project with a rendered folder ``out``."""
    project.matrix("m", "pass", "pass2", "fail", "untestable", "unclaimed", "error", "forget")
    done = project.command("render", "m.yaml", "-o", "out", "--templates", TEMPLATES)
    assert (done.code, done.out) == (0, "1 module, 7 cases: pytest out\n")
    return project


def pytest_in(project: Project, *words: str) -> Outcome:
    """Run plain pytest in the project's folder."""
    return project.python("-m", "pytest", "-p", "no:cacheprovider", *words)


def test_a_node_id_runs_one_case(rendered: Project) -> None:
    """Names do not have to be known to kvconform: pytest's own selection works."""
    done = pytest_in(rendered, "out/test_m.py::test_faults[act.pass]", *OURS)
    assert done.code == 0
    assert "1 passed" in done.out


@pytest.mark.parametrize("place", ["before", "after"])
def test_options_may_stand_before_or_after_the_folder(rendered: Project, place: str) -> None:
    """The folder's conftest is read in time in both."""
    words = [*OURS, "out"] if place == "before" else ["out", *OURS]
    done = pytest_in(rendered, *words, "-k", "pass")
    assert done.code == 0
    assert "2 passed, 5 deselected" in done.out


def test_a_verdict_is_not_lost_for_want_of_a_picture(project: Project) -> None:
    """It is recorded as it is, with why there is none."""
    project.matrix("m", "undrawable", "pass")
    project.command("render", "m.yaml", "-o", "out", "--templates", TEMPLATES)
    done = pytest_in(project, "out", *OURS)
    assert "kvconform: 1 passed, 1 failed, 0 n/a, 0 untestable, 0 errors\n" in done.out
    assert "(no picture: RuntimeError: no scene)" in done.out


def test_a_failure_shows_the_stages_text_and_the_template_line(rendered: Project) -> None:
    """No line of the suite's own code stands between the user and the failure."""
    done = pytest_in(rendered, "out", *OURS, "-k", "fail")
    assert done.code == 1
    assert (
        f"""
m[act.fail] fails
  LIF-1 no-exception

{rendered.folder}/out/test_m.py:16: in test_faults
    stage.conclude()
"""
        in done.out
    )
    assert "plugin.py" not in done.out


def test_outcomes_are_kept_apart(rendered: Project) -> None:
    """Skips name the capability, faults of the suite are errors, the summary counts each kind."""
    done = pytest_in(rendered, "out", *OURS, "-rs")
    assert done.code == 1
    assert "n/a: chunk_control" in done.out
    assert "2 failed, 2 passed, 1 skipped, 2 errors" in done.out
    assert "kvconform: 2 passed, 1 failed, 1 n/a, 1 untestable, 2 errors\n" in done.out


def test_only_not_applicable_is_not_green(rendered: Project) -> None:
    """Pytest itself would call a run of skips a success."""
    done = pytest_in(rendered, "out", *OURS, "-k", "unclaimed")
    assert done.code == 5


def test_an_unknown_connector_is_one_line(rendered: Project) -> None:
    """A usage error of pytest, without traceback."""
    done = pytest_in(rendered, "out", "--connector", "nosuch", "--device", "cpu")
    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("ERROR: no connector is named 'nosuch'")
    assert len(done.err.strip().splitlines()) == 1


def test_collecting_needs_no_connector(rendered: Project) -> None:
    """An editor lists the cases before anything is installed."""
    done = pytest_in(rendered, "out", "--collect-only", "-q", "--connector", "nosuch")
    assert done.code == 0
    assert "test_m.py::test_faults[act.pass]" in done.out


@pytest.mark.parametrize("parallel", [(), ("-n", "2")])
def test_records_are_written_once_by_the_controller(
    rendered: Project, tmp_path: Path, parallel: tuple[str, ...]
) -> None:
    """One header, the selection, and a start and a record for each case, also under xdist."""
    if parallel:
        pytest.importorskip("xdist")
    pytest_in(rendered, "out", *OURS, "--records", "r.jsonl", *parallel)
    lines = (tmp_path / "r.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    kinds = [event["event"] for event in events]
    assert kinds[:2] == ["run", "selected"]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "run": 1,
        "selected": 1,
        "start": 7,
        "case": 7,
        "end": 1,
    }
    assert events[0]["cases"] == len(events[1]["cases"]) == 7
    failed = next(
        event for event in events if event.get("case") == "m[act.fail]" and "axes" in event
    )
    assert failed["trace"] == ["step 1: request a enters", "step 2: fail"]
    assert failed["checks"][0]["got"] == "ValueError: 7 is no block"


def test_recorded_cases_are_skipped(rendered: Project, tmp_path: Path) -> None:
    """A second run into the same file adds only what is missing."""
    words = ("out", *OURS, "--records", "r.jsonl", "--skip-recorded", "r.jsonl")
    pytest_in(rendered, *words, "-k", "fail")
    done = pytest_in(rendered, *words)
    assert "1 deselected" in done.out
    text = (tmp_path / "r.jsonl").read_text(encoding="utf-8")
    assert text.count('"event":"case"') == 7
    assert text.count('"event":"run"') == 1


def test_junit_properties(rendered: Project, tmp_path: Path) -> None:
    """Pytest's own report carries outcome, connector, clause and matrix."""
    pytest_in(rendered, "out", *OURS, "--junitxml", "j.xml")
    cases = ET.parse(tmp_path / "j.xml").iter("testcase")  # noqa: S314 - pytest wrote it
    properties = {
        case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")}
        for case in cases
    }
    assert properties["test_faults[act.unclaimed]"] == {
        "outcome": "n/a",
        "connector": CONNECTOR,
        "clause": "LIF-1,TRM-1",
        "matrix": "m.yaml:11",
    }


def test_rows_that_are_damaged_are_an_error_of_collection(
    rendered: Project, tmp_path: Path
) -> None:
    """Nothing is run from a file that cannot be trusted."""
    (tmp_path / "out" / "test_m.json").write_text("{}", encoding="utf-8")
    done = pytest_in(rendered, "out", *OURS)
    assert done.code == 2
    assert "render it anew" in done.out
