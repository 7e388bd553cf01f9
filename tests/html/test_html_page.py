"""The page holds what the records hold, escapes all of it, and is the same each time."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from html_records import HOSTILE, block, check, index_of, journal, record, scene, table

from kvconform.ports import KvconformError
from kvconform.results.failure import describe_failure
from kvconform.results.html import write_html
from kvconform.results.html.page import html_page
from kvconform.results.journal import Journal
from kvconform.results.record import Outcome
from kvconform.results.scene import Spot


class _Tags(HTMLParser):
    """Every element of a page with its attributes, and all text outside of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[tuple[str, str]] = []
        self._open = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag

    def handle_data(self, data: str) -> None:
        self.inside.append((self._open, data))


def _every_outcome() -> Journal:
    return journal(
        record("m[a]"),
        record("m[b]", Outcome.FAIL),
        record("m[c]", Outcome.UNTESTABLE, reason="no witness"),
        record("m[d]", Outcome.NOT_APPLICABLE, reason="needs eagle"),
        record("m[e]", Outcome.ERROR, checks=(), reason="Traceback\nRuntimeError: a fuse"),
        record(
            "m[f]",
            Outcome.EXPECTED_FAILURE,
            checks=(check("COV-2", Outcome.FAIL),),
            reason="known",
            expectations=("e.yaml:3",),
        ),
        record(
            "m[g]",
            Outcome.UNEXPECTED_PASS,
            checks=(check("COV-2", Outcome.PASS),),
            reason="e.yaml says it fails",
            expectations=("e.yaml:9",),
        ),
        selected=tuple(f"m[{letter}]" for letter in "abcdefgh"),
    )


def _row(page: str, start: str) -> list[str]:
    """The cells of the first table row that has ``start``, as text."""
    (row,) = [found for found in re.findall(r"<tr>.*?</tr>", page, re.DOTALL) if start in found][:1]
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)
    return [re.sub(r"<[^>]*>", "", cell).strip() for cell in cells]


def test_head_counts_cases_by_outcome() -> None:
    """Each kind apart from the others, and what has no record."""
    page = html_page([("r.jsonl", _every_outcome())])
    assert _row(page, '<th scope="row">vendor:x') == [
        "vendor:x", "2.0", "built-in", "cpu", "1", "r.jsonl", *"1111111", "1",
    ]  # fmt: skip


def test_head_has_warnings_claims_that_lack_and_what_was_not_run() -> None:
    """Said once each, by run where there are several."""
    one = record("m[a]", unclaimed=("eagle",))
    made = journal(
        one,
        selected=("m[a]", *(f"m[{at}]" for at in range(7))),
        stopped="-x",
        warnings=("review e.yaml:3",),
    )
    page = html_page([("a", made), ("b", journal(version="3"))])
    (notes,) = re.findall(r'<ul class="plain notes">(.*?)</ul>', page)
    assert re.findall(r"<li><b>vendor:x 2.0</b>: (.*?)</li>", notes) == [
        "review e.yaml:3",
        "The connector has eagle and does not claim it: what needs the claim is not applicable.",
        "Not run (stopped: -x): m[0], m[1], m[2], m[3], m[4] and 2 more",
    ]


def test_clauses_count_checks_by_run_and_outcome() -> None:
    """The bad check of an expected failure is expected; every number stands in its run's columns."""
    page = html_page([("a", _every_outcome()), ("b", journal(record("m[a]"), version="3.0"))])
    assert _row(page, '"mono">COV-2</th>')[4:] == ["2", "1", "1", "1", "1", "1", "·", "·", "·", "·"]
    assert _row(page, '"mono">COV-1</th>')[4:] == ["4", "·", "·", "·", "·", "1", "·", "·", "·", "·"]
    assert _row(page, '"mono">COV-2</th>')[2:4] == ["engine death", "safe"]


