"""``kvconform render``: matrices as a folder for plain pytest."""

from __future__ import annotations

import argparse
from pathlib import Path

from kvconform.cli.command import Command, add_paths, add_plan, count, load, say
from kvconform.render import compare, render


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_plan(parser)
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        help="folder to write: a new or empty one, or one that was rendered before",
    )
    target.add_argument(
        "--check",
        metavar="DIR",
        type=Path,
        help="write nothing; tell which files of the folder are changed, missing or extra",
    )


def execute(options: argparse.Namespace) -> int:
    """Render and say what was written, or compare and say what differs."""
    templates = tuple(folder.absolute() for folder in options.templates)
    if options.check is not None:
        return _check(options, templates)
    folder = render(load(options), options.output, templates=templates)
    say(
        f"{count(len(folder.modules), 'module', 'modules')}, "
        f"{count(folder.cases, 'case', 'cases')}: pytest {folder.path}"
    )
    return 0


def _check(options: argparse.Namespace, templates: tuple[Path, ...]) -> int:
    different = compare(load(options), options.check, templates=templates)
    for difference in different:
        say(str(difference))
    if different:
        say(f"\n{options.check}: {count(len(different), 'file differs', 'files differ')}")
        return 1
    say(f"{options.check}: up to date")
    return 0


COMMAND = Command(
    name="render",
    summary="write matrices as a folder of pytest modules",
    add_options=_add_options,
    execute=execute,
    epilog="The folder runs under plain pytest: pytest DIR --connector NAME [-k ...] [--junitxml F].\n"
    "Exit codes: 0 written or up to date, 1 the folder of --check differs, 2 usage or bad file.",
)
