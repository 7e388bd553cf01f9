"""``kvconform new``: a working start for a matrix or a connector of one's own."""

from __future__ import annotations

import argparse
from pathlib import Path

from kvconform.cli.command import Command, say
from kvconform.scaffold import new_connector, new_matrix

_KINDS = ("matrix", "connector")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", choices=_KINDS, help=" or ".join(_KINDS))
    parser.add_argument("name", metavar="NAME", help="its name, such as late-store")
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        help="folder to write into (default: this one for a matrix, NAME for a connector)",
    )


def execute(options: argparse.Namespace) -> int:
    """Write the files, and say how to go on."""
    if options.kind == "matrix":
        written = new_matrix(options.name, options.output or Path())
        goes_on = f"kvconform run {written[0]}"
    else:
        folder = options.output or Path(options.name)
        written = new_connector(options.name, folder)
        goes_on = f"cd {folder} && kvconform run"
    for path in written:
        say(f"written: {path}")
    say(f"try: {goes_on}")
    return 0


COMMAND = Command(
    name="new",
    summary="write a matrix or a connector that works, to start from",
    add_options=_add_options,
    execute=execute,
    epilog="Nothing is ever overwritten. Exit codes: 0 written, 2 usage, or files that are there.",
)
