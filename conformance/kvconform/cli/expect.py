"""``kvconform expect``: prints the expected failures that would explain those of a run."""

from __future__ import annotations

import argparse
import datetime as dt
from pathlib import Path

from kvconform.cli.command import Command, say
from kvconform.expectations.propose import render_proposals
from kvconform.ports import KvconformError
from kvconform.results.journal import read_run


class FileExistsAlreadyError(KvconformError, FileExistsError):
    """The file to write is there and may hold what people wrote: names it."""


class FileNotWrittenError(KvconformError):
    """The file cannot be written: names it and why."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "records", metavar="RECORDS", type=Path, help="what 'kvconform run --records' wrote"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="write a new file instead of standard output",
    )


def execute(options: argparse.Namespace) -> int:
    """Entries for all failures of the records."""
    journal = read_run(options.records)
    text = render_proposals(journal, dt.datetime.now(tz=dt.UTC).date())
    if options.output is None:
        say(text, end="")
        return 0
    try:
        with options.output.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise FileExistsAlreadyError(
            f"{options.output} is there already; name a new file, or paste what is printed without -o"
        ) from error
    except OSError as error:
        raise FileNotWrittenError(
            f"{options.output}: cannot be written: {error.strerror}"
        ) from error
    return 0


COMMAND = Command(
    name="expect",
    summary="print entries of expected failures for the failures of a run",
    add_options=_add_options,
    execute=execute,
    epilog="Every reason is TODO, which 'kvconform run --expect FILE' refuses until it is written.",
)
