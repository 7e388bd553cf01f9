"""Expected failures from the command line to the reports, with scripted cases."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from runner_project import CONNECTOR, TEMPLATES, Outcome, Project

from kvconform.resources import schema_dir

REVIEW = 'review: "2999-12-31"'


def entry(act: str, status: str = "fails", more: str = "") -> str:
    """An entry for the case with this act."""
    reason = f"known of {act}"
    return f'- {{case: "m[act.{act}]", status: {status}, reason: {reason}, {REVIEW}{more}}}\n'


def expect(project: Project, *entries: str, name: str = "e.yaml") -> None:
    """Write a file of expectations."""
    (project.folder / name).write_text("".join(entries) or "[]\n", encoding="utf-8")


def outcomes(path: Path) -> dict[str, tuple[str, str]]:
    """Last outcome and reason by act, from a records file; every line is valid by the schema."""
    schema = json.loads((schema_dir() / "records.schema.json").read_text(encoding="utf-8"))
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for event in events:
        Draft202012Validator(schema).validate(event)
    return {
        event["axes"]["act"]: (event["outcome"], event["reason"])
        for event in events
        if event["event"] == "case"
    }


EVERYTHING = (
    entry("fail", more=", clauses: [LIF-1], link: x#1"),
    entry("untestable"),
    entry("exit"),
    entry("pass"),
    entry("pass2", "flaky"),
    entry("forget", "unsupported"),
    entry("unclaimed").replace("2999", "2000"),
    entry("refuse", more=', versions: ">=2"'),
)

OUTCOMES = {
    "fail": ("xfail", "known of fail (x#1)"),
    "untestable": ("xfail", "known of untestable"),
    "exit": ("xfail", "known of exit"),
    "pass": ("xpass", "expected to fail: known of pass"),
    "pass2": ("pass", "flaky, passed: known of pass2"),
    "forget": ("n/a", "unsupported: known of forget"),
    "unclaimed": ("n/a", "chunk_control"),
    "refuse": ("n/a", "layout refused: no windows here"),
}


def test_every_status_in_full(project: Project, tmp_path: Path) -> None:
    """Kinds are counted apart, an unexpected pass is named with its entry and fails the run."""
    project.matrix("m", *OUTCOMES)
    expect(project, *EVERYTHING, entry("fail").replace("m[act.fail]", "nosuch-matrix"))
    done = project.run("m.yaml", "--expect", "e.yaml", "--records", "r.jsonl", "--junitxml", "j")
    assert done.code == 1
    assert outcomes(tmp_path / "r.jsonl") == OUTCOMES
    assert done.err == (
        "m[act.exit]: expected crash (exit status 3), the test process is started again\n"
    )
    assert (
        done.out
        == """\
connector scripted:connector 1.2, engine built-in, device cpu, contract revision 1

checks by clause
  clause  pass  fail  n/a  untestable  xfail
  LIF-1      2     0    0           0      3  The connector's methods return what the port says and raise nothing.
  TRM-1      4     0    0           0      0  Every request ends within a bounded number of steps.

unexpected passes, by entry
  e.yaml:4: 1 of its 1 cases passed
    m[act.pass]: expected to fail: known of pass

