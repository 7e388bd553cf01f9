"""One failed case in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvconform.contract.clauses import CLAUSES
from kvconform.results.excerpt import excerpt
from kvconform.results.journal import RunHeader
from kvconform.results.picture import draw
from kvconform.results.record import CaseRecord, CheckResult, Outcome
from kvconform.results.reproduce import reproduction

_CALLS = 12
"""So many calls of a stack are shown, the innermost ones."""


def connector_title(header: RunHeader | None) -> str:
    """``reference 0.1.0``: the connector with its version, if it says one."""
    if header is None:
        return "(no header)"
    return f"{header.connector} {header.connector_version}".rstrip()


def bad_checks(record: CaseRecord) -> list[CheckResult]:
    """The checks that made the case what it is: failed ones first, then untestable ones."""
    return [
        check
        for outcome in (Outcome.FAIL, Outcome.UNTESTABLE, Outcome.ERROR)
        for check in record.checks
        if check.outcome is outcome
    ]


def describe_failure(record: CaseRecord, header: RunHeader | None, *, whole: bool = False) -> str:
    """One failed case, always in this order: what was run, which clause, expected and got, where, how again.

    Of a long trace the events around those that were wrong are shown, of several lookups that
    failed the first is drawn, and where checks failed those that could measure nothing are but
    named, unless ``whole``.
    """
    lines = [_field("connector", connector_title(header))]
    bad = bad_checks(record)
    failed = [check for check in bad if check.outcome is Outcome.FAIL]
    told = bad if whole or not failed else failed
    for check in told:
        lines += _check(check, whole=whole)
    if len(told) < len(bad):
        silent = ", ".join(f"{check.clause} {check.check}" for check in bad if check not in told)
        lines.append(_field("untestable", silent))
    if record.reason:
        lines.append(_field("reason", record.reason))
    lines += _pictures(record, whole=whole)
    if record.axes:
        lines.append(_field("axes", _axes(record.axes)))
    if record.trace:
        trace = excerpt(record.trace, broken_by(record.checks), whole=whole)
        lines.append(_field("trace", "\n".join(trace)))
    if record.stack:
        lines.append(_field("stack", _stack(record.stack, whole=whole)))
    lines.append(_field("reproduce", reproduction(record, header)))
    lines.append(_field("matrix", record.source))
    return "\n".join(lines)


def _pictures(record: CaseRecord, *, whole: bool) -> list[str]:
    """The lookups that failed checks are about, drawn: of those with a wrong byte one first."""
    scene = record.scene
    if scene is None:
        return []
    failed = [picture for picture in scene.pictures if picture.checks]
    shown = failed if whole else sorted(failed, key=lambda one: one.difference is None)[:1]
    return [_field("picture", "\n".join(draw(scene, picture))) for picture in shown]


def broken_by(checks: Sequence[CheckResult]) -> dict[int, str]:
    """Clauses by the position of the event that broke them."""
    broken: dict[int, str] = {}
    for check in checks:
        if check.outcome is Outcome.FAIL and check.event is not None:
            before = broken.get(check.event)
            broken[check.event] = f"{before}, {check.clause}" if before else check.clause
    return broken


def detail_of(check: CheckResult) -> str:
    """Where the check failed first, and how often it did so later."""
    others = f"(and {len(check.more)} more of this check)" if check.more else ""
    return f"{check.detail} {others}".strip()


def _check(check: CheckResult, *, whole: bool) -> list[str]:
    clause = CLAUSES.get(check.clause)
    sentence = f"{clause.text} ({clause.severity.value})" if clause else ""
    word = "" if check.outcome is Outcome.FAIL else f" ({check.outcome.value})"
    told = (
        ("expected", check.expected),
        ("got", check.got),
        ("detail", check.detail if whole else detail_of(check)),
        ("more", "\n".join(check.more) if whole else ""),
    )
    return [
        _field(check.clause, sentence),
        _field("check", check.check + word),
        *(_field(name, text) for name, text in told if text),
    ]


def _stack(stack: Sequence[str], *, whole: bool) -> str:
    shown = stack if whole else stack[:_CALLS]
    left_out = len(stack) - len(shown)
    last = [f"({left_out} outer call{'s' * (left_out > 1)})"] if left_out else []
    return "\n".join(["(innermost call first)", *shown, *last])


def _field(name: str, text: str) -> str:
    first, *rest = text.splitlines() or [""]
    lines = [f"  {name:<10} {first}".rstrip(), *(f"  {'':<10} {line}".rstrip() for line in rest)]
    return "\n".join(lines)


def _axes(axes: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in axes.items())


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
