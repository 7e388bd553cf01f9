"""``kvconform explain``: which axis values are to blame for the failures of a run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kvconform.cli.command import (
    Command,
    add_connector_options,
    add_paths,
    count,
    positive_number,
    say,
)
from kvconform.cli.explain_case import is_case, tell_case
from kvconform.cli.settings import add_project, fill_in
from kvconform.connector_config import written
from kvconform.matrix import Matrix, find_matrices, load_matrices
from kvconform.matrix.plan import Level, Plan
from kvconform.ports import KvconformError
from kvconform.results.journal import Journal, read_run
from kvconform.results.record import Outcome
from kvconform.run import RunRequest, run
from kvconform.run.progress import Progress
from kvconform.suspects import describe, explain, settle, table_of
from kvconform.suspects.groups import Group, groups_of
from kvconform.suspects.table import Row

_MOST = 20


class ForeignRecordsError(KvconformError):
    """Records of cases that no matrix here has."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target",
        metavar="RECORDS|CASE",
        help="a file that --records of a run has written, or the whole id of a case, which is then run",
    )
    add_paths(parser)
    parser.add_argument(
        "--connector",
        metavar="NAME",
        default=None,
        help="of a CASE: the connector to run it on (default: reference)",
    )
    add_connector_options(parser)
    add_project(parser)
    parser.add_argument(
        "--probe",
        action="store_true",
        help="where several explanations fit, run more rows on the same connector to tell them apart",
    )
    parser.add_argument(
        "--most",
        metavar="N",
        type=positive_number,
        default=_MOST,
        help=f"explain the N largest groups of failures (default: {_MOST})",
    )


def execute(options: argparse.Namespace) -> int:
    """Tell a case event by event, or of a run's failures what they have in common."""
    if is_case(options.target):
        fill_in(options)
        return tell_case(options.target, options)
    options.records = Path(options.target)
    journal = read_run(options.records)
    plan = Plan(level=Level.FULL)
    paths = find_matrices(options.paths)
    own = {matrix.name: matrix for matrix in load_matrices(paths, templates=options.templates)}
    groups = groups_of(journal.records.values())
    if not groups:
        say("no case failed")
        return 0
    if options.probe:
        # What fails together in the rows that were run may part in those that are run now.
        groups = [replace(group, checks=(one,)) for group in groups for one in group.checks]
    for group in groups[: options.most]:
        if group.matrix not in own:
            raise ForeignRecordsError(
                f"{options.records}: no matrix here is named {group.matrix!r}; "
                "name the files of that run"
            )
        path = own[group.matrix].path
        (matrix,) = load_matrices([path], templates=options.templates, plan=plan)
        say(f"{group.matrix}, {group.clauses} ({', '.join(name for _, name in group.checks)})")
        say(f"  {_explained(group, matrix, journal, options)}")
    if len(groups) > options.most:
        say(f"and {count(len(groups) - options.most, 'smaller group', 'smaller groups')}")
    return 0


def _explained(
    group: Group, matrix: Matrix, journal: Journal, options: argparse.Namespace
) -> str:
    known = {row.id for row in matrix.rows}
    for case in (*group.failed, *group.passed):
        if case.partition("[")[2].removesuffix("]") not in known:
            raise ForeignRecordsError(
                f"{options.records}: {matrix.file} has no row for {case}: it was edited since"
            )
    explanation = explain(group.outcomes(table_of([(matrix, matrix.rows)])))
    if not options.probe:
        return describe(explanation)
    settled = settle(explanation, _prober(group, matrix, journal, options))
    probes = [f"{row.id} {'failed' if failed else 'did not'}" for row, failed in settled.probes]
    told = f" (run in addition: {'; '.join(probes)})" if probes else " (nothing was left to run)"
    return describe(settled.explanation) + told


def _prober(
    group: Group, matrix: Matrix, journal: Journal, options: argparse.Namespace
) -> Callable[[Row], bool | None]:
    """Runs one row on the connector of the records, and says whether it fails as the group does."""
    header = journal.header
    if header is None:
        raise ForeignRecordsError(f"{options.records}: does not say which connector was run")
    request = RunRequest(
        connector=header.connector,
        device=header.device,
        connector_config=tuple(written(header.options)),
        templates=tuple(folder.absolute() for folder in options.templates),
    )
    at = {f"{matrix.name}[{row.id}]": number for number, row in enumerate(matrix.rows)}

    def failed(row: Row) -> bool | None:
        only = matrix.only([at[row.id]])
        record = run([only], request, Progress(sys.stderr, quiet=True)).journal.records[row.id]
        if record.outcome not in {Outcome.PASS, Outcome.FAIL}:
            return None
        failing = {(c.clause, c.check) for c in record.checks if c.outcome is Outcome.FAIL}
        return bool(failing & set(group.checks))

    return failed


COMMAND = Command(
    name="explain",
    summary="tell what the failing cases of a run have in common, or one case event by event",
    add_options=_add_options,
    execute=execute,
    epilog="PATH are the matrices of that run, shipped ones and your own (default: all that are shipped). "
    "Exit codes: 0 told, 2 usage or bad file; of a CASE those of kvconform run.",
)
