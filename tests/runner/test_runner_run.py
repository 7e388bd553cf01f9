"""``kvconform run``: whatever a connector does, every case gets its verdict."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from runner_project import CONNECTOR, TEMPLATES, Project

from kvconform.results.html import write_html
from kvconform.results.journal import read_records


def outcomes(path: Path) -> dict[str, str]:
    """Outcome by the act of the case, from a records file."""
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {event["axes"]["act"]: event["outcome"] for event in events if event["event"] == "case"}


def told(path: Path, case: str) -> str:
    """What the first check of a case says in full, from a records file."""
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return next(
        event["checks"][0].get("detail") or event["checks"][0]["got"]
        for event in events
        if event["event"] == "case" and event["case"] == case
    )


def test_a_clean_run_in_full(project: Project) -> None:
    """Everything that a user sees when all is well."""
    project.matrix("good", "pass", "pass2")
    done = project.run("good.yaml")
    assert (done.code, done.err) == (0, "")
    assert (
        done.out
        == """\
connector scripted:connector 1.2, engine built-in, device cpu, contract revision 1

checks by clause
  clause  pass  fail  n/a  untestable
  LIF-1      2     0    0           0  The connector's methods return what the port says and raise nothing.
  TRM-1      2     0    0           0  Every request ends within a bounded number of steps.

kvconform: 2 passed, 0 failed, 0 n/a, 0 untestable, 0 errors
"""
    )


def test_a_failure_in_full(project: Project) -> None:
    """Clause, check, expected, got, where, trace, axes, matrix and the line to see it again."""
    project.matrix("bad", "pass", "fail")
    done = project.run("bad.yaml", "--connector-config", "size=4")
    assert (done.code, done.err) == (1, "")
    assert (
        f"""
failure 1 of 1: bad[act.fail]
  connector  scripted:connector 1.2
  LIF-1      The connector's methods return what the port says and raise nothing. (engine death)
  check      no-exception
  expected   no exception
  got        ValueError: 7 is no block
  detail     in get_finished, step 2
  axes       act=fail
  trace      step 1: request a enters
             step 2: fail
  reproduce  kvconform run bad.yaml --connector scripted:connector --connector-config size=4 \
--templates {TEMPLATES} --case 'bad[act.fail]'
  matrix     bad.yaml:11

kvconform: 1 passed, 1 failed, 0 n/a, 0 untestable, 0 errors
"""
        in done.out
    )


def test_the_reproduction_line_runs_that_case_alone(project: Project) -> None:
    """Also where its id is the beginning of another one."""
    project.matrix("bad", "fail", "fail2", "fail22")
    done = project.run("bad.yaml")
    line = next(line for line in done.out.splitlines() if line.startswith("  reproduce"))
    program, *words = shlex.split(line)[1:]
    assert program == "kvconform"
    again = project.command(*words)
    assert again.code == 1
    assert again.out.endswith("kvconform: 0 passed, 1 failed, 0 n/a, 0 untestable, 0 errors\n")


def test_hangs_and_crashes_fail_and_the_others_still_run(project: Project, tmp_path: Path) -> None:
    """A hang, an exit, a native crash and a raised interrupt are verdicts, not the end."""
    project.matrix("wild", "hang", "exit", "pass", "segfault", "interrupt", "fail", "pass2")
    done = project.run("wild.yaml", "--case-timeout", "2", "--records", "r.jsonl")
    assert done.code == 1
    records = tmp_path / "r.jsonl"
    assert outcomes(records) == {
        "hang": "fail",
        "exit": "fail",
        "pass": "pass",
        "segfault": "fail",
        "interrupt": "fail",
        "fail": "fail",
        "pass2": "pass",
    }
    assert told(records, "wild[act.hang]") == "hang: the case was still running after 2 s"
    assert told(records, "wild[act.exit]") == "native crash: exit status 3"
    assert told(records, "wild[act.segfault]") == "native crash: SIGSEGV"
    assert "in string_at" in done.out  # where it crashed
    assert (
        done.err
        == """\
