"""What is wrong with a file, where, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from kvconform.ports import KvconformError

MAX_PROBLEMS = 200
"""How many problems of one file are told; finding suggestions for more would only cost time."""

_LISTED = 12
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong; ``line`` and ``column`` count from 1 and lie in ``file``."""

    file: str
    line: int
    column: int
    message: str
    hint: str = ""

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.file}:{self.line}:{self.column}: {self.message}{hint}"


class ProblemsError(KvconformError):
    """Base of the errors that carry everything wrong with one or more files."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(
            sorted(set(problems), key=lambda p: (p.file, p.line, p.column, p.message, p.hint))
        )
        super().__init__("\n".join(map(str, self.problems)))


class MatrixError(ProblemsError):
    """Matrix files that cannot be used, nothing of which is run."""


class MatrixNotFoundError(KvconformError, LookupError):
    """A name that is neither a path nor a shipped matrix."""

    def __init__(self, name: str, message: str, nearest: Sequence[str] = ()) -> None:
        self.name = name
        self.nearest = tuple(nearest)
        super().__init__(message)


def shown(value: object) -> str:
    """A value as messages show it: on one line, and cut where it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def nearest(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The known names most like ``name``, best first; none if nothing is alike."""
    return get_close_matches(name, list(known), n=count, cutoff=0.55)


def suggest(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: the nearest known one, else the list of them."""
    names = list(known)
    found = nearest(name, names)
    if found:
        return f"did you mean {found[0]!r}?"
    if not names:
        return "there are none"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return "known: " + ", ".join(names[:_LISTED]) + more
