"""Two runs, case by case: what broke, what was fixed, what is no longer judged."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from kvconform.ports import KvconformError
from kvconform.results.causes import breaks_safety, causes
from kvconform.results.failure import connector_title
from kvconform.results.journal import Journal
from kvconform.results.record import CaseRecord, Outcome

_NAMED = 3
"""So many matrices are named where two runs have nothing in common."""

_BAD = frozenset({Outcome.FAIL, Outcome.UNTESTABLE, Outcome.ERROR})
_PASSES = frozenset({Outcome.PASS, Outcome.UNEXPECTED_PASS})
_ENTRIES = frozenset({Outcome.EXPECTED_FAILURE, Outcome.UNEXPECTED_PASS})


class Kind(Enum):
    """What became of a case; `is_regression` says whether the comparison ends with 1 by it.

    What an entry of expectations accounts for is told and is no regression: somebody wrote a
    reason for it.  New cases are none either, as nothing is known of them before.
    """

    BROKEN = ("broken", "in order before, and now bad", True)
    WORSE = ("worse", "failed by best clauses alone, and now by a safe one", True)
    NOT_APPLICABLE = ("pass -> n/a", "passed, and no longer applies", True)
    CHECKS_LOST = ("checks lost", "passes with fewer checks than before", True)
    NOT_RUN = ("not run", "passed, was to be run and has no record", True)
    GONE = ("gone", "passed, and the second run has no such case", True)
    OTHER_CAUSE = ("other cause", "still fails, by other checks or with another answer", False)
    EXPECTATION = ("expectation", "an entry of expectations has a part in the change", False)
    FIXED = ("fixed", "was bad, and now passes", False)
    APPLICABLE = ("now applies", "did not apply, and now passes", False)
    WITHDRAWN = ("withdrawn", "was bad, and no longer applies", False)
    DROPPED = ("dropped", "did not pass, and has no record any more", False)
    NEW = ("new", "the first run has no such case", False)
    RENAMED = ("renamed", "the same case under another id, with the same outcome", False)
    SAME = ("same", "as before", False)

    def __init__(self, title: str, meaning: str, is_regression: bool) -> None:
        self.title = title
        self.meaning = meaning
        self.is_regression = is_regression


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One case of either run; at least one of the records is there.

    ``note`` says more in a few words.  An ``edited`` case asks something else than before.
    """

    kind: Kind
    before: CaseRecord | None = None
    after: CaseRecord | None = None
    note: str = ""
    edited: bool = False

    @property
    def case(self) -> str:
        """The id, the newer one of a renamed case."""
        record = self.after or self.before
        return record.case if record is not None else ""

    @property
    def outcomes(self) -> str:
        """``pass -> fail``; ``-`` where there is no record."""
        return " -> ".join(
            record.outcome.value if record is not None else "-"
            for record in (self.before, self.after)
        )

    @property
    def is_renamed(self) -> bool:
        """Whether the id is another one now."""
        both = self.before, self.after
        return None not in both and both[0].case != both[1].case  # type: ignore[union-attr]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All cases of two runs; ``notes`` say in which way the runs themselves differ."""

    before: Journal
    after: Journal
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    def of(self, kind: Kind) -> list[Change]:
        """The changes of one kind, sorted by id."""
        return [change for change in self.changes if change.kind is kind]

    @property
    def counts(self) -> Counter[Kind]:
        """Numbers of cases."""
        return Counter(change.kind for change in self.changes)

    @property
    def is_regression(self) -> bool:
        """Whether anything is worse than before."""
        return any(change.kind.is_regression for change in self.changes)


class IncomparableError(KvconformError):
    """Two runs that have no case in common: says of which matrices they are."""


def compare(before: Journal, after: Journal, *, common: bool = False) -> Comparison:
    """Every case of two runs; ``common`` leaves out those that only one of them was to run.

    Raises `IncomparableError` if there is nothing to compare.
    """
    renamed = _renamed(before, after)
    pairs: list[tuple[CaseRecord | None, CaseRecord | None]] = []
    for case, record in before.records.items():
        pairs.append((record, after.records.get(renamed.get(case, case))))
    known = {*before.records, *renamed.values()}
    pairs += [(None, record) for case, record in after.records.items() if case not in known]
    if not any(old is not None and new is not None for old, new in pairs):
        raise IncomparableError(
            "the two runs have no case in common: "
            f"{_matrices(before)} in the first, {_matrices(after)} in the second"
        )
    same_contract = _same(before, after, "contract")
    missing = set(after.missing)
    changes = [_change(old, new, missing, same_contract=same_contract) for old, new in pairs]
    if common:
        left_out = {Kind.GONE, Kind.DROPPED, Kind.NEW}
        changes = [change for change in changes if change.kind not in left_out]
    return Comparison(
        before=before,
        after=after,
        changes=tuple(sorted(changes, key=lambda change: change.case)),
        notes=tuple(_notes(before, after)),
    )


