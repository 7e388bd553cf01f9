"""The report of one or several runs as a page in Markdown, made from their records alone.

The page has no times and nothing of the machine, so that the same verdicts give the same page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kvconform.contract.clauses import CLAUSES
from kvconform.results import words
from kvconform.results.causes import CauseGroup, grouped
from kvconform.results.failure import describe_failure
from kvconform.results.journal import Journal
from kvconform.results.record import CaseRecord, Outcome
from kvconform.results.runs import (
    by_reason,
    cases_by_matrix,
    checks_by_clause,
    in_order,
    sorted_records,
    titles,
)

_MOST_GROUPS = 50
"""So many groups of failures of a run have an example; the others are counted."""

_MOST_NAMED = 20
"""So many cases, reasons or warnings are named one by one."""

_LEGEND = (
    "A cell counts: passed / failed / could measure nothing / not applicable, and expected "
    "failures after a +."
)
_COLUMNS = {
    "passed": Outcome.PASS,
    "failed": Outcome.FAIL,
    "untestable": Outcome.UNTESTABLE,
    "n/a": Outcome.NOT_APPLICABLE,
    "expected failures": Outcome.EXPECTED_FAILURE,
    "unexpected passes": Outcome.UNEXPECTED_PASS,
    "errors": Outcome.ERROR,
}


def markdown(journals: Sequence[Journal]) -> str:
    """The whole page."""
    names = titles(journals)
    heads = list(map(words.code, names))
    parts = [
        "# Results of kvconform",
        _runs(journals, heads),
        "## Checks by clause",
        _LEGEND,
        _by_clause(journals, heads),
        *_details(journals, heads),
        "## Cases by matrix",
        words.folded("every matrix", _by_matrix(journals, heads)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _runs(journals: Sequence[Journal], heads: Sequence[str]) -> str:
    rows = []
    for journal, head in zip(journals, heads, strict=True):
        header, counts = journal.header, _outcomes(journal.records.values())
        rows.append(
            [
                head,
                words.code(header.engine if header is not None else ""),
                words.code(header.device if header is not None else ""),
                str(header.contract) if header is not None else "",
                str(len(journal.records)),
                *(str(counts[outcome]) for outcome in _COLUMNS.values()),
                str(len(journal.missing)),
            ]
        )
    return words.table(
        ["connector", "engine", "device", "contract", "cases", *_COLUMNS, "not run"], rows
    )


def _outcomes(records: Iterable[CaseRecord]) -> Counter[Outcome]:
    return Counter(record.outcome for record in records)


def _by_clause(journals: Sequence[Journal], heads: Sequence[str]) -> str:
    counts = [checks_by_clause(journal) for journal in journals]
    rows = [
        [_clause(clause), *(_cell(one.get(clause)) for one in counts)]
        for clause in in_order(name for one in counts for name in one)
    ]
    return words.table(["clause", *heads], rows)


def _clause(name: str) -> str:
    clause = CLAUSES.get(name)
    if clause is None:
        return f"{words.code(name)} (not in this contract)"
    return f"**{name}** ({clause.severity.value}) {words.escaped(clause.text)}"


def _by_matrix(journals: Sequence[Journal], heads: Sequence[str]) -> str:
    counts = [cases_by_matrix(journal) for journal in journals]
    rows = [
        [words.code(matrix), *(_cell(one.get(matrix)) for one in counts)]
        for matrix in sorted({name for one in counts for name in one})
    ]
    return words.table(["matrix", *heads], rows)


def _cell(counts: Mapping[Outcome, int] | None) -> str:
    """Four figures; an error of the suite and an unexpected pass count as failed."""
    if not counts:
        return ""
    failed = sum(
        counts.get(one, 0) for one in (Outcome.FAIL, Outcome.ERROR, Outcome.UNEXPECTED_PASS)
    )
    figures = (
        counts.get(Outcome.PASS, 0),
        failed,
        counts.get(Outcome.UNTESTABLE, 0),
        counts.get(Outcome.NOT_APPLICABLE, 0),
    )
    expected = counts.get(Outcome.EXPECTED_FAILURE, 0)
    return " / ".join(map(str, figures)) + f" + {expected}" * bool(expected)


def _details(journals: Sequence[Journal], heads: Sequence[str]) -> Iterator[str]:
    for title, tell in (
        ("Failures", _failures),
        ("Expectations", _expectations),
        ("Not applicable", _reasons),
        ("Not run, and warnings", _rest),
    ):
        found = [(head, tell(one)) for one, head in zip(journals, heads, strict=True)]
        told = [(head, body) for head, body in found if body]
        if told:
            yield f"## {title}"
        for head, body in told:
            yield f"### {head}" if len(journals) > 1 else ""
            yield body


def _failures(journal: Journal) -> str:
    """By clause, check and cause, each with one case in full."""
    bad = [
        record
        for record in sorted_records(journal)
        if record.outcome.is_bad and record.outcome is not Outcome.UNEXPECTED_PASS
    ]
    groups = grouped(bad)
    lines = [_group(group, journal) for group in groups[:_MOST_GROUPS]]
    rest = groups[_MOST_GROUPS:]
    if rest:
        cases = sum(len(group.records) for group in rest)
        lines.append(f"and {cases} cases of {len(rest)} more causes")
    return "\n\n".join(lines)


def _group(group: CauseGroup, journal: Journal) -> str:
    matrices = Counter(record.matrix for record in group.records)
    named = [f"{name} ({count})" for name, count in sorted(matrices.items())]
    more = f" and {len(named) - _MOST_NAMED} more" * (len(named) > _MOST_NAMED)
    record = group.records[0]
    body = "\n\n".join(
        [
            f"In {', '.join(map(words.code, named[:_MOST_NAMED]))}{more}. One of them in full:",
            words.block(f"{record.case}\n{describe_failure(record, journal.header)}"),
        ]
    )
    return words.folded(f"{len(group.records)} x {words.html_code(str(group.cause))}", body)


def _expectations(journal: Journal) -> str:
    """What the entries accounted for, and the passes that they did not expect."""
    found = Counter(
        (", ".join(record.expectations), record.outcome.value, record.reason)
        for record in journal.records.values()
        if record.expectations
    )
    rows = [
        [words.code(entry), outcome, str(count), words.code(reason)]
        for (entry, outcome, reason), count in sorted(found.items())
    ]
    return words.table(["entry", "outcome", "cases", "reason"], rows) if rows else ""


def _reasons(journal: Journal) -> str:
    found = by_reason(
        record
        for record in journal.records.values()
        if record.outcome is Outcome.NOT_APPLICABLE and not record.expectations
    )
    rows = [[words.code(reason), str(count)] for reason, count in found[:_MOST_NAMED]]
    if len(found) > _MOST_NAMED:
        others = found[_MOST_NAMED:]
        rows.append([f"{len(others)} more reasons", str(sum(count for _, count in others))])
    return words.table(["for want of", "cases"], rows) if rows else ""


def _rest(journal: Journal) -> str:
    lines = []
    if journal.missing:
        why = f"stopped: {journal.stopped}" if journal.stopped else "the run ended before them"
        lines.append(f"- {len(journal.missing)} cases were not run: {words.code(why)}")
    unclaimed = sorted({one for record in journal.records.values() for one in record.unclaimed})
    lines += [f"- {words.code(text)}" for text in journal.warnings[:_MOST_NAMED]]
    lines += [
        f"- the connector has {words.code(one)} and does not claim it"
        for one in unclaimed[:_MOST_NAMED]
    ]
    return "\n".join(lines)
