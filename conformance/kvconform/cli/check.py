"""``kvconform check``: tells whether matrices, layouts and what is expected of them are valid."""

from __future__ import annotations

import argparse
import sys

from kvconform.cli.command import Command, add_expect, add_paths, count, load, say
from kvconform.cli.settings import EPILOG, add_project, fill_in
from kvconform.expectations import load_expectations
from kvconform.matrix import Matrix, MatrixError, Problem, check_layouts, find_layouts
from kvconform.matrix.gate import GateError, unexercised
from kvconform.matrix.lint import clauses_without_case, lint
from kvconform.matrix.lock import LockState
from kvconform.run.pins import wrong_pins
from kvconform.run.request import CaseIndex


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_expect(parser)
    add_project(parser)


def execute(options: argparse.Namespace) -> int:
    """Load everything; problems are raised all together by the loader."""
    fill_in(options)
    layouts, matrices = _load(options)
    whole = not options.paths
    _lint(matrices, options, whole=whole)
    cases = sum(len(matrix.rows) for matrix in matrices)
    told = [count(len(matrices), "matrix", "matrices"), count(cases, "case", "cases")]
    told += [count(layouts, "layout", "layouts")] if layouts else []
    if options.expect:
        known = load_expectations(options.expect, CaseIndex.of(matrices).space(), strict=True)
        told.append(count(len(known.bound), "expectation", "expectations"))
        for warning in known.warnings:
            sys.stderr.write(f"kvconform: {warning}\n")
    say(f"{', '.join(told)}: ok")
    return 0


def _lint(matrices: list[Matrix], options: argparse.Namespace, *, whole: bool) -> None:
    """Raise what is no good about valid matrices, and about all shipped ones together."""
    problems = [problem for matrix in matrices for problem in lint(matrix)]
    problems += wrong_pins(matrices, options.templates)
    if problems:
        raise MatrixError(problems)
    for matrix in matrices:
        if matrix.choice.state is LockState.MISSING and matrix.choice.lock is not None:
            sys.stderr.write(
                f"kvconform: {matrix.file} has no lock: its rows may change with any edit "
                f"(run: kvconform lock {matrix.file})\n"
            )
    if whole:
        gaps = [f"no matrix covers the clause {one}" for one in clauses_without_case(matrices)]
        gaps += unexercised(matrices)
        if gaps:
            raise GateError("\n".join(gaps))


def _load(options: argparse.Namespace) -> tuple[int, list[Matrix]]:
    """The number of layouts, and the matrices; problems of both are told together."""
    problems: list[Problem] = []
    layouts = 0
    matrices: list[Matrix] = []
    try:
        layouts = check_layouts(find_layouts(options.paths))
    except MatrixError as error:
        problems += error.problems
    try:
        matrices = load(options)
    except MatrixError as error:
        problems += error.problems
    if problems:
        raise MatrixError(problems)
    return layouts, matrices


COMMAND = Command(
    name="check",
    summary="load matrices, layouts and expectations and tell everything that is wrong with them",
    add_options=_add_options,
    execute=execute,
    epilog=f"{EPILOG}\nExit codes: 0 all valid, 2 problems (each as file:line:column: message).",
)
