"""Strict YAML: what two readers could understand differently, or what could do harm, is refused."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from kvconform.matrix import Matrix, MatrixError, document, load_matrix

Spoil = Callable[[str, str], str]
Tell = Callable[[str | bytes], str]


@pytest.mark.parametrize(
    ("word", "told_it"),
    [
        *(
            (
                word,
                (
                    f"{word!r} is a boolean to some readers of YAML and text to others "
                    f'(write true or false, or quote it: "{word}")'
                ),
            )
            for word in ("yes", "No", "on", "OFF", "True", "FALSE", "y", "N")
        ),
        ("017", "'017' is an octal number (write a decimal number, or quote it: \"017\")"),
        ("0o17", "'0o17' is an octal number (write a decimal number, or quote it: \"0o17\")"),
        ("0x1F", "'0x1F' is a hexadecimal number (write a decimal number, or quote it: \"0x1F\")"),
        ("0b11", "'0b11' is a binary number (write a decimal number, or quote it: \"0b11\")"),
        ("1:30", "'1:30' is a sexagesimal number (write a decimal number, or quote it: \"1:30\")"),
        (
            "1_000",
            "'1_000' is a number with underscores (write a decimal number, or quote it: \"1_000\")",
        ),
        (
            ".inf",
            "'.inf' is a number that is not finite (write a decimal number, or quote it: \".inf\")",
        ),
        (
            ".NaN",
            "'.NaN' is a number that is not finite (write a decimal number, or quote it: \".NaN\")",
        ),
        ("+8", "'+8' is a number in an unusual form (write a decimal number, or quote it: \"+8\")"),
        (
            "1e3",
            "'1e3' is a number in an unusual form (write a decimal number, or quote it: \"1e3\")",
        ),
        ("2020-01-01", "'2020-01-01' is a date (quote it: \"2020-01-01\")"),
        ("Null", "'Null' is another way to write null (write null, or quote it: \"Null\")"),
        (
            "12345678901234567890",
            "the number 123456789012... has 20 digits (at most 18 digits; quote it if it is text)",
        ),
    ],
)
def test_doubtful_scalar(spoiled: Spoil, word: str, told_it: str) -> None:
    """A scalar whose meaning depends on the reader is refused, with what to write instead."""
    assert spoiled("prompt_tokens: 64", f"prompt_tokens: {word}") == f"m.yaml:12:18: {told_it}"


@pytest.mark.parametrize("word", ["on", "017", "1:30", "2020-01-01"])
def test_quoted_scalar_is_text(spoiled: Spoil, word: str) -> None:
    """The same words are plain text in quotes."""
    message = f"m.yaml:12:18: given.prompt_tokens: expected an integer >= 2, got the text {word!r}"
    assert spoiled("prompt_tokens: 64", f'prompt_tokens: "{word}"') == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "m.yaml:1:1: the file is empty (a matrix begins with 'format: 1')"),
        ("# only a comment\n", "m.yaml:1:1: the file is empty (a matrix begins with 'format: 1')"),
        ("---\n", "m.yaml:1:1: the file is empty (a matrix begins with 'format: 1')"),
        ("- 1\n", "m.yaml:1:1: the file: expected a mapping, got a list"),
        ("hello", "m.yaml:1:1: the file: expected a mapping, got the text 'hello'"),
        ("a: 1\n--- \nb: 1\n", "m.yaml:2:1: a second document begins here (one document a file)"),
        ("a:\n\tb: 1\n", "m.yaml:2:1: a tab in the indentation (indent with spaces)"),
        ("a:\n  \tb: 1\n", "m.yaml:2:3: a tab in the indentation (indent with spaces)"),
        (b"name: \xe9\n", "m.yaml:1:7: byte 0xe9 is not UTF-8 (save the file as UTF-8)"),
        ("name: x".encode("utf-16"), "m.yaml:1:1: byte 0xff is not UTF-8 (save the file as UTF-8)"),
        (b"a: b\nc: \0", "m.yaml:2:4: a control character (U+0000) (remove it)"),
        ("a: \x07", "m.yaml:1:4: a control character (U+0007) (remove it)"),
        ("a: &a [*a]", "m.yaml:1:8: the alias *a stands inside its own anchor"),
        ("a: *b", "m.yaml:1:4: the alias *b has no anchor before it"),
        (
            "a: " + "x" * (4 * 1024 * 1024),
            (
                "m.yaml:1:1: the file is larger than 4 MiB "
                "(axes make rows; there is no need to list them)"
            ),
        ),
        ("a: " + "{a: " * 50, "m.yaml:1:160: nested deeper than 40 levels"),
        (
            "\n".join(" " * n + "a:" for n in range(500)),
            "m.yaml:41:41: nested deeper than 40 levels",
        ),
    ],
)
def test_unreadable_text(told: Tell, text: str | bytes, message: str) -> None:
    """A text that is no matrix at all gets one problem at the place where reading broke off."""
    assert told(text) == message


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
@pytest.mark.parametrize("text", ["[" * 200_000, "- " * 50_000, "{a: " * 100_000, "? " * 50_000])
def test_deep_nesting(told: Tell, text: str, loader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nesting of any depth is a problem, not a RecursionError, with and without libyaml."""
    monkeypatch.setattr(document, "_LOADER", getattr(yaml, loader))
    message = told(text)
    assert message.startswith("m.yaml:1:")
    assert "\n" not in message


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
@pytest.mark.parametrize("text", ["a: [1, 2\nb: 3", "a: b: c", "a: 'x", "%", "a: @b", "]"])
def test_syntax_error(told: Tell, text: str, loader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A syntax error is one problem with a position, whichever parser found it."""
    monkeypatch.setattr(document, "_LOADER", getattr(yaml, loader))
    (line,) = told(text).splitlines()
    assert line.startswith("m.yaml:")
    assert ": this is not YAML: " in line


def test_tags(spoiled: Spoil) -> None:
    """Any tag is refused, above all one that would run code."""
    message = (
        "m.yaml:3:8: YAML that tries to be code: the tag "
        "'tag:yaml.org,2002:python/object/apply:os.system' (a matrix is plain data)"
    )
    assert spoiled("title: A small one", "title: !!python/object/apply:os.system [ls]") == message
    message = "m.yaml:3:8: YAML that tries to be code: the tag '!mine' (a matrix is plain data)"
    assert spoiled("title: A small one", "title: !mine text") == message
    message = "m.yaml:3:8: YAML that tries to be code: the tag 'tag:yaml.org,2002:str' (a matrix is plain data)"
    assert spoiled("title: A small one", "title: !!str text") == message


def test_duplicate_and_odd_keys(told: Tell) -> None:
    """Keys that stand twice, and keys that are no text, are told at their own place."""
    text = told("name: a\nname: b\n? [x]\n: 1\n~: 2\n1.5: 3\n")
    assert [line for line in text.splitlines() if "missing" not in line] == [
        "m.yaml:2:1: the key 'name' stands twice (first on line 1)",
        "m.yaml:3:3: a key must be text (quote it if it is meant as text)",
        "m.yaml:5:1: a key must be text (quote it if it is meant as text)",
        "m.yaml:6:1: a key must be text (quote it if it is meant as text)",
    ]


def test_merge_key(spoiled: Spoil) -> None:
    """Merge keys hide where a value comes from, and are refused."""
    message = "m.yaml:12:3: a merge key (<<) (write the keys out)"
    assert spoiled("given:\n", "given:\n  <<: {a: 1}\n") == message


def test_billion_laughs(told: Tell) -> None:
    """Aliases of aliases are counted as what they expand to, before they are expanded."""
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    start = time.perf_counter()
    assert (
        told("\n".join(lines)) == "m.yaml:6:10: more than 100,000 values, aliases counted each time"
    )
    assert time.perf_counter() - start < 2


def test_many_aliases(told: Tell) -> None:
    """More than 100 aliases are refused even if each is small."""
    text = "a: &a 1\nb: [" + ", ".join(["*a"] * 101) + "]"
    assert told(text) == "m.yaml:2:405: more than 100 aliases"


def test_alias_chain_is_not_deep(told: Tell) -> None:
    """Depth counts through aliases, so that a chain of them cannot exhaust the stack."""
    lines = ["a0: &a0 [1]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 99)]
    assert told("\n".join(lines)) == "m.yaml:39:12: nested deeper than 40 levels"


def test_aliases_may_be_used(load: Callable[[str], Matrix], tiny: str) -> None:
    """An anchor and its alias mean the same value twice."""
    third = "    - {name: third, kind: sliding, block_size: 8, window: *w}\n"
    text = tiny.replace("window: {axis: window}", "window: &w {axis: window}")
    matrix = load(text.replace("given:", f"{third}given:"))
    assert [matrix.case(row).layout.groups[2].window for row in matrix.rows] == [8, 8, 16, 16]


@pytest.mark.parametrize("escape", [r"\ud800", r"\u001b[31m", r"\0"])
def test_escaped_characters(spoiled: Spoil, escape: str) -> None:
    """What a terminal would obey cannot enter through an escape either."""
    for loader in ("CSafeLoader", "SafeLoader"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(document, "_LOADER", getattr(yaml, loader))
            message = spoiled("title: A small one", f'title: "{escape}"')
            assert message.startswith("m.yaml:3:")
            assert message.isprintable()


def test_problems_are_capped(told: Tell, tiny: str) -> None:
    """Thousands of problems are not told one by one."""
    many = ", ".join(f"V{n}" for n in range(20_000))
    start = time.perf_counter()
    assert len(told(tiny.replace("[8, 16]", f"[{many}]")).splitlines()) == 200
    assert len(told(tiny.replace("[8, 16]", f"[{many.replace('V', '0')}]")).splitlines()) == 201
    assert time.perf_counter() - start < 10


class TestFiles:
    """Paths that cannot be read."""

    def test_missing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file that is not there."""
        monkeypatch.chdir(tmp_path)
        with pytest.raises(MatrixError) as caught:
            load_matrix("none.yaml")
        assert str(caught.value) == "none.yaml:1:1: no such file"

    def test_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A folder in place of a file."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "sub").mkdir()
        with pytest.raises(MatrixError) as caught:
            load_matrix("sub")
        assert str(caught.value) == "sub:1:1: this is a folder (name a YAML file)"

    def test_pipe(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A named pipe, which would be waited for for ever."""
        monkeypatch.chdir(tmp_path)
        os.mkfifo("pipe.yaml")
        with pytest.raises(MatrixError) as caught:
            load_matrix("pipe.yaml")
        assert str(caught.value) == "pipe.yaml:1:1: this is not a regular file"

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
    def test_forbidden(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file without permission to read."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "m.yaml").touch(mode=0)
        with pytest.raises(MatrixError) as caught:
            load_matrix("m.yaml")
        assert str(caught.value) == "m.yaml:1:1: cannot be read: Permission denied"

    @pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
    def test_impossible_name(self, name: str) -> None:
        """A name that no file can have."""
        with pytest.raises(MatrixError) as caught:
            load_matrix(name)
        assert len(caught.value.problems) == 1