def _change(
    old: CaseRecord | None, new: CaseRecord | None, missing: set[str], *, same_contract: bool
) -> Change:
    if old is None:
        return Change(kind=Kind.NEW, after=new)
    if new is None:
        if old.outcome not in _PASSES:
            return Change(kind=Kind.DROPPED, before=old)
        return Change(kind=Kind.NOT_RUN if old.case in missing else Kind.GONE, before=old)
    lost = _lost_checks(old, new, absent=same_contract)
    kind = _kind(old, new, lost)
    if kind is Kind.SAME and old.case != new.case:
        kind = Kind.RENAMED
    return Change(
        kind=kind,
        before=old,
        after=new,
        note=f"no longer judged: {', '.join(lost)}" if kind is Kind.CHECKS_LOST else "",
        edited="" not in {old.fingerprint, new.fingerprint} and old.fingerprint != new.fingerprint,
    )


def _kind(old: CaseRecord, new: CaseRecord, lost: Sequence[str]) -> Kind:  # noqa: PLR0911 - a table
    was, now = old.outcome, new.outcome
    if now in _BAD and was not in _BAD:
        return Kind.BROKEN
    if was is now and (was in _BAD or was is Outcome.EXPECTED_FAILURE):
        worse = breaks_safety(new) and not breaks_safety(old) and was in _BAD
        other = causes(old) != causes(new)
        return Kind.WORSE if worse else Kind.OTHER_CAUSE if other else Kind.SAME
    if now in _BAD:
        return Kind.WORSE if breaks_safety(new) and not breaks_safety(old) else Kind.OTHER_CAUSE
    if {was, now} & _ENTRIES and was is not now:
        return Kind.EXPECTATION
    if Outcome.NOT_APPLICABLE in {was, now} and was is not now:
        if old.expectations or new.expectations:
            return Kind.EXPECTATION
        if now is Outcome.NOT_APPLICABLE:
            return Kind.NOT_APPLICABLE if was in _PASSES else Kind.WITHDRAWN
        return Kind.APPLICABLE
    if was in _BAD:
        return Kind.FIXED
    return Kind.CHECKS_LOST if lost else Kind.SAME


def _lost_checks(old: CaseRecord, new: CaseRecord, *, absent: bool) -> list[str]:
    """Checks that passed before and judge nothing now; those without a result if ``absent``."""
    now = {check.check: check.outcome for check in new.checks}
    return [
        check.check
        for check in old.checks
        if check.outcome is Outcome.PASS
        and (
            now.get(check.check) is Outcome.NOT_APPLICABLE or (absent and check.check not in now)
        )
    ]


def _renamed(before: Journal, after: Journal) -> dict[str, str]:
    """Newer ids of cases that ask the same as before, or have the same axes in the same matrix."""
    gone = [one for case, one in before.records.items() if case not in after.records]
    new = [one for case, one in after.records.items() if case not in before.records]
    found: dict[str, str] = {}
    for key in (_asked, _placed):
        taken = set(found.values())
        old_by = _unique(key, (one for one in gone if one.case not in found))
        new_by = _unique(key, (one for one in new if one.case not in taken))
        found |= {old_by[name]: new_by[name] for name in old_by if name in new_by}
    return found


def _unique(key: Callable[[CaseRecord], str], records: Iterable[CaseRecord]) -> dict[str, str]:
    """Ids by key; what two cases share tells neither of them."""
    by_key: dict[str, list[str]] = defaultdict(list)
    for record in records:
        by_key[key(record)].append(record.case)
    return {name: cases[0] for name, cases in by_key.items() if name and len(cases) == 1}


def _asked(record: CaseRecord) -> str:
    return record.fingerprint


def _placed(record: CaseRecord) -> str:
    return json.dumps([record.matrix, record.axes], sort_keys=True) if record.axes else ""


def _same(before: Journal, after: Journal, field: str) -> bool:
    return bool(getattr(before.header, field, None) == getattr(after.header, field, None))


def _matrices(journal: Journal) -> str:
    names = sorted({record.matrix for record in journal.records.values()})
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + f" and {more} more" * (more > 0)


def _notes(before: Journal, after: Journal) -> Iterator[str]:
    old, new = before.header, after.header
    if old is None or new is None:
        return
    if connector_title(old) != connector_title(new):
        yield f"different connectors: {connector_title(old)}, then {connector_title(new)}"
    for name, was, now in (
        ("engines", old.engine, new.engine),
        ("devices", old.device, new.device),
        ("settings of the connector", dict(old.options), dict(new.options)),
        ("releases of kvconform", old.kvconform, new.kvconform),
    ):
        if was != now:
            yield f"different {name}: {was}, then {now}"
    if old.contract != new.contract:
        yield (
            f"different revisions of the contract: {old.contract}, then {new.contract}; verdicts "
            "may differ by the contract alone, and checks without a result do not count as lost"
        )
    names = [{record.matrix for record in one.records.values()} for one in (before, after)]
    for only, which in ((names[0] - names[1], "first"), (names[1] - names[0], "second")):
        if only:
            yield f"matrices of the {which} run alone: {', '.join(sorted(only))}"
    for journal, which in ((before, "first"), (after, "second")):
        if journal.missing:
            why = journal.stopped or "it ended early"
            yield f"the {which} run left {len(journal.missing)} cases out: {why}"
