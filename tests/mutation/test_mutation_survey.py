"""Changes of a connector's code meet their fate in processes of their own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kvconform.cli import main
from kvconform.matrix import find_matrices, load_matrices
from kvconform.mutation.known import Known, KnownError
from kvconform.mutation.operators import Change
from kvconform.mutation.package import NoSourceError, Package
from kvconform.mutation.play import Play, Plays
from kvconform.mutation.reach import NotPlayedError, marked, measure
from kvconform.mutation.survey import Fate, Finding, Survey
from kvconform.run.forked import Lost, forked, within
from kvconform.run.inline import Player

NAME = "tiny.make:make"

PLAY = Play(case="cold-consumer[keep.0-sched.sync]", connector=NAME)

TINY = """\
from kvconform_reference import make_connector as reference


def limit():
    count = 1
    while count < 5:
        count += 1
    return 0


def idle():
    return 7


def make(layout, setting):
    limit()
    connector = reference(layout, setting)
    connector.scheduler.has_pending_work = lambda: False
    return connector
"""


@pytest.fixture
def plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plays:
    """Cases on a small package around the reference."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "make.py").write_text(TINY)
    monkeypatch.syspath_prepend(tmp_path)
    player = Player(load_matrices(find_matrices(["coverage/cold_consumer"])))
    return Plays(player=player, main=NAME, connectors=[NAME])


def surveyed(plays: Plays) -> Survey:
    """A survey of one case on the package as it is."""
    package = Package.of(NAME)
    return Survey(
        package=package,
        plays=plays,
        reached=list(measure(package, plays, [PLAY])),
        places=marked(package.source("make.py"), "make.py")[1],
    )


def fates(survey: Survey, choose: Callable[[Change], bool]) -> dict[str, Finding]:
    """Findings by what the statement is after the change, the last of each."""
    wanted = [one for one in survey.package.changes(["make.py"]) if choose(one)]
    return {finding.change.after: finding for finding in survey.run(wanted, {})}


def test_fates(plays: Plays, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed by a verdict, by a hang; survived where nothing tells, or nothing comes there."""
    monkeypatch.setattr("kvconform.mutation.survey._CASE_CPU_SECONDS", 1.0)
    survey = surveyed(plays)
    found = fates(survey, lambda one: one.function in {"make", "limit", "idle"})
    assert found["connector.scheduler.has_pending_work = lambda: True"].fate is Fate.KILLED
    assert "TRM-1" in found["connector.scheduler.has_pending_work = lambda: True"].how
    hung = fates(survey, lambda one: one.before == "count += 1")
    assert hung["pass"].how == "hang"
    assert found["count = 2"].fate is Fate.SURVIVED
    assert found["return 1"].played == found["return 1"].reaching == 1
    assert found["return 8"].how == "no case reaches it"
    assert found["return 8"].fate is Fate.SURVIVED


def test_this_process_keeps_the_code_as_it_is(plays: Plays) -> None:
    """What is imported anew is gone with the process that did it."""
    survey = surveyed(plays)
    before = dict(sys.modules)
    fates(survey, lambda one: one.after == "return 1")
    assert {n: m for n, m in sys.modules.items() if n.startswith("tiny")} == {
        n: m for n, m in before.items() if n.startswith("tiny")
    }


def test_what_a_play_reaches(plays: Plays) -> None:
    """Statements of functions that ran, and of those alone."""
    (reach,) = measure(Package.of(NAME), plays, [PLAY])
    lines = TINY.splitlines()
    reached = {lines[line - 1].strip() for _, line in reach.places}
    assert {"count += 1", "return connector"} <= reached
    assert "return 7" not in reached
    _, places = marked(TINY, "make.py")
    assert {lines[line - 1].strip() for _, line in places} - reached == {"return 7"}


def test_marks_stand_in_every_branch_and_change_nothing() -> None:
    """Bodies of loops, handlers and functions within functions; the value is the same."""
    source = """\
def f(n):
    total = 0
    for k in range(n):
        try:
            total += 6 // k
        except ZeroDivisionError:
            total -= 1
        else:
            if total > 20:
                break
            elif total > 5:
                continue
    def g():
        return total
    return g()
"""
    seen: set[tuple[str, int]] = set()
    tree, places = marked(source, "m.py")
    names: dict[str, Any] = {"__kvconform_reached__": seen.add}
    exec(compile(tree, "m.py", "exec"), names)  # noqa: S102 - our own text
    plain: dict[str, Any] = {}
    exec(source, plain)  # noqa: S102 - our own text
    assert not seen
    assert names["f"](4) == plain["f"](4)
    assert {line for _, line in places - seen} == {10}


def test_a_play_that_the_connector_fails_anyway_tells_nothing(plays: Plays) -> None:
    """Else every change would be killed by it."""
    broken = "mutant:never-at-rest"
    wanted = [replace(PLAY, connector=broken)]
    with pytest.raises(NotPlayedError, match="passes none"):
        list(measure(Package.of(NAME), replace(plays, connectors=[broken]), wanted))


def test_a_package_that_cannot_be_imported_anew_proves_nothing(
    plays: Plays, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every change would be killed for it."""
    monkeypatch.setattr(Package, "source", lambda *_: "raise ImportError")
    with pytest.raises(NotPlayedError, match="importing it anew fails"):
        list(measure(Package.of(NAME), plays, [PLAY]))


def test_only_code_with_a_source_can_be_changed() -> None:
    """A builtin has none."""
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
        ("[[also]]\nsync_loads = true\n", r"\[\[also\]\]"),
        ("first = [3]\n", "list of cases"),
    ):
        path.write_text(text)
        with pytest.raises(KnownError, match=told):
            Known.read(path)


def test_the_command_wants_a_reason_for_each_survivor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two cases cannot tell how much room a budget gives; with reasons for the survivors it is 0."""
    path = tmp_path / "known.toml"
    path.write_text("")
    words = ["mutate", "--only", "connector.py", "--sample", "6", "--seed", "0", "--most", "2"]
    words += ["--known", str(path), "smoke"]
    assert main(words) == 1
    told = capsys.readouterr().out
    lines = [line for line in told.splitlines() if ", for no known reason: " in line]
    assert lines
    assert "of 6 killed" in told
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
