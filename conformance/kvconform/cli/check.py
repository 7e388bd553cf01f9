"""``kvconform check``: tells whether every matrix, and what is expected of it, is valid."""

from __future__ import annotations

import argparse
import sys

from kvconform.cli.command import Command, add_expect, add_paths, count, load, say
from kvconform.expectations import load_expectations
from kvconform.run.request import CaseIndex


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_expect(parser)


def execute(options: argparse.Namespace) -> int:
    """Load everything; problems are raised all together by the loader."""
    matrices = load(options)
    cases = sum(len(matrix.rows) for matrix in matrices)
    told = [count(len(matrices), "matrix", "matrices"), count(cases, "case", "cases")]
    if options.expect:
        known = load_expectations(options.expect, CaseIndex.of(matrices).space(), strict=True)
        told.append(count(len(known.bound), "expectation", "expectations"))
        for warning in known.warnings:
            sys.stderr.write(f"kvconform: {warning}\n")
    say(f"{', '.join(told)}: ok")
    return 0


COMMAND = Command(
    name="check",
    summary="load matrices and expectations and tell everything that is wrong with them",
    add_options=_add_options,
    execute=execute,
    epilog="Exit codes: 0 all valid, 2 problems (each as file:line:column: message).",
)
