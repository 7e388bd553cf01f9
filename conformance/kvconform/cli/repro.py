"""``kvconform repro``: one case as a pytest file that stands alone."""

from __future__ import annotations

import argparse
import difflib
from dataclasses import dataclass, field
from pathlib import Path

from kvconform.cli.command import Command, add_paths, say
from kvconform.cli.settings import EPILOG, add_project, add_subject, fill_in, settle_store
from kvconform.connector_config import read_settings, written
from kvconform.matrix import Matrix, find_matrices, load_matrices
from kvconform.matrix.model import Row
from kvconform.matrix.plan import Level, Plan
from kvconform.ports import KvconformError
from kvconform.repro import Subject, stand_alone
from kvconform.results.causes import first_cause
from kvconform.results.journal import Journal, RunHeader, read_run
from kvconform.results.record import CaseRecord, Outcome
from kvconform.results.reproduce import matrix_argument, reproduction
from kvconform.run.session import UnknownCaseError

_NEAREST = 3


class ReproNotWrittenError(KvconformError):
    """The file is there already, has a name that pytest does not read, or cannot be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """A case as it was asked for: a matrix by its name or its file, and the id of a row."""

    matrix: str
    row: str
    files: list[Path] = field(default_factory=list)

    @property
    def is_file(self) -> bool:
        """Whether the matrix is named by its file, as listings do."""
        return "/" in self.matrix or self.matrix.endswith(".yaml")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "case",
        metavar="CASE",
        help="the id of a case, such as 'unaligned-hit[...]' or 'coverage/unaligned_hit[...]'",
    )
    add_paths(parser)
    add_subject(parser)
    parser.add_argument(
        "--connector-config",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a setting handed to the connector as it stands; may be repeated",
    )
    parser.add_argument(
        "--records",
        metavar="FILE",
        type=Path,
        help="the records of a run: connector, settings, matrix and templates are taken from there",
    )
    add_project(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="a new file, *.py, instead of standard output",
    )


def execute(options: argparse.Namespace) -> int:
    """Find the case, and write it."""
    if options.output is not None and options.output.suffix != ".py":
        raise ReproNotWrittenError(f"{options.output}: pytest reads files that end with .py")
    settle_store(options)
    journal = read_run(options.records) if options.records is not None else None
    record = journal.records.get(options.case) if journal is not None else None
    if journal is not None:
        _take_over(options, journal, record)
    asked = bool(options.paths)
    fill_in(options)
    templates = tuple(folder.absolute() for folder in map(Path, options.templates))
    options.templates = list(templates)
    matrix, row = _find(options, asked=asked)
    case = matrix.case(row)
    settings = read_settings(options.connector_config)
    as_run = CaseRecord(
        case=case.id, matrix=case.matrix, source=case.source, outcome=Outcome.PASS
    )
    header = RunHeader(
        connector=options.connector, options=settings, templates=tuple(map(str, templates))
    )
    subject = Subject(
        connector=options.connector,
        options=settings,
        command=reproduction(as_run, header),
        ended=_ended(record),
    )
    text = stand_alone(matrix, row, subject, templates=templates)
    if options.output is None:
        say(text, end="")
        return 0
    _write(options.output, text)
    say(f"written: {options.output}\ntry: pytest {options.output}")
    return 0


def _take_over(
    options: argparse.Namespace, journal: Journal, record: CaseRecord | None
) -> None:
    """What the records say of the run, where the command line says nothing."""
    header = journal.header
    if header is not None and options.connector in {None, header.connector}:
        given = {pair.partition("=")[0] for pair in options.connector_config}
        options.connector = header.connector
        options.connector_config += [
            pair for pair in written(header.options) if pair.partition("=")[0] not in given
        ]
    if header is not None:
        options.templates = options.templates or list(map(Path, header.templates))
    if record is not None and not options.paths:
        options.paths = [matrix_argument(record.source)]


def _ended(record: CaseRecord | None) -> str:
    if record is None:
        return ""
    why = f", {first_cause(record)}" if record.outcome.is_bad else ""
    return f"{record.outcome.value}{why}"


def _find(options: argparse.Namespace, *, asked: bool) -> tuple[Matrix, Row]:
    """The matrix and the row, also one that the matrix does not select."""
    name, _, rest = options.case.partition("[")
    wanted = _Wanted(matrix=name, row=rest.removesuffix("]"))
    files = find_matrices([name] if wanted.is_file and not asked else options.paths)
    # By custom a file is named as its matrix: then the others need not be read.
    likely = [path for path in files if path.stem == name.replace("-", "_")]
    found = _named(wanted, likely, options) or _named(wanted, files, options)
    if found is None:
        known = sorted({path.stem.replace("_", "-") for path in files})
        raise _unknown(options.case, name, known, "no matrix here is named so")
    for row in found.rows:
        if row.id == wanted.row:
            return found, row
    (every,) = load_matrices(
        [found.path], templates=options.templates, plan=Plan(level=Level.FULL)
    )
    for row in every.rows:
        if row.id == wanted.row:
            return every, row
    ids = [f"{every.name}[{row.id}]" for row in every.rows]
    raise _unknown(options.case, f"{every.name}[{wanted.row}]", ids, f"{every.file} has no such row")


def _named(wanted: _Wanted, files: list[Path], options: argparse.Namespace) -> Matrix | None:
    matrices = load_matrices(files, templates=options.templates)
    if wanted.is_file and len(matrices) == 1:
        return matrices[0]
    return next((one for one in matrices if one.name == wanted.matrix), None)


def _unknown(case: str, like: str, known: list[str], why: str) -> UnknownCaseError:
    near = difflib.get_close_matches(like, known, n=_NEAREST, cutoff=0.4)
    hint = "".join(f"\n  {one}" for one in near)
    return UnknownCaseError(
        f"there is no case {case!r}: {why}" + (f"; the nearest are{hint}" if near else "")
    )


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise ReproNotWrittenError(f"{path} is there already; name a new file") from error
    except OSError as error:
        raise ReproNotWrittenError(f"{path}: cannot be written: {error.strerror}") from error


COMMAND = Command(
    name="repro",
    summary="write one case as a pytest file that needs no matrix and no template",
    add_options=_add_options,
    execute=execute,
    epilog=f"{EPILOG}\n"
    "The file runs with plain pytest FILE, and fails or passes as the case does. On another\n"
    "connector: pytest -p kvconform.plugin FILE --connector NAME.\n"
    "Exit codes: 0 written, 2 usage, bad file or unknown case.",
)
