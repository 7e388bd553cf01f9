"""``kvconform report``: one or several runs as a page, or as a file for a CI system."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvconform.cli.command import Command, say
from kvconform.pages.page import write_page
from kvconform.ports import KvconformError
from kvconform.results.html import write_html
from kvconform.results.journal import Journal, read_run
from kvconform.results.junit import write_junit
from kvconform.results.markdown import markdown


class NoReportError(KvconformError):
    """Options that ask for no report, or for one without saying which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A form of the report that goes to a file of its own: ``--option FILE``."""

    option: str
    what: str
    write: Callable[[Sequence[tuple[str, Journal]], Path], None]
    """Gets each run with its file's name."""


def _write_junit(runs: Sequence[tuple[str, Journal]], path: Path) -> None:
    write_junit([journal for _, journal in runs], path)


WRITERS = (
    Writer(option="html", what="a page that needs nothing beside it", write=write_html),
    Writer(option="junit", what="JUnit XML, a suite for each run", write=_write_junit),
)
"""All forms but Markdown, which may go to standard output."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "records",
        metavar="RECORDS",
        nargs="+",
        type=Path,
        help="what 'kvconform run --records' wrote; a file for each run, in the order of columns",
    )
    parser.add_argument(
        "--markdown",
        action="store_true",
        help="a page in Markdown: clauses by connector, failures by cause, matrices",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="write the page to this file instead of standard output",
    )
    for writer in WRITERS:
        parser.add_argument(
            f"--{writer.option}", metavar="FILE", type=Path, help=f"write {writer.what}"
        )


def execute(options: argparse.Namespace) -> int:
    """Read everything, then write everything."""
    wanted = [
        (writer, path) for writer in WRITERS if (path := getattr(options, writer.option)) is not None
    ]
    if not options.markdown and options.output is not None:
        raise NoReportError("-o FILE is for the page of --markdown; add that")
    if not options.markdown and not wanted:
        forms = ["--markdown", *(f"--{writer.option} FILE" for writer in WRITERS)]
        raise NoReportError(f"which report? Give {' or '.join(forms)}")
    journals = [read_run(path) for path in options.records]
    for writer, path in wanted:
        writer.write([(file.name, run) for file, run in zip(options.records, journals, strict=True)], path)
    if options.markdown and options.output is None:
        say(markdown(journals), end="")
    elif options.markdown:
        write_page(options.output, markdown(journals))
    return 0


COMMAND = Command(
    name="report",
    summary="make reports of the records of one or several runs",
    add_options=_add_options,
    execute=execute,
    epilog="Nothing but the records is read. Whether cases failed is told by 'run', not here.\n"
    "Exit codes: 0 written, 2 usage or bad file.",
)
