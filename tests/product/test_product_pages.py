"""The pages for authors of scenarios: everything that they show is run, in their order."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from product_vendor import command

from kvconform.cli.schema import schema
from kvconform.stage import Stage

DOCS = Path(__file__).resolve().parents[2] / "docs"
FILE = re.compile(
    r"`([\w/.]+\.(?:yaml|j2))`(?:(?!\n\n).)*?:\n\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
COMMAND = re.compile(r"^\$ (\w+) (.*?)  # exit code (\d)$", re.MULTILINE)


@pytest.mark.parametrize(("page", "files", "commands"), [("scenario", 2, 8), ("templates", 3, 6), ("fuzz", 0, 4)])
def test_every_command_ends_as_shown(page: str, files: int, commands: int, tmp_path: Path) -> None:
    """In one folder with the files that the page shows."""
    text = (DOCS / f"{page}.md").read_text("utf-8")
    shown = FILE.findall(text)
    assert len(shown) == files == len(re.findall(r"^```(?:yaml|jinja)$", text, re.MULTILINE))
    for name, content in shown:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, "utf-8")
    found = COMMAND.findall(text)
    assert len(found) == commands == text.count("\n$ ")
    for program, words, code in found:
        done = command(sys.executable, "-m", program, *shlex.split(words), folder=tmp_path)
        assert done.code == int(code), (words, done.out, done.err)


def test_every_key_of_a_matrix_is_explained() -> None:
    """The table has the keys of the schema, and no others."""
    table = (DOCS / "scenario.md").read_text("utf-8").partition("| key |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert rows == list(schema("matrix")["properties"])


def test_every_step_on_the_page_exists() -> None:
    """Steps are methods of the stage."""
    named = set(re.findall(r"stage\.(\w+)\(", (DOCS / "templates.md").read_text("utf-8")))
    assert {name for name in named if not callable(getattr(Stage, name, None))} == set()
