"""Judgements on traffic in which requests share what they share and come when they come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kvconform.contract.sharing import shared_tokens
from kvconform.engine.events import (
    Admitted,
    Answered,
    Computed,
    Copied,
    CopyFailed,
    Event,
    Loaded,
    Read,
    Reset,
    Submitted,
)
from kvconform.ports import Capability, RequestSpec
from kvconform.stage import faults, residence, told
from kvconform.stage.beside import Beside
from kvconform.stage.drafts import OF_DRAFTS
from kvconform.stage.judge import Judge, say
from kvconform.stage.stored import StoredChunks

_OF_HITS = frozenset(
    {"hit-is-covered", "load-is-async", "draft-tail-dropped", "state-at-boundary"}
)
"""Checks that arise with the first hit."""

_IF_KNOWN = frozenset({"hit-is-best", "never-shared", "load-is-exact"})
"""Checks of what only some traces show, such as a lookup while nothing is in flight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Chunks of a request's prefix that were taken away after ``at`` events."""

    at: int
    spec: RequestSpec
    group: int
    chunks: tuple[int, ...]
    at_rest: bool


@dataclass(slots=True, kw_only=True)
class Traffic:
    """Judges the verdicts of a trace, in the order in which they were given.

    Where copies are seen, it is known what was stored: no hit may need more.  At ``rests`` (steps
    before which nothing was left to do) all of it is ready, so that a hit may not be shorter
    either, until the first hit of such a step, whose load changes what others find.
    """

    judge: Judge
    requests: Mapping[str, RequestSpec]
    """By name; the n-th of a name that came again by ``life_of`` it."""
    rests: frozenset[int]
    drops: Sequence[Dropped]
    _computed: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Tokens of each request whose KV was computed or found so far."""
    _certain: bool = True
    _lives: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """How often each name has come so far."""
    _present: dict[str, RequestSpec] = field(default_factory=dict)
    """The request that each name stands for by now."""
    _past: dict[str, int] = field(default_factory=dict)
    """The same before a reset."""
    _mended: bool = False
    """Whether every chunk whose store failed was stored again before the end."""
    best: dict[str, int] = field(default_factory=dict)
    """The longest right hit of each request that asked when everything was known, in tokens."""

    def judge_events(self, events: Sequence[Event]) -> None:
        """Judge every answer by what had happened before it."""
        self.judge.tally.open(*_OF_HITS, "hit-is-best", "never-shared", "load-is-exact")
        self.judge.tally.open(*faults.CHECKS, *told.CHECKS, *residence.CHECKS)
        load_errors = faults.LoadErrorBooks(judge=self.judge)
        resets = faults.Resets(rests=self.rests, past=self._past)
        stored = StoredChunks(oracle=self.judge.oracle)
        beside = Beside.of(self.judge, self._present, stored, self.rests)
        drops = list(self.drops)
        found_in = 0
        for at, event in enumerate(events):
            while drops and drops[0].at <= at:
                dropped = drops.pop(0)
                beside.drop(
                    dropped.spec, dropped.group, dropped.chunks, at_rest=dropped.at_rest
                )
                stored.drop(dropped.spec, dropped.group, dropped.chunks)
                self._certain &= dropped.at_rest
            if isinstance(event, Submitted):
                self._lives[event.request] += 1
                self._present[event.request] = self.requests[self._now(event.request)]
            load_errors.take(event)
            beside.take(at, event, first=isinstance(event, Answered) and found_in != event.step)
            self._take(event, stored, resets)
            if isinstance(event, Answered):
                if self._answer(event, stored, at_rest=found_in != event.step) and event.tokens:
                    self._load(events[at:], event)
                self._sharing(event)
                found_in = event.step if event.tokens else found_in
        beside.conclude(events)
        self._mended = stored.mended

    def _take(self, event: Event, stored: StoredChunks, resets: faults.Resets) -> None:
        """Keep the books on what is stored and computed."""
        if isinstance(event, Submitted):
            resets.entered(event)
        elif isinstance(event, Copied):
            stored.take(event, self._whole_so_far())
        elif isinstance(event, CopyFailed):
            stored.fail(event, self._present)
        elif isinstance(event, Reset):
            stored.reset(event)
            resets.reset(event, self._computed)
            self._certain &= event.at_rest
        elif isinstance(event, Computed):
            name = self._now(event.request)
            self._computed[name] = max(self._computed[name], event.end)

    def _whole_so_far(self) -> list[tuple[RequestSpec, int]]:
        """Requests that were computed, with how many tokens of each."""
        if not self.judge.oracle.layout.has_states:
            return []
        return [(self.requests[name], tokens) for name, tokens in self._computed.items()]

    def _answer(self, answer: Answered, stored: StoredChunks, *, at_rest: bool) -> bool:
        """Judge one verdict; whether all that it depends on was known."""
        if Capability.TRANSFER_CONTROL not in self.judge.oracle.claims:
            self.judge.answer(answer, None)
            return False
        # What a budget had evicted is judged by `Residence`, and by what is told of it.
        unlimited = self.judge.oracle.layout.host_chunks is None
        known = at_rest and self._certain and answer.step in self.rests and unlimited
        spec = self.requests[self._now(answer.request)]
        known = known and not stored.doubtful(spec, answer.num_tokens)
        supply = stored.supply(spec, answer.num_tokens)
        faults.judge_unserved(self.judge, answer, spec, stored)
        self.judge.answer(answer, supply, at_most=not known)
        if known:
            best = self.judge.oracle.best_verdict(
                answer.num_tokens, supply, local_tokens=answer.local
            )
            self.best[answer.request] = best or 0
        return known

    def _now(self, name: str) -> str:
        return life_of(name, self._lives[name])

    def _load(self, events: Sequence[Event], answer: Answered) -> None:
        """What the load of a hit brought, if no other load began before it was complete."""
        ends = (
            at
            for at, event in enumerate(events)
            if isinstance(event, Loaded) and event.request == answer.request
        )
        during = events[: next(ends, 0)]
        if any(isinstance(event, CopyFailed) for event in during):
            return
        if [event.step for event in during if isinstance(event, Admitted)] == [answer.step]:
            self.judge.load(during, answer)

    def _sharing(self, answer: Answered) -> None:
        """No hit goes beyond what some request has computed of the same KV, unless it needs none."""
        asks = self.requests[self._now(answer.request)]
        same_tokens = same_kv = self._computed[self._now(answer.request)]
        for name, computed in self._computed.items():
            other = self.requests[name]
            tokens = min(computed, _equal_tokens(asks, other))
            same_tokens = max(same_tokens, tokens)
            same_kv = max(same_kv, shared_tokens(asks.partition, other.partition, tokens))
        tally = self.judge.tally
        if same_kv < same_tokens:
            tally.saw("never-shared")
        boundary = answer.boundary or 0
        old = max((self._shared(asks, name, most) for name, most in self._past.items()), default=0)
        if old >= self.judge.oracle.layout.hash_block:
            tally.saw(faults.OLD)
        if boundary <= same_kv or not self.judge.oracle.loaded_chunks(boundary):
            return
        check = "never-shared" if boundary <= same_tokens else "hit-is-covered"
        check = faults.OLD if boundary <= old else check
        tally.wrong(
            check,
            f"at most {same_kv} tokens, which is what requests before computed of its KV",
            say(boundary),
            f"{answer}; its KV depends on {asks.partition}",
            event=answer,
        )

    def _shared(self, asks: RequestSpec, name: str, most: int) -> int:
        """Tokens at the front, at most so many, of which a request has the same KV as another one."""
        other = self.requests[name]
        return shared_tokens(asks.partition, other.partition, min(most, _equal_tokens(asks, other)))

    def judge_hits(self, events: Sequence[Event], hits: Mapping[str, int]) -> None:
        """Each request that must hit was admitted with as much, if a connector claims to find it."""
        tally = self.judge.tally
        for name, least in hits.items():
            tally.saw("hit-is-best")
            boundaries = [e.boundary for e in events if isinstance(e, Admitted) and e.request == name]
            most = len(self.requests[name].prompt) - 1 if name in self.requests else least
            if max(boundaries, default=0) < min(least, most):
                tally.wrong(
                    "hit-is-best",
                    f"{name!r} is admitted with a hit of at least {least} tokens",
                    say(max(boundaries, default=0)),
                    "as the case says under hits",
                )
        faults.judge_hits_after(self.judge, events, hits)

    def drop_idle_checks(self, events: Sequence[Event], hits: Mapping[str, int]) -> None:
        """Drop the checks that this trace gave nothing to, where that is no fault of the connector.

        A hit that the case counts on is the witness of all that is judged about hits.
        """
        tally = self.judge.tally
        idle: set[str] = set()
        if not hits and not any(isinstance(e, Answered) and e.tokens for e in events):
            idle |= _OF_HITS
        loads = [e for e in events if isinstance(e, Loaded)]
        if (not hits and not loads) or (loads and not any(e.slots for e in loads)):
            idle |= {"bytes-after-load", "writes-only-loads"}
        if Capability.TRANSFER_CONTROL not in self.judge.oracle.claims:
            idle.add("draft-tail-dropped")
        if not any(isinstance(e, Copied) for e in events):
            idle.add("job-blocks")
        if self._mended and not tally.has_seen(faults.BAD):
            idle.add(faults.BAD)  # who tries again at once leaves no bad chunk to ask for
        if not any(isinstance(e, Read) for e in events):
            idle.add("reads-own-bytes")
        idle |= {name for name in (*_IF_KNOWN, *told.CHECKS) if not tally.has_seen(name)}
        if not hits:
            idle |= {faults.AFTER_FAILURE, faults.AFTER_RESET}
            only_seen = (*residence.CHECKS, *OF_DRAFTS)
            idle |= {name for name in only_seen if not tally.has_seen(name)}
        for name in idle:
            tally.drop(name)


def life_of(name: str, number: int) -> str:
    """What the ``number``-th request of a name is called where they are told apart."""
    return name if number <= 1 else f"{name} (number {number})"


def _equal_tokens(one: RequestSpec, other: RequestSpec) -> int:
    """Tokens at the front that two requests have in common, answers included."""
    pairs = zip((*one.prompt, *one.output), (*other.prompt, *other.output), strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), _shorter(one, other))


def _shorter(one: RequestSpec, other: RequestSpec) -> int:
    return min(len(spec.prompt) + len(spec.output) for spec in (one, other))
