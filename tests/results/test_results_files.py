"""Files that are no records of a run: every command says so in one line and ends with 2."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from results_records import record, write

from kvconform.cli import main

COMMANDS: dict[str, Callable[[str, str], list[str]]] = {
    "diff before": lambda good, bad: ["diff", bad, good],
    "diff after": lambda good, bad: ["diff", good, bad],
    "expect": lambda _, bad: ["expect", bad],
    "explain": lambda _, bad: ["explain", bad],
    "report": lambda good, bad: ["report", good, bad, "--markdown"],
}
BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "bad: no records file, or one that was cut off in its first line"),
    "cut off in the header": (b'{"event":"run","conn', "bad: no records file, or one that was cut"),
    "text": (b"hello\nworld\n", "bad:1: no line of a records file: Expecting value"),
    "one line of text": (b"hello", "bad: no records file"),
    "binary": (b"\x7fELF\x00\xff\xfe\n\x00", "bad:1: no line of a records file: not text in UTF-8"),
    "junit": (b"<?xml version='1.0'?>\n", "bad:1: no line of a records file"),
    "other json": (b'{"a": 1}\n', "bad:1: no line of a records file: not an object with a key"),
    "deep": (b"[" * 100_000 + b"\n", "bad:1: no line of a records file: "),
    "newer": (b'{"event":"run","format":99,"new":1}\n', "bad:1: records of format 99; this release"),
    "no number": (b'{"event":"end","stopped":NaN}\n', "bad:1: no line of a records file: NaN"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", BAD)
def test_a_foreign_file_is_told_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    what: str,
) -> None:
    """With its name and, where there is one, the line."""
    monkeypatch.chdir(tmp_path)
    content, told = BAD[what]
    (tmp_path / "bad").write_bytes(content)
    write(tmp_path / "good", record("a", "pass"))
    assert main(COMMANDS[command]("good", "bad")) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"kvconform: {told}")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_no_file_and_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """The system's own words."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "good", record("a", "pass"))
    assert main(COMMANDS[command]("good", "bad")) == 2
    assert capsys.readouterr().err == "kvconform: bad: cannot be read: No such file or directory\n"
    (tmp_path / "bad").mkdir()
    assert main(COMMANDS[command]("good", "bad")) == 2
    assert capsys.readouterr().err == "kvconform: bad: cannot be read: Is a directory\n"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("case", 5), ("axes", "x"), ("checks", {}), ("checks", [1]), ("clauses", [2]), ("seconds", "3"),
        ("outcome", "good"), ("trace", [None]), ("seconds", -1), ("fingerprint", None), ("more", 1),
        ("checks", [{"check": "a", "clause": "b", "outcome": "nosuch"}]),
    ],
)  # fmt: skip
def test_a_line_that_is_built_in_another_way_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, value: object
) -> None:
    """A value of the wrong kind is found where it is read, not where a report trips over it."""
    path = write(tmp_path / "r", record("a", "pass"), record("b", "pass"))
    lines = path.read_text("utf-8").splitlines()
    lines[3] = json.dumps({**json.loads(lines[3]), key: value})
    path.write_text("\n".join(lines) + "\n", "utf-8")
    assert main(["diff", str(path), str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"kvconform: {path}:4: no line of a records file: ")


def test_an_unfinished_last_line_is_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run was killed there; what it wrote before counts."""
    path = write(tmp_path / "r", record("a", "pass"))
    with path.open("a", encoding="utf-8") as stream:
        stream.write('{"event":"case","case":"m[b')
    assert main(["diff", str(path), str(path)]) == 0
    assert "same" in capsys.readouterr().out


def test_a_run_without_a_case_is_nothing_to_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was killed before."""
    path = write(tmp_path / "r", missing=["m[a]"])
    assert main(["diff", str(path), str(path)]) == 2
    assert "the run ended before its first case" in capsys.readouterr().err
