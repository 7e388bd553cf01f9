"""One case as a pytest file that needs nothing beside it: no matrix, no template, no conftest.

The module is the one that a render gives, with the rows of its JSON file put into it as plain
data.  It loads the plugin itself, so that plain ``pytest FILE`` judges as `kvconform run` does.
"""

from __future__ import annotations

import ast
import pprint
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvconform import MATRIX_FORMAT
from kvconform.case import Case
from kvconform.contract.clauses import CLAUSES
from kvconform.matrix import Matrix, RowsFile
from kvconform.matrix.model import Row
from kvconform.matrix.references import substitute
from kvconform.ports import KvconformError
from kvconform.render import module_source
from kvconform.results.words import plain

_WIDTH = 96


class NotAloneError(KvconformError):
    """A case that cannot be written as one file: names its template, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The connector for which a case is written, and the command line that runs it there.

    ``ended`` says how the case ended in a run, empty where no run is known.
    """

    connector: str
    command: str
    options: Mapping[str, object] = field(default_factory=dict)
    ended: str = ""


def stand_alone(
    matrix: Matrix, row: Row, subject: Subject, *, templates: Sequence[Path] = ()
) -> str:
    """The text of a pytest file with the case of ``row``.

    Raises `NotAloneError`, and what rendering raises.
    """
    at = matrix.rows.index(row)
    source = module_source(matrix.only([at]), templates)
    case = matrix.case(row)
    data = _data(matrix, row, case)
    if RowsFile.from_json(ast.literal_eval(repr(data))).case(0) != case:
        raise NotAloneError(f"{case.id}: its values cannot be written as plain data")
    settings = "\n".join(
        [
            'pytest_plugins = ["kvconform.plugin"]',
            "",
            f"CONNECTOR = {subject.connector!r}",
            f"CONNECTOR_CONFIG = {pprint.pformat(dict(subject.options), sort_dicts=False)}",
            "",
            f"CASE = {pprint.pformat(data, width=_WIDTH, sort_dicts=False)}",
            "",
            "",
        ]
    )
    return _head(matrix, case, subject) + _with_data(source, settings, matrix)


def _data(matrix: Matrix, row: Row, case: Case) -> dict[str, Any]:
    """A rows file of one row in which no axis is left to be put in."""
    header = matrix.header.to_json()
    document = header["document"]
    header["document"] = {
        **{key: substitute(document[key], row.values) for key in ("layout", "engine", "given")},
        "pins": [dict(case.pinned)] if case.pinned else [],
    }
    rows = [[row.id, row.line, list(row.values.values())]]
    return {"format": MATRIX_FORMAT, "header": header, "rows": rows}


def _head(matrix: Matrix, case: Case, subject: Subject) -> str:
    """The docstring, and what a reader wants to know; what others wrote stands in comments."""
    lines = [
        *_comment(f"Case {case.id} of {case.source}"),
        *_comment(matrix.title),
        "#",
        "# Written for:",
        f"#   {plain(subject.command, most=len(subject.command))}",
        *(_comment(f"There it ended so: {subject.ended}") if subject.ended else ()),
        "#",
        *_comment("It is about these clauses:"),
        *(line for clause in case.clauses for line in _comment(_clause(clause), "  ")),
    ]
    text = '"""One case of kvconform, to be run with plain pytest: it fails or passes as the case does.\n\n'
    text += "On another connector: pytest -p kvconform.plugin THIS_FILE --connector NAME\n"
    return f'{text}"""\n\n' + "\n".join(lines) + "\n\n"


def _clause(name: str) -> str:
    clause = CLAUSES[name]
    return f"{name} ({clause.severity.value}): {clause.text}"


def _comment(text: str, indent: str = "") -> Iterator[str]:
    first = f"# {indent}"
    yield from textwrap.wrap(
        plain(text, most=len(text)),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=first + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    ) or ["#"]


def _with_data(source: str, settings: str, matrix: Matrix) -> str:
    """The module without its docstring, its rows read from ``CASE`` instead of from a file."""
    tree = ast.parse(source)
    text = source.encode("utf-8")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def span(node: ast.stmt | ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None  # noqa: S101 - whatever was parsed has an end
        assert node.end_col_offset is not None  # noqa: S101
        return (
            starts[node.lineno - 1] + node.col_offset,
            starts[node.end_lineno - 1] + node.end_col_offset,
        )

    reads = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _reads_rows(node)]
    if not reads:
        raise NotAloneError(
            f"{matrix.name}: the template of the scenario {matrix.scenario!r} does not read its "
            "rows by RowsFile.read(...), so that they cannot be put into the file"
        )
    edits = {span(node): "RowsFile.from_json(CASE)" for node in reads}
    body = tree.body
    if ast.get_docstring(tree, clean=False) is not None:
        edits[span(body[0])] = ""
        body = body[1:]
    first = next(node for node in body if not isinstance(node, ast.Import | ast.ImportFrom))
    edits[span(first)[0], span(first)[0]] = settings
    edits |= {span(node): "" for node in body if _imports_path(node) and _only_for(tree, reads)}
    for (start, end), new in sorted(edits.items(), reverse=True):
        text = text[:start] + new.encode("utf-8") + text[end:]
    lines = text.decode("utf-8").lstrip("\n")
    while "\n\n\n\n" in lines:
        lines = lines.replace("\n\n\n\n", "\n\n\n")
    return lines


def _reads_rows(node: ast.Call) -> bool:
    named = node.func
    return (
        isinstance(named, ast.Attribute)
        and named.attr == "read"
        and isinstance(named.value, ast.Name)
        and named.value.id == "RowsFile"
    )


def _imports_path(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and ast.unparse(node) == "from pathlib import Path"


def _only_for(tree: ast.Module, reads: Sequence[ast.Call]) -> bool:
    """Whether ``Path`` is named in the calls that go away, and nowhere else."""
    gone = {id(node) for call in reads for node in ast.walk(call)}
    return not any(
        isinstance(node, ast.Name) and node.id == "Path" and id(node) not in gone
        for node in ast.walk(tree)
    )
