"""Judgements on a connector whose memory is too small for all that comes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kvconform.contract.oracle import Chunk, Oracle, Supply, retained_blocks
from kvconform.contract.recency import Recency
from kvconform.engine.events import (
    Admitted,
    Answered,
    Computed,
    Confirmed,
    Copied,
    CopyFailed,
    Ended,
    Event,
    Happened,
    Loaded,
    Reset,
)
from kvconform.engine.pattern import Lane, prefix_of
from kvconform.ports import Capability, ChunkState, Direction, GroupKind, Layout, RequestSpec
from kvconform.stage.judge import Judge, say
from kvconform.stage.late import came_late, had_left
from kvconform.stage.stored import StoredChunks

CHECKS = ("budget-kept", "stored-if-room", "recent-stays")
"""The checks that are made here: they arise where the layout has a budget."""


_IN_FLIGHT = 3
"""Steps whose stores may be in flight at one time, and so may not be evicted for those of the next."""


def contents_of(oracle: Oracle, spec: RequestSpec, chunk: Chunk) -> int:
    """What a chunk of a request is known by: the content of its last block on rank 0."""
    prefix = prefix_of((*spec.prompt, *spec.output), spec.partition)
    return prefix.content(Lane(group=chunk[0], layer=0, rank=0), oracle.tokens_of(chunk)[-1])


@dataclass(slots=True)
class _Held:
    """A block whose bytes were in memory from event ``start`` to event ``end`` at least."""

    start: int
    end: int
    size: int


@dataclass(slots=True, kw_only=True)
class Budget:
    """Bytes that must have been in memory at one time: stored by a copy, and given back by a load.

    Between a copy that stored a block and a load that brought its right bytes, with no other
    copy that stored it between them, it was there all the time.
    """

    judge: Judge
    requests: Mapping[str, RequestSpec]
    _copies: dict[int, int] = field(default_factory=dict)
    """Index of the last event that stored a block, by its content."""
    _held: dict[tuple[int, int], _Held] = field(default_factory=dict)
    """By content and the event that stored it."""
    _answers: dict[str, Answered] = field(default_factory=dict)
    _admitted: dict[str, tuple[int, Answered, dict[int, int]]] = field(default_factory=dict)

    def take(self, at: int, event: Event) -> None:
        """Take in event number ``at`` of the case."""
        if isinstance(event, Copied):
            if event.direction is Direction.STORE and event.rank == 0:
                self._copies.update(dict.fromkeys(event.contents, at))
        elif isinstance(event, Answered):
            self._answers[event.request] = event
        elif isinstance(event, Admitted):
            self._admitted[event.request] = at, self._answers[event.request], dict(self._copies)
        elif isinstance(event, Loaded) and event.difference is None and event.request in self._admitted:
            self._loaded(event)

    def _loaded(self, event: Loaded) -> None:
        at, answer, copies = self._admitted.pop(event.request)
        layout, spec = self.judge.oracle.layout, self.requests[event.request]
        prefix = prefix_of((*spec.prompt, *spec.output), spec.partition)
        for position, group in enumerate(layout.groups):
            lane = Lane(group=position, layer=0, rank=0)
            for block in retained_blocks(group, event.boundary):
                end = (block + 1) * group.block_size
                if end <= answer.local or end > event.boundary:
                    continue
                content = prefix.content(lane, end - 1)
                if content in copies:
                    key = content, copies[content]
                    size = group.layers * group.page_bytes
                    self._held.setdefault(key, _Held(copies[content], at, size)).end = at

    def conclude(self, events: Sequence[Event]) -> None:
        """Judge the moment at which most was there."""
        budget = self.judge.oracle.layout.host_bytes
        if budget is None or not self._held:
            return
        self.judge.tally.saw("budget-kept")
        changes = [(held.start, held.size) for held in self._held.values()]
        changes += [(held.end + 1, -held.size) for held in self._held.values()]
        total = 0
        for at, size in sorted(changes):
            total += size
            if total > budget:
                self.judge.tally.wrong(
                    "budget-kept",
                    f"at most {budget} bytes in a rank's host memory",
                    f"at least {total} bytes: so many were stored before and given back after",
                    event=events[at],
                )
                return


@dataclass(slots=True)
class _Period:
    """Requests that came between one rest and the next."""

    step: int
    requests: list[str] = field(default_factory=list)
    answers: dict[str, Answered] = field(default_factory=dict)
    """The last answer to each."""
    computed: dict[str, list[int]] = field(default_factory=dict)
    """Tokens of each after each of its steps."""
    confirmed: dict[str, list[Confirmed]] = field(default_factory=dict)
    """What was known of each when a step of it was decided, where there are drafts."""
    ended: set[str] = field(default_factory=set)
    restarted: bool = False
    overtaken: bool = False
    """Whether a reset came into it: what was decided before and copied after need not be kept."""
    before: frozenset[int] = frozenset()
    """Chunks that had ever been stored when it began."""


@dataclass(slots=True, kw_only=True)
class Residence:
    """What must be there by the claimed policy, judged by lookups while nothing is in flight."""

    judge: Judge
    requests: Mapping[str, RequestSpec]
    stored: StoredChunks
    _recency: Recency = field(init=False)
    _period: _Period | None = None
    _dropped: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._recency = Recency(room=self.judge.oracle.layout.host_chunks or 0)

    def begins(self, request: str, step: int) -> None:
        """A request enters the queue; before ``step`` nothing was left to do, if nobody else came."""
        if self._period is None or self._period.step != step:
            self.ends()
            self._period = _Period(step, before=self.stored.ever)
        self._period.requests.append(request)

    def joins(self, request: str) -> None:
        """A request enters the queue while something is going on."""
        if self._period is None:
            self._period = _Period(0, restarted=True, before=self.stored.ever)
        self._period.requests.append(request)

    def take(self, event: Event) -> None:
        """Take in what happened."""
        period = self._period
        if period is None:
            return
        if isinstance(event, Answered):
            period.answers[event.request] = event
        elif isinstance(event, Computed):
            period.computed.setdefault(event.request, []).append(event.end)
        elif isinstance(event, Confirmed):
            period.confirmed.setdefault(event.request, []).append(event)
        elif isinstance(event, Ended):
            spec = self.requests[event.request]
            if event.num_tokens == len(spec.prompt) + len(spec.output):
                period.ended.add(event.request)
        elif isinstance(event, Happened) and event.request:
            # Preempted, aborted, started over after a failed load: what it stored then is not known.
            period.restarted = True

    def failed(self, event: CopyFailed) -> None:
        """A copy failed: its chunks may be given up, and the request may offer them again or not."""
        if self._period is None:
            return
        self._period.restarted = True
        oracle = self.judge.oracle
        size_of = {group.name: group.block_size for group in oracle.layout.groups}
        for name, index in event.blocks:
            group = oracle.layout.index(name)
            chunk = group, oracle.chunk_of(group, index * size_of[name])
            for request in self._period.requests:
                spec = self.requests[request]
                if chunk in oracle.complete_chunks(len(spec.prompt) + len(spec.output)):
                    self._dropped.add(contents_of(oracle, spec, chunk))

    def reset(self, event: Reset) -> None:
        """Nothing is there any more; what those who are at it store from here on may be."""
        going = self._period
        if going is not None:
            going.restarted |= not event.at_rest
            self.ends()
        self._recency.clear()
        if going is not None and not event.at_rest:
            self._period = _Period(going.step, requests=going.requests, overtaken=True)

    def drop(
        self, spec: RequestSpec, group: int, chunks: Iterable[int], *, at_rest: bool
    ) -> None:
        """Chunks of a request's prefix are taken away; what came to rest before is judged with them."""
        if at_rest:
            self.ends()
        elif self._period is not None:
            self._period.restarted = True
        self._dropped |= {contents_of(self.judge.oracle, spec, (group, chunk)) for chunk in chunks}

    def ends(self) -> None:
        """The period is over: all of it has come to rest."""
        period, self._period = self._period, None
        if period is not None:
            alone = len(period.requests) == 1 and not (period.restarted or period.overtaken)
            if alone and period.ended == set(period.requests):
                self._one(period, period.requests[0])
            else:
                self._several(period)
        self._recency.gone(self._dropped)
        self._dropped = set()

    def _one(self, period: _Period, name: str) -> None:
        oracle, spec = self.judge.oracle, self.requests[name]
        answer = period.answers.get(name)
        local = answer.local if answer else 0
        boundary = max(local, (answer.boundary or 0) if answer else 0)
        chunks = {chunk: contents_of(oracle, spec, chunk) for chunk in self._may_use(spec)}
        required = self._must_store(spec, period)
        loaded = {c for c in oracle.loaded_chunks(boundary) if oracle.tokens_of(c)[-1] >= local}
        computed = {c for c in required if oracle.tokens_of(c)[0] >= boundary}
        found = {c for c in chunks if c not in loaded | computed and self._recency.must_be_there(chunks[c])}
        segments = self._segments(chunks)
        fits = len(chunks) <= self._recency.room
        if fits:
            self._refused(name, computed, chunks, period.before)
        # Of a prompt that is too large the front stays, but for what its steps in flight may take.
        adds = 0 if fits else self._step_adds(chunks, period.computed.get(name, ()))
        most = self._recency.room - _IN_FLIGHT * adds
        kept: set[Chunk] = set()
        for segment in segments:
            if len(kept) + len(segment) > most:
                break
            kept |= set(segment)
        ever = self.stored.ever
        sure = {chunks[c] for c in (loaded | computed | found) & kept if chunks[c] in ever}
        self._recency.used_alone([[chunks[c] for c in segment] for segment in segments], sure)

    def _several(self, period: _Period) -> None:
        used: set[int] = set()
        for name in period.requests:
            spec = self.requests[name]
            used |= {contents_of(self.judge.oracle, spec, chunk) for chunk in self._may_use(spec)}
        sure = set() if period.overtaken else (self.stored.ever - period.before) & used
        self._recency.used_together(used, sure)

    def _may_use(self, spec: RequestSpec) -> frozenset[Chunk]:
        """Every chunk that a request may have stored, loaded or found."""
        oracle, tokens = self.judge.oracle, len(spec.prompt) + len(spec.output)
        if Capability.MASKED_STORE not in oracle.claims:
            return oracle.complete_chunks(tokens)
        reach = max((g.window + g.extra_retained for g in oracle.layout.groups if g.kind is not GroupKind.FULL), default=0)
        return oracle.reachable_chunks(
            tokens, prompt_tokens=len(spec.prompt), ahead=reach + 2 * max(oracle.chunk_tokens)
        )

    def _must_store(self, spec: RequestSpec, period: _Period) -> frozenset[Chunk]:
        """Every chunk that a lookup can use, of the tokens whose KV was certainly computed.

        Of an answer with drafts these are the tokens that were known in one of its steps: what the
        last step accepts, and what had left its window by then, nobody is asked for.
        """
        oracle, tokens = self.judge.oracle, len(spec.prompt) + len(spec.output) - 1
        known = period.confirmed.get(spec.name, [])
        if oracle.layout.spec_tokens:
            tokens = min(tokens, max((one.tokens for one in known), default=0))
        if oracle.layout.prompt_only:
            tokens = min(tokens, len(spec.prompt))
        if spec.transfer_params:
            return frozenset()
        chunks = oracle.reachable_chunks(
            tokens,
            prompt_tokens=min(tokens, len(spec.prompt)),
            steps=period.computed.get(spec.name, ()),
        )
        if known:
            return frozenset(chunk for chunk in chunks if not had_left(oracle, chunk, known))
        return frozenset(chunk for chunk in chunks if not came_late(oracle, chunk, spec))

    def _segments(self, chunks: Iterable[Chunk]) -> list[list[Chunk]]:
        """Chunks between places at which chunks of all groups end, head first."""
        segments: list[list[Chunk]] = []
        end = 0
        for chunk in sorted(chunks, key=lambda one: self.judge.oracle.tokens_of(one)[0]):
            tokens = self.judge.oracle.tokens_of(chunk)
            if not segments or tokens[0] >= end:
                segments.append([])
            segments[-1].append(chunk)
            end = max(end, tokens[-1] + 1)
        return segments

    def _step_adds(self, chunks: Iterable[Chunk], steps: Sequence[int]) -> int:
        """The most chunks that one of the request's steps completes."""
        ends = [self.judge.oracle.tokens_of(chunk)[-1] for chunk in chunks]
        spans = zip([0, *steps], steps, strict=False)
        return max((sum(start <= end < stop for end in ends) for start, stop in spans), default=0)

    def _refused(
        self, name: str, computed: Iterable[Chunk], chunks: Mapping[Chunk, int], before: frozenset[int]
    ) -> None:
        new = [chunk for chunk in computed if chunks[chunk] not in before]
        if not new:
            return
        tally, groups = self.judge.tally, self.judge.oracle.layout.groups
        tally.saw("stored-if-room")
        refused = [c for c in sorted(new) if chunks[c] not in self.stored.ever]
        if refused:
            group, index = refused[0]
            tally.wrong(
                "stored-if-room",
                f"every chunk of {name!r} is stored: it needs {len(chunks)} of {self._recency.room}, "
                "and nothing else is in flight",
                f"{len(refused)} of {len(new)} new chunks are not, such as chunk {index} of group {groups[group].name}",
            )

    def answer(self, answer: Answered) -> None:
        """A lookup while nothing is in flight: it finds what must be there, or more."""
        oracle, spec = self.judge.oracle, self.requests[answer.request]
        states = {
            chunk: ChunkState.READY
            for chunk in oracle.complete_chunks(answer.num_tokens)
            if self._recency.must_be_there(contents_of(oracle, spec, chunk))
        }
        seen = self.stored.supply(spec, answer.num_tokens)
        supply = Supply(states=states, gone={c: g for c, g in seen.gone.items() if c in states})
        least = oracle.best_verdict(answer.num_tokens, supply, local_tokens=answer.local)
        if not least:
            return
        self.judge.tally.saw("recent-stays")
        worth = self.judge.worth(answer)
        if worth is None or worth < least:
            self.judge.tally.wrong(
                "recent-stays",
                f"at least {say(least)}: what it needs was used last, and there is room for it",
                say(answer.boundary),
                event=answer,
            )


def has_budget(layout: Layout) -> bool:
    """Whether there is anything to judge here."""
    return layout.host_chunks is not None
