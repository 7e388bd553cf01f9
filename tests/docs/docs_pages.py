"""Reads the pages of the documentation: code blocks, commands, links, tables."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CONNECTOR = ROOT / "docs" / "connector.md"
EXAMPLE = ROOT / "docs" / "examples" / "small_connector.py"

Run = Callable[..., subprocess.CompletedProcess[str]]
"""The type of the fixture ``kvconform``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block of a page: its language and its text."""

    page: Path
    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [Block(page=page, language=language, text=text) for language, text in found]


def python_blocks() -> dict[str, str]:
    """The modules that the connector page shows, by the name under which it runs them."""
    controlled, small = (block.text for block in blocks(CONNECTOR) if block.language == "python")
    return {"controlled.py": controlled, "small_connector.py": small}


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[list[str]]:
    """Every ``kvconform COMMAND ...`` of a page, in words: shown in consoles, or inline in full."""
    shown = [
        line.removeprefix("$ ").partition("  #")[0]
        for block in blocks(page)
        if block.language == "console"
        for line in block.text.splitlines()
        if line.startswith("$ kvconform ")
    ]
    inline = re.findall(r"`(kvconform [^`]+)`", prose(page).replace("\n", " "))
    return [shlex.split(text)[1:] for text in [*shown, *inline]]


def options(page: Path) -> set[str]:
    """Every long option that a page names, apart from those of other programs' commands."""
    text = re.sub(r"pip install[^`\n]*|tox [^`\n]*?-- ", " ", page.read_text("utf-8"))
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


def first_column(page: Path, heading: str) -> list[str]:
    """The first cells of the table under ``| heading |``, without backticks."""
    lines = page.read_text("utf-8").splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    cells = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        cells.append(line.split("|")[1].strip().strip("`"))
    return cells
