"""Text on a terminal: coloured there, and nowhere else."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.highlighter import RegexHighlighter
from rich.theme import Theme


class _Summary(RegexHighlighter):
    """What a summary's lines are about, told by how they begin."""

    base_style = "summary."
    highlights = [  # noqa: RUF012 - the attribute that rich reads
        r"(?m)^(?P<head>failure \d+ of \d+.*|checks by clause|axes to blame|warnings|errors of the suite itself)$",
        r"(?m)^  (?P<clause>[A-Z]{3}-\d+)\s",
        r"(?m)^  expected {3}(?P<good>.*)$",
        r"(?m)^  got {8}(?P<bad>.*)$",
        r"(?m)(?P<bad>\^ token \d+:.*)$",
        r"(?m)(?P<bad>  <- [A-Z].*)$",
        r"(?m)^  reproduce {2}(?P<command>.*)$",
        r"(?m)(?P<good>[1-9]\d* passed)",
        r"(?m)(?P<bad>[1-9]\d* (?:failed|untestable|unexpected passes|errors|not run))",
        r"(?m)(?P<known>[1-9]\d* (?:n/a|expected failures))",
    ]


_THEME = Theme(
    {
        "summary.head": "bold",
        "summary.clause": "bold cyan",
        "summary.good": "green",
        "summary.bad": "bold red",
        "summary.command": "bold",
        "summary.known": "yellow",
    }
)


def show(text: str) -> None:
    """Print ``text`` as it stands; on a terminal (and unless NO_COLOR is set) with colours."""
    console = Console(file=sys.stdout, theme=_THEME, highlight=False, markup=False, emoji=False)
    if console.is_terminal and not console.no_color:
        console.print(_Summary()(text), soft_wrap=True)
    else:
        sys.stdout.write(text + "\n")
