"""Outcomes and the record of one case, from which every report is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from kvconform.results.scene import Scene


class Outcome(StrEnum):
    """How a check or a case ended.  The kinds are never merged."""

    PASS = "pass"  # noqa: S105 - an outcome, no password
    FAIL = "fail"
    NOT_APPLICABLE = "n/a"
    """A capability is not claimed; the reason names it."""
    UNTESTABLE = "untestable"
    """A precondition or witness is missing, so nothing was measured; counts as a failure."""
    EXPECTED_FAILURE = "xfail"
    UNEXPECTED_PASS = "xpass"  # noqa: S105 - an outcome, no password
    ERROR = "error"
    """The suite itself broke."""

    @property
    def is_bad(self) -> bool:
        """Whether a run with this outcome in it is not a success."""
        return self in {Outcome.FAIL, Outcome.UNTESTABLE, Outcome.UNEXPECTED_PASS, Outcome.ERROR}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check of one case: ``check`` cites ``clause``.

    ``expected`` and ``got`` are short texts; ``detail`` says where: the first differing
    (group, layer, token, byte) and whose bytes were found there, or an exception's text.
    ``event`` is the position in the record's trace of the event that was wrong, None where it is
    no single one.  ``more`` are the further failures of the check, in words.
    """

    check: str
    clause: str
    outcome: Outcome
    expected: str = ""
    got: str = ""
    detail: str = ""
    event: int | None = None
    more: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CheckResult:
        """The result that a record's line has; raises KeyError, TypeError or ValueError."""
        read = {"outcome": Outcome(data["outcome"]), "more": tuple(data.get("more", ()))}
        return cls(**{**data, **read})


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecord:
    """What one case showed, one line of a records file (``"event": "case"``)."""

    case: str
    matrix: str
    source: str
    outcome: Outcome
    checks: tuple[CheckResult, ...] = ()
    reason: str = ""
    axes: Mapping[str, object] = field(default_factory=dict)
    clauses: tuple[str, ...] = ()
    fingerprint: str = ""
    """`kvconform.case.Case.fingerprint`; empty where the case could not be built."""
    connector: str = ""
    seconds: float = 0.0
    trace: tuple[str, ...] = ()
    """The engine's events in words, oldest first (kept for bad outcomes)."""
    scene: Scene | None = None
    """What the case looked like (kept with the trace, of cases with a connector)."""
    stack: tuple[str, ...] = ()
    """Where the process was when it hung or crashed, innermost call first."""
    unclaimed: tuple[str, ...] = ()
    """Capabilities whose port the connector has or uses and does not claim."""
    expectations: tuple[str, ...] = ()
    """Entries (``file:line``) that speak of the case and had a part in its outcome or reason."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for one JSON line."""
        return {"event": "case", **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CaseRecord:
        """The record of a line; raises KeyError, TypeError or ValueError if it is none."""
        checks = tuple(CheckResult.from_json(check) for check in data["checks"])
        rest = {k: v for k, v in data.items() if k not in {"event", "checks", "outcome"}}
        for key in ("clauses", "trace", "stack", "unclaimed", "expectations"):
            rest[key] = tuple(rest.get(key, ()))
        if rest.get("scene") is not None:
            rest["scene"] = Scene.from_json(rest["scene"])
        return cls(checks=checks, outcome=Outcome(data["outcome"]), **rest)


def combine(checks: Sequence[CheckResult]) -> Outcome:
    """The outcome of a case from those of its checks: the worst counts, n/a only if all are."""
    found = {check.outcome for check in checks}
    for worst in (Outcome.ERROR, Outcome.FAIL, Outcome.UNTESTABLE, Outcome.PASS):
        if worst in found:
            return worst
    return Outcome.NOT_APPLICABLE if found else Outcome.UNTESTABLE
