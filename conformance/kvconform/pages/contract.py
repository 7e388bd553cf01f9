"""The page of the contract: every clause with its checks, matrices and mutants, and the field classes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kvconform import CONTRACT_REVISION
from kvconform.contract.clauses import CHECKS, CLAUSES, Check, Clause
from kvconform.contract.field_classes import FIELD_CLASS, FIELD_CLASSES
from kvconform.matrix import Matrix
from kvconform.pages.page import code, codes, table
from kvconform.registry import MUTANT_PROVIDER, Listed
from kvconform.results.reproduce import matrix_argument

_HEAD = """\
# The contract

<!-- Made by `kvconform contract --write docs/contract.md`; do not edit. -->

What a connector keeps, clause by clause (revision {revision}). *Safe* clauses bind every connector; *best*
clauses bind those that claim the capabilities which their checks need. The text comes from
[the registry](../conformance/kvconform/contract/clauses); which case kills which mutant is in
[the kill table](kill-table.md), how a connector is put to the test in
[the connector port](connector.md). [Back to the overview](../README.md).
"""

_CLASSES = """\
## Field classes

Faults seen in the field, sorted into classes. The mutants of a class are connectors with such a fault,
and the clauses are those that must catch them.
"""


def contract_page(
    matrices: Sequence[Matrix],
    mutants: Sequence[Listed],
    exempt: Mapping[tuple[str, str], str],
) -> str:
    """The whole page, with a newline at its end; ``exempt`` are reasons by kind and name."""
    reasons = {name: reason for (kind, name), reason in exempt.items() if kind == FIELD_CLASS}
    summary = [
        [f"[{one.id}](#{one.id.lower()})", one.text, one.severity.value, _binding(one)]
        for one in CLAUSES.values()
    ]
    parts = [
        _HEAD.format(revision=CONTRACT_REVISION),
        table(["clause", "what is kept", "a breach is", "binds"], summary) + "\n",
        *(_clause(one, matrices, mutants) for one in CLAUSES.values()),
        _CLASSES,
        table(["class", "fault", "mutants", "clauses"], _classes(mutants, reasons)) + "\n",
    ]
    return "\n".join(parts)


def said_by(mutant: Listed, key: str) -> tuple[str, ...]:
    """What a mutant lists under ``key``."""
    return tuple(part.strip() for part in mutant.describe.get(key, "").split(",") if part.strip())


def short(mutant: Listed) -> str:
    """Its name without that of its provider."""
    return mutant.name.removeprefix(f"{MUTANT_PROVIDER}:")


def _binding(clause: Clause) -> str:
    return "safe" if clause.safe else "best"


def _clause(clause: Clause, matrices: Sequence[Matrix], mutants: Sequence[Listed]) -> str:
    checks = [check for check in CHECKS.values() if check.clause == clause.id]
    about = [matrix_argument(str(m.path)) for m in matrices if clause.id in m.clauses]
    against = [short(m) for m in mutants if clause.id in said_by(m, "clause")]
    lines = [
        f"## {clause.id}",
        "",
        f"**{clause.text}**",
        "",
        f"- A breach is {clause.severity.value}; {_binding(clause)}.",
        f"- Why: {clause.reason}",
        f"- Source: {_source(clause.source)}",
        *(_check(check) for check in checks),
        *([f"- Not seen: {clause.unseen}"] if clause.unseen else []),
        f"- Matrices: {codes(sorted(about), 'none')}",
        f"- Mutants: {codes(sorted(against), 'none')}",
        "",
    ]
    return "\n".join(lines)


def _check(check: Check) -> str:
    needs = codes([need.value for need in check.needs], "")
    return (
        f"- Check {code(check.name)}: measures something once {check.witness or 'the case ran'}"
        + (f"; needs {needs}" if needs else "")
        + "."
    )


def _source(source: str) -> str:
    """A report, with a link where it is one of a public tracker."""
    return re.sub(
        r"([\w.-]+/[\w.-]+)#(\d+)", r"[\1#\2](https://github.com/\1/issues/\2)", source
    )


def _classes(mutants: Sequence[Listed], exempt: Mapping[str, str]) -> list[list[str]]:
    return [
        [
            name,
            title,
            codes(
                sorted(short(m) for m in mutants if name in said_by(m, "classes")),
                exempt.get(name, "-"),
            ),
            ", ".join(
                f"[{clause}](#{clause.lower()})"
                for clause in CLAUSES
                if any(
                    clause in said_by(m, "clause") for m in mutants if name in said_by(m, "classes")
                )
            )
            or "-",
        ]
        for name, title in FIELD_CLASSES.items()
    ]
