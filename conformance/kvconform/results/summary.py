"""The terminal summary of a run, made from its records and nothing else."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from kvconform.contract.clauses import CLAUSES
from kvconform.results.causes import Cause, grouped
from kvconform.results.failure import connector_title, describe_failure
from kvconform.results.journal import Journal, RunHeader
from kvconform.results.record import CaseRecord, Outcome
from kvconform.results.tables import table

IN_FULL = 5
"""So many kinds of failures are shown, each with a case in full; the others are counted by cause."""

_WORDS = {
    Outcome.PASS: "passed",
    Outcome.FAIL: "failed",
    Outcome.NOT_APPLICABLE: "n/a",
    Outcome.UNTESTABLE: "untestable",
    Outcome.EXPECTED_FAILURE: "expected failures",
    Outcome.UNEXPECTED_PASS: "unexpected passes",
    Outcome.ERROR: "errors",
}
_ALWAYS = (Outcome.PASS, Outcome.FAIL, Outcome.NOT_APPLICABLE, Outcome.UNTESTABLE, Outcome.ERROR)
_COLUMNS = (Outcome.PASS, Outcome.FAIL, Outcome.NOT_APPLICABLE, Outcome.UNTESTABLE)


def summarize(
    journal: Journal, *, in_full: int = IN_FULL, blamed: Sequence[tuple[str, str]] = ()
) -> str:
    """The whole summary, without a newline at its end; the closing line stands alone.

    Failures are told by clause, check and cause, ``in_full`` of these with a case in full; if that
    is enough for every case of the run, each of them is, with its whole trace.  ``blamed`` are groups of failures, each with what its cases have in common.
    """
    records = list(journal.records.values())
    parts = [
        _tested(journal.header),
        _clause_table(records),
        _held(journal.header),
        *_failures(journal, records, in_full),
        _blamed(blamed),
        _unexpected(records),
        _errors(records),
        _expected(records),
        _reasons(records),
        _missing(journal),
        _warnings(journal),
    ]
    return "\n\n".join([*(part for part in parts if part), closing_line(journal)])


def _held(header: RunHeader | None) -> str:
    """What the cases hold of all that their axes allow."""
    names = {2: "pairs", 3: "triples"}
    told = [
        f"{names.get(one.strength, str(one.strength))} {one.held:,} of {one.valid:,}"
        for one in (header.tuples if header is not None else ())
    ]
    return f"axis values held together by the cases: {', '.join(told)}" if told else ""


def _blamed(groups: Sequence[tuple[str, str]]) -> str:
    """The axis values that failing cases have and passing ones do not."""
    lines = [f"  {name}\n    {sentence}" for name, sentence in groups]
    return "\n".join(["axes to blame", *lines]) if lines else ""


def closing_line(journal: Journal) -> str:
    """``kvconform: 102 passed, 0 failed, ...``: every kind of outcome apart from the others."""
    counts = Counter(record.outcome for record in journal.records.values())
    told = [
        f"{counts[outcome]} {word}"
        for outcome, word in _WORDS.items()
        if outcome in _ALWAYS or counts[outcome]
    ]
    if journal.missing:
        told.append(f"{len(journal.missing)} not run")
    return f"kvconform: {', '.join(told)}"


def _tested(header: RunHeader | None) -> str:
    if header is None:
        return ""
    return (
        f"connector {connector_title(header)}, engine {header.engine}, device {header.device}, "
        f"contract revision {header.contract}"
    )


def _clause_table(records: Sequence[CaseRecord]) -> str:
    """Checks counted by the clause that they cite, in the order of the contract.

    Those of an expected failure that are no pass have a column of their own.
    """
    counts: dict[str, Counter[Outcome]] = {}
    columns = list(_COLUMNS)
    for record in records:
        known = record.outcome is Outcome.EXPECTED_FAILURE
        for check in record.checks:
            outcome = Outcome.EXPECTED_FAILURE if known and check.outcome.is_bad else check.outcome
            counts.setdefault(check.clause, Counter())[outcome] += 1
    if not counts:
        return ""
    if any(Outcome.EXPECTED_FAILURE in found for found in counts.values()):
        columns.append(Outcome.EXPECTED_FAILURE)
    order = [*(c for c in CLAUSES if c in counts), *sorted(c for c in counts if c not in CLAUSES)]
    rows = [["clause", *(outcome.value for outcome in columns), ""]]
    rows += [
        [
            clause,
            *(str(counts[clause][outcome]) for outcome in columns),
            CLAUSES[clause].text if clause in CLAUSES else "",
        ]
        for clause in order
    ]
    return "checks by clause\n" + table(rows)


def _failures(journal: Journal, records: Sequence[CaseRecord], in_full: int) -> Iterator[str]:
    elsewhere = {Outcome.ERROR, Outcome.UNEXPECTED_PASS}
    bad = [
        record for record in records if record.outcome.is_bad and record.outcome not in elsewhere
    ]
    if in_full >= len(records):
        for number, record in enumerate(bad, start=1):
            head = f"failure {number} of {len(bad)}: {record.case}"
            yield f"{head}\n{describe_failure(record, journal.header, whole=True)}"
        return
    groups = grouped(bad)
    for number, group in enumerate(groups[:in_full], start=1):
        count = len(group.records)
        head = f"failure {number} of {len(groups)}, {count} case{'s' * (count > 1)}: {_name(group.cause)}"
        example = f"example: {group.example.case}" if count > 1 else group.example.case
        yield f"{head}\n  {example}\n{describe_failure(group.example, journal.header)}"
    rest = groups[in_full:]
    if rest:
        rows = [(f"{len(group.records)} x", _name(group.cause), group.cause.text) for group in rest]
        cases = sum(len(group.records) for group in rest)
        yield f"the other {cases} case{'s' * (cases > 1)} by clause, check and cause\n" + table(rows)


def _name(cause: Cause) -> str:
    """Clause and check; where no check says anything, what is known."""
    return f"{cause.clause} {cause.check}" if cause.check else cause.text


def _unexpected(records: Sequence[CaseRecord]) -> str:
    """Every unexpected pass by its id, under the entries that are to be changed."""
    places = {place for record in records for place in record.expectations}
    told: list[str] = []
    for place in sorted(places, key=_place_key):
        some = [record for record in records if place in record.expectations]
        passed = [record for record in some if record.outcome is Outcome.UNEXPECTED_PASS]
        if passed:
            told.append(f"  {place}: {len(passed)} of its {len(some)} cases passed")
            told += [f"    {record.case}: {record.reason}" for record in passed]
    return "\n".join(["unexpected passes, by entry", *told]) if told else ""


def _expected(records: Sequence[CaseRecord]) -> str:
    """What the entries of expectations accounted for."""
    found = Counter(
        (record.expectations, record.reason)
        for record in records
        if record.expectations and not record.outcome.is_bad
    )
    rows = [
        (str(found[key]), ", ".join(key[0]), key[1])
        for key in sorted(found, key=lambda key: ([*map(_place_key, key[0])], key[1]))
    ]
    return "as expected, by entry\n" + table(rows) if rows else ""


def _place_key(place: str) -> tuple[str, int]:
    file, _, line = place.rpartition(":")
    return file, int(line) if line.isdecimal() else 0


def _errors(records: Sequence[CaseRecord]) -> str:
    broken = [record for record in records if record.outcome is Outcome.ERROR]
    shown = [
        f"  {record.case}\n{textwrap.indent(record.reason.rstrip(), '    ')}"
        for record in broken[:IN_FULL]
    ]
    if len(broken) > IN_FULL:
        shown.append(f"  and {len(broken) - IN_FULL} more")
    return "\n".join(["errors of the suite itself", *shown]) if broken else ""


def _reasons(records: Sequence[CaseRecord]) -> str:
    reasons = Counter(
        record.reason
        for record in records
        if record.outcome is Outcome.NOT_APPLICABLE and not record.expectations
    )
    if not reasons:
        return ""
    rows = [(str(count), reason or "no reason given") for reason, count in reasons.most_common()]
    return "not applicable, by capability\n" + table(rows)


def _missing(journal: Journal) -> str:
    if not journal.missing:
        return ""
    why = f"stopped: {journal.stopped}" if journal.stopped else "the run ended before them"
    first = journal.missing[:IN_FULL]
    more = [f"and {len(journal.missing) - len(first)} more"] * (len(journal.missing) > len(first))
    return "\n".join([f"not run ({why})", *(f"  {case}" for case in [*first, *more])])


def _warnings(journal: Journal) -> str:
    found = sorted({one for record in journal.records.values() for one in record.unclaimed})
    lines = [f"  {text}" for text in journal.warnings]
    lines += [
        f"  the connector has {one} and does not claim it: what needs the claim is not applicable"
        for one in found
    ]
    return "\n".join(["warnings", *lines]) if lines else ""
