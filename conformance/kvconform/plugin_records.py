"""What the plugin records of a case: how its test ended, in the words of the case."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kvconform.case import Case
from kvconform.results.journal import plain
from kvconform.results.record import CaseRecord, Outcome

NOT_APPLICABLE = "n/a: "
"""Start of the skip reason of a case that is not applicable."""

_PLUGIN = str(Path(__file__).with_name("plugin.py"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A pytest item that is a case: ``case`` is None if it could not be built, ``stage`` if not set up."""

    item: pytest.Item
    case: Case | None
    case_id: str | None
    stage: Any
    connector: str


def is_case_failure(call: pytest.CallInfo[None]) -> bool:
    """Whether the case itself failed, and not what is around it."""
    if call.excinfo is None or call.when != "call":
        return False
    from kvconform import stage as stages  # noqa: PLC0415 - loaded already by the fixture

    return isinstance(call.excinfo.value, stages.CaseFailedError)


def template_line(item: pytest.Item, call: pytest.CallInfo[None]) -> str:
    """The last line of the rendered module on the way to the failure."""
    assert call.excinfo is not None  # noqa: S101 - the caller looked
    for entry in reversed(call.excinfo.traceback):
        if str(entry.path) == str(item.path):
            statement = str(entry.statement).strip()
            return f"{item.path}:{entry.lineno + 1}: in {entry.name}\n    {statement}"
    return str(item.path)


def record_of(
    subject: Recorded,
    call: pytest.CallInfo[None],
    report: pytest.TestReport,
    *,
    trace_all: bool = False,
) -> CaseRecord:
    """The record of what one phase of a case's test showed; with ``trace_all`` how, if it passed, too."""
    case, made, item = subject.case, subject.stage, subject.item
    record = CaseRecord(
        case=case.id if case is not None else subject.case_id or item.nodeid,
        matrix=case.matrix if case is not None else item.path.stem,
        source=case.source if case is not None else str(item.path),
        outcome=Outcome.PASS,
        axes=plain(case.axes) if case is not None else {},
        clauses=case.clauses if case is not None else (),
        fingerprint=case.fingerprint if case is not None else "",
        connector=subject.connector,
        seconds=call.duration,
        checks=tuple(made.results) if made is not None else (),
        unclaimed=tuple(getattr(made, "unclaimed", ())),
    )
    if report.skipped:
        text = str(call.excinfo.value) if call.excinfo is not None else ""
        reason = text.removeprefix("Skipped: ").removeprefix(NOT_APPLICABLE)
        return replace(record, outcome=Outcome.NOT_APPLICABLE, reason=reason)
    if report.passed and not trace_all:
        return record
    if made is not None:
        record = _with_scene(record, made, every_answer=trace_all)
    if report.passed:
        return record
    if made is not None and is_case_failure(call):
        return replace(record, outcome=made.outcome)
    reason = "\n".join(filter(None, [_error_text(call, report), record.reason]))
    return replace(record, outcome=Outcome.ERROR, reason=reason)


def _with_scene(record: CaseRecord, made: Any, *, every_answer: bool) -> CaseRecord:
    """The record with the events and what there is to draw; a verdict is never lost for a drawing."""
    record = replace(record, trace=tuple(made.trace))
    try:
        return replace(record, scene=made.scene(every_answer=every_answer))
    except Exception as error:  # noqa: BLE001 - told with the verdict, whatever it is
        return replace(record, reason=f"(no picture: {type(error).__name__}: {error})")


def _error_text(call: pytest.CallInfo[None], report: pytest.TestReport) -> str:
    """What went wrong in the suite: the error, then the way to it, outermost call first."""
    if call.excinfo is None:
        return report.longreprtext
    frames = [
        f"  {entry.path}:{entry.lineno + 1} in {entry.name}"
        for entry in call.excinfo.traceback
        if not {"_pytest", "pluggy"} & set(Path(entry.path).parts) and str(entry.path) != _PLUGIN
    ]
    return "\n".join([f"{call.excinfo.typename}: {call.excinfo.value}", *frames])


def later(before: CaseRecord, after: CaseRecord) -> CaseRecord:
    """The record after one more phase of the test: an end that was told stays, errors win."""
    seconds = before.seconds + after.seconds
    keep = before if after.outcome is Outcome.PASS and before.outcome is not Outcome.PASS else after
    if after.outcome is Outcome.ERROR and before.outcome is Outcome.ERROR:
        keep = replace(before, reason=f"{before.reason}\n\n{after.reason}")
    return replace(keep, seconds=seconds)
