"""What the run of one store came to, in one line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from kvconform.results.journal import Journal
from kvconform.results.record import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCount:
    """Numbers of cases.  ``problem`` says why there are none; ``failed`` is all that fails a run."""

    name: str
    passed: int = 0
    failed: int = 0
    expected: int = 0
    not_applicable: int = 0
    problem: str = ""

    @classmethod
    def of(cls, name: str, journal: Journal) -> Self:
        """The numbers of a run; cases that it did not reach count as failed."""
        counts = Counter(record.outcome for record in journal.records.values())
        return cls(
            name=name,
            passed=counts[Outcome.PASS],
            failed=sum(counts[one] for one in Outcome if one.is_bad) + len(journal.missing),
            expected=counts[Outcome.EXPECTED_FAILURE],
            not_applicable=counts[Outcome.NOT_APPLICABLE],
        )

    @property
    def is_good(self) -> bool:
        """Whether the store was judged, and nothing failed."""
        return not self.problem and not self.failed and self.passed > 0

    def __str__(self) -> str:
        if self.problem:
            return f"{self.name}: not run: {self.problem}"
        return (
            f"{self.name}: {self.passed} passed, {self.failed} failed, {self.expected} expected, "
            f"{self.not_applicable} not applicable"
        )


def write_counts(counts: Sequence[StoreCount], path: Path) -> None:
    """Keep counts for `read_counts`."""
    path.write_text(json.dumps([asdict(one) for one in counts]), encoding="utf-8")


def read_counts(path: Path) -> list[StoreCount]:
    """What `write_counts` has written; nothing where it did not come to that."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [StoreCount(**one) for one in json.loads(text or "[]")]
