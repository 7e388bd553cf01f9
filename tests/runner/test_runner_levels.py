"""Levels, shards and limits on the command line; what a failing smoke case means."""

from __future__ import annotations

import json

import pytest
from runner_project import Project


def smoke(project: Project, *acts: str) -> None:
    """A smoke matrix with these acts, named so that it would come last."""
    path = project.matrix("zz-smoke", *acts)
    path.write_text(path.read_text("utf-8").replace("layout:", "level: smoke\nlayout:"), "utf-8")


def test_smoke_cases_come_first(project: Project) -> None:
    """Whatever the order of the files, and alone with --level smoke."""
    project.matrix("aa", "pass", "pass2")
    smoke(project, "pass")
    assert project.run("aa.yaml", "zz_smoke.yaml", "--records", "r.jsonl").code == 0
    lines = [json.loads(line) for line in (project.folder / "r.jsonl").read_text().splitlines()]
    assert [line["case"] for line in lines if line["event"] == "case"] == [
        "zz-smoke[act.pass]",
        "aa[act.pass]",
        "aa[act.pass2]",
    ]
    done = project.run("aa.yaml", "zz_smoke.yaml", "--level", "smoke")
    assert done.out.splitlines()[-1].startswith("kvconform: 1 passed")


def test_after_a_failing_smoke_case_nothing_else_is_run(project: Project) -> None:
    """The others are untestable, with the case that is to blame, and the run fails."""
    smoke(project, "pass", "fail")
    project.matrix("aa", *(f"nap{at}" for at in range(8)))
    done = project.run("aa.yaml", "zz_smoke.yaml", "--records", "r.jsonl")
    assert done.code == 1
    text = (project.folder / "r.jsonl").read_text("utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    reasons = {line["case"]: line["reason"] for line in lines if line["event"] == "case"}
    left = [case for case, reason in reasons.items() if reason]
    assert left
    assert {reasons[case] for case in left} == {
        "not run, since the smoke case zz-smoke[act.fail] failed"
    }
    assert len(reasons) == 10
    assert "1 failed" in done.out.splitlines()[-1]
    assert "0 errors" in done.out.splitlines()[-1]


@pytest.mark.slow
def test_shards_and_limits(project: Project) -> None:
    """Both shards together are the whole; a limit cuts; nothing left is said."""
    project.matrix("aa", "pass", "pass2", *(f"nap{at}" for at in range(6)))
    counts = []
    for shard in ("1/2", "2/2"):
        done = project.run("aa.yaml", "--shard", shard, "-q")
        counts.append(int(done.out.split(" passed")[0].split()[-1]))
    assert sum(counts) == 8
    assert project.run("aa.yaml", "--max-cases", "3", "-q").out.startswith("kvconform: 3 passed")
    done = project.run("aa.yaml", "--shard", "7/2")
    assert (done.code, done.err) == (
        2,
        "kvconform: '7/2' is no shard; expected k/n with k from 1 to n, such as 1/4\n",
    )
    done = project.run("aa.yaml", "--level", "smoke")
    assert done.code == 2
    assert done.err.startswith("kvconform: no case is left")


def test_expectations_about_rows_that_are_left_out(project: Project) -> None:
    """They do not count, and are no fault, in a run of part of the rows."""
    project.matrix("aa", "pass", "fail")
    (project.folder / "known.yaml").write_text(
        '- case: aa[act.fail]\n  status: fails\n  reason: known\n  review: "2999-01-01"\n'
    )
    assert project.run("aa.yaml", "--expect", "known.yaml").code == 0
    for shard in ("1/2", "2/2"):
        done = project.run("aa.yaml", "--expect", "known.yaml", "--shard", shard)
        assert done.code in {0, 2}
        assert "matches" not in done.err
