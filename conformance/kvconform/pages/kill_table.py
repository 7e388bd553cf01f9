"""The page of the kill table: each mutant, the case that tells it apart, the clauses that it fails."""

from __future__ import annotations

from collections.abc import Sequence

from kvconform.contract.clauses import CLAUSES
from kvconform.contract.field_classes import FIELD_CLASSES
from kvconform.pages.page import code, codes, table
from kvconform.registry import MUTANT_PROVIDER
from kvconform.run.quick import QuickKill

_HEAD = """\
# The kill table

<!-- Made by `kvconform mutants --quick --write docs/kill-table.md`; do not edit. -->

Each mutant is the reference with one fault. It is killed if a clause that it declares fails on a
case that the reference passes. This table was made by running each mutant on the case that stands
beside it; a row without a failed clause, a clause without a mutant, or a field class without one
fails the build. Clauses are in [the contract](contract.md), classes
at its end.
"""


def kill_page(kills: Sequence[QuickKill]) -> str:
    """The whole page, with a newline at its end."""
    rows = [
        [
            code(_short(kill)),
            kill.fault,
            ", ".join(kill.classes) or "-",
            ", ".join(kill.declared),
            ", ".join(_in_order(kill.failed)) or "-",
            code(kill.case) if kill.case else "-",
        ]
        for kill in kills
    ]
    columns = [
        [clause, str(sum(clause in kill.failed for kill in kills)), codes(_failing(kills, clause))]
        for clause in CLAUSES
    ]
    classes = [
        [name, codes([_short(kill) for kill in kills if name in kill.classes])]
        for name in FIELD_CLASSES
    ]
    return "\n".join(
        [
            _HEAD,
            "## By mutant\n",
            table(["mutant", "fault", "classes", "declared", "failed", "case"], rows) + "\n",
            "## By clause\n",
            table(["clause", "mutants", "which fail it"], columns) + "\n",
            "## By field class\n",
            table(["class", "mutants"], classes) + "\n",
        ]
    )


def _short(kill: QuickKill) -> str:
    return kill.mutant.removeprefix(f"{MUTANT_PROVIDER}:")


def _in_order(clauses: Sequence[str]) -> list[str]:
    return sorted(clauses, key=list(CLAUSES).index)


def _failing(kills: Sequence[QuickKill], clause: str) -> list[str]:
    return [_short(kill) for kill in kills if clause in kill.failed]
