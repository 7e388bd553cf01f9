"""One entry of a file of expectations."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum

from packaging.specifiers import SpecifierSet

from kvconform.expectations.pattern import Pattern


class Status(StrEnum):
    """What a connector is known to do with the cases of an entry."""

    FAILS = "fails"
    """A failure is expected; a pass fails the run."""
    FLAKY = "flaky"
    """Both are accepted, and told apart."""
    UNSUPPORTED = "unsupported"
    """Not run: not applicable, never a pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Which cases go how, why, under which versions of the connector and until when.

    ``clauses`` are those whose failure it explains, none for any.  ``file`` and ``line`` say
    where it stands, ``at`` is its position there.  After ``review`` it is to be looked at again.
    """

    pattern: Pattern
    status: Status
    reason: str
    review: dt.date
    file: str
    line: int
    at: int
    clauses: tuple[str, ...] = ()
    link: str = ""
    versions: SpecifierSet | None = None

    @property
    def place(self) -> str:
        """``file:line``, by which records and summaries call it."""
        return f"{self.file}:{self.line}"

    @property
    def why(self) -> str:
        """Its reason with its link."""
        return f"{self.reason} ({self.link})" if self.link else self.reason
