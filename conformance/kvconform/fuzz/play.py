"""Plays one example on the connector and tells what came of it."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kvconform.contract.clauses import CHECKS
from kvconform.engine.events import Answered, Event, Loaded, Submitted
from kvconform.fuzz.example import SCENARIO, Example
from kvconform.matrix import load_scenario
from kvconform.ports import Capability, ConnectorFactory
from kvconform.results.record import CheckResult, Outcome
from kvconform.stage import CaseFailedError, NotApplicableError, Stage
from kvconform.stage.trace_events import ARISES_WITH

_FIRST = ("never-shared", "draft-tail-dropped", "bytes-after-load", "hit-is-covered")
"""Checks that name what is found, where several fail: the others follow from these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The connector under test, and where and with which settings it runs."""

    factory: ConnectorFactory
    device: str = "cpu"
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What one example showed.

    ``bad`` are the checks that failed or measured nothing, what names the finding first; ``hits``
    the longest right hits (tokens) where all was known; ``broke`` how the suite itself broke.
    """

    example: Example
    bad: Sequence[CheckResult] = ()
    hits: Mapping[str, int] = field(default_factory=dict)
    events: Sequence[Event] = ()
    applies: bool = True
    broke: str = ""

    @property
    def kind(self) -> str:
        """Tells one finding from another: the check that names it, or ``suite``; empty if none."""
        if self.broke:
            return "suite"
        return self.bad[0].check if self.bad else ""


@dataclass(slots=True, kw_only=True)
class Seen:
    """What was seen so far: nothing found means something only if hits were."""

    examples: int = 0
    not_applicable: int = 0
    requests: int = 0
    hits: int = 0
    loads: int = 0
    _layouts: set[str] = field(default_factory=set)

    def take(self, played: Played) -> None:
        """Count one example."""
        self.examples += 1
        self.not_applicable += not played.applies
        self._layouts.add(repr((played.example.layout, played.example.engine)))
        for event in played.events:
            self.requests += isinstance(event, Submitted)
            self.hits += isinstance(event, Answered) and bool(event.tokens)
            self.loads += isinstance(event, Loaded)

    def __str__(self) -> str:
        return (
            f"{self.examples} examples of {len(self._layouts)} layouts, {self.requests} requests, "
            f"{self.hits} hits, {self.loads} loads, {self.not_applicable} n/a"
        )


def play(example: Example, target: Target) -> Played:
    """Play an example from an empty pool and an empty connector; raises nothing of its own."""
    try:
        stage = _stage(example, target)
    except NotApplicableError:
        return Played(example=example, applies=False)
    bad: Sequence[CheckResult] = ()
    try:
        stage.play()
        stage.judge_traffic()
        stage.conclude()
    except NotApplicableError:
        return Played(example=example, applies=False)
    except CaseFailedError:
        bad = _bad(stage.results)
    except Exception:  # noqa: BLE001 - a fault of the suite is a finding too, and is made smaller
        return Played(example=example, broke=traceback.format_exc(limit=-3))
    return Played(example=example, bad=bad, hits=stage.best_hits, events=tuple(stage.events))


def _stage(example: Example, target: Target) -> Stage:
    return Stage(
        example.case(),
        factory=target.factory,
        device=target.device,
        checks=load_scenario(SCENARIO).checks,
        options=target.options,
    )


def claims_of(target: Target) -> frozenset[Capability]:
    """What the connector claims, asked of it on the smallest of layouts."""
    smallest = Example(
        layout={"hash_block": 16, "groups": [{"name": "full", "kind": "full", "block_size": 16}]},
        engine={},
        events=["settle"],
        hits={},
    )
    try:
        stage = _stage(smallest, target)
    except NotApplicableError:
        return frozenset()
    claims = stage.oracle.claims
    if not stage.dead:
        stage.bench.close()
    return claims


def _bad(results: Sequence[CheckResult]) -> Sequence[CheckResult]:
    """The failed checks, what names the finding first; what measured nothing only if none failed.

    A failure or a hold that was drawn may strike nothing: that is no fault of the connector.
    """
    order = [*_FIRST, *CHECKS]
    bad = sorted((r for r in results if r.outcome.is_bad), key=lambda r: order.index(r.check))
    failed = [result for result in bad if result.outcome is Outcome.FAIL]
    return failed or [result for result in bad if result.check not in ARISES_WITH]