def test_index_has_every_case_with_its_checks() -> None:
    """Counts made from the index are those of the records."""
    made = _every_outcome()
    index = index_of(html_page([("r", made)]))
    cases = [case for matrix in index["matrices"] for case in matrix["cases"]]
    names = index["outcomes"]
    assert {case[1]: names[case[2]] for case in cases} == {
        one.case: one.outcome.value for one in made.records.values()
    }
    told = Counter(
        (index["clauses"][index["checks"][at][1]][0], names[outcome])
        for case in cases
        for at, outcome, _ in index["verdicts"][case[3]]
    )
    assert told == {
        ("COV-1", "pass"): 4, ("COV-2", "pass"): 2, ("COV-2", "fail"): 1, ("COV-2", "xfail"): 1,
        ("COV-2", "untestable"): 1, ("COV-2", "n/a"): 1,
    }  # fmt: skip


def test_a_failed_case_has_its_text_trace_and_scene() -> None:
    """As the terminal tells it; what was missing is told beside what was stored."""
    made = journal(record("m[b]", Outcome.FAIL, scene=scene(missing=4)))
    page = html_page([("r", made)])
    (matrix,) = index_of(page)["matrices"]
    chunk, place = matrix["cases"][0][7:9]
    detail = json.loads(block(page, f"chunk-{chunk}"))[place]
    assert detail["text"] == describe_failure(made.records["m[b]"], made.header)
    assert detail["broken"] == {"3": "COV-2"}
    assert len(detail["trace"]) == len(detail["scene"]["moments"])
    full, swa = detail["scene"]["pictures"][0]["tracks"]
    assert (full["missing"], swa["missing"]) == ([], [[64, 80]])
    assert index_of(page)["groups"] == ["swa"]


def test_groups_of_a_case_are_those_that_lacked_something_or_had_a_wrong_byte() -> None:
    """By these a reader filters; a case without a picture has none."""
    wrong = Spot(rank=0, group="full", layer=1, token=3, byte=0, found="nobody's")
    one = record("m[a]", Outcome.FAIL, scene=scene(missing=4, wrong=wrong))
    other = record("m[b]", Outcome.FAIL, scene=scene(missing=7, wrong=wrong))
    page = index_of(html_page([("r", journal(one, other, record("m[c]")))]))
    (matrix,) = page["matrices"]
    named = [[page["groups"][at] for at in case[5]] for case in matrix["cases"]]
    assert named == [["full", "swa"], ["full"], []]


def test_causes_are_counted_by_run() -> None:
    """Numbers in an answer do not make it another cause."""
    other = record(
        "m[c]", Outcome.FAIL, checks=(check("COV-2", Outcome.FAIL, got="a hit of 7 tokens"),)
    )
    runs = [("a", journal(*table(), other)), ("b", journal(other, version="3"))]
    page = html_page(runs)
    assert _row(page, "a hit of # tokens") == [
        "5",
        "1",
        "COV-2",
        "checks-COV-2",
        "a hit of # tokens",
    ]
    index = index_of(page)
    assert index["causes"] == [["COV-2", "checks-COV-2", "a hit of # tokens"]]
    assert sum(case[6] == 0 for matrix in index["matrices"] for case in matrix["cases"]) == 6


def test_cases_stand_in_the_order_of_the_matrices() -> None:
    """Whatever the order in which parallel workers ended them."""
    records = table(6)
    selected = tuple(one.case for one in records)
    index = index_of(html_page([("r", journal(*reversed(records), selected=selected))]))
    assert [case[1] for case in index["matrices"][0]["cases"]] == list(selected)


def test_same_records_same_bytes(tmp_path: Path) -> None:
    """Nothing of the time, the place or the memory comes in."""
    pages = []
    for name in ("a.html", "b.html"):
        write_html([("r", journal(*table())), ("s", _every_outcome())], tmp_path / name)
        pages.append((tmp_path / name).read_bytes())
    assert pages[0] == pages[1]


