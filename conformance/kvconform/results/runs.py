"""Several runs under one heading: what tells them apart, and what they counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kvconform.contract.clauses import CLAUSES
from kvconform.results.failure import connector_title
from kvconform.results.journal import Journal
from kvconform.results.record import CaseRecord, Outcome


def titles(journals: Sequence[Journal]) -> list[str]:
    """A name for each run, no two alike: the connector, the engine too if that tells them apart."""
    names = [connector_title(one.header) for one in journals]
    engines = [one.header.engine if one.header is not None else "" for one in journals]
    if len(set(names)) < len(names):
        names = [f"{name} on {engine}" for name, engine in zip(names, engines, strict=True)]
    seen: Counter[str] = Counter()
    told = []
    for name in names:
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
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
        known = record.outcome is Outcome.EXPECTED_FAILURE
        for check in record.checks:
            outcome = Outcome.EXPECTED_FAILURE if known and check.outcome.is_bad else check.outcome
            found.setdefault(check.clause, Counter())[outcome] += 1
    return found


def in_order(clauses: Iterable[str]) -> list[str]:
    """Clauses as the contract lists them, those that it does not have at the end."""
    found = set(clauses)
    return [*(one for one in CLAUSES if one in found), *sorted(found - set(CLAUSES))]


def by_reason(records: Iterable[CaseRecord]) -> list[tuple[str, int]]:
    """Numbers of cases by their reason, the most frequent first."""
    found = Counter(record.reason or "no reason given" for record in records)
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
