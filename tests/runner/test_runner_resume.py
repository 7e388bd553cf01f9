"""A run that is killed, resumed, spread over processes or repeated comes to the same records."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from runner_project import CONNECTOR, TEMPLATES, Project

from kvconform.matrix import find_matrices, load_matrix, load_scenario
from kvconform.registry import resolve_connector
from kvconform.results.journal import read_records
from kvconform.results.record import Outcome

NAPS = [f"nap{at}" for at in range(60)]
SAYS = dict.fromkeys(NAPS[:20], "pass") | {"fail": "fail", "untestable": "untestable"}
SAYS |= dict.fromkeys(NAPS[20:40], "pass") | {"unclaimed": "n/a"}
SAYS |= dict.fromkeys(NAPS[40:], "pass")


def recorded(path: Path) -> dict[str, dict[str, Any]]:
    """The records by case, as written, but for the time that each took."""
    records = read_records(path).records
    found = {case: record.to_json() for case, record in records.items()}
    return {case: {**record, "seconds": 0} for case, record in found.items()}


def run_words(*words: str | Path) -> list[str]:
    """The command line of a run of ``m.yaml`` that keeps its records."""
    own = ["-m", "kvconform", "run", "m.yaml", "--connector", CONNECTOR, "--device", "cpu", "-q"]
    return [sys.executable, *own, "--templates", *map(str, (TEMPLATES, "--records", *words))]


def kill_in_the_middle(project: Project, records: Path, chance: random.Random) -> bool:
    """Resume the run and kill it, SIGKILL, at a random number of written bytes; False if it ended.

    Every other time the test process is killed with it, as when a machine goes down.
    """
    before = records.stat().st_size if records.exists() else 0
    wanted = before + chance.randrange(1, 12_000)
    run = subprocess.Popen(
        run_words(records.name, "--resume"),
        cwd=project.folder,
        env=project.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while run.poll() is None:
        if records.exists() and records.stat().st_size >= wanted:
            time.sleep(chance.random() * 0.03)
            children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
            test_processes = children.read_text("utf-8").split() if run.poll() is None else []
            os.kill(run.pid, signal.SIGKILL)
            for process in test_processes if chance.random() < 0.5 else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
            run.wait()
            return True
        time.sleep(0.002)
    return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks into /proc")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_kill_at_any_moment_loses_no_recorded_result(
    project: Project, tmp_path: Path, seed: int
) -> None:
    """Killed again and again, a run that is resumed ends with every case recorded, each once."""
    chance = random.Random(seed)  # noqa: S311 - moments, not secrets
    project.matrix("m", *SAYS)
    records = tmp_path / "r.jsonl"
    kept: dict[str, dict[str, Any]] = {}
    kills = 0
    while kills < 4 and kill_in_the_middle(project, records, chance):
        kills += 1
        now = recorded(records)
        assert kept.items() <= now.items()
        kept = now
    done = project.run("m.yaml", "--resume", "r.jsonl", "-q")
    assert (done.code, kills > 0) == (1, True), done.err
    assert done.out == "kvconform: 60 passed, 1 failed, 1 n/a, 1 untestable, 0 errors\n"
    final = recorded(records)
    assert kept.items() <= final.items()
    assert {r["axes"]["act"]: r["outcome"] for r in final.values()} == SAYS
    lines = [json.loads(line) for line in records.read_text("utf-8").splitlines()]
    told = [line["case"] for line in lines if line["event"] == "case"]
    assert sorted(told) == sorted(final)


def test_workers_come_to_the_same_records(project: Project, tmp_path: Path) -> None:
    """``-n 2`` changes neither outcomes nor what is said about them, traces included."""
    words = ["run", "coverage/cold_consumer", "-q", "--device", "cpu"]
    words += ["--connector", "mutant:lying", "--records"]
    alone = project.command(*words, "alone.jsonl")
    spread = project.command(*words, "spread.jsonl", "--", "-n", "2")
    assert (alone.code, alone.out) == (spread.code, spread.out)
    assert alone.code == 1, alone.err
    one, two = recorded(tmp_path / "alone.jsonl"), recorded(tmp_path / "spread.jsonl")
    assert one == two


def test_two_files_to_resume_are_one_too_many(project: Project) -> None:
    """A path of a matrix after ``--resume`` is taken for one."""
    done = project.command("run", "--records", "r.jsonl", "--resume", "m.yaml")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "kvconform: --resume m.yaml and --records r.jsonl name a file each: give one of them "
        "(paths of matrices stand before --resume)\n"
    )


def test_records_of_other_matrices_are_not_continued(project: Project, tmp_path: Path) -> None:
    """A case that no matrix of the run has would be counted and never explained."""
    project.matrix("m", "pass")
    project.matrix("other", "fail")
    assert project.run("m.yaml", "--records", "r.jsonl").code == 0
    before = (tmp_path / "r.jsonl").read_bytes()
    done = project.run("other.yaml", "--records", "r.jsonl", "--resume")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"kvconform: {tmp_path}/r.jsonl holds records of another run: no matrix of this one has "
        "'m[act.pass]'; name another file, or the matrices of that run\n"
    )
    assert (tmp_path / "r.jsonl").read_bytes() == before


def test_records_of_other_settings_are_not_continued(project: Project, tmp_path: Path) -> None:
    """Verdicts with different settings of the connector never mix; equal ones in other words do."""
    project.matrix("m", "pass", "pass2")
    settings = ("--connector-config", 'a={"x": 1}', "--connector-config", "b=true")
    assert project.run("m.yaml", "--records", "r.jsonl", *settings, "--", "-k", "pass2").code == 0
    before = (tmp_path / "r.jsonl").read_bytes()
    for words, said in (
        ((), "no --connector-config"),
        (("--connector-config", "b=1"), "--connector-config b=1"),
        ((*settings[:2], "--connector-config", 'b="true"'), """--connector-config 'a={"x": 1}'"""),
    ):
        done = project.run("m.yaml", "--records", "r.jsonl", "--resume", *words)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(
            f"kvconform: {tmp_path}/r.jsonl holds records with --connector-config 'a={{\"x\": 1}}' "
            f"--connector-config b=true, not with {said}"
        )
        assert len(done.err.splitlines()) == 1
        assert (tmp_path / "r.jsonl").read_bytes() == before
    same = ("--connector-config", "b= true", "--connector-config", 'a={"x":1}')
    done = project.run("m.yaml", "--records", "r.jsonl", "--resume", "-q", *same)
    assert done.out == "kvconform: 2 passed, 0 failed, 0 n/a, 0 untestable, 0 errors\n"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("format", "r.jsonl:1: records of format 0; this release of kvconform reads format 1"),
        ("contract", "r.jsonl holds records by revision 0 of the contract, and this release "),
    ],
)
def test_records_of_another_version_are_not_continued(
    project: Project, tmp_path: Path, key: str, message: str
) -> None:
    """The format of the file and the revision of the contract are told apart."""
    project.matrix("m", "pass")
    header = {"event": "run", "format": 1, "kvconform": "0.1.0", "contract": 1, "cases": 1}
    header |= {"connector": CONNECTOR, "engine": "built-in", "device": "cpu", key: 0}
    (tmp_path / "r.jsonl").write_text(json.dumps(header) + "\n", "utf-8")
    done = project.run("m.yaml", "--records", "r.jsonl", "--resume")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"kvconform: {tmp_path}/{message}")


@pytest.mark.parametrize(
    ("connector", "outcome"),
    [("reference", Outcome.PASS), ("mutant:lying", Outcome.FAIL)],
)
def test_repeats_of_one_case_have_one_outcome(connector: str, outcome: Outcome) -> None:
    """A thousand times, in one process: the same checks with the same words, the same trace."""
    # Inside, so that the scripted stage of other tests is never taken for the real one.
    from kvconform.stage import CaseFailedError, Stage  # noqa: PLC0415

    (path,) = find_matrices(["coverage/cold_consumer"])
    matrix = load_matrix(path)
    checks = load_scenario(matrix.scenario).checks
    case = matrix.case(matrix.rows[0])
    factory = resolve_connector(connector).factory
    seen = set()
    for _ in range(1_000):
        stage = Stage(case, factory=factory, device="cpu", checks=checks, options={})
        with contextlib.suppress(CaseFailedError):
            play(stage)
        seen.add((stage.outcome, tuple(map(str, stage.results)), tuple(stage.trace)))
    assert len(seen) == 1
    assert {one[0] for one in seen} == {outcome}


def play(stage: Any) -> None:
    """The steps of the template ``cold_consumer``."""
    stage.produce()
    stage.judge_stores()
    for boundary in stage.cuts():
        stage.wipe_pool()
        stage.consume(boundary)
    stage.drop_chunks()
    for boundary in stage.cuts_once_dropped():
        stage.wipe_pool()
        stage.consume(boundary)
    stage.conclude()


def test_cases_of_an_edited_matrix_are_run_again(project: Project) -> None:
    """Same name and ids, another layout: old verdicts are taken back, said, and given anew."""
    path = project.matrix("m", "pass", "fail")
    project.run("m.yaml", "--records", "r.jsonl")
    before = recorded(project.folder / "r.jsonl")
    path.write_text(path.read_text("utf-8").replace("block_size: 8", "block_size: 16"), "utf-8")
    done = project.run("m.yaml", "--records", "r.jsonl", "--resume")
    assert "2 case(s) are run again, since what they ask has changed: m[act.pass] (m.yaml:" in done.err
    assert "2 passed" not in done.out
    after = recorded(project.folder / "r.jsonl")
    assert list(after) == list(before)
    assert all(after[case]["fingerprint"] != before[case]["fingerprint"] for case in after)
    once_more = project.run("m.yaml", "--records", "r.jsonl", "--resume")
    assert once_more.err == ""
