"""Reports of one or several runs: complete, safe, and the same for the same verdicts."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from results_records import HOSTILE, check, record, write

from kvconform.cli import main
from kvconform.results.record import CaseRecord

CASES = [
    record("ok", "pass"),
    record("bad.1", "fail", got="hit of 3", trace=("step 1: a miss",)),
    record("bad.2", "fail", got="hit of 5"),
    record("void", "untestable", matrix="other"),
    record("out", "n/a", reason="eagle"),
    record("broke", "error", reason="KeyError: 3\n  stage.py:4 in ask"),
    record("known", "xfail", reason="a race", expectations=("known.yaml:2",)),
    record("better", "xpass", reason="a race", expectations=("known.yaml:2",)),
]


def markdown(capsys: pytest.CaptureFixture[str], *paths: Path) -> str:
    """The page on standard output."""
    assert main(["report", *map(str, paths), "--markdown"]) == 0
    return capsys.readouterr().out


def test_the_page_has_every_outcome(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts apart, clauses, failures by cause with one in full, entries, reasons, matrices."""
    page = markdown(capsys, write(tmp_path / "r", *CASES, missing=["m[gone]"]))
    assert "| `vendor:x 2.0` | `built-in` | `cpu` | 1 | 8 | 1 | 2 | 1 | 1 | 1 | 1 | 1 | 1 |" in page
    row = next(line for line in page.splitlines() if line.startswith("| **COV-2** (engine death)"))
    assert row.endswith(" | 2 / 3 / 1 / 0 + 1 |")
    assert "<summary>2 x <code>COV-2 hit-is-covered: hit of #</code></summary>" in page
    assert "In `m (2)`. One of them in full:\n\n```text\nm[bad.1]\n" in page
    assert "step 1: a miss" in page
    assert "<summary>1 x <code>error: KeyError: #</code></summary>" in page
    assert "| `known.yaml:2` | xfail | 1 | `a race` |\n| `known.yaml:2` | xpass | 1 |" in page
    assert "| `eagle` | 1 |" in page
    assert "- 1 cases were not run: `the run ended before them`" in page
    assert "| `m` | 1 / 4 / 0 / 1 + 1 |\n| `other` | 0 / 0 / 1 / 0 |" in page


def test_several_runs_are_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Releases side by side; the engine tells them apart where the connector does not."""
    old = write(tmp_path / "old", record("a", "fail"), engine="vllm 0.32.0")
    new = write(tmp_path / "new", record("a", "pass"), engine="vllm 0.33.0")
    page = markdown(capsys, old, new)
    assert "| clause | `vendor:x 2.0 on vllm 0.32.0` | `vendor:x 2.0 on vllm 0.33.0` |" in page
    assert "| 0 / 1 / 0 / 0 | 1 / 0 / 0 / 0 |" in page
    assert "### `vendor:x 2.0 on vllm 0.32.0`\n\n<details><summary>1 x " in page
    again = markdown(capsys, old, old)
    assert "`vendor:x 2.0 #2`" in again


def test_the_page_depends_on_verdicts_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not on the order in which cases ended, on times or on the name of the file."""
    first = markdown(capsys, write(tmp_path / "a", *CASES))
    others = [record_at(one, seconds) for seconds, one in enumerate(CASES)]
    assert markdown(capsys, write(tmp_path / "b", *reversed(others))) == first


def record_at(one: CaseRecord, seconds: float) -> CaseRecord:
    """The same record, of a case that took another time."""
    return CaseRecord.from_json({**one.to_json(), "seconds": seconds})


def hostile(tmp_path: Path) -> Path:
    """A run in which everything that others write is hostile."""
    told = {"reason": HOSTILE, "trace": (HOSTILE,), "source": HOSTILE, "matrix": HOSTILE}
    bad = (check("fail", HOSTILE, clause=HOSTILE, name=HOSTILE),)
    return write(
        tmp_path / "hostile",
        record("ok", "pass"),
        record(HOSTILE, "fail", checks=bad, **told),
        record("e", "error", **told),
        record("n", "n/a", **told),
        record("x", "xfail", expectations=(HOSTILE,), **told),
        missing=[HOSTILE],
        connector=HOSTILE,
        engine=HOSTILE,
    )


