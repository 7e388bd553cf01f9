"""The page of documentation: its command, and its pictures, made of real runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from html_browser import Page
from html_records import index_of

from kvconform.contract.clauses import CLAUSES
from kvconform.results.html import write_html
from kvconform.results.html.page import LETTERS, html_page
from kvconform.results.journal import Journal, read_records
from kvconform.results.record import Outcome

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "html-report.md"
MOST_BYTES = 200_000
"""A picture of the documentation is no larger."""

LOOK_AT_ALL = """
(async () => {
  const looked = [];
  for (const one of data.cases.filter((one) => one.outcome === "fail")) {
    await caseDialog.open(one, [one]);
    document.querySelectorAll("dialog .controls input, dialog .controls .buttons button").forEach((it) => it.click());
    const drawn = document.querySelector("dialog svg.tokens")?.outerHTML ?? "";
    const said = document.querySelector("dialog").textContent;
    looked.push([one.id, drawn.includes("rect") && !/NaN|undefined|Infinity/.test(drawn),
      said.includes("reproduce  kvconform run") && !/undefined|\\[object/.test(said)]);
  }
  window.looked = looked;
})();
"""

Shown = tuple[Path, Journal]


def _run(folder: Path, words: list[str]) -> int:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
    done = subprocess.run(
        [sys.executable, "-m", "kvconform", *words],
        cwd=folder,
        env={**env, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    return done.returncode


def _command() -> tuple[list[str], int]:
    """The one command of the page, in words, and its exit code."""
    ((words, code),) = re.findall(
        r"^\$ kvconform (.*?)  # exit code (\d)$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    return shlex.split(words), int(code)


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The report that the page's command writes, and the records beside it."""
    folder = tmp_path_factory.mktemp("shown")
    words, code = _command()
    assert _run(folder, words) == code
    return folder / "report.html", read_records(folder / "seed.jsonl")


def test_the_command_s_page_has_the_records_counts(shown: Shown) -> None:
    """Cases by outcome and checks by clause; each broken case has its details."""
    path, journal = shown
    text = path.read_text("utf-8")
    index = index_of(text)
    outcomes = index["outcomes"]
    cases = [case for matrix in index["matrices"] for case in matrix["cases"]]
    assert Counter(outcomes[case[2]] for case in cases) == Counter(
        r.outcome.value for r in journal.records.values()
    )
    assert Counter(
        (index["clauses"][index["checks"][at][1]][0], outcomes[outcome])
        for case in cases
        for at, outcome, _ in index["verdicts"][case[3]]
    ) == Counter((c.clause, c.outcome.value) for r in journal.records.values() for c in r.checks)
    assert all((case[7] >= 0) == (outcomes[case[2]] == "fail") for case in cases)
    (matrix,) = [matrix for matrix in index["matrices"] if matrix["name"] == "unaligned-hit"]
    assert {matrix["axes"][at][0] for at in matrix["telling"]} == {"boundary", "window"}


def test_letters_are_those_of_the_page() -> None:
    """The table has every outcome's."""
    rows = dict(re.findall(r"^\| `(.)` \| ([a-z ]+)", PAGE.read_text("utf-8"), re.MULTILINE))
    assert set(rows) == set(LETTERS.values())
    assert len(rows) == len(Outcome)


def test_every_clause_has_a_severity_with_a_colour() -> None:
    """The style sheet knows all of them."""
    (text,) = re.findall(r"<style>(.*?)</style>", html_page([]), re.DOTALL)
    for severity in {clause.severity.value for clause in CLAUSES.values()}:
        assert f".severity.s-{severity.replace(' ', '-')}" in text


@pytest.mark.browser
def test_every_failed_case_can_be_looked_at(page: Page, shown: Shown) -> None:
    """Each has a drawing with figures and no gaps, whatever is pressed, and the text of its failure."""
    path, journal = shown
    page.open(path)
    page.driver.execute_script(LOOK_AT_ALL)
    page.wait("window.looked !== undefined", 120)
    failed = [one.case for one in journal.records.values() if one.outcome is Outcome.FAIL]
    assert page.js("window.looked.map((one) => one[0])") == failed
    assert page.js("window.looked.filter(([, drawn, said]) => !drawn || !said)") == []


@pytest.mark.browser
def test_pictures(
    page: Page, shown: Shown, tmp_path: Path, keep_picture: Callable[[Page, str], bytes]
) -> None:
    """What the page of documentation shows is what there is to see, in pictures small enough."""
    _, journal = shown
    words, _ = _command()
    paths = [word for word in words[1:] if "/" in word and not word.startswith("-")]
    assert _run(tmp_path, ["run", *paths, "--records", "reference.jsonl"]) == 0
    both = [
        ("seed.jsonl", journal),
        ("reference.jsonl", read_records(tmp_path / "reference.jsonl")),
    ]
    write_html(both, tmp_path / "report.html")
    page.hide_scrollbars()
    page.resize(1100, 760)
    page.open(tmp_path / "report.html")
    pictures = [keep_picture(page, "report-head.png")]
    page.resize(1100, 620)
    page.js("document.querySelector('#filters').style.position = 'static'")
    page.js("document.querySelector('#h-matrices').scrollIntoView()")
    pictures.append(keep_picture(page, "heat-maps.png"))
    page.resize(1100, 980)
    page.click(
        '#matrices details:last-child .heat button[aria-label="boundary 3968, window 128: 6 fail, 10 pass"]'
    )
    page.click(".cell-cases button.case")
    page.wait("document.querySelector('dialog[open] svg.tokens')")
    assert page.texts("svg.tokens .t-missing title") == ["missing: tokens 3,584\u20133,840"]
    pictures.append(keep_picture(page, "failed-case.png"))
    assert all(len(picture) < MOST_BYTES for picture in pictures)


def test_the_documentation_has_its_pictures() -> None:
    """Those that it names, as small PNG files."""
    names = re.findall(r"!\[[^\]]+\]\((images/[^)]+)\)", PAGE.read_text("utf-8"))
    assert sorted(names) == sorted(f"images/{path.name}" for path in (DOCS / "images").iterdir())
    for name in names:
        data = (DOCS / name).read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) < MOST_BYTES