def test_a_run_without_header_or_records_is_a_page(tmp_path: Path) -> None:
    """What a run that died at once leaves behind can be looked at, too."""
    write_html([("empty", Journal())], tmp_path / "r.html")
    assert "(no header)" in (tmp_path / "r.html").read_text("utf-8")


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    """With the name of the file."""
    with pytest.raises(KvconformError, match=r"r\.html: cannot be written: No such file"):
        write_html([("r", Journal())], tmp_path / "no" / "r.html")


def test_equal_runs_are_told_apart() -> None:
    """By their files, else by a number."""
    runs = [("a", journal()), ("b", journal()), ("b", journal(version="3"))]
    titles = [run["title"] for run in index_of(html_page(runs))["runs"]]
    assert titles == ["vendor:x 2.0 (a)", "vendor:x 2.0 (b)", "vendor:x 3 (b)"]
    titles = [run["title"] for run in index_of(html_page(runs[:1] * 2))["runs"]]
    assert titles == ["vendor:x 2.0 (a)", "vendor:x 2.0 (a) #2"]


def _hostile(text: str) -> Journal:
    checks = (
        check("COV-2", Outcome.FAIL, got=text, detail=text, more=(text,)),
        check(text, Outcome.FAIL, check=text),
    )
    failed = record(
        f"m[{text}]",
        Outcome.FAIL,
        axes={text: text, "list": [text]},
        checks=checks,
        trace=(text,) * 5,
        source=text,
        reason=text,
    )
    broken = record(text, Outcome.ERROR, matrix=text, reason=text, checks=(), clauses=(text,))
    return journal(failed, broken, connector=text, version=text)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_markup(text: str) -> None:
    """The elements of a hostile page are those of a harmless one; all bytes are text for people."""
    page = html_page([(text, _hostile(text))])
    harmless = html_page([("x", _hostile("x"))])
    tags, expected = _Tags(page), _Tags(harmless)
    assert [tag for tag, _ in tags.tags] == [tag for tag, _ in expected.tags]
    assert [sorted(attributes) for _, attributes in tags.tags] == [
        sorted(a) for _, a in expected.tags
    ]
    assert page.encode()
    allowed = {"\n", "\t"}
    assert all(char.isprintable() or char in allowed for char in page)
    assert all(char.isprintable() or char in allowed for char in block(page, "index"))


def test_a_megabyte_is_cut() -> None:
    """A page stays small; what is left out is told."""
    page = html_page([("r", _hostile("é" * 1_000_000))])
    assert len(page) < 400_000
    assert "and 960,000 more characters" in block(page, "chunk-0").encode().decode("unicode_escape")
    assert "and 999,600 more characters" in page


def test_policy_allows_the_page_s_own_script_and_style_alone() -> None:
    """By their hashes; nothing is fetched, no text is taken for a script."""
    page = html_page([("r", journal(*table()))])
    tags = _Tags(page)
    (policy,) = [
        a["content"] for tag, a in tags.tags if a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    for kind, text in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    for tag, attributes in tags.tags:
        assert not {name for name in attributes if name.startswith("on")} | (
            {"style", "src"} & set(attributes)
        )
        assert tag not in {"iframe", "object", "embed", "base", "img"}
        assert attributes.get("href", "#")[:1] in {"#", "d"}
    assert "innerHTML" not in script


def test_scripts_take_no_address() -> None:
    """Nothing in them fetches, imports or evaluates."""
    (script,) = re.findall(r"<script>(.*?)</script>", html_page([("r", Journal())]), re.DOTALL)
    for word in (
        "fetch(",
        "XMLHttpRequest",
        "import(",
        "eval(",
        "Function(",
        "document.write",
        "outerHTML",
        "insertAdjacentHTML",
    ):
        assert word not in script
    assert re.findall(r"https?://[^\"]*", script) == ["http://www.w3.org/2000/svg"]
