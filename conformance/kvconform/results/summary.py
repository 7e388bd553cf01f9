"""The terminal summary of a run, made from its records and nothing else."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kvconform.contract.clauses import CLAUSES
from kvconform.resources import matrix_dir
from kvconform.results.journal import Journal, RunHeader
from kvconform.results.record import CaseRecord, CheckResult, Outcome

IN_FULL = 5
"""So many failures are shown in full; the others are counted by cause."""

TRACE_EVENTS = 12
"""So many of the engine's last events are shown with a failure."""

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


def summarize(journal: Journal, *, in_full: int = IN_FULL) -> str:
    """The whole summary, without a newline at its end; the closing line stands alone."""
    records = list(journal.records.values())
    parts = [
        _tested(journal.header),
        _clause_table(records),
        *_failures(journal, records, in_full),
        _unexpected(records),
        _errors(records),
        _expected(records),
        _reasons(records),
        _missing(journal),
        _warnings(journal),
    ]
    return "\n\n".join([*(part for part in parts if part), closing_line(journal)])


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


def connector_title(header: RunHeader | None) -> str:
    """``reference 0.1.0``: the connector with its version, if it says one."""
    if header is None:
        return "(no header)"
    return f"{header.connector} {header.connector_version}".rstrip()


def _tested(header: RunHeader | None) -> str:
    if header is None:
        return ""
    return (
        f"connector {connector_title(header)}, engine {header.engine}, device {header.device}, "
        f"contract revision {header.contract}"
    )


def matrix_argument(source: str) -> str:
    """What to type for the matrix of ``source`` (file:line): shipped ones by their bare name."""
    named = Path(source.rpartition(":")[0] or source)
    file = next((path for path in (named, matrix_dir() / named) if path.exists()), named)
    for base, suffix in ((matrix_dir(), False), (Path.cwd(), True)):
        try:
            inside = file.resolve().relative_to(base.resolve())
        except ValueError:
            continue
        return (inside if suffix else inside.with_suffix("")).as_posix()
    return str(file)


def reproduction(record: CaseRecord, header: RunHeader | None) -> str:
    """The command line that runs exactly this case again."""
    words = ["kvconform", "run", matrix_argument(record.source)]
    if header is not None:
        words += ["--connector", header.connector]
        if header.device != "cpu":
            words += ["--device", header.device]
        for key, value in header.options.items():
            words += ["--connector-config", f"{key}={value}"]
        for folder in header.templates:
            words += ["--templates", folder]
        for file in header.expect:
            words += ["--expect", file]
    return shlex.join([*words, "--case", record.case])


def bad_checks(record: CaseRecord) -> list[CheckResult]:
    """The checks that made the case what it is: failed ones first, then untestable ones."""
    return [
        check
        for outcome in (Outcome.FAIL, Outcome.UNTESTABLE, Outcome.ERROR)
        for check in record.checks
        if check.outcome is outcome
    ]


def cause(check: CheckResult) -> str:
    """A check's answer with its numbers taken out, so that equal causes can be counted."""
    lines = (check.got or check.detail).strip().splitlines()
    return re.sub(r"\d+", "#", lines[0]) if lines else "no detail"


def describe_failure(
    record: CaseRecord, header: RunHeader | None, *, events: int = TRACE_EVENTS
) -> str:
    """One failed case in full: clause, expected, got, where, trace and how to see it again."""
    lines = [_field("connector", connector_title(header))]
    for check in bad_checks(record):
        clause = CLAUSES.get(check.clause)
        sentence = f"{clause.text} ({clause.severity.value})" if clause else ""
        lines.append(_field(check.clause, sentence))
        word = "" if check.outcome is Outcome.FAIL else f" ({check.outcome.value})"
        lines.append(_field("check", check.check + word))
        lines += [
            _field(name, text)
            for name, text in (
                ("expected", check.expected),
                ("got", check.got),
                ("detail", check.detail),
            )
            if text
        ]
    if record.reason:
        lines.append(_field("reason", record.reason))
    if record.trace:
        shown = record.trace[-events:]
        left_out = len(record.trace) - len(shown)
        first = [f"({left_out} earlier events)"] if left_out else []
        lines.append(_field("trace", "\n".join([*first, *shown])))
    if record.axes:
        lines.append(_field("axes", _axes(record.axes)))
    lines.append(_field("matrix", record.source))
    lines.append(_field("reproduce", reproduction(record, header)))
    return "\n".join(lines)


def _field(name: str, text: str) -> str:
    first, *rest = text.splitlines() or [""]
    lines = [f"  {name:<10} {first}".rstrip(), *(f"  {'':<10} {line}".rstrip() for line in rest)]
    return "\n".join(lines)


def _axes(axes: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in axes.items())


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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


def table(rows: Sequence[Sequence[str]], *, indent: str = "  ") -> str:
    """Columns of equal width: the first and the last to the left, figures to the right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    last = len(widths) - 1
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if at in {0, last} or not _is_figure(rows, at) else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def _is_figure(rows: Sequence[Sequence[str]], column: int) -> bool:
    return all(re.fullmatch(r"\d+|\d+/\d+|-", row[column]) for row in rows[1:])


def _failures(journal: Journal, records: Sequence[CaseRecord], in_full: int) -> Iterator[str]:
    elsewhere = {Outcome.ERROR, Outcome.UNEXPECTED_PASS}
    bad = [
        record for record in records if record.outcome.is_bad and record.outcome not in elsewhere
    ]
    for number, record in enumerate(bad[:in_full], start=1):
        head = f"failure {number} of {len(bad)}: {record.case}"
        yield f"{head}\n{describe_failure(record, journal.header)}"
    rest = bad[in_full:]
    if rest:
        causes = Counter(_key(record) for record in rest)
        rows = [
            (f"{count} x", f"{clause} {check}", text)
            for (clause, check, text), count in causes.most_common()
        ]
        yield f"the other {len(rest)} by clause, check and cause\n" + table(rows)


def _key(record: CaseRecord) -> tuple[str, str, str]:
    checks = bad_checks(record)
    if not checks:
        return "", record.outcome.value, record.reason or "no check says why"
    return checks[0].clause, checks[0].check, cause(checks[0])


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
    lines = [f"  {text}" for text in journal.warnings]
    return "\n".join(["warnings", *lines]) if lines else ""