wild[act.hang]: hang, the test process is started again
wild[act.exit]: crash (exit status 3), the test process is started again
wild[act.segfault]: crash (SIGSEGV), the test process is started again
wild[act.interrupt]: crash (the case ended the test session), the test process is started again
"""
    )


@pytest.mark.slow
def test_hangs_and_crashes_in_parallel_workers(project: Project, tmp_path: Path) -> None:
    """The same verdicts under pytest-xdist; nobody else is blamed."""
    pytest.importorskip("xdist")
    project.matrix("wild", "hang", "exit", "pass", "segfault", "fail", "pass2", "unclaimed")
    done = project.run("wild.yaml", "--case-timeout", "3", "--records", "r.jsonl", "--", "-n", "2")
    assert done.code == 1
    assert outcomes(tmp_path / "r.jsonl") == {
        "hang": "fail",
        "exit": "fail",
        "pass": "pass",
        "segfault": "fail",
        "fail": "fail",
        "pass2": "pass",
        "unclaimed": "n/a",
    }


def test_after_many_restarts_the_rest_is_given_up(project: Project, tmp_path: Path) -> None:
    """A connector that always crashes does not hold the run for ever; nothing counts as a pass."""
    project.matrix("wild", "exit", "interrupt", "pass")
    done = project.run("wild.yaml", "--max-restarts", "1", "--records", "r.jsonl")
    assert done.code == 1
    assert outcomes(tmp_path / "r.jsonl")["pass"] == "untestable"
    assert "reason     given up after 2 hangs and crashes" in done.out


def test_faults_of_the_suite_are_errors(project: Project) -> None:
    """A broken stage, a broken template and a case without verdict give exit code 3."""
    project.matrix("broken", "setup_error", "error", "forget", "fail")
    done = project.run("broken.yaml")
    assert done.code == 3
    assert "RuntimeError: the stage is broken\n" in done.out
    assert "RuntimeError: the template is broken\n" in done.out
    assert "the case was not concluded: test_faults[act.forget] ended without" in done.out
    assert done.out.endswith("kvconform: 0 passed, 1 failed, 0 n/a, 0 untestable, 3 errors\n")


def test_a_run_that_measured_nothing_is_not_green(project: Project) -> None:
    """Only not applicable: exit code 5, with the capabilities that are missing."""
    project.matrix("unclaimed", "unclaimed", "refuse")
    done = project.run("unclaimed.yaml")
    assert done.code == 5
    assert (
        done.out
        == """\
connector scripted:connector 1.2, engine built-in, device cpu, contract revision 1

not applicable, by capability
  1  chunk_control
  1  layout refused: no windows here

