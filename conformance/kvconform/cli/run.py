"""``kvconform run``: matrices against one connector, with a verdict."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from kvconform.cli.cases import with_cases
from kvconform.cli.command import (
    Command,
    add_connector_options,
    add_expect,
    add_paths,
    add_plan,
    load,
    say,
)
from kvconform.cli.settings import (
    EPILOG,
    OptionsError,
    add_project,
    add_subject,
    fill_in,
    settle_store,
)
from kvconform.matrix import Matrix
from kvconform.ports import KvconformError
from kvconform.results.html import write_html
from kvconform.results.junit import write_junit
from kvconform.results.summary import IN_FULL, closing_line, summarize
from kvconform.results.terminal import show
from kvconform.run import RunRequest, RunResult, run
from kvconform.run.progress import Progress
from kvconform.suspects.groups import blame

_GROUPS = 8
"""So many groups of failures are told with the axis values to blame; `kvconform explain` has more."""

_OF_RECORDS = ""
"""``--resume`` without a file."""


_NOT_KEPT = "not kept"
"""Stands on a page for the name of the records file of a run without ``--records``."""


class ReportNotWrittenError(KvconformError):
    """A report file cannot be written: names it and why."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_subject(parser)
    add_connector_options(parser)
    add_plan(parser)
    add_expect(parser)
    add_project(parser)
    parser.add_argument(
        "--case",
        metavar="ID",
        action="append",
        default=[],
        help="run this case alone, by its whole id; may be repeated",
    )
    parser.add_argument(
        "--records",
        metavar="FILE",
        type=Path,
        help="keep the records, one JSON line for each event, written as it happens",
    )
    parser.add_argument(
        "--resume",
        metavar="FILE",
        nargs="?",
        const=_OF_RECORDS,
        default=None,
        help="keep what the file of an earlier run's records holds, run the other cases and add "
        "theirs; without FILE, the file of --records",
    )
    parser.add_argument(
        "--junitxml", metavar="FILE", type=Path, help="write a JUnit XML report of the records"
    )
    parser.add_argument(
        "--html",
        metavar="FILE",
        type=Path,
        help="write the report as one HTML page: clauses, heat maps, and a picture of each failure",
    )
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="print the closing line only")
    loudness.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="show pytest's own output while it runs, and every failure in full",
    )


def execute(options: argparse.Namespace) -> int:
    """Run, summarize, report."""
    settle_store(options)
    fill_in(options)
    _settle_resume(options)
    matrices = with_cases(load(options), options.case, options.templates)
    for path in (options.records, options.junitxml, options.html):
        _must_be_writable(path)
    progress = Progress(sys.stderr, quiet=options.quiet or options.verbose)
    result = run(
        matrices,
        RunRequest(
            connector=options.connector,
            device=options.device,
            records=options.records,
            resume=options.resume is not None,
            case_seconds=options.case_timeout,
            max_restarts=options.max_restarts,
            connector_config=tuple(options.connector_config),
            templates=tuple(folder.absolute() for folder in options.templates),
            cases=tuple(options.case),
            expect=tuple(options.expect),
            pytest_args=options.pytest_args,
            show_output=options.verbose,
        ),
        progress,
    )
    if options.junitxml is not None:
        write_junit([result.journal], options.junitxml)
    if options.html is not None:
        name = options.records.name if options.records is not None else _NOT_KEPT
        write_html([(name, result.journal)], options.html)
    if options.quiet:
        say(closing_line(result.journal))
    else:
        in_full = len(result.journal.records) if options.verbose else IN_FULL
        show(summarize(result.journal, in_full=in_full, blamed=_blamed(matrices, result)))
    _tell_lost(result)
    return result.exit_code


def _blamed(matrices: Sequence[Matrix], result: RunResult) -> list[tuple[str, str]]:
    by_name = {matrix.name: matrix for matrix in matrices}
    groups = blame(by_name, result.journal.records.values(), most=_GROUPS)
    return [(f"{group.matrix}, {group.clauses}", sentence) for group, sentence in groups]


def _settle_resume(options: argparse.Namespace) -> None:
    """``--resume FILE`` is short for ``--records FILE --resume``."""
    if options.resume is None:
        return
    if options.resume == _OF_RECORDS:
        if options.records is None:
            raise OptionsError("--resume needs --records FILE, or a file of its own")
    elif options.records is None:
        options.records = Path(options.resume)
    else:
        raise OptionsError(
            f"--resume {options.resume} and --records {options.records} name a file each: "
            "give one of them (paths of matrices stand before --resume)"
        )


def _tell_lost(result: RunResult) -> None:
    for case in result.lost[:IN_FULL]:
        sys.stderr.write(f"kvconform: the suite lost a case: {case}\n")
    if len(result.lost) > IN_FULL:
        sys.stderr.write(f"kvconform: and {len(result.lost) - IN_FULL} more\n")


def _must_be_writable(path: Path | None) -> None:
    """Better said before a long run than after it."""
    if path is not None and not path.absolute().parent.is_dir():
        raise ReportNotWrittenError(f"{path}: the folder {path.absolute().parent} does not exist")
    if path is not None and path.is_dir():
        raise ReportNotWrittenError(f"{path} is a folder; a file is needed")


COMMAND = Command(
    name="run",
    summary="run matrices against a connector and tell the verdict",
    add_options=_add_options,
    execute=execute,
    takes_pytest_args=True,
    epilog=f"{EPILOG}\n"
    "Arguments after -- are handed to pytest: -- -k left.missing, -- -n 2, -- -x.\n"
    "Exit codes: 0 pass, 1 failures or unexpected passes, 2 usage or bad file, 3 the suite broke,\n"
    "5 no case reached pass or fail, 130 interrupted.",
)
