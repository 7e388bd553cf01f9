"""Expected failures in pytest: which entries a session has, and how their outcomes look."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvconform.expectations import CaseSpace, Expectations, load_expectations
from kvconform.rendered import MARKER, partial_matrices, row_ids
from kvconform.results.record import CaseRecord, Outcome


def session_expectations(config: pytest.Config, version: str) -> Expectations:
    """What ``--expect`` says of all that was rendered beside what pytest is asked to run.

    ``version`` is the connector's.  Raises `kvconform.expectations.ExpectationsError`.
    """
    files = config.getoption("expect")
    if not files:
        return Expectations()
    folders: list[Path] = []
    for word in config.args:
        path = config.invocation_params.dir / word.partition("::")[0]
        if path.is_file():
            path = path.parent
        nested = () if (path / MARKER).exists() else sorted(path.rglob(MARKER))
        folders += [marker.parent for marker in nested] or [path]
    space = CaseSpace.of(row_ids(folders), partial=partial_matrices(folders))
    return load_expectations(files, space, version=version)


def show_expectation(record: CaseRecord, report: pytest.TestReport) -> None:
    """Let pytest show an expected failure and an unexpected pass as it does its own strict ones."""
    if record.outcome is Outcome.EXPECTED_FAILURE:
        report.outcome = "skipped"
        report.wasxfail = record.reason
    elif record.outcome is Outcome.UNEXPECTED_PASS:
        report.outcome = "failed"
        places = ", ".join(record.expectations)
        report.longrepr = f"unexpected pass of {record.case}\n  {record.reason}\n  entry: {places}"
