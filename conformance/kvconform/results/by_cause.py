"""Bad cases in groups of (clause, check, cause): what a reader takes for one fault, with an example."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvconform.contract.clauses import CLAUSES, Severity
from kvconform.results.cause import cause, generalized
from kvconform.results.failure import bad_checks
from kvconform.results.record import CaseRecord, CheckResult, Outcome

_SEVERITIES = tuple(Severity)
_ORDER = {clause: at for at, clause in enumerate(CLAUSES)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseGroup:
    """Cases with the same leading check and cause, in the order of the records.

    Where no check says anything, ``clause`` is empty and ``check`` is the outcome.
    """

    clause: str
    check: str
    cause: str
    records: tuple[CaseRecord, ...]

    @property
    def example(self) -> CaseRecord:
        """The case to show: the one with the shortest trace, which is the quickest to read."""
        return min(self.records, key=lambda record: len(record.trace))

    @property
    def name(self) -> str:
        """Clause and check."""
        return f"{self.clause} {self.check}".strip()


def by_cause(records: Iterable[CaseRecord]) -> list[CauseGroup]:
    """Groups of bad cases, each case in one: the worst severity first, then the largest."""
    found: dict[tuple[str, str, str], list[CaseRecord]] = {}
    for record in records:
        if record.outcome.is_bad:
            found.setdefault(_key(record), []).append(record)
    groups = [
        CauseGroup(clause=clause, check=check, cause=text, records=tuple(some))
        for (clause, check, text), some in found.items()
    ]
    return sorted(
        groups, key=lambda one: (_rank(one.clause), -len(one.records), one.name, one.cause)
    )


def leading_check(checks: Sequence[CheckResult]) -> CheckResult | None:
    """Of the bad checks of a case the one by which it is filed: failed, of the worst severity."""
    if not checks:
        return None
    return min(
        checks,
        key=lambda one: (
            one.outcome is not Outcome.FAIL,
            _rank(one.clause),
            _ORDER.get(one.clause, len(_ORDER)),
        ),
    )


def _key(record: CaseRecord) -> tuple[str, str, str]:
    check = leading_check(bad_checks(record))
    if check is None:
        return "", record.outcome.value, generalized(record.reason) or "no check says why"
    return check.clause, check.check, cause(check)


def _rank(clause: str) -> int:
    """0 for the worst severity; unknown clauses come last."""
    known = CLAUSES.get(clause)
    return _SEVERITIES.index(known.severity) if known is not None else len(_SEVERITIES)
