"""Changes of a connector's code meet their fate in processes of their own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kvconform.cli import main
from kvconform.matrix import find_matrices, load_matrices
from kvconform.mutation.known import Known, KnownError
from kvconform.mutation.operators import Change
from kvconform.mutation.package import NoSourceError, Package
from kvconform.mutation.survey import Fate, Finding, Play, Survey
from kvconform.registry import resolve_connector
from kvconform.run.forked import Lost, forked, within
from kvconform.run.inline import Player

CASE = "cold-consumer[keep.0-sched.sync]"

TINY = """\
from kvconform_reference import make_connector as reference


def limit():
    count = 1
    while count < 5:
        count += 1
    return 0


def make(layout, setting):
    limit()
    connector = reference(layout, setting)
    connector.scheduler.has_pending_work = lambda: False
    return connector
"""


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Survey:
    """A small package around the reference, and one case."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "make.py").write_text(TINY)
    monkeypatch.syspath_prepend(tmp_path)
    name = "tiny.make:make"
    return Survey(
        package=Package.of(name),
        unchanged=resolve_connector(name).factory,
        player=Player(load_matrices(find_matrices(["coverage/cold_consumer"]))),
        plays=[Play(case=CASE)],
    )


def fates(survey: Survey, choose: Callable[[Change], bool]) -> dict[str, Finding]:
    """Findings by what the statement is after the change, the last of each."""
    wanted = [one for one in survey.package.changes(["make.py"]) if choose(one)]
    return {finding.change.after: finding for finding in survey.run(wanted, {})}


def test_fates(survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed by a verdict, by a hang; survived where nothing tells."""
    monkeypatch.setattr("kvconform.mutation.survey._CASE_CPU_SECONDS", 2.0)
    found = fates(survey, lambda one: one.function in {"make", "limit"})
    assert found["connector.scheduler.has_pending_work = lambda: True"].fate is Fate.KILLED
    assert "TRM-1" in found["connector.scheduler.has_pending_work = lambda: True"].how
    hung = fates(survey, lambda one: one.before == "count += 1")
    assert hung["pass"].how == "hang"
    assert found["count = 2"].fate is Fate.SURVIVED
    assert found["return 1"].fate is Fate.SURVIVED
    assert survey.told[Play(case=CASE)] >= 1


def test_this_process_keeps_the_code_as_it_is(survey: Survey) -> None:
    """What is imported anew is gone with the process that did it."""
    before = dict(sys.modules)
    fates(survey, lambda one: one.after == "return 1")
    assert {n: m for n, m in sys.modules.items() if n.startswith("tiny")} == {
        n: m for n, m in before.items() if n.startswith("tiny")
    }


def test_a_play_that_the_connector_fails_anyway_tells_nothing(survey: Survey) -> None:
    """Else every change would be killed by it."""
    broken = Survey(
        package=survey.package,
        unchanged=resolve_connector("mutant:never-at-rest").factory,
        player=survey.player,
        plays=survey.plays,
    )
    found = fates(broken, lambda one: "has_pending_work" in one.before)
    assert {finding.fate for finding in found.values()} == {Fate.SURVIVED}


def test_only_code_with_a_source_can_be_changed() -> None:
    """A mutant's factory is a class; a lambda or a builtin is told."""
    with pytest.raises(NoSourceError, match="nothing to change"):
        Package.of("builtins:len")


def test_known_files_are_checked(tmp_path: Path) -> None:
    """Unknown tables, missing reasons, text that is no TOML."""
    path = tmp_path / "known.toml"
    for text, told in (
        ("[survivor]\n", "unknown table 'survivor'"),
        ('[survivors]\n"a" = ""\n', "needs a reason"),
        ("[survivors\n", "cannot be read"),
        ("also = 3\n", r"\[\[also\]\]"),
    ):
        path.write_text(text)
        with pytest.raises(KnownError, match=told):
            Known.read(path)


def test_the_command_wants_a_reason_for_each_survivor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One matrix cannot tell the reference's options, so these survive; with reasons it is 0."""
    path = tmp_path / "known.toml"
    path.write_text("")
    words = ["mutate", "--only", "connector.py", "--sample", "3", "--seed", "1", "--most", "2"]
    words += ["--known", str(path), "smoke"]
    code = main(words)
    told = capsys.readouterr().out
    lines = [line for line in told.splitlines() if "survived, for no known reason: " in line]
    assert code == int(bool(lines))
    assert "of 3 killed" in told
    keys = [line.partition("reason: ")[2] for line in lines]
    path.write_text("[survivors]\n" + "".join(f"{key} = 'no case asks'\n" for key in keys))
    assert main(words) == 0
    assert main(["mutate", "--only", "nosuch.py"]) == 2


def test_work_that_hangs_or_dies_is_lost() -> None:
    """The others come back."""

    def work(task: str) -> str:
        within(0.2)
        while task == "hang":
            pass
        if task == "die":
            sys.exit(3)
        return task.upper()

    found = dict(forked(["hang", "die", "live"], work, side_by_side=2, seconds=60))
    assert found == {
        "hang": Lost(how="hang"),
        "die": Lost(how="crash (3)"),
        "live": "LIVE",
    }
