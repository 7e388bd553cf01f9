"""``kvconform diff``: what became of the cases of one run in another."""

from __future__ import annotations

import argparse
from pathlib import Path

from kvconform.cli.command import Command, say
from kvconform.results.compare import Kind, compare
from kvconform.results.compare_text import as_markdown, as_text
from kvconform.results.journal import read_run


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "before", metavar="BEFORE", type=Path, help="the records of the run that counts as right"
    )
    parser.add_argument("after", metavar="AFTER", type=Path, help="the records of the run to judge")
    parser.add_argument(
        "--markdown",
        action="store_true",
        help="print a comment for a pull request, at most 65,536 characters",
    )
    parser.add_argument(
        "--common",
        action="store_true",
        help="compare only cases that both runs were to run: for a run of fewer matrices, of "
        "another level or of a shard",
    )


def execute(options: argparse.Namespace) -> int:
    """Compare and tell."""
    comparison = compare(
        read_run(options.before), read_run(options.after), common=options.common
    )
    if options.markdown:
        say(as_markdown(comparison), end="")
    else:
        say(as_text(comparison))
    return 1 if comparison.is_regression else 0


_REGRESSIONS = "\n".join(
    f"  {kind.title:<13} {kind.meaning}" for kind in Kind if kind.is_regression
)

COMMAND = Command(
    name="diff",
    summary="compare the records of two runs, case by case",
    add_options=_add_options,
    execute=execute,
    epilog=f"Regressions:\n{_REGRESSIONS}\n"
    "'In order' is pass, expected failure or not applicable. What an entry of expectations\n"
    "accounts for is no regression, and a new case that fails is none: 'run' fails by it.\n"
    "Exit codes: 0 no regression, 1 regressions, 2 usage, bad file or nothing to compare.",
)
