"""The events of which a trace consists: one function for each kind.

What a matrix may write for a kind stands in ``templates/trace.scenario.yaml``, under the same
name; a kind is these two, and nothing else knows of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kvconform.ports import RequestSpec
from kvconform.stage.base import answer_tokens, prompt_tokens
from kvconform.stage.isolation import read_partition

if TYPE_CHECKING:
    from kvconform.stage.trace import TraceSteps

Kind = Callable[["TraceSteps", Any], None]
"""Does on a stage what an event of its kind says; what follows the event's name comes second."""

KINDS: dict[str, Kind] = {}
"""Every kind of event by its name."""

ARISES_WITH: dict[str, frozenset[str]] = {
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
        )
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
def _hold(stage: TraceSteps, what: str) -> None:
    stage.hold_back(what)


@_kind
def _release(stage: TraceSteps, what: None) -> None:
    del what
    stage.bench.release()


@_kind
def _drop(stage: TraceSteps, what: Mapping[str, Any]) -> None:
    stage.drop(what["of"], what["group"], what["index"])


@_kind
def _neutral(stage: TraceSteps, what: None) -> None:
    del what
    stage.compare_with_none()
