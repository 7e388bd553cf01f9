"""Records files as runs write them, made of a few words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kvconform.results.journal import RecordsWriter, RunHeader, end_event, plain, selected_event
from kvconform.results.record import CaseRecord, CheckResult, Outcome

HOSTILE = "a|b <img src=x> `tick` ``` \x1b[31m\x07 *bold* </details> @everyone\r\n# head\u202e ]]> & \ud800"
"""What must come out of every writer as text."""


def check(outcome: str, got: str = "", *, clause: str = "COV-2", name: str = "hit-is-covered") -> CheckResult:
    """One check's result."""
    return CheckResult(check=name, clause=clause, outcome=Outcome(outcome), got=got)


def record(row: str, outcome: str, *, matrix: str = "m", **more: object) -> CaseRecord:
    """A record whose only check ended as it did; ``got`` is the check's answer."""
    got = str(more.pop("got", "a miss"))
    told = {"xfail": "fail", "xpass": "pass", "error": "fail"}.get(outcome, outcome)
    fields = {
        "case": f"{matrix}[{row}]",
        "matrix": matrix,
        "source": f"my/{matrix}.yaml:7",
        "outcome": Outcome(outcome),
        "checks": () if outcome == "n/a" else (check(told, "" if told == "pass" else got),),
        "axes": {"row": row},
        "clauses": ("COV-2",),
        "fingerprint": f"{matrix}-{row}",
        "connector": "vendor:x",
        "seconds": 0.25,
    }
    return CaseRecord(**{**fields, **more})


def write(
    path: Path, *records: CaseRecord, missing: Sequence[str] = (), **header: object
) -> Path:
    """A records file of one run; ``missing`` are cases that were to run and did not."""
    first = RunHeader(**{"connector": "vendor:x", "connector_version": "2.0", "cases": 1, **header})
    with RecordsWriter(path) as writer:
        writer.write(plain(first.to_json()))
        writer.write(selected_event([*(one.case for one in records), *missing]))
        for one in records:
            writer.write(plain(one.to_json()))
        writer.write(end_event(""))
    return path
