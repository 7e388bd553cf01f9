"""The events of which a trace consists: one function for each kind.

What a matrix may write for a kind stands in ``templates/trace.scenario.yaml``, under the same
name; a kind is these two, and nothing else knows of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kvconform.engine.faults import How
from kvconform.ports import Direction, RequestSpec
from kvconform.stage import faults
from kvconform.stage.base import answer_tokens, prompt_tokens
from kvconform.stage.isolation import read_partition
from kvconform.stage.skew import Skew

if TYPE_CHECKING:
    from kvconform.stage.trace import TraceSteps

Kind = Callable[["TraceSteps", Any], None]
"""Does on a stage what an event of its kind says; what follows the event's name comes second."""

KINDS: dict[str, Kind] = {}
"""Every kind of event by its name."""

_FAULTS = frozenset({"fail_load", "fail_store"})

ARISES_WITH: dict[str, frozenset[str]] = {
    "reported-as-asked": frozenset({"abort", "preempt", "hold"}),
    "nothing-left": frozenset({"abort", "preempt", "hold"}),
    "stored-however-cut": frozenset({"abort", "preempt", "hold"}),
    "hit-on-every-rank": frozenset({"hold"}),
    "sharers-go-on": frozenset({"sharers"}),
    faults.REPORTED: frozenset({"fail_load"}),
    faults.TOLD_ONCE: frozenset({"fail_load"}),
    faults.BAD: frozenset({"fail_store"}),
    faults.AFTER_FAILURE: _FAULTS,
    faults.OLD: frozenset({"reset"}),
    faults.AFTER_RESET: frozenset({"reset"}),
    "neutral-without-hits": frozenset({"neutral"}),
}
"""Checks that come up only in traces with one of these kinds of event, whatever the connector does."""


def kinds_in(events: Iterable[str | Mapping[str, Any]]) -> frozenset[str]:
    """The kinds of the events of a trace."""
    return frozenset(kind for event in events for kind in ([event] if isinstance(event, str) else event))


def _kind(function: Kind) -> Kind:
    KINDS[function.__name__.strip("_")] = function
    return function


def happen(stage: TraceSteps, event: str | Mapping[str, Any]) -> None:
    """Have one event of a trace happen: a bare word, or one key with what it says."""
    if isinstance(event, str):
        KINDS[event](stage, None)
        return
    for name, what in event.items():
        KINDS[name](stage, what)


@_kind
def _submit(stage: TraceSteps, what: Mapping[str, Any]) -> None:
    like = stage.spec(what["like"]) if "like" in what else None
    known = (*like.prompt, *like.output) if like else ()
    shared = known[: min(what.get("shared", len(known)), what["prompt_tokens"])]
    own = prompt_tokens(what["prompt_tokens"], branch=stage.num_requests)
    stage.enter(
        RequestSpec(
            name=what["request"],
            prompt=shared + own[len(shared) :],
            output=answer_tokens(what.get("output_tokens", 1)),
            partition=read_partition(what),
            accepted=tuple(what.get("accepted", ())),
        ),
        reuse=what.get("reuse", False),
    )


@_kind
def _sharers(stage: TraceSteps, what: Mapping[str, Any]) -> None:
    prompt = stage.spec(what["like"]).prompt
    stage.share_prompt(
        RequestSpec(
            name=f"{what['request']}-{number}",
            prompt=prompt,
            output=answer_tokens(what.get("output_tokens", 1)),
            partition=stage.spec(what["like"]).partition,
        )
        for number in range(1, what["count"] + 1)
    )


@_kind
def _step(stage: TraceSteps, what: int) -> None:
    stage.advance(what)


@_kind
def _run(stage: TraceSteps, what: str) -> None:
    stage.run_to_end(what)


@_kind
def _settle(stage: TraceSteps, what: None) -> None:
    del what
    stage.settle()


@_kind
def _wipe_pool(stage: TraceSteps, what: None) -> None:
    del what
    stage.bench.reset_prefix_cache()


@_kind
def _hold(stage: TraceSteps, what: str | Mapping[str, Any]) -> None:
    if isinstance(what, str):
        stage.hold_back(what)
    else:
        stage.hold_part(Skew.of(what, stage.layout.world))


@_kind
def _release(stage: TraceSteps, what: Mapping[str, Any] | None) -> None:
    if what is None:
        stage.let_go()
    else:
        stage.release_part(Skew.of(what, stage.layout.world))


@_kind
def _last_first(stage: TraceSteps, what: None) -> None:
    del what
    stage.bench.last_first()


@_kind
def _abort(stage: TraceSteps, what: str) -> None:
    stage.abort(what)


@_kind
def _preempt(stage: TraceSteps, what: str) -> None:
    stage.bench.preempt(what)


@_kind
def _reset(stage: TraceSteps, what: None) -> None:
    del what
    stage.bench.reset_cache()


@_kind
def _fail_load(stage: TraceSteps, what: Mapping[str, Any]) -> None:
    _fail(stage, Direction.LOAD, what)


@_kind
def _fail_store(stage: TraceSteps, what: Mapping[str, Any]) -> None:
    _fail(stage, Direction.STORE, what)


def _fail(stage: TraceSteps, direction: Direction, what: Mapping[str, Any]) -> None:
    stage.fail_copies(
        direction,
        what["of"],
        group=what.get("group"),
        chunks=what.get("index"),
        how=How(what.get("how", How.NOTHING)),
        rank=what.get("rank"),
        nth=what.get("nth", 1),
        times=what.get("times", 1),
    )


@_kind
def _drop(stage: TraceSteps, what: Mapping[str, Any]) -> None:
    stage.drop(what["of"], what["group"], what["index"])


@_kind
def _neutral(stage: TraceSteps, what: None) -> None:
    del what
    stage.compare_with_none()