def test_the_page_obeys_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Outside of code there is nothing that others wrote, and every table keeps its columns."""
    page = markdown(capsys, hostile(tmp_path))
    assert not {char for char in page if not char.isprintable()} - {"\n"}
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", page)
    tables = [part.splitlines() for part in outside.split("\n\n") if part.startswith("| ")]
    assert len(tables) == 5
    for lines in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1, lines
    outside = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)
    outside = re.sub(r"<code>[^<]*</code>", "", outside)
    for word in ("<img", "@everyone", "*bold*", "# head\\u202e"):
        assert word not in outside
    assert outside.count("<details>") == outside.count("</details>")


STRUCTURE = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped", "time"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time"},
        {"properties", "testcase"},
    ),
    "testcase": ({"classname", "name", "time"}, {"properties", "skipped", "error", "failure"}),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    "skipped": ({"message"}, set()),
    "error": ({"message", "type"}, set()),
    "failure": ({"message", "type"}, set()),
}
"""Elements, their attributes (all of them required) and their children, as CI systems read them."""


def validated(path: Path) -> ET.Element:
    """The root of a JUnit file whose structure and figures are right."""
    root = ET.parse(path).getroot()  # noqa: S314 - we wrote it
    assert root.tag == "testsuites"
    for element in root.iter():
        attributes, children = STRUCTURE[element.tag]
        assert set(element.attrib) == attributes, element.tag
        assert {child.tag for child in element} <= children, element.tag
    for suite in root:
        cases = suite.findall("testcase")
        assert suite[0].tag == "properties"
        assert all(len(case.findall("*")) <= 2 and case[0].tag == "properties" for case in cases)
        found = {tag: len(suite.findall(f"testcase/{tag}")) for tag in ("failure", "error")}
        assert int(suite.get("tests")) == len(cases)
        assert int(suite.get("failures")) == found["failure"]
        assert int(suite.get("errors")) == found["error"]
        assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped"))
        times = sum(float(case.get("time")) for case in cases)
        assert abs(float(suite.get("time")) - times) < 0.01 * (1 + len(cases))
    for key in ("tests", "failures", "errors", "skipped"):
        assert int(root.get(key)) == sum(int(suite.get(key)) for suite in root)
    return root


def test_junit_has_a_suite_for_each_run(tmp_path: Path) -> None:
    """Connector in the suite's name; connector, clause and matrix file with each case."""
    one = write(tmp_path / "one", *CASES, missing=["m[gone]"])
    two = write(tmp_path / "two", record("ok", "pass"), connector="vendor:y")
    assert main(["report", str(one), str(two), "--junit", str(tmp_path / "j.xml")]) == 0
    root = validated(tmp_path / "j.xml")
    assert [suite.get("name") for suite in root] == [
        "kvconform vendor:x 2.0",
        "kvconform vendor:y 2.0",
    ]
    first = root[0]
    assert {key: first.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "9",
        "failures": "4",
        "errors": "2",
        "skipped": "2",
    }
    case = next(one for one in first.iter("testcase") if one.get("name") == "m[bad.1]")
    assert {one.get("name"): one.get("value") for one in case.iter("property")} == {
        "outcome": "fail",
        "connector": "vendor:x",
        "clause": "COV-2",
        "matrix": "my/m.yaml:7",
    }
    assert case.find("failure").get("message") == "COV-2 hit-is-covered: hit of 3"
    assert "step 1: a miss" in case.find("failure").text


def test_junit_obeys_nobody(tmp_path: Path) -> None:
    """What XML cannot hold is replaced; the structure stays."""
    assert main(["report", str(hostile(tmp_path)), "--junit", str(tmp_path / "j.xml")]) == 0
    root = validated(tmp_path / "j.xml")
    assert len(root[0].findall("testcase")) == 6
    assert root[0].get("name").startswith("kvconform a|b <img src=x>")


def test_several_forms_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page to a file, and JUnit beside it; standard output stays empty."""
    run, page = write(tmp_path / "r", *CASES), tmp_path / "page.md"
    words = ["report", str(run), "--markdown", "-o", str(page), "--junit", str(tmp_path / "j.xml")]
    assert main(words) == 0
    assert capsys.readouterr().out == ""
    assert page.read_text("utf-8") == markdown(capsys, run)
    validated(tmp_path / "j.xml")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "which report? Give --markdown or --html FILE or --junit FILE"),
        (["-o", "page.md"], "-o FILE is for the page of --markdown; add that"),
        (["--markdown", "-o", "no/page.md"], "no/page.md: cannot be written: No such file"),
        (["--junit", "no/j.xml"], "no/j.xml: cannot be written: No such file"),
    ],
)
def test_what_cannot_be_done_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    told: str,
) -> None:
    """One line, exit code 2."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "r", *CASES)
    assert main(["report", "r", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"kvconform: {told}")
