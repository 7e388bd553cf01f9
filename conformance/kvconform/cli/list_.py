"""``kvconform list``: matrices, connectors, mutants, capabilities."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from kvconform.cli.command import Command, add_paths, add_plan, count, load, say
from kvconform.cli.settings import EPILOG, add_project, fill_in
from kvconform.ports import Capability
from kvconform.registry import Listed, list_connectors, list_mutants, list_stores
from kvconform.results.reproduce import matrix_argument
from kvconform.results.tables import table


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_plan(parser)
    add_project(parser)
    parser.add_argument(
        "--connectors", action="store_true", help="list the registered connectors instead"
    )
    parser.add_argument("--stores", action="store_true", help="list the registered stores instead")
    parser.add_argument(
        "--mutants", action="store_true", help="list the faulty connectors and what must catch them"
    )
    parser.add_argument(
        "--capabilities", action="store_true", help="list what a connector may claim"
    )


def execute(options: argparse.Namespace) -> int:
    """Print the tables that are asked for, the matrices if none is."""
    asked = bool(options.paths)
    fill_in(options)
    parts = [
        *([_connectors(list_connectors())] if options.connectors else []),
        *([_stores(list_stores())] if options.stores else []),
        *([_mutants(list_mutants())] if options.mutants else []),
        *([_capabilities()] if options.capabilities else []),
    ]
    if asked or not parts:
        parts.insert(0, _matrices(options))
    say("\n\n".join(parts))
    return 0


def _matrices(options: argparse.Namespace) -> str:
    rows = [["matrix", "cases", "scenario", "clauses", "title"]]
    total = 0
    for matrix in load(options):
        total += len(matrix.rows)
        rows.append(
            [
                matrix_argument(str(Path(matrix.path))),
                str(len(matrix.rows)),
                matrix.scenario,
                ", ".join(matrix.clauses),
                matrix.title,
            ]
        )
    counted = f"{count(len(rows) - 1, 'matrix', 'matrices')}, {count(total, 'case', 'cases')}"
    return f"{table(rows, indent='')}\n\n{counted}"


def _connectors(found: Sequence[Listed]) -> str:
    return _titled(
        ["connector", "version", ""],
        ([one.name, one.describe.get("version", ""), _note(one)] for one in found),
        none="no connector is registered",
    )


def _stores(found: Sequence[Listed]) -> str:
    return _titled(
        ["store", "version", ""],
        ([one.name, one.describe.get("version", ""), _note(one)] for one in found),
        none="no store is registered",
    )


def _mutants(found: Sequence[Listed]) -> str:
    return _titled(
        ["mutant", "clause", "fault"],
        (
            [
                one.name,
                one.describe.get("clause", ""),
                one.describe.get("fault", "") or _note(one),
            ]
            for one in found
        ),
        none="no mutant is registered",
    )


def _capabilities() -> str:
    return _titled(
        ["capability", "claim"],
        ([capability.value, capability.hint] for capability in Capability),
        none="",
    )


def _titled(head: list[str], rows: Iterator[list[str]], *, none: str) -> str:
    body = list(rows)
    return table([head, *body], indent="") if body else none


def _note(listed: Listed) -> str:
    return listed.problem or listed.describe.get("problem", "")


COMMAND = Command(
    name="list",
    summary="list matrices with their cases, connectors, stores, mutants or capabilities",
    add_options=_add_options,
    execute=execute,
    epilog=EPILOG,
)
