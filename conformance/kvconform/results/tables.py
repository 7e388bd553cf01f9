"""Tables in plain text."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_WIDE = 10**6
"""Columns of a page on which nothing is broken: readers and tools break lines, tables do not."""


def table(rows: Sequence[Sequence[str]], *, indent: str = "  ") -> str:
    """Columns of equal width, the first and the last to the left, those of figures to the right."""
    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    last = len(rows[0]) - 1
    for at in range(len(rows[0])):
        figures = at not in {0, last} and _is_figure(rows, at)
        grid.add_column(no_wrap=True, justify="right" if figures else "left")
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    page = Console(file=io.StringIO(), width=_WIDE, color_system=None, force_terminal=False)
    with page.capture() as drawn:
        page.print(Padding(grid, (0, 0, 0, len(indent)), expand=False))
    return "\n".join(line.rstrip() for line in drawn.get().splitlines())


def _is_figure(rows: Sequence[Sequence[str]], column: int) -> bool:
    return all(re.fullmatch(r"\d+|\d+/\d+|-", row[column]) for row in rows[1:])
