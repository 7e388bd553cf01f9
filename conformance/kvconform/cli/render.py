"""``kvconform render``: matrices as a folder for plain pytest."""

from __future__ import annotations

import argparse
from pathlib import Path

from kvconform.cli.command import Command, add_paths, count, load, say
from kvconform.render import render


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        required=True,
        help="folder to write: a new or empty one, or one that was rendered before",
    )


def execute(options: argparse.Namespace) -> int:
    """Render and say what was written."""
    templates = tuple(folder.absolute() for folder in options.templates)
    folder = render(load(options), options.output, templates=templates)
    say(
        f"{count(len(folder.modules), 'module', 'modules')}, "
        f"{count(folder.cases, 'case', 'cases')}: pytest {folder.path}"
    )
    return 0


COMMAND = Command(
    name="render",
    summary="write matrices as a folder of pytest modules",
    add_options=_add_options,
    execute=execute,
    epilog="The folder runs under plain pytest: pytest DIR --connector NAME [-k ...] [--junitxml F].",
)
