"""JUnit XML made from the records: one suite a run, one test case a case."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path

from kvconform.ports import KvconformError
from kvconform.results.failure import bad_checks, describe_failure
from kvconform.results.journal import Journal
from kvconform.results.record import CaseRecord, Outcome
from kvconform.results.runs import titles

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JunitNotWrittenError(KvconformError):
    """The file cannot be written: names it and why."""


def write_junit(journals: Sequence[Journal], path: Path) -> None:
    """Write ``path``: a suite for each run, with the connector in its name.

    Raises `JunitNotWrittenError`.
    """
    root = ET.Element("testsuites", {"name": "kvconform"})
    for journal, title in zip(journals, titles(journals), strict=True):
        _suite(root, journal, title)
    suites = list(root)
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in suites)))
    root.set("time", _seconds(sum(float(suite.get("time", "0")) for suite in suites)))
    ET.indent(root)
    try:
        ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise JunitNotWrittenError(f"{path}: cannot be written: {error.strerror}") from error


def _suite(root: ET.Element, journal: Journal, title: str) -> None:
    records = list(journal.records.values())
    not_run = len(journal.missing)
    figures = {
        "tests": len(records) + not_run,
        "failures": sum(one.outcome.is_bad and one.outcome is not Outcome.ERROR for one in records),
        "errors": sum(one.outcome is Outcome.ERROR for one in records)
        + (0 if journal.stopped else not_run),
        "skipped": sum(
            one.outcome in {Outcome.NOT_APPLICABLE, Outcome.EXPECTED_FAILURE} for one in records
        )
        + (not_run if journal.stopped else 0),
    }
    attributes = {key: str(value) for key, value in figures.items()}
    attributes["time"] = _seconds(sum(record.seconds for record in records))
    suite = ET.SubElement(
        root, "testsuite", {"name": _text(f"kvconform {title}"), **attributes}
    )
    header = journal.header
    connector = header.connector if header is not None else ""
    if header is not None:
        _properties(
            suite,
            {
                "connector": header.connector,
                "connector_version": header.connector_version,
                "engine": header.engine,
                "device": header.device,
                "kvconform": header.kvconform,
                "contract": str(header.contract),
            },
        )
    for record in records:
        _case(suite, record, journal)
    for case in journal.missing:
        element = _element(suite, case.partition("[")[0], case, 0.0)
        _properties(element, {"outcome": "not run", "connector": connector})
        if journal.stopped:
            _told(element, "skipped", f"not run: {journal.stopped}")
        else:
            _told(element, "error", "no record: the run ended before this case", kind="not run")


def _case(suite: ET.Element, record: CaseRecord, journal: Journal) -> None:
    element = _element(suite, record.matrix, record.case, record.seconds)
    _properties(
        element,
        {
            "outcome": record.outcome.value,
            "connector": record.connector,
            "clause": ",".join(record.clauses),
            "matrix": record.source,
            **({"expectation": ", ".join(record.expectations)} if record.expectations else {}),
        },
    )
    outcome = record.outcome
    if outcome is Outcome.ERROR:
        _told(element, "error", _first_line(record.reason), record.reason, kind=outcome.value)
    elif outcome.is_bad:
        text = describe_failure(record, journal.header)
        _told(element, "failure", _message(record), text, kind=outcome.value)
    elif outcome is Outcome.NOT_APPLICABLE:
        _told(element, "skipped", f"n/a: {record.reason}")
    elif outcome is Outcome.EXPECTED_FAILURE:
        _told(element, "skipped", f"expected failure: {record.reason}")


def _element(suite: ET.Element, matrix: str, case: str, seconds: float) -> ET.Element:
    attributes = {"classname": _text(matrix), "name": _text(case), "time": _seconds(seconds)}
    return ET.SubElement(suite, "testcase", attributes)


def _told(element: ET.Element, tag: str, message: str, text: str = "", *, kind: str = "") -> None:
    """How the case ended; ``kind`` is the attribute ``type``, which readers of failures ask for."""
    attributes = {"message": _text(message), **({"type": kind} if kind else {})}
    ET.SubElement(element, tag, attributes).text = _text(text) or None


def _message(record: CaseRecord) -> str:
    if record.outcome is Outcome.UNEXPECTED_PASS:
        return f"unexpected pass, see {', '.join(record.expectations)}, {record.reason}"
    told = [
        f"{check.clause} {check.check}: {_first_line(check.got or check.detail)}"
        for check in bad_checks(record)
    ]
    return "; ".join(told) or record.reason or record.outcome.value


def _properties(parent: ET.Element, values: Mapping[str, str]) -> None:
    holder = ET.SubElement(parent, "properties")
    for name, value in values.items():
        ET.SubElement(holder, "property", {"name": name, "value": _text(value)})


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0] if lines else ""


def _seconds(value: float) -> str:
    return f"{value if math.isfinite(value) else 0.0:.3f}"


def _text(value: str) -> str:
    """``value`` without the characters that XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", value)
