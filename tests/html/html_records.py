"""Records as runs leave them, and what a page holds of them."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

from kvconform.results.journal import Journal, RunHeader, plain
from kvconform.results.record import CaseRecord, CheckResult, Outcome
from kvconform.results.scene import GroupShape, Moment, Picture, Scene, Spot, Track

HOSTILE = (
    "</script><script>window.hurt = 1</script>",
    '<img src=x onerror="window.hurt = 1">',
    "'\"><svg onload=window.hurt=1>",
    "]]>--><!--{{ 7 * 7 }}{% raw %}${7*7}",
    "\x1b[31mred\x1b[0m\x00\x07",
    "\ud800 alone \udfff",
    "\u202egnirts\u202c \u200f\u2066x\u2069",
    "line\r\nline\rline\u2028line",
)
"""Texts that would do harm, hide or break a page that does not expect them."""


def check(clause: str, outcome: Outcome, **more: Any) -> CheckResult:
    """A check of a clause."""
    fields = {"check": f"checks-{clause}", "clause": clause, "outcome": outcome}
    if outcome is Outcome.FAIL:
        fields |= {
            "expected": "a miss",
            "got": "a hit of 96 tokens",
            "detail": "step 2: chunk 2",
            "event": 3,
        }
    return CheckResult(**{**fields, **more})


def scene(missing: int = 2, wrong: Spot | None = None) -> Scene:
    """A lookup in step 2 of 128 tokens with a hit of 96, of which a windowed chunk is missing."""
    shapes = (
        GroupShape(name="full", kind="full", block_tokens=16, chunk_tokens=32),
        GroupShape(
            name="swa", kind="sliding", block_tokens=8, chunk_tokens=16, window=24, extra_retained=3
        ),
    )
    lost = tuple((at * 16, (at + 1) * 16) for at in range(8) if at != missing)
    return Scene(
        groups=shapes,
        moments=(
            Moment(step=0, kind="submitted", request="consumer"),
            Moment(step=1, kind="computed", request="producer", spans=((-1, 0, 128),)),
            Moment(step=1, kind="store copied", spans=((0, 0, 128), (1, 0, 32))),
            Moment(step=2, kind="answered", request="consumer", spans=((-1, 0, 96),)),
            Moment(step=2, kind="load copied", rank=1, spans=((0, 0, 96),)),
        ),
        pictures=(
            Picture(
                answer=3,
                request="consumer",
                num_tokens=128,
                local_tokens=0,
                expected=32,
                got=96,
                tracks=(
                    Track(
                        group="full",
                        needed=((0, 96),),
                        verified=((0, 96),),
                        stored=((0, 128),),
                        loaded=((0, 96),),
                    ),
                    Track(group="swa", needed=((64, 96),), verified=((64, 96),), stored=lost),
                ),
                checks=("checks-COV-2",),
                difference=wrong,
            ),
        ),
    )


TRACE = (
    "step 0: consumer submitted",
    "step 1: producer computes",
    "step 1: store job 0",
    "step 2: consumer asked: a hit",
    "step 2: load job 1",
)


def record(case: str, outcome: Outcome = Outcome.PASS, **more: Any) -> CaseRecord:
    """A record of matrix *m*, unless it says otherwise; failed ones have a trace and a scene."""
    checks = (check("COV-1", Outcome.PASS), check("COV-2", outcome))
    fields: dict[str, Any] = {
        "case": case,
        "matrix": "m",
        "source": "my/m.yaml:7",
        "outcome": outcome,
        "checks": checks,
        "clauses": ("COV-1", "COV-2"),
        "seconds": 0.25,
    }
    if outcome is Outcome.FAIL:
        fields |= {"trace": TRACE, "scene": scene(missing=4)}
    return CaseRecord(**{**fields, **more})


def journal(
    *records: CaseRecord, connector: str = "vendor:x", version: str = "2.0", **more: Any
) -> Journal:
    """The journal of a run with these records, each taken through JSON as a file has it."""
    made = Journal(header=RunHeader(connector=connector, connector_version=version), **more)
    for one in records:
        made.apply(json.loads(json.dumps(plain(one.to_json()))))
    return made


def table(size: int = 24, bad: int = 6) -> list[CaseRecord]:
    """Cases over three axes; those of window 256 and boundary 32 fail, the first ``bad`` of them."""
    records = []
    for at in range(size):
        axes = {
            "window": (128, 256)[at % 2],
            "boundary": (16, 32, 64)[at // 2 % 3],
            "eagle": at // 6 % 2 == 1,
        }
        suspect = axes["window"] == 256 and axes["boundary"] == 32
        outcome = Outcome.FAIL if suspect and at < bad * 6 else Outcome.PASS
        name = f"m[win.{axes['window']}-bound.{axes['boundary']}-at.{at}]"
        records.append(record(name, outcome, axes=axes))
    return records


def large(size: int = 5000, bad: int = 500) -> Journal:
    """A run of ``size`` cases of 20 matrices, every tenth failed with a scene and a long trace."""
    records = []
    trace = tuple(
        f"step {at // 3}: request-{at % 7} does what it does with chunk {at}" for at in range(60)
    )
    for at in range(size):
        outcome = Outcome.FAIL if at % (size // bad) == 3 else Outcome.PASS
        axes = {
            "window": 2 ** (at % 7),
            "boundary": at // 7 % 11,
            "left": ("ready", "missing", "pending")[at % 3],
            "eagle": at % 2 == 0,
        }
        matrix = f"matrix-{at % 20}"
        name = (
            f"{matrix}[win.{axes['window']}-bound.{axes['boundary']}-left.{axes['left']}-at.{at}]"
        )
        checks = tuple(check(f"COV-{n}", outcome if n == 2 else Outcome.PASS) for n in range(1, 7))
        more = (
            {"trace": (*TRACE, *trace), "scene": scene(missing=at % 8)}
            if outcome is Outcome.FAIL
            else {}
        )
        records.append(record(name, outcome, matrix=matrix, axes=axes, checks=checks, **more))
    return journal(*records, connector="mutant:large")


def index_of(page: str) -> dict[str, Any]:
    """The index that a page holds."""
    return json.loads(block(page, "index"))


def block(page: str, name: str) -> str:
    """The text of a data block of a page."""
    (packed,) = re.findall(
        rf'<script type="application/octet-stream" id="{name}">([^<]*)</script>', page
    )
    return zlib.decompress(base64.b64decode(packed)).decode()
