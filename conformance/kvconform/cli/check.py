"""``kvconform check``: tells whether every matrix is valid."""

from __future__ import annotations

import argparse

from kvconform.cli.command import Command, add_paths, count, load, say


def execute(options: argparse.Namespace) -> int:
    """Load everything; problems are raised all together by the loader."""
    matrices = load(options)
    cases = sum(len(matrix.rows) for matrix in matrices)
    say(f"{count(len(matrices), 'matrix', 'matrices')}, {count(cases, 'case', 'cases')}: ok")
    return 0


COMMAND = Command(
    name="check",
    summary="load matrices and tell everything that is wrong with them",
    add_options=add_paths,
    execute=execute,
    epilog="Exit codes: 0 all valid, 2 problems (each as file:line:column: message).",
)
