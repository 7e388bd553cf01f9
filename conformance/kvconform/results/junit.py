"""JUnit XML made from the records: one suite a run, one test case a case."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

from kvconform.results.failure import bad_checks, connector_title, describe_failure
from kvconform.results.journal import Journal
from kvconform.results.record import CaseRecord, Outcome

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(journal: Journal, path: Path) -> None:
    """Write ``path``; the suite's name holds the connector, so that files can be told apart."""
    records = list(journal.records.values())
    counts = {
        "tests": len(records) + len(journal.missing),
        "failures": sum(
            record.outcome.is_bad and record.outcome is not Outcome.ERROR for record in records
        ),
        "errors": sum(record.outcome is Outcome.ERROR for record in records)
        + (0 if journal.stopped else len(journal.missing)),
        "skipped": sum(
            record.outcome in {Outcome.NOT_APPLICABLE, Outcome.EXPECTED_FAILURE}
            for record in records
        )
        + (len(journal.missing) if journal.stopped else 0),
    }
    figures = {key: str(value) for key, value in counts.items()}
    figures["time"] = _seconds(sum(record.seconds for record in records))
    root = ET.Element("testsuites", {"name": "kvconform", **figures})
    suite = ET.SubElement(
        root, "testsuite", {"name": f"kvconform {connector_title(journal.header)}", **figures}
    )
    if journal.header is not None:
        header = journal.header
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
        element = ET.SubElement(
            suite, "testcase", {"classname": case.partition("[")[0], "name": case, "time": "0.000"}
        )
        if journal.stopped:
            ET.SubElement(element, "skipped", {"message": f"not run: {journal.stopped}"})
        else:
            ET.SubElement(
                element, "error", {"message": "no record: the run ended before this case"}
            )
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _case(suite: ET.Element, record: CaseRecord, journal: Journal) -> None:
    element = ET.SubElement(
        suite,
        "testcase",
        {"classname": record.matrix, "name": _text(record.case), "time": _seconds(record.seconds)},
    )
    _properties(
        element,
        {
            "outcome": record.outcome.value,
            "clause": ",".join(record.clauses),
            "matrix": record.source,
            **({"expectation": ", ".join(record.expectations)} if record.expectations else {}),
        },
    )
    if record.outcome is Outcome.ERROR:
        error = ET.SubElement(element, "error", {"message": _text(_first_line(record.reason))})
        error.text = _text(record.reason)
    elif record.outcome.is_bad:
        failure = ET.SubElement(element, "failure", {"message": _text(_message(record))})
        failure.text = _text(describe_failure(record, journal.header))
    elif record.outcome is Outcome.NOT_APPLICABLE:
        ET.SubElement(element, "skipped", {"message": _text(f"n/a: {record.reason}")})
    elif record.outcome is Outcome.EXPECTED_FAILURE:
        ET.SubElement(element, "skipped", {"message": _text(f"expected failure: {record.reason}")})


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
    return f"{value:.3f}"


def _text(value: str) -> str:
    """``value`` without the characters that XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", value)
