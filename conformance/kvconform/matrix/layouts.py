"""Layout files by themselves: what is wrong with one shows before a matrix uses it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from kvconform.matrix import meaning
from kvconform.matrix.document import read_document
from kvconform.matrix.load import matrix_schema
from kvconform.matrix.paths import display
from kvconform.matrix.problems import MatrixError, Problem
from kvconform.matrix.references import axes_of
from kvconform.matrix.report import Report, TooManyProblemsError
from kvconform.matrix.rules import Rules
from kvconform.matrix.space import Space

_EMPTY = "a layout begins with 'hash_block'"


def check_layouts(paths: Iterable[Path]) -> int:
    """The number of layouts in ``paths``; raises `MatrixError` with everything wrong with them.

    A layout that refers to axes is held against the schema alone: its values are its matrices'.
    """
    problems: list[Problem] = []
    count = 0
    for count, path in enumerate(paths, start=1):  # noqa: B007 - the number is the answer
        problems += _problems(path)
    if problems:
        raise MatrixError(problems)
    return count


def _problems(path: Path) -> list[Problem]:
    document = read_document(path, display(path), when_empty=_EMPTY)
    report = Report(document)
    layout = document.plain()
    # As in a matrix, so that paths of problems lead into this file.
    report.mount(("layout",), document)
    with suppress(TooManyProblemsError):
        faults = _rules().faults(layout, ("layout",)) if document.root is not None else []
        broken = report.add_faults(faults, {"layout": layout})
        if document.root is not None and not broken and not report.problems:
            rows = meaning.Rows(space=Space(axes=(), factors=()), points=[], ids=[])
            if not axes_of(layout):
                meaning.check_layouts(layout, {}, rows, report)
    return report.problems


@cache
def _rules() -> Rules:
    return Rules(matrix_schema(), "#/$defs/layout")
