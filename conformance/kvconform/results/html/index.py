"""The index of the page: every case of every run in a few numbers, names told once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kvconform.contract.clauses import CLAUSES
from kvconform.results.html.axes import grid_of, telling_axes
from kvconform.results.html.counts import (
    Run,
    cause_key,
    causes_of,
)
from kvconform.results.html.details import Chunks, detail_of, has_detail
from kvconform.results.html.text import name, visible
from kvconform.results.html.tracks import groups_amiss
from kvconform.results.record import CaseRecord, Outcome
from kvconform.results.runs import in_order, shown_outcome

NOTHING = -1
"""Stands for *none* where others are positions."""

_WANTED = {Outcome.PASS, Outcome.NOT_APPLICABLE}

T = TypeVar("T", bound=Hashable)


class Interned(Generic[T]):
    """Values told once, and known by their position from then on."""

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._at: dict[T, int] = {value: at for at, value in enumerate(values)}

    def at(self, value: T) -> int:
        """The position of a value, old or new."""
        return self._at.setdefault(value, len(self._at))

    def values(self) -> list[T]:
        """All values, in the order of their positions."""
        return list(self._at)


_OUTCOMES = [outcome.value for outcome in Outcome]


def index_of(runs: Sequence[Run], chunks: Chunks) -> dict[str, Any]:
    """The index as plain data; details of cases go to ``chunks``."""
    records = [(at, record) for at, run in enumerate(runs) for record in _in_order(run)]
    cited = {check.clause for _, record in records for check in record.checks}
    cited |= {clause for _, record in records for clause in record.clauses}
    names = _Names(
        runs=runs,
        chunks=chunks,
        clauses=Interned(in_order(cited)),
        causes=Interned((one.clause, one.check, one.text) for one in causes_of(runs)),
    )
    by_matrix: dict[str, list[tuple[int, CaseRecord]]] = {}
    for at, record in records:
        by_matrix.setdefault(record.matrix, []).append((at, record))
    matrices = [names.matrix(matrix, cases) for matrix, cases in by_matrix.items()]
    return {
        "outcomes": _OUTCOMES,
        "runs": [{"title": run.title, "file": run.file} for run in runs],
        "clauses": [_clause(clause) for clause in names.clauses.values()],
        "checks": [[name(check), clause] for check, clause in names.checks.values()],
        "verdicts": names.verdicts.values(),
        "declared": names.declared.values(),
        "groups": names.groups.values(),
        "texts": names.texts.values(),
        "causes": [list(cause) for cause in names.causes.values()],
        "matrices": matrices,
    }


@dataclass(slots=True, kw_only=True)
class _Names:
    """Writes cases down, and keeps everything that they refer to by position."""

    runs: Sequence[Run]
    chunks: Chunks
    clauses: Interned[str]
    causes: Interned[tuple[str, str, str]]
    checks: Interned[tuple[str, int]] = field(default_factory=Interned)
    verdicts: Interned[tuple[tuple[int, int, int], ...]] = field(default_factory=Interned)
    declared: Interned[tuple[int, ...]] = field(default_factory=Interned)
    groups: Interned[str] = field(default_factory=Interned)
    texts: Interned[str] = field(default_factory=Interned)

    def matrix(self, matrix: str, cases: Sequence[tuple[int, CaseRecord]]) -> dict[str, Any]:
        """A matrix with its axes and its cases, each given with the position of its run."""
        grid = grid_of([record.axes for _, record in cases])
        failed = [record.outcome not in _WANTED for _, record in cases]
        return {
            "name": name(matrix),
            "axes": [[axis.name, axis.values] for axis in grid.axes],
            "telling": telling_axes(grid, failed),
            "cases": [
                self._case(at, record, row)
                for (at, record), row in zip(cases, grid.positions, strict=True)
            ],
        }

    def _case(self, run: int, record: CaseRecord, row: tuple[int, ...]) -> list[Any]:
        """The columns of a case; ``data.js`` names them."""
        chunk, place = NOTHING, NOTHING
        if has_detail(record):
            chunk, place = self.chunks.add(detail_of(record, self.runs[run].header))
        key = cause_key(record)
        said = [record.reason, *(f"as {entry} says" for entry in record.expectations)]
        return [
            run,
            name(record.case),
            _OUTCOMES.index(record.outcome),
            self.verdicts.at(tuple(self._verdict(record))),
            row,
            tuple(self.groups.at(name(group)) for group in groups_amiss(record.scene)),
            self.causes.at(key) if key is not None else NOTHING,
            chunk,
            place,
            round(record.seconds * 1000),
            self.declared.at(tuple(self.clauses.at(clause) for clause in record.clauses)),
            self.texts.at(visible(", ".join(filter(None, said)))),
            self.texts.at(name(record.source)),
        ]

    def _verdict(self, record: CaseRecord) -> Iterable[tuple[int, int, int]]:
        """Each check as (check, outcome, why it did not apply)."""
        for check in record.checks:
            clause = self.clauses.at(check.clause)
            why = check.detail or check.got if check.outcome is Outcome.NOT_APPLICABLE else ""
            yield (
                self.checks.at((check.check, clause)),
                _OUTCOMES.index(shown_outcome(record, check)),
                self.texts.at(visible(why)) if why else NOTHING,
            )


def _in_order(run: Run) -> list[CaseRecord]:
    """Records in the order of the matrices, whatever the order in which cases ended."""
    places = {case: at for at, case in enumerate(run.journal.selected)}
    return sorted(
        run.journal.records.values(), key=lambda record: places.get(record.case, len(places))
    )


def _clause(clause_id: str) -> list[str]:
    clause = CLAUSES.get(clause_id)
    if clause is None:
        return [name(clause_id), "", "unknown", ""]
    binds = "safe" if clause.safe else "best"
    return [clause_id, clause.text, clause.severity.value, binds]
