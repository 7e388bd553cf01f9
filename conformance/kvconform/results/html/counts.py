"""What the head of the page counts: runs, clauses and causes, by outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kvconform.contract.clauses import CLAUSES
from kvconform.results.cause import generalized
from kvconform.results.causes import first_cause
from kvconform.results.failure import bad_checks
from kvconform.results.html.text import name, visible
from kvconform.results.journal import Journal, RunHeader
from kvconform.results.record import CaseRecord, Outcome
from kvconform.results.runs import checks_by_clause, in_order, titles

NOT_RUN = "not run"
"""What is counted beside the outcomes: cases that were to run and have no record."""

_CAUSE_CHARS = 300
_NOT_RUN_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One records file: ``file`` is its name, ``title`` tells it from the other runs of the page."""

    file: str
    title: str
    header: RunHeader | None
    journal: Journal

    @property
    def counts(self) -> dict[str, int]:
        """Cases by outcome, and those not run."""
        found = Counter(record.outcome.value for record in self.journal.records.values())
        return {**found, NOT_RUN: len(self.journal.missing)}

    @property
    def notes(self) -> list[str]:
        """What a reader has to know beside the counts: warnings, and which cases were not run."""
        journal = self.journal
        told = list(journal.warnings)
        unclaimed = {one for record in journal.records.values() for one in record.unclaimed}
        told += [
            f"The connector has {one} and does not claim it: what needs the claim is not applicable."
            for one in sorted(unclaimed)
        ]
        if journal.missing:
            first = ", ".join(map(name, journal.missing[:_NOT_RUN_SHOWN]))
            more = len(journal.missing) - _NOT_RUN_SHOWN
            why = f"stopped: {journal.stopped}" if journal.stopped else "the run ended before them"
            told.append(f"Not run ({why}): {first}" + (f" and {more:,} more" if more > 0 else ""))
        return [visible(text) for text in told]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseRow:
    """One clause with its checks counted by outcome, for each run."""

    id: str
    text: str
    severity: str
    binds: str
    counts: tuple[dict[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Failures that say the same of the same check, counted for each run."""

    clause: str
    check: str
    text: str
    counts: tuple[int, ...]


def runs_of(journals: Iterable[tuple[str, Journal]]) -> tuple[Run, ...]:
    """The runs, each with a title of its own."""
    given = list(journals)
    told = titles([journal for _, journal in given], [file for file, _ in given])
    return tuple(
        Run(file=name(file), title=name(title), header=journal.header, journal=journal)
        for title, (file, journal) in zip(told, given, strict=True)
    )


def clause_rows(runs: Sequence[Run]) -> list[ClauseRow]:
    """A row for each clause that some check cites."""
    counts = [checks_by_clause(run.journal) for run in runs]
    return [
        _clause_row(clause, [found.get(clause, {}) for found in counts])
        for clause in in_order(clause for found in counts for clause in found)
    ]


def _clause_row(clause_id: str, counts: Iterable[Mapping[Outcome, int]]) -> ClauseRow:
    clause = CLAUSES.get(clause_id)
    return ClauseRow(
        id=name(clause_id),
        text=clause.text if clause else "not a clause of this release's contract",
        severity=clause.severity.value if clause else "unknown",
        binds=("safe" if clause.safe else "best") if clause else "",
        counts=tuple({one.value: count for one, count in found.items()} for found in counts),
    )


def cause_key(record: CaseRecord) -> tuple[str, str, str] | None:
    """Clause, check and generalized answer of a case that was not as wanted; None of others."""
    if record.outcome in {Outcome.PASS, Outcome.NOT_APPLICABLE}:
        return None
    if record.outcome is Outcome.UNEXPECTED_PASS or not bad_checks(record):
        lines = record.reason.strip().splitlines()
        text = generalized(lines[-1 if record.outcome is Outcome.ERROR else 0]) if lines else ""
        return "", record.outcome.value, _short(text or "no check says why")
    found = first_cause(record)
    return name(found.clause), name(found.check), _short(found.text)


def causes_of(runs: Sequence[Run]) -> list[Cause]:
    """Causes with the commonest first."""
    counts: dict[tuple[str, str, str], list[int]] = {}
    for at, run in enumerate(runs):
        for record in run.journal.records.values():
            key = cause_key(record)
            if key is not None:
                counts.setdefault(key, [0] * len(runs))[at] += 1
    order = sorted(counts, key=lambda key: (-sum(counts[key]), key))
    return [
        Cause(clause=key[0], check=key[1], text=key[2], counts=tuple(counts[key])) for key in order
    ]


def _short(text: str) -> str:
    return visible(text, _CAUSE_CHARS).replace("\n", " ")