kvconform: 0 passed, 0 failed, 2 n/a, 0 untestable, 0 errors
"""
    )


def test_untestable_counts_as_a_failure(project: Project) -> None:
    """A check without its witness measured nothing."""
    project.matrix("blind", "untestable", "pass")
    done = project.run("blind.yaml", "-q")
    assert (done.code, done.out) == (
        1,
        "kvconform: 1 passed, 0 failed, 0 n/a, 1 untestable, 0 errors\n",
    )


def test_a_run_is_resumed(project: Project, tmp_path: Path) -> None:
    """What has a record is not run again; what it said still counts."""
    project.matrix("some", "fail", "pass", "pass2")
    assert project.run("some.yaml", "--records", "r.jsonl", "--", "-k", "fail").code == 1
    assert outcomes(tmp_path / "r.jsonl") == {"fail": "fail"}
    with (tmp_path / "r.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"event":"case","case":"some[act.pa')  # a kill in mid-line
    done = project.run("some.yaml", "--records", "r.jsonl", "--resume", "-q")
    assert done.out == "kvconform: 2 passed, 1 failed, 0 n/a, 0 untestable, 0 errors\n"
    text = (tmp_path / "r.jsonl").read_text(encoding="utf-8")
    assert text.count('"case":"some[act.fail]","matrix"') == 1
    again = project.run("some.yaml", "--records", "r.jsonl", "--resume", "-q")
    assert (again.code, again.out) == (1, done.out)


def test_pytest_arguments_choose_and_stop(project: Project) -> None:
    """``-k`` selects; ``-x`` stops, and the cases left out are told, not taken for lost."""
    project.matrix("some", "fail", "pass", "pass2")
    chosen = project.run("some.yaml", "-q", "--", "-k", "pass2")
    assert (chosen.code, chosen.out) == (
        0,
        "kvconform: 1 passed, 0 failed, 0 n/a, 0 untestable, 0 errors\n",
    )
    stopped = project.run("some.yaml", "--", "-x")
    assert stopped.code == 1
    assert "not run (stopped: stopping after 1 failures)\n  some[act.pass]\n" in stopped.out
    assert stopped.out.endswith("0 errors, 2 not run\n")


def test_junit_comes_from_the_records(project: Project, tmp_path: Path) -> None:
    """Also the case that killed its process is in it."""
    project.matrix("some", "pass", "exit", "unclaimed")
    project.run("some.yaml", "--junitxml", "j.xml")
    suite = ET.parse(tmp_path / "j.xml").getroot()[0]  # noqa: S314 - we wrote it
    assert (suite.get("name"), suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (
        "kvconform scripted:connector 1.2",
        "3",
        "1",
        "1",
    )


def test_html_comes_from_the_records(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the case that killed its process is in it, and the file of records gives the same page."""
    project.matrix("some", "pass", "exit", "unclaimed")
    done = project.run("some.yaml", "--records", "r.jsonl", "--html", "r.html")
    assert done.code == 1
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "<title>kvconform: scripted:connector 1.2</title>" in page
    assert "native crash" in page
    monkeypatch.chdir(tmp_path)
    write_html([("r.jsonl", read_records(tmp_path / "r.jsonl"))], tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text("utf-8") == page


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["nosuch.yaml"], 2, "no file, folder or shipped matrix is named 'nosuch.yaml'"),
        (["m.yaml", "--connector", "nosuch"], 2, "no connector is named 'nosuch'"),
        (["m.yaml", "--connector", "scripted:conector"], 2, "did you mean connector?"),
        (
            ["m.yaml", "--connector", "dies:x"],
            2,
            "the test process ended (SIGSEGV) while it loaded",
        ),
        (
            ["m.yaml", "--connector", "broken:x"],
            2,
            "importing broken failed: ValueError: no licence",
        ),
        (["m.yaml", "--case", "m[act.pas]"], 2, "did you mean m[act.pass]?"),
        (["m.yaml", "--connector-config", "size"], 2, "must be KEY=VALUE"),
        (["m.yaml", "--connector-config", "a=1", "--connector-config", "a=2"], 2, "given twice"),
        (["m.yaml", "--records", "no/r.jsonl"], 2, "does not exist"),
        (["m.yaml", "--junitxml", "."], 2, "is a folder"),
        (["m.yaml", "--html", "."], 2, "is a folder"),
        (["m.yaml", "--html", "no/r.html"], 2, "does not exist"),
        (["m.yaml", "--resume"], 2, "--resume needs --records FILE"),
        (["m.yaml", "--resume", "--records", "m.yaml"], 2, "m.yaml:1: no line of a records file"),
        (["m.yaml", "--case-timeout", "0"], 2, "is not a number of seconds above 0"),
        (["m.yaml", "--", "--nosuch"], 2, "unrecognized arguments: --nosuch"),
        (["m.yaml", "--", "-k", "nosuch"], 5, "no case is selected"),
        (["bad.yaml"], 2, "bad.yaml:1:1: "),
    ],
)
def test_mistakes_get_clear_lines_and_no_traceback(
    project: Project, tmp_path: Path, words: list[str], code: int, text: str
) -> None:
    """Nothing on standard output, a line each on standard error."""
    project.matrix("m", "pass")
    (tmp_path / "dies.py").write_text("import ctypes\nctypes.string_at(0)\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text("raise ValueError('no licence')\n", encoding="utf-8")
    (tmp_path / "bad.yaml").write_text("- 1\n", encoding="utf-8")
    connector = [] if "--connector" in words else ["--connector", CONNECTOR]
    at = words.index("--") if "--" in words else len(words)
    own = [*words[:at], *connector, "--device", "cpu", "--templates", str(TEMPLATES)]
    done = project.command("run", *own, *words[at:])
    assert (done.code, done.out) == (code, "")
    assert text in done.err
    assert "Traceback" not in done.err


def test_options_that_the_connector_refuses_end_the_run(project: Project) -> None:
    """One line and exit code 2 before any case, not one failure for each case."""
    (project.folder / "picky.py").write_text(
        """\
from kvconform.ports import KvconformError

class Factory:
    def __call__(self, layout, setting):
        raise AssertionError("no case may run")

    def check_options(self, options):
        if "size" in options:
            raise KvconformError(f"size={options['size']} is no size of a chunk")

factory = Factory()
""",
        encoding="utf-8",
    )
    project.matrix("m", "pass", "fail")
    words = ("run", "m.yaml", "--connector", "picky:factory", "--templates", TEMPLATES)
    done = project.command(*words, "--connector-config", "size=0")
    assert (done.code, done.out) == (2, "")
    assert done.err == "kvconform: size=0 is no size of a chunk\n"
    done = project.command(*words, "--device", "cpu")
    assert "2 " in done.out.splitlines()[-1]


def test_records_of_another_connector_are_not_continued(project: Project, tmp_path: Path) -> None:
    """Verdicts on two connectors never mix."""
    project.matrix("m", "pass")
    (tmp_path / "r.jsonl").write_text(
        '{"event":"run","format":1,"kvconform":"0.1.0","contract":1,"connector":"other",'
        '"engine":"built-in","device":"cpu","cases":1}\n',
        encoding="utf-8",
    )
    done = project.run("m.yaml", "--records", "r.jsonl", "--resume")
    assert done.code == 2
    assert "holds records of connector 'other', not of 'scripted:connector'" in done.err


def test_a_template_that_does_not_import_is_told(project: Project, tmp_path: Path) -> None:
    """The suite broke before the first case: exit code 3 with pytest's words."""
    mine = tmp_path / "mine"
    mine.mkdir()
    definition = (TEMPLATES / "faults.scenario.yaml").read_text(encoding="utf-8")
    (mine / "faults.scenario.yaml").write_text(definition, encoding="utf-8")
    (mine / "faults.py.j2").write_text("import nosuch_module\n", encoding="utf-8")
    project.matrix("m", "pass")
    done = project.command("run", "m.yaml", "--connector", CONNECTOR, "--templates", "mine")
    assert (done.code, done.out) == (3, "")
    assert "before the first case" in done.err
    assert "No module named 'nosuch_module'" in done.err


def test_a_process_that_does_not_exit_is_ended(project: Project) -> None:
    """A connector's thread that lives on does not hold up the verdict."""
    project.matrix("m", "linger")
    done = project.run("m.yaml", "--case-timeout", "2")
    assert done.code == 0
    assert done.err == "the test process did not exit after its last word and was killed\n"


def start(project: Project, tmp_path: Path) -> tuple[subprocess.Popen[str], int]:
    """Start a run that hangs in its second case; returns it and its test process's id."""
    project.matrix("m", "pass", "hang")
    words = ["run", "m.yaml", "--connector", CONNECTOR, "--device", "cpu"]
    words += ["--templates", str(TEMPLATES), "--records", "r.jsonl"]
    run = subprocess.Popen(
        [sys.executable, "-m", "kvconform", *words],
        cwd=tmp_path,
        env=project.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while '"start","case":"m[act.hang]"' not in _text(tmp_path / "r.jsonl"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text(encoding="utf-8")
    return run, int(children.split()[0])


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def gone(process: int) -> bool:
    """Whether a process ends within some seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state.split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks into /proc")


@linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_it_has(
    project: Project, tmp_path: Path, number: signal.Signals
) -> None:
    """The test process is ended, the summary shows what is recorded, exit code 130."""
    run, child = start(project, tmp_path)
    run.send_signal(number)
    out, err = run.communicate(timeout=30)
    assert (run.returncode, err) == (130, "")
    assert "not run (stopped: interrupted)\n  m[act.hang]\n" in out
    assert out.endswith("kvconform: 1 passed, 0 failed, 0 n/a, 0 untestable, 0 errors, 1 not run\n")
    assert outcomes(tmp_path / "r.jsonl") == {"pass": "pass"}
    assert gone(child)


@linux
def test_nothing_is_left_of_a_run_that_was_killed(project: Project, tmp_path: Path) -> None:
    """A hanging test process whose supervisor is gone ends by itself."""
    run, child = start(project, tmp_path)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    assert gone(child)


def test_verbose_shows_pytest_and_every_failure(project: Project) -> None:
    """``-v`` lets pytest speak and leaves no failure to a count."""
    project.matrix("m", *(f"fail{at}" for at in range(2)), *["fail"])
    done = project.run("m.yaml", "-v")
    assert "test_m.py::test_faults[act.fail] FAILED" in done.out
    assert "failure 1 of 1: m[act.fail]" in done.out
    assert done.out.count("checks by clause") == 1
