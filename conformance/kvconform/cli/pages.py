"""What commands that make a page of the documentation have in common."""

from __future__ import annotations

import argparse
from pathlib import Path

from kvconform.cli.command import say
from kvconform.pages.page import differences, write_page


def add_page(parser: argparse.ArgumentParser, what: str) -> None:
    """Where the page goes, or stands."""
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "--write", metavar="FILE", type=Path, help=f"write {what} as a page in Markdown"
    )
    target.add_argument(
        "--check",
        metavar="FILE",
        type=Path,
        help="write nothing; tell whether the page in FILE is up to date",
    )


def deliver(options: argparse.Namespace, text: str, command: str) -> int:
    """Write the page or compare it, as was asked; the exit code."""
    if options.write is not None:
        write_page(options.write, text)
        say(f"written: {options.write}")
        return 0
    different = differences(options.check, text)
    for line in different:
        say(line)
    say(f"run: {command} --write {options.check}" if different else f"{options.check}: up to date")
    return 1 if different else 0
