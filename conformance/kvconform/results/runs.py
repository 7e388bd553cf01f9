"""Several runs under one heading: what tells them apart, and what they counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kvconform.contract.clauses import CLAUSES
from kvconform.results.failure import connector_title
from kvconform.results.journal import Journal
from kvconform.results.record import CaseRecord, CheckResult, Outcome


def titles(journals: Sequence[Journal], files: Sequence[str] = ()) -> list[str]:
    """A name for each run, no two alike: the connector, and what else it takes to tell them apart.

    That is the engine, then the file of the records if ``files`` has one for each run, then a number.
    """
    names = [connector_title(one.header) for one in journals]
    engines = [one.header.engine if one.header is not None else "" for one in journals]
    if len(set(names)) < len(names) and len(set(engines)) > 1:
        names = [f"{name} on {engine}" for name, engine in zip(names, engines, strict=True)]
    if len(set(names)) < len(names) and files:
        names = [f"{name} ({file})" for name, file in zip(names, files, strict=True)]
    seen: Counter[str] = Counter()
    told = []
    for name in names:
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return told


def sorted_records(journal: Journal) -> list[CaseRecord]:
    """In an order that does not depend on which case ended first."""
    return sorted(journal.records.values(), key=lambda record: record.case)


def cases_by_matrix(journal: Journal) -> Mapping[str, Counter[Outcome]]:
    """Outcomes of cases by the matrix that they are of."""
    found: dict[str, Counter[Outcome]] = {}
    for record in sorted_records(journal):
        found.setdefault(record.matrix, Counter())[record.outcome] += 1
    return found


def checks_by_clause(journal: Journal) -> Mapping[str, Counter[Outcome]]:
    """Outcomes of checks by clause; those of an expected failure that are no pass count as such."""
    found: dict[str, Counter[Outcome]] = {}
    for record in sorted_records(journal):
        for check in record.checks:
            found.setdefault(check.clause, Counter())[shown_outcome(record, check)] += 1
    return found


def shown_outcome(record: CaseRecord, check: CheckResult) -> Outcome:
    """A check's outcome; a bad one of an expected failure is expected, too."""
    known = record.outcome is Outcome.EXPECTED_FAILURE and check.outcome.is_bad
    return Outcome.EXPECTED_FAILURE if known else check.outcome


def in_order(clauses: Iterable[str]) -> list[str]:
    """Clauses as the contract lists them, those that it does not have at the end."""
    found = set(clauses)
    return [*(one for one in CLAUSES if one in found), *sorted(found - set(CLAUSES))]


def by_reason(records: Iterable[CaseRecord]) -> list[tuple[str, int]]:
    """Numbers of cases by their reason, the most frequent first."""
    found = Counter(record.reason or "no reason given" for record in records)
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
