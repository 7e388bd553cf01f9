"""One HTML file that holds everything: markup, styles, scripts and packed records.

The page asks nothing of any network, and its policy forbids it to.  Data comes into it in two
ways only: escaped into the markup by the template, or packed in letters and digits, from which
scripts make texts and never markup.  The same records give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import jinja2

from kvconform import __version__
from kvconform.ports import KvconformError
from kvconform.results.html.counts import NOT_RUN, causes_of, clause_rows, runs_of
from kvconform.results.html.details import Chunks, pack
from kvconform.results.html.index import index_of
from kvconform.results.html.text import name
from kvconform.results.journal import Journal
from kvconform.results.record import Outcome

_FILES = Path(__file__).resolve().parent / "assets"
_SCRIPTS = ("data.js", "dom.js", "filters.js", "heatmap.js", "figure.js", "case.js", "main.js")

LETTERS = {
    Outcome.PASS: "P",
    Outcome.FAIL: "F",
    Outcome.UNTESTABLE: "U",
    Outcome.NOT_APPLICABLE: "N",
    Outcome.EXPECTED_FAILURE: "X",
    Outcome.UNEXPECTED_PASS: "!",
    Outcome.ERROR: "E",
}
"""What stands for an outcome where there is no room for words; colours say the same."""

_WORDS = {
    Outcome.PASS: "pass",
    Outcome.FAIL: "fail",
    Outcome.UNTESTABLE: "untestable",
    Outcome.NOT_APPLICABLE: "not applicable",
    Outcome.EXPECTED_FAILURE: "expected failure",
    Outcome.UNEXPECTED_PASS: "unexpected pass",
    Outcome.ERROR: "error of the suite",
}


_ALWAYS = (Outcome.PASS, Outcome.FAIL, Outcome.UNTESTABLE, Outcome.NOT_APPLICABLE, Outcome.ERROR)
_OF_CLAUSES = (*_ALWAYS[:-1], Outcome.EXPECTED_FAILURE)
"""What is counted of runs and of clauses, even if there is none."""


class HtmlNotWrittenError(KvconformError):
    """A page that cannot be written: names it and why."""


def write_html(runs: Sequence[tuple[str, Journal]], path: Path) -> None:
    """Write the report of ``runs``, each a name for its records (their file) and the records.

    Raises `HtmlNotWrittenError` if ``path`` cannot be written.
    """
    text = html_page(runs)
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise HtmlNotWrittenError(f"{path}: cannot be written: {error.strerror}") from error


def html_page(journals: Sequence[tuple[str, Journal]]) -> str:
    """The page as text."""
    runs = runs_of(journals)
    chunks = Chunks()
    index = index_of(runs, chunks)
    styles = _read("report.css")
    script = "\n".join(_read(file) for file in _SCRIPTS)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FILES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["name"] = lambda value: name(str(value))
    clauses = clause_rows(runs)
    return environment.get_template("report.html.j2").render(
        version=__version__,
        runs=runs,
        outcomes=list(LETTERS),
        letters=LETTERS,
        words=_WORDS,
        not_run=NOT_RUN,
        head=_with_found(_ALWAYS, [run.counts for run in runs]),
        some_not_run=any(run.counts[NOT_RUN] for run in runs),
        columns=_with_found(_OF_CLAUSES, [counts for row in clauses for counts in row.counts]),
        clauses=clauses,
        causes=causes_of(runs),
        cases=sum(len(run.journal.records) for run in runs),
        severities=list(dict.fromkeys(row.severity for row in clauses)),
        groups=index["groups"],
        styles=styles,
        script=script,
        style_hash=_hash(styles),
        script_hash=_hash(script),
        index=pack(json.dumps({**index, "letters": _letters()}, separators=(",", ":"))),
        chunks=chunks.packed(),
    )


def _with_found(usual: Sequence[Outcome], counts: Iterable[Mapping[str, int]]) -> list[Outcome]:
    """The usual outcomes, and others that there are."""
    found = {key for counted in counts for key in counted}
    return [*usual, *(one for one in Outcome if one not in usual and one.value in found)]


def _letters() -> dict[str, list[str]]:
    return {one.value: [LETTERS[one], _WORDS[one]] for one in Outcome}


def _read(file: str) -> str:
    return (_FILES / file).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """How a policy names the one inline text that it allows."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
