"""``matrix-name[axis.value,axis.value]``: the cases that an entry speaks of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kvconform.ports import KvconformError

ANY = "*"
"""In a matrix's name any text; as a component one that every case has."""

_PATTERN = re.compile(
    r"(?P<matrix>[a-z0-9*]+(-[a-z0-9*]+)*)(\[(?P<inside>[a-z0-9_.*-]+(, ?[a-z0-9_.*-]+)*)\])?"
)


class PatternError(KvconformError, ValueError):
    """A text that is no pattern of cases; ``hint`` says how one looks."""

    def __init__(self, text: str) -> None:
        self.message = f"{text!r:.80} is no pattern of cases"
        self.hint = "write matrix-name, matrix-name[axis.value,axis.value] or the id of a case"
        super().__init__(f"{self.message} ({self.hint})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A matrix's name, perhaps with ``*``, and what its cases must have in their ids.

    ``components`` are parts of row ids, in any order; none stands for all cases.  A row id that
    is given whole is a single component with dashes in it.
    """

    matrix: str
    components: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """The pattern that ``text`` writes; raises `PatternError`."""
        found = _PATTERN.fullmatch(text)
        if found is None:
            raise PatternError(text)
        inside = found["inside"]
        parts = [part.strip() for part in inside.split(",")] if inside else []
        if any(ANY in part and part != ANY for part in parts):
            raise PatternError(text)
        return cls(matrix=found["matrix"], components=tuple(dict.fromkeys(parts)))

    def __str__(self) -> str:
        inside = f"[{','.join(self.components)}]" if self.components else ""
        return self.matrix + inside

    @property
    def key(self) -> tuple[str, frozenset[str]]:
        """Equal for patterns that differ in the order of their components alone."""
        return self.matrix, frozenset(self.components)

    def names(self, matrix: str) -> bool:
        """Whether it speaks of the matrix of that name."""
        return fnmatchcase(matrix, self.matrix)
