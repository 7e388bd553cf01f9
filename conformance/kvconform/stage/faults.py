"""Judgements on copies that failed, and on what was stored before a reset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kvconform.engine.events import (
    Admitted,
    Answered,
    CopyFailed,
    Event,
    Loaded,
    LoadErrors,
    LoadFailed,
    Reset,
    Submitted,
)
from kvconform.ports import Direction, RequestSpec
from kvconform.stage.judge import Judge, say
from kvconform.stage.stored import StoredChunks

REPORTED = "failed-load-is-reported"
TOLD_ONCE = "failure-is-told-once"
BAD = "bad-is-not-served"
AFTER_FAILURE = "hits-after-failure"
OLD = "old-is-not-served"
AFTER_RESET = "hits-after-reset"

CHECKS = (REPORTED, TOLD_ONCE, BAD, AFTER_FAILURE, OLD, AFTER_RESET)


@dataclass(slots=True, kw_only=True)
class LoadErrorBooks:
    """Which loads failed on which rank, and what was said about them, event by event."""

    judge: Judge
    _open: dict[int, dict[str, set[int]]] = field(default_factory=dict)
    """By rank and request: blocks of its failed copies, until its load is over."""
    _synchronous: set[str] = field(default_factory=set)
    """Requests whose load is one that its step waits for."""
    _told: set[tuple[int, str, int]] = field(default_factory=set)
    """(rank, request, block) of reports about loads that are not over."""

    def take(self, event: Event) -> None:
        """One event, in order."""
        if isinstance(event, CopyFailed) and event.direction is Direction.LOAD:
            loads = self._open.setdefault(event.rank, {})
            for request, block in zip(event.requests, event.ids, strict=True):
                loads.setdefault(request, set()).add(block)
        elif isinstance(event, Answered) and event.tokens:
            change = self._synchronous.discard if event.is_async else self._synchronous.add
            change(event.request)
        elif isinstance(event, LoadErrors):
            self._reported(event)
        elif isinstance(event, (Loaded, LoadFailed)):
            self._over(event)

    def _reported(self, event: LoadErrors) -> None:
        loads = self._open.get(event.rank, {})
        for block, holders in zip(event.ids, event.holders, strict=True):
            own = [name for name in sorted(holders) if name in loads]
            own = own or [name for name, blocks in sorted(loads.items()) if block in blocks]
            if not own:
                self._strange(event, block, "a failed load of no request that holds it")
            elif all((event.rank, name, block) in self._told for name in own):
                self._strange(event, block, "reported before")
            self._told.update((event.rank, name, block) for name in own)

    def _strange(self, event: LoadErrors, block: int, why: str) -> None:
        self.judge.tally.wrong(
            TOLD_ONCE,
            "load errors of blocks whose load failed, each once",
            f"block {block}, {why}",
            event=event,
        )

    def _over(self, event: Loaded | LoadFailed) -> None:
        """The load of a request is over; all that is wrong in its blocks was told by now.

        One that its step waited for is over on one rank after the other, and told then as right
        or wrong.
        """
        failed = [event.request in loads for loads in self._open.values()]
        if isinstance(event, LoadFailed) or event.request not in self._synchronous:
            for loads in self._open.values():
                loads.pop(event.request, None)
            self._told = {told for told in self._told if told[1] != event.request}
        if not any(failed):
            return
        tally = self.judge.tally
        tally.saw(REPORTED)
        tally.saw(TOLD_ONCE)
        if event.difference is not None:
            tally.wrong(
                REPORTED,
                "every block that the load did not fill is reported",
                f"a block of {event.request!r} is not",
                str(event.difference),
                event=event,
            )


@dataclass(slots=True, kw_only=True)
class Resets:
    """Tokens that were computed before a reset, as far as nobody was at it any more."""

    rests: frozenset[int]
    past: dict[str, int] = field(default_factory=dict)
    """Tokens of each request that were computed before a reset."""
    _young: set[str] = field(default_factory=set)
    """Requests since nothing was left to do."""
    _rest: int = -1

    def entered(self, event: Submitted) -> None:
        """A request came; several that come one after another do so at the same rest."""
        step = event.step + 1
        if step in self.rests and step != self._rest:
            self._young.clear()
            self._rest = step
        self._young.add(event.request)

    def reset(self, event: Reset, computed: dict[str, int]) -> None:
        """Of ``computed`` only that of requests which may still store is left."""
        if event.at_rest:
            self._young.clear()
        for name in list(computed):
            self.past[name] = max(self.past.get(name, 0), computed[name])
            if name not in self._young:
                del computed[name]


def judge_unserved(
    judge: Judge, answer: Answered, spec: RequestSpec, stored: StoredChunks
) -> None:
    """A hit that needs what a store failed to bring, or what was there before a reset."""
    oracle, tally = judge.oracle, judge.tally
    supply = stored.supply(spec, answer.num_tokens)
    for check, more, what in (
        (BAD, stored.failed(spec, answer.num_tokens), "whose store failed"),
        (OLD, stored.old(spec, answer.num_tokens), "that were stored before the reset"),
    ):
        if more.states == supply.states:
            continue
        tally.saw(check)
        boundary = answer.boundary or 0
        if not boundary or oracle.covered(
            boundary, answer.num_tokens, supply, local_tokens=answer.local
        ):
            continue
        if oracle.covered(boundary, answer.num_tokens, more, local_tokens=answer.local):
            tally.wrong(
                check,
                say(oracle.best_verdict(answer.num_tokens, supply, local_tokens=answer.local)),
                say(boundary),
                f"it needs chunks {what}",
                event=answer,
            )


def judge_hits_after(judge: Judge, events: Sequence[Event], hits: Mapping[str, int]) -> None:
    """Requests that must hit and came after a failed copy, or after a reset."""
    for kind, check in ((CopyFailed, AFTER_FAILURE), (Reset, AFTER_RESET)):
        first = next((at for at, event in enumerate(events) if isinstance(event, kind)), None)
        later = events[first:] if first is not None else ()
        for name in (e.request for e in later if isinstance(e, Submitted) and e.request in hits):
            judge.tally.saw(check)
            found = [e.boundary for e in events if isinstance(e, Admitted) and e.request == name]
            if max(found, default=0) < hits[name]:
                judge.tally.wrong(
                    check,
                    f"{name!r} is admitted with a hit of at least {hits[name]} tokens",
                    say(max(found, default=0)),
                    "as the case says under hits",
                )
