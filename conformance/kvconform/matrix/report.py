"""Collects what is wrong with one matrix, at the places where it was written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kvconform.matrix.document import Document, Unreadable
from kvconform.matrix.problems import MAX_PROBLEMS, Problem
from kvconform.matrix.references import Path
from kvconform.matrix.rules import Fault


class TooManyProblemsError(Exception):
    """Enough was found; ends the checks of one file and never leaves this package."""


class Report:
    """Problems of a matrix; parts of it may come from other files (``mount``)."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._mounted: dict[Path, Document] = {}
        self._told: dict[Problem, None] = dict.fromkeys(document.problems)

    @property
    def problems(self) -> list[Problem]:
        """Everything told so far."""
        return list(self._told)

    def mount(self, path: Path, document: Document) -> None:
        """The value at ``path`` was read from another file."""
        self._mounted[path] = document
        self._told.update(dict.fromkeys(document.problems))

    def add(self, path: Path, message: str, hint: str = "", *, key: bool = False) -> None:
        """Tell that the value (or ``key``) at ``path`` is wrong.

        Raises `TooManyProblemsError` where telling more would help nobody.
        """
        document, inner = self._document, path
        for prefix, mounted in self._mounted.items():
            if path[: len(prefix)] == prefix:
                document, inner = mounted, path[len(prefix) :]
        line, column = document.at(inner, key=key)
        problem = Problem(file=document.file, line=line, column=column, message=message, hint=hint)
        self._told[problem] = None
        if len(self._told) > MAX_PROBLEMS:
            self._told.popitem()
            raise TooManyProblemsError

    def add_all(self, problems: Iterable[Problem]) -> None:
        """Tell problems of other files."""
        self._told.update(dict.fromkeys(problems))

    def add_faults(self, faults: Iterable[Fault], data: object) -> set[str | int]:
        """Tell breaches of a schema by ``data``; returns the first steps of their paths.

        A value that could not be read was told already and is not told twice.
        """
        first: set[str | int] = set()
        for fault in faults:
            first.update(fault.path[:1] or ("",))
            if not isinstance(_value_at(data, fault.path), Unreadable):
                self.add(fault.path, fault.message, fault.hint, key=fault.key)
        return first

    def line_of_key(self, path: Path) -> int:
        """Line of the key at ``path``."""
        return self._document.at(path, key=True)[0]


def _value_at(data: object, path: Path) -> object:
    for step in path:
        inside = isinstance(data, Mapping) and step in data
        inside |= isinstance(data, list) and isinstance(step, int) and step < len(data)
        if inside:
            data = data[step]  # type: ignore[index]  # one of the two kinds above
        else:
            return None
    return data
