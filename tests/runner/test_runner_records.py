"""Records files: nothing is lost, nothing is misread; reports come from them alone."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from kvconform.resources import schema_dir
from kvconform.results.journal import (
    Journal,
    RecordsError,
    RecordsFollower,
    RecordsWriter,
    RunHeader,
    end_event,
    plain,
    read_records,
    selected_event,
    start_event,
)
from kvconform.results.junit import write_junit
from kvconform.results.record import CaseRecord, CheckResult, Outcome
from kvconform.results.summary import summarize

HEADER = RunHeader(connector="vendor:x", connector_version="2.0", cases=3, options={"size": 4})


def record(case: str, outcome: Outcome, **more: object) -> CaseRecord:
    """A record of matrix m with one check."""
    check = CheckResult(
        check="hit-is-covered",
        clause="COV-2",
        outcome=outcome,
        expected="miss",
        got="hit of 3968 tokens",
        detail="first missing: group swa, chunk 14",
    )
    fields = {
        "case": case,
        "matrix": "m",
        "source": "my/m.yaml:7",
        "outcome": outcome,
        "checks": (check,),
        "axes": {"window": 128, "eagle": False},
        "clauses": ("COV-2",),
        "connector": "vendor:x",
        "seconds": 0.25,
    }
    return CaseRecord(**{**fields, **more})


def journal(*records: CaseRecord, selected: tuple[str, ...] = (), stopped: str = "") -> Journal:
    """A journal of these records."""
    made = Journal(header=HEADER, selected=selected, stopped=stopped)
    for one in records:
        made.apply(plain(one.to_json()))
    return made


def write_all(path: Path, *events: dict[str, object]) -> None:
    """Write a records file."""
    with RecordsWriter(path) as writer:
        for event in events:
            writer.write(event)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """Header, selection, running cases, records and the end survive the file."""
    failed = record("m[a]", Outcome.FAIL, trace=("step 1",), stack=("a.py:1 in b",))
    check = replace(failed.checks[0], event=0, more=("a miss, expected a hit: step 2",))
    failed = replace(failed, checks=(check,))
    write_all(
        tmp_path / "r",
        HEADER.to_json(),
        selected_event(["m[a]", "m[b]", "m[c]"]),
        start_event("m[a]"),
        plain(failed.to_json()),
        start_event("m[b]"),
        end_event("stopping after 1 failures"),
    )
    read = read_records(tmp_path / "r")
    assert read.header == HEADER
    assert read.records == {"m[a]": failed}
    assert list(read.running) == ["m[b]"]
    assert read.missing == ("m[b]", "m[c]")
    assert read.stopped == "stopping after 1 failures"


def test_every_line_is_valid_by_the_schema(tmp_path: Path) -> None:
    """The shipped schema describes what is really written, and is itself a schema."""
    schema = json.loads((schema_dir() / "records.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    write_all(
        tmp_path / "r",
        HEADER.to_json(),
        selected_event(["m[a]"]),
        start_event("m[a]"),
        plain(record("m[a]", Outcome.NOT_APPLICABLE, checks=(), reason="eagle").to_json()),
        plain(record("m[b]", Outcome.FAIL, trace=("step 1",), stack=("a.py:1 in b",)).to_json()),
        end_event(""),
    )
    for line in (tmp_path / "r").read_text(encoding="utf-8").splitlines():
        validator.validate(json.loads(line))
    assert not validator.is_valid({"event": "case", "case": "m[a]"})
    assert not validator.is_valid({"event": "nosuch"})


def test_an_unfinished_last_line_is_passed_over(tmp_path: Path) -> None:
    """A killed writer leaves half a line."""
    path = tmp_path / "r"
    write_all(path, start_event("m[a]"))
    with path.open("a", encoding="utf-8") as stream:
        stream.write('{"event":"ca')
    assert list(read_records(path).running) == ["m[a]"]


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "3", '{"event":"nosuch"}', '{"event":"case"}', '{"event":"run","format":99}'],
)
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, line: str) -> None:
    """Anything but a killed writer's half line is told with file:line."""
    path = tmp_path / "r"
    path.write_text('{"event":"end"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(RecordsError, match=r"r:2: "):
        read_records(path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """The path and the system's reason."""
    with pytest.raises(RecordsError, match="No such file"):
        read_records(tmp_path / "nosuch")


def test_the_follower_reads_half_lines_when_they_are_whole(tmp_path: Path) -> None:
    """A line may arrive in pieces; a dead writer's piece is cut off the file."""
    path = tmp_path / "r"
    follower = RecordsFollower(path)
    assert not follower.poll()
    path.write_bytes(b'{"event":"start","case":"m[a]"}\n{"event":"sta')
    assert follower.poll()
    assert list(follower.journal.running) == ["m[a]"]
    with path.open("ab") as stream:
        stream.write(b'rt","case":"m[b]"}\n{"ev')
    assert follower.poll()
    assert list(follower.journal.running) == ["m[a]", "m[b]"]
    follower.drop_unfinished_line()
    assert path.read_bytes().endswith(b'"m[b]"}\n')
    with RecordsWriter(path, append=True) as writer:
        writer.write(start_event("m[c]"))
    assert follower.poll()
    assert list(follower.journal.running) == ["m[a]", "m[b]", "m[c]"]


@pytest.mark.parametrize(
    ("outcomes", "missing", "stopped", "code"),
    [
        ([Outcome.PASS], 0, "", 0),
        ([Outcome.PASS, Outcome.NOT_APPLICABLE], 0, "", 0),
        ([Outcome.NOT_APPLICABLE], 0, "", 5),
        ([], 0, "", 5),
        ([Outcome.PASS, Outcome.FAIL], 0, "", 1),
        ([Outcome.PASS, Outcome.UNTESTABLE], 0, "", 1),
        ([Outcome.PASS, Outcome.UNEXPECTED_PASS], 0, "", 1),
        ([Outcome.PASS, Outcome.EXPECTED_FAILURE], 0, "", 0),
        ([Outcome.EXPECTED_FAILURE], 0, "", 0),
        ([Outcome.FAIL, Outcome.ERROR], 0, "", 3),
        ([Outcome.PASS], 1, "", 3),
        ([Outcome.FAIL], 1, "stopping after 1 failures", 1),
    ],
)
def test_exit_codes(outcomes: list[Outcome], missing: int, stopped: str, code: int) -> None:
    """Outcomes are never merged: not applicable is no pass, a missing record is no silence."""
    records = [record(f"m[{at}]", outcome) for at, outcome in enumerate(outcomes)]
    selected = (*(one.case for one in records), *["m[gone]"] * missing)
    assert journal(*records, selected=selected, stopped=stopped).exit_code() == code


def test_the_whole_summary() -> None:
    """Counts apart, a table by clause, failures in full, the rest by cause, the closing line."""
    bad = [record(f"m[{at}]", Outcome.FAIL) for at in range(3)]
    text = summarize(
        journal(
            record("m[ok]", Outcome.PASS),
            *bad,
            record("m[na]", Outcome.NOT_APPLICABLE, checks=(), reason="eagle"),
            record("m[err]", Outcome.ERROR, checks=(), reason="KeyError: 3\n  stage.py:4 in ask"),
            selected=("m[ok]", "m[gone]"),
        ),
        in_full=1,
    )
    assert (
        text
        == """\
connector vendor:x 2.0, engine built-in, device cpu, contract revision 1

checks by clause
  clause  pass  fail  n/a  untestable
  COV-2      1     3    0           0  A reported hit is one for which every needed chunk is ready, a multiple of hash_block, and within the request.

failure 1 of 1, 3 cases: COV-2 hit-is-covered
  example: m[0]
  connector  vendor:x 2.0
  COV-2      A reported hit is one for which every needed chunk is ready, a multiple of hash_block, and within the request. (engine death)
  check      hit-is-covered
  expected   miss
  got        hit of 3968 tokens
  detail     first missing: group swa, chunk 14
  axes       window=128, eagle=false
  reproduce  kvconform run my/m.yaml --connector vendor:x --connector-config size=4 --case 'm[0]'
  matrix     my/m.yaml:7

errors of the suite itself
  m[err]
    KeyError: 3
      stage.py:4 in ask

not applicable, by capability
  1  eagle

not run (the run ended before them)
  m[gone]

kvconform: 1 passed, 3 failed, 1 n/a, 0 untestable, 1 errors, 1 not run"""
    )


def test_junit_has_every_outcome_and_the_connector(tmp_path: Path) -> None:
    """The suite's name holds the connector; outcome, clause and matrix are properties."""
    made = journal(
        record("m[ok]", Outcome.PASS),
        record("m[bad]", Outcome.FAIL),
        record("m[na]", Outcome.NOT_APPLICABLE, checks=(), reason="eagle"),
        record("m[err]", Outcome.ERROR, checks=(), reason="KeyError: \x00\x1b[3"),
        selected=("m[gone]",),
    )
    write_junit([made], tmp_path / "j.xml")
    suite = ET.parse(tmp_path / "j.xml").getroot()[0]  # noqa: S314 - we wrote it
    counts = {key: suite.get(key) for key in ("name", "tests", "failures", "errors", "skipped")}
    assert counts == {
        "name": "kvconform vendor:x 2.0",
        "tests": "5",
        "failures": "1",
        "errors": "2",
        "skipped": "1",
    }
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    properties = {p.get("name"): p.get("value") for p in cases["m[bad]"].iter("property")}
    assert properties == {
        "outcome": "fail",
        "connector": "vendor:x",
        "clause": "COV-2",
        "matrix": "my/m.yaml:7",
    }
    assert cases["m[bad]"].find("failure").get("message") == (
        "COV-2 hit-is-covered: hit of 3968 tokens"
    )
    assert cases["m[na]"].find("skipped").get("message") == "n/a: eagle"
    assert cases["m[gone]"].find("error") is not None