as expected, by entry
  1  e.yaml:1  known of fail (x#1)
  1  e.yaml:2  known of untestable
  1  e.yaml:3  known of exit
  1  e.yaml:5  flaky, passed: known of pass2
  1  e.yaml:6  unsupported: known of forget

not applicable, by capability
  1  chunk_control
  1  layout refused: no windows here

warnings
  e.yaml:7: to be reviewed since 2000-12-31: known of unclaimed
  e.yaml:9: no matrix of this run, nor a shipped one, is named 'nosuch-matrix'

kvconform: 1 passed, 0 failed, 3 n/a, 0 untestable, 3 expected failures, 1 unexpected passes, 0 errors
"""
    )
    suite = ET.parse(tmp_path / "j").getroot()[0]  # noqa: S314 - we wrote it
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "8",
        "failures": "1",
        "errors": "0",
        "skipped": "6",
    }
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    failure = cases["m[act.pass]"].find("failure")
    assert failure.get("message") == (
        "unexpected pass, see e.yaml:4, expected to fail: known of pass"
    )
    assert f"--templates {TEMPLATES} --expect e.yaml --case 'm[act.pass]'" in failure.text
    skipped = cases["m[act.fail]"].find("skipped")
    assert skipped.get("message") == "expected failure: known of fail (x#1)"
    properties = {p.get("name"): p.get("value") for p in cases["m[act.fail]"].iter("property")}
    assert (properties["outcome"], properties["expectation"]) == ("xfail", "e.yaml:1")


def test_every_status_in_parallel_workers(project: Project, tmp_path: Path) -> None:
    """The same under pytest-xdist, crash included."""
    pytest.importorskip("xdist")
    project.matrix("m", *OUTCOMES)
    expect(project, *EVERYTHING)
    words = ("--expect", "e.yaml", "--records", "r.jsonl", "-q", "--", "-n", "2")
    done = project.run("m.yaml", *words)
    assert outcomes(tmp_path / "r.jsonl") == OUTCOMES
    assert done.code == 1


def test_only_expected_failures_are_a_success(project: Project) -> None:
    """Exit code 0, also if a case hangs and one crashes as expected; they cost no restart."""
    project.matrix("m", "hang", "exit", "interrupt", "fail")
    expect(project, entry("hang"), entry("exit"), entry("interrupt"), name="a.yaml")
    expect(project, entry("fail", "flaky"), name="b.yaml")
    words = ("--expect", "a.yaml", "--expect", "b.yaml", "--case-timeout", "4")
    done = project.run("m.yaml", *words, "--max-restarts", "0", "-q")
    assert (done.code, done.out) == (
        0,
        "kvconform: 0 passed, 0 failed, 0 n/a, 0 untestable, 4 expected failures, 0 errors\n",
    )


def test_nothing_but_unsupported_is_no_success(project: Project) -> None:
    """What is not run is no pass: exit code 5."""
    project.matrix("m", "fail")
    expect(project, entry("fail", "unsupported"))
    assert project.run("m.yaml", "--expect", "e.yaml", "-q").code == 5


def test_a_failure_by_another_clause_stays_one(project: Project) -> None:
    """The entry is about a clause; the summary says which one is not in it."""
    project.matrix("m", "fail", "pass", "error")
    expect(project, entry("fail", more=", clauses: [TRM-1]"), entry("error"))
    done = project.run("m.yaml", "--expect", "e.yaml")
    assert done.code == 3  # an error of the suite is never expected
    assert "failure 1 of 1: m[act.fail]\n" in done.out
    assert "\n  reason     LIF-1 is not among the expected clauses (TRM-1)\n" in done.out
    assert done.out.endswith("1 passed, 1 failed, 0 n/a, 0 untestable, 1 errors\n")


def test_a_resumed_run_follows_the_files_of_today(project: Project, tmp_path: Path) -> None:
    """Old records are judged anew; a case that was left out runs once it is supported."""
    project.matrix("m", "fail", "pass", "pass2")
    expect(project, entry("fail"), entry("pass", "unsupported"), entry("pass2", "flaky"))
    words = ("m.yaml", "--expect", "e.yaml", "--records", "r.jsonl", "--resume", "-q")
    assert project.run(*words).code == 0
    expect(project, entry("pass2", "flaky"))
    done = project.run(*words)
    assert (done.code, done.out) == (
        1,
        "kvconform: 2 passed, 1 failed, 0 n/a, 0 untestable, 0 errors\n",
    )
    assert outcomes(tmp_path / "r.jsonl") == {
        "fail": ("fail", ""),
        "pass": ("pass", ""),
        "pass2": ("pass", "flaky, passed: known of pass2"),
    }


def test_bad_files_run_nothing(project: Project) -> None:
    """All problems together, exit code 2; those that need the connector's version too."""
    project.matrix("m", "fail", "pass")
    expect(project, entry("fial"), entry("pass", "flakey"), entry("fail").replace("known", "TODO"))
    done = project.run("m.yaml", "--expect", "e.yaml", "--expect", "nosuch.yaml")
    assert (done.code, done.out) == (2, "")
    assert (
        done.err
        == """\
kvconform: e.yaml:1:10: no case of 'm' has the component 'act.fial' (did you mean 'm[act.fail]'?)
kvconform: e.yaml:2:33: status: expected one of fails, flaky, unsupported, got the text 'flakey' \
(did you mean 'flaky'?)
kvconform: e.yaml:3:48: the reason is still to be written (say why the cases fail)
kvconform: nosuch.yaml:1:1: no such file
"""
    )
    condition = ', versions: ">=1"'
    both = entry("fail", more=condition), entry("pass"), entry("pass", "flaky", condition)
    expect(project, *both, entry("fail", "flaky"))
    done = project.run("m.yaml", "--expect", "e.yaml")
    assert (done.code, done.out) == (2, "")
    assert (
        done.err
        == """\
kvconform: e.yaml:3:10: m[act.pass] is matched as both 'fails' and 'flaky' (the other entry is at \
e.yaml:2)
kvconform: e.yaml:4:10: m[act.fail] is matched as both 'fails' and 'flaky' (the other entry is at \
e.yaml:1)
"""
    )


def test_a_selection_is_no_mistake(project: Project) -> None:
    """Entries about cases that are left out are fine; so are those about matrices left out."""
    project.matrix("m", "fail", "pass")
    project.matrix("other", "fail")
    known = entry("fail").replace("m[", "other["), entry("fail")
    expect(project, *known)
    done = project.run("m.yaml", "--expect", "e.yaml", "--case", "m[act.pass]", "-q")
    assert done.code == 0
    checked = project.command(
        "check", "m.yaml", "other.yaml", "--templates", TEMPLATES, "--expect", "e.yaml"
    )
    assert checked.out == "2 matrices, 3 cases, 2 expectations: ok\n"
    checked = project.command("check", "m.yaml", "--templates", TEMPLATES, "--expect", "e.yaml")
    assert checked.err == "kvconform: e.yaml:1:10: no matrix here is named 'other'\n"
    assert checked.code == 2


def plain_pytest(project: Project, *words: str) -> Outcome:
    """Pytest without kvconform, in the project's folder."""
    ours = ("--connector", CONNECTOR, "--device", "cpu", "--expect", "e.yaml")
    return project.python("-m", "pytest", "-p", "no:cacheprovider", "-rxX", *ours, *words)


@pytest.mark.slow
def test_pytest_shows_its_own_strict_xfail(project: Project) -> None:
    """``x`` for an expected failure, a failure for an unexpected pass, under xdist a crash too."""
    pytest.importorskip("xdist")
    project.matrix("m", "fail", "pass", "exit")
    project.command("render", "m.yaml", "-o", "out", "--templates", TEMPLATES)
    expect(project, entry("fail"), entry("pass"), entry("exit"))
    done = plain_pytest(project, "out", "-k", "not exit")
    assert done.code == 1
    assert "XFAIL out/test_m.py::test_faults[act.fail] - known of fail" in done.out
    assert (
        """
unexpected pass of m[act.pass]
  expected to fail: known of pass
  entry: e.yaml:2
"""
        in done.out
    )
    assert "1 failed, 1 deselected, 1 xfailed" in done.out
    one = plain_pytest(project, "out/test_m.py::test_faults[act.fail]")
    assert one.code == 0
    crashed = plain_pytest(project, "out", "-k", "not pass", "-n", "2")
    assert crashed.code == 0
    assert "2 xfailed" in crashed.out
    expect(project, entry("fial"), entry("fail").replace("known", "TODO"))
    wrong = plain_pytest(project, "out")
    assert (wrong.code, wrong.out) == (4, "")
    assert (
        wrong.err.replace("\n\n", "\n")
        == """\
ERROR: e.yaml:1:10: no case of 'm' has the component 'act.fial' (did you mean 'm[act.fail]'?)
ERROR: e.yaml:2:48: the reason is still to be written (say why the cases fail)
"""
    )


def test_entries_that_were_printed_explain_the_run(project: Project, tmp_path: Path) -> None:
    """Refused until their reasons are written; then nothing is left to fail."""
    project.matrix("m", "pass", "fail", "untestable", "exit")
    project.run("m.yaml", "--records", "r.jsonl", "-q")
    assert project.command("expect", "r.jsonl", "-o", "e.yaml").code == 0
    text = (tmp_path / "e.yaml").read_text(encoding="utf-8")
    assert text.startswith(
        "# 3 failures of scripted:connector 1.2\n- case: m[act.fail]  # 1 case\n"
    )
    refused = project.run("m.yaml", "--expect", "e.yaml")
    assert refused.code == 2
    assert refused.err.count("the reason is still to be written") == 3
    (tmp_path / "e.yaml").write_text(text.replace("TODO", "lost"), encoding="utf-8")
    done = project.run("m.yaml", "--expect", "e.yaml", "-q")
    assert (done.code, done.out) == (
        0,
        "kvconform: 1 passed, 0 failed, 0 n/a, 0 untestable, 3 expected failures, 0 errors\n",
    )
