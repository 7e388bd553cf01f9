"""What an expectation makes of the outcome of a case."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from packaging.version import InvalidVersion, Version

from kvconform.expectations.entry import Entry, Status
from kvconform.results.record import CaseRecord, Outcome, combine

_FAILED = frozenset({Outcome.FAIL, Outcome.UNTESTABLE})
_JUDGED = frozenset({Outcome.PASS, *_FAILED, Outcome.EXPECTED_FAILURE, Outcome.UNEXPECTED_PASS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """An entry with the ids of all cases that it means."""

    entry: Entry
    cases: tuple[str, ...]

    def is_active(self, version: str | None) -> bool:
        """Whether its condition holds for that version of the connector (None: for any)."""
        if self.entry.versions is None or version is None:
            return True
        try:
            return self.entry.versions.contains(Version(version), prereleases=True)
        except InvalidVersion:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """The active entries of a run, by case; nothing is expected if there are none.

    ``warnings`` are lines for the summary.
    """

    bound: tuple[Bound, ...] = ()
    warnings: tuple[str, ...] = ()
    _by_case: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        bound: Sequence[Bound],
        *,
        version: str | None,
        today: dt.date,
        unknown: Mapping[Entry, str],
    ) -> Self:
        """What ``bound`` says about ``version``; ``unknown`` are entries about no known matrix."""
        by_case: dict[str, list[Entry]] = {}
        active = [one for one in bound if one.is_active(version)]
        for one in active:
            for case in one.cases:
                by_case.setdefault(case, []).append(one.entry)
        warnings = [
            f"{entry.place}: to be reviewed since {entry.review}: {entry.why}"
            for entry in (one.entry for one in active if one.cases)
            if entry.review < today
        ]
        for entry, hint in unknown.items():
            no_matrix = f"{entry.place}: no matrix of this run, nor a shipped one, is named"
            told = f" ({hint})" if hint else ""
            warnings.append(f"{no_matrix} {entry.pattern.matrix!r}{told}")
        return cls(
            bound=tuple(bound),
            warnings=tuple(warnings),
            _by_case={case: tuple(entries) for case, entries in by_case.items()},
        )

    def for_version(self, version: str) -> Expectations:
        """The same entries, of which those count whose condition holds for ``version``."""
        return self.of(self.bound, version=version, today=dt.date.max, unknown={})

    def unsupported(self, case: str) -> str:
        """Why ``case`` is not to be run; empty if it is."""
        entries = self._by_case.get(case, ())
        if not entries or entries[0].status is not Status.UNSUPPORTED:
            return ""
        return f"{Status.UNSUPPORTED.value}: {_why(entries)}"

    def judge(self, record: CaseRecord) -> CaseRecord:
        """``record`` as the entries about its case see it; what was judged before is judged anew.

        An error of the suite is never expected, nor is a case that nobody ran.
        """
        record = unjudged(record)
        entries = self._by_case.get(record.case, ())
        if not entries:
            return record
        if entries[0].status is Status.UNSUPPORTED:
            if record.reason != self.unsupported(record.case):
                return record
            return replace(record, expectations=_places(entries))
        if record.outcome is Outcome.PASS:
            return _judge_pass(record, entries)
        return _judge_failure(record, entries) if record.outcome in _FAILED else record

    def rejudge(self, record: CaseRecord) -> CaseRecord | None:
        """`judge` for the record of an earlier run; None if the case has to be run again."""
        was_left_out = record.outcome is Outcome.NOT_APPLICABLE and bool(record.expectations)
        leave_out = self.unsupported(record.case)
        if was_left_out and leave_out:
            return self.judge(replace(record, reason=leave_out, expectations=()))
        return None if was_left_out or leave_out else self.judge(record)


def unjudged(record: CaseRecord) -> CaseRecord:
    """``record`` as it was before expectations were applied to it."""
    if not record.expectations or record.outcome not in _JUDGED:
        return record
    return replace(record, outcome=combine(record.checks), reason="", expectations=())


def failing_clauses(record: CaseRecord) -> tuple[str, ...]:
    """Clauses by whose checks the case is not a pass, in the order of its checks.

    Where a check failed, those that could not be made any more are its consequences and do not
    count.
    """
    for outcome in (Outcome.FAIL, Outcome.UNTESTABLE):
        found = dict.fromkeys(one.clause for one in record.checks if one.outcome is outcome)
        if found:
            return tuple(found)
    return ()


def _judge_pass(record: CaseRecord, entries: Sequence[Entry]) -> CaseRecord:
    if entries[0].status is Status.FLAKY:
        return replace(
            record, reason=f"flaky, passed: {_why(entries)}", expectations=_places(entries)
        )
    return replace(
        record,
        outcome=Outcome.UNEXPECTED_PASS,
        reason=f"expected to fail: {_why(entries)}",
        expectations=_places(entries),
    )


def _judge_failure(record: CaseRecord, entries: Sequence[Entry]) -> CaseRecord:
    failing = failing_clauses(record)
    explaining = [entry for entry in entries if not entry.clauses or {*entry.clauses} & {*failing}]
    explained = {clause for entry in explaining for clause in entry.clauses or failing}
    left = [clause for clause in failing if clause not in explained]
    if not failing:
        return record  # given up before it was run
    if left:
        expected = ", ".join(dict.fromkeys(one for entry in entries for one in entry.clauses))
        return replace(
            record,
            reason=f"{', '.join(left)} is not among the expected clauses ({expected})",
            expectations=_places(entries),
        )
    flaky = "flaky, failed: " if entries[0].status is Status.FLAKY else ""
    return replace(
        record,
        outcome=Outcome.EXPECTED_FAILURE,
        reason=flaky + _why(explaining),
        expectations=_places(explaining),
    )


def _places(entries: Sequence[Entry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.place for entry in entries))


def _why(entries: Sequence[Entry]) -> str:
    return "; ".join(dict.fromkeys(entry.why for entry in entries))
