"""The command line as a whole: help, listings, checks, and its manners with mistakes."""

from __future__ import annotations

import argparse

import pytest
from runner_project import TEMPLATES, Project

from kvconform import __version__, cli
from kvconform.cli import COMMANDS, main, top_parser
from kvconform.plugin_options import DEVICES


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 0."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"kvconform {__version__}\n"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """With what it does."""
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert f"  {name:<10} {command.summary}\n" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name: str) -> None:
    """No option without a help text, none hidden."""
    for action in COMMANDS[name].parser()._actions:
        assert action.help, action
        assert action.help is not argparse.SUPPRESS


@pytest.mark.parametrize(
    "words", [[], ["nosuch"], ["run", "--nosuch"], ["check", "--", "-x"], ["render"], ["--nosuch"]]
)
def test_usage_mistakes(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Argparse's own lines on standard error, exit code 2."""
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: kvconform" in captured.err
    assert "error: " in captured.err


def test_paths_and_options_may_be_mixed(project: Project) -> None:
    """A path after an option is still a path."""
    one, two = project.matrix("one", "pass"), project.matrix("two", "pass", "fail")
    done = project.command("check", one, "--templates", TEMPLATES, two)
    assert (done.code, done.out, done.err) == (0, "2 matrices, 3 cases: ok\n", "")


def test_check_tells_all_problems_of_all_files(project: Project) -> None:
    """Each with file:line:column; exit code 2."""
    bad, worse = project.matrix("bad", "pass"), project.matrix("worse", "pass")
    bad.write_text(bad.read_text(encoding="utf-8").replace("clauses", "clause"), encoding="utf-8")
    worse.write_text("format: 1\nname: [\n", encoding="utf-8")
    done = project.command("check", "bad.yaml", "worse.yaml", "--templates", TEMPLATES)
    assert (done.code, done.out) == (2, "")
    assert "kvconform: bad.yaml:5:1: " in done.err
    assert "kvconform: worse.yaml:3:1: " in done.err


def test_list_counts_cases(project: Project) -> None:
    """One line a matrix."""
    project.matrix("one", "pass", "fail")
    done = project.command("list", "one.yaml", "--templates", TEMPLATES)
    assert (done.code, done.err) == (0, "")
    assert (
        done.out
        == """\
matrix    cases  scenario  clauses       title
one.yaml      2  faults    LIF-1, TRM-1  Scripted

1 matrix, 2 cases
"""
    )


def test_list_capabilities(capsys: pytest.CaptureFixture[str]) -> None:
    """Every capability with what it claims."""
    assert main(["list", "--capabilities"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("capability        claim\n")
    assert "eagle             the trailing chunk of draft-model groups is never served\n" in out


def test_faults_of_the_suite_are_one_line_unless_debug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The traceback is for those who ask for it."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a fuse has blown")

    monkeypatch.setattr(cli.check, "load", broken)
    assert main(["check"]) == 3
    assert capsys.readouterr().err == (
        "kvconform: the suite broke: RuntimeError: a fuse has blown\n"
        "kvconform: add --debug for the traceback\n"
    )
    assert main(["check", "--debug"]) == 3
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_devices_of_both_option_parsers_agree() -> None:
    """The command line hands ``--device`` on to the plugin as it stands."""
    action = next(a for a in COMMANDS["run"].parser()._actions if a.dest == "device")
    assert tuple(action.choices or ()) == DEVICES
    assert top_parser().prog == "kvconform"
