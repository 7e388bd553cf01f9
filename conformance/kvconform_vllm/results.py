"""Fill a docs page from records: engine release by clause, for each connector.

python -m kvconform_vllm.results RECORDS... -o docs/results/vllm.md
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from kvconform.contract.clauses import CLAUSES
from kvconform.ports import KvconformError
from kvconform.results.journal import Journal, read_records
from kvconform.results.record import Outcome

_HEAD = """\
# Results on vLLM

Filled by `python -m kvconform_vllm.results RECORDS... -o FILE`; do not edit. Every cell counts
checks: passed / failed / could measure nothing / not applicable. Most of those that could measure
nothing had an engine that died earlier in the case. What the failures are: [findings](../findings).
"""


class NoReleaseError(KvconformError):
    """A records file that does not say on which engine release it ran: names it."""


def page(journals: Mapping[Path, Journal]) -> str:
    """The whole page, Markdown."""
    tables: dict[str, dict[str, Journal]] = defaultdict(dict)
    for path, journal in journals.items():
        header = journal.header
        if header is None or not header.engine.startswith("vllm "):
            raise NoReleaseError(f"{path}: these are no records of a run on vLLM")
        tables[header.connector][header.engine] = journal
    return "\n".join([_HEAD, *(_table(name, tables[name]) for name in sorted(tables))])


def _table(connector: str, by_release: Mapping[str, Journal]) -> str:
    """One table for all releases that ran the same matrices, the widest first."""
    same: dict[tuple[str, ...], dict[str, Journal]] = defaultdict(dict)
    for release in sorted(by_release):
        same[tuple(sorted(_matrices(by_release[release])))][release] = by_release[release]
    widest = sorted(same, key=len, reverse=True)
    lines = [f"## {connector}", ""]
    for names in widest:
        if names != widest[0]:
            lines += [f"Of these matrices alone: {', '.join(names)}.", ""]
        lines += _rows(same[names])
    return "\n".join(lines)


def _matrices(journal: Journal) -> Mapping[str, int]:
    return journal.header.matrices if journal.header is not None else {}


def _rows(by_release: Mapping[str, Journal]) -> list[str]:
    counts = {release: _by_clause(journal) for release, journal in by_release.items()}
    lines = [
        "| | " + " | ".join(release.removeprefix("vllm ") for release in by_release) + " |",
        "|---|" + "---|" * len(by_release),
        "| of cases | " + " | ".join(str(len(one.records)) for one in by_release.values()) + " |",
        "| cases | " + " | ".join(map(_cases, by_release.values())) + " |",
    ]
    for clause in CLAUSES.values():
        cells = [_cell(counts[release][clause.id]) for release in by_release]
        if any(cells):
            lines.append(f"| {clause.id} ({clause.severity}) | " + " | ".join(cells) + " |")
    return [*lines, ""]


def _by_clause(journal: Journal) -> Mapping[str, Counter[Outcome]]:
    found: dict[str, Counter[Outcome]] = defaultdict(Counter)
    for record in journal.records.values():
        for check in record.checks:
            found[check.clause][check.outcome] += 1
    return found


def _cases(journal: Journal) -> str:
    return _cell(Counter(record.outcome for record in journal.records.values()))


def _cell(counts: Counter[Outcome]) -> str:
    if not counts:
        return ""
    nothing = counts[Outcome.UNTESTABLE]
    failed = sum(counts[outcome] for outcome in counts if outcome.is_bad) - nothing
    failed += counts[Outcome.EXPECTED_FAILURE]
    return f"{counts[Outcome.PASS]} / {failed} / {nothing} / {counts[Outcome.NOT_APPLICABLE]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0, or 2 for a file that cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m kvconform_vllm.results", description=__doc__)
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORDS")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        text = page({path: read_records(path) for path in options.records})
        options.output.write_text(text, encoding="utf-8")
    except (KvconformError, OSError) as error:
        sys.stderr.write(f"{parser.prog}: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
