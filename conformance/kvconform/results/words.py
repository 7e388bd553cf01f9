"""Texts that anybody may have written, in a form that a terminal or a page shows and does not obey.

Ids, names, reasons and texts of exceptions come from matrices, connectors and records of others.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

_MOST = 300
"""So many characters of a text on one line are shown."""

MOST_LINES, MOST_COLUMNS = 120, 500
"""So much of a text of several lines is shown."""


def plain(text: str, *, most: int = _MOST) -> str:
    """One line: what cannot be printed is written as Python writes it, what is too long is cut."""
    cut = text if len(text) <= most else text[: most - 3] + "..."
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)


def plain_lines(text: str) -> str:
    """The same for a text of several lines."""
    lines = text.expandtabs(4).replace("\r\n", "\n").split("\n")
    shown = [plain(line, most=MOST_COLUMNS).rstrip() for line in lines[:MOST_LINES]]
    left_out = len(lines) - len(shown)
    return "\n".join([*shown, *[f"({left_out} more lines)"] * (left_out > 0)])


def code(text: str) -> str:
    """A code span of Markdown: in it nothing has a meaning, and nobody is mentioned."""
    shown = plain(text).strip() or "-"
    fence = "`" * (_longest_run(shown) + 1)
    space = " " if "`" in shown else ""
    return f"{fence}{space}{shown}{space}{fence}"


def block(text: str, language: str = "text") -> str:
    """A fenced block of Markdown, whose fence is longer than any within."""
    shown = plain_lines(text)
    fence = "`" * max(3, _longest_run(shown) + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def escaped(text: str) -> str:
    """Our own prose for Markdown: no sign in it has a meaning."""
    return re.sub(r"([\\`*_\[\]<>|~])", r"\\\1", plain(text, most=len(text)))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown; its cells are Markdown without line ends."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def folded(title: str, body: str) -> str:
    """A part of a page that opens on a click; ``title`` is HTML, ``body`` Markdown."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def html_code(text: str) -> str:
    """What `code` is, where a page has HTML."""
    return f"<code>{html.escape(plain(text).strip() or '-')}</code>"


def _cell(text: str) -> str:
    # Within a table this holds in code spans too, and there alone.
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
