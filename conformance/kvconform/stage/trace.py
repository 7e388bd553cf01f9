"""Steps about events that a case lists one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kvconform.contract.room import blocks_of_one
from kvconform.engine.events import CopyFailed, Reported
from kvconform.engine.faults import CopyFault, How
from kvconform.engine.nothing import NoConnector
from kvconform.ports import Capability, Direction, KvconformError, RequestSpec
from kvconform.stage import residence
from kvconform.stage.drafts import OF_DRAFTS, judge_drafts
from kvconform.stage.errors import NotApplicableError
from kvconform.stage.holds import HoldSteps
from kvconform.stage.life import LifeJudge, Sharers
from kvconform.stage.neutrality import judge_neutrality
from kvconform.stage.skew import Skew
from kvconform.stage.trace_events import ARISES_WITH, happen, kinds_in
from kvconform.stage.traffic import Dropped, Traffic, life_of

_ALL_IS_STORED = frozenset({"stored-however-cut", "answers-are-stored"})
"""Checks that ask for every chunk that a request can have stored."""

_QUIET_STEPS = 3
"""Steps after everything has come to rest, in which nothing may be reported."""


class TraceError(KvconformError):
    """A trace that no engine could play: says which event, and what to change."""


class TraceSteps(HoldSteps):
    """Events happen in the order of the case; what holds in any traffic is judged at the end."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._rests: set[int] = set()
        """Steps before which nothing was left to do."""
        self._drops: list[Dropped] = []
        self._lives: dict[str, list[RequestSpec]] = {}
        self._sharers: list[Sharers] = []
        self._holds = False
        self._stuck = False
        self._settled: list[int] = []
        """Numbers of events before which all had come to rest."""
        self._played = 0
        """Events of the case before the one that happens."""
        self._armed: list[tuple[int, str]] = []
        """Faults of copies in the order of arming: number and kind of the event of each."""
        self.best_hits: Mapping[str, int] = {}
        """The longest right hit of each request that asked when all was known, in tokens."""

    def _arises(self, check: str) -> bool:
        """Whether the case has an event without which the check has nothing to look at."""
        needed, kinds = ARISES_WITH.get(check), kinds_in(self.given.get("events", ()))
        if needed is not None and not needed & kinds:
            return False
        return check not in self._idle(kinds) and super()._arises(check)

    def _idle(self, kinds: frozenset[str]) -> Iterator[str]:
        """Checks that do not come up with the case's layout and these kinds of event."""
        limited = residence.has_budget(self.layout)
        if self.layout.world == 1:
            yield "hit-on-every-rank"
        if limited or "fail_store" in kinds:
            # It made way for something else, or the case itself had its store fail.
            yield from _ALL_IS_STORED
        if not limited:
            yield from residence.CHECKS
        # Which tokens of drafts a connector had to know of is told by checks of their own.
        yield from {"stored-however-cut"} if self.layout.spec_tokens else OF_DRAFTS

    @property
    def num_requests(self) -> int:
        """Requests that came so far."""
        return sum(map(len, self._lives.values()))

    def spec(self, name: str) -> RequestSpec:
        """A request that came before."""
        return self._requests[name]

    def play(self) -> None:
        """Every event of the case; then holds are released and everything comes to rest.

        Raises `NotApplicableError` where the case counts on chunks of another size, or on copies
        or chunks that cannot be controlled; `TraceError` for a request that no pool would hold.
        """
        self._owe("judge_traffic")
        if self.given["hits"]:
            self._need_chunks_as_wished()
        for at, event in enumerate(self.given["events"]):
            if self.dead or self._stuck:
                break
            self._played = at
            happen(self, event)
        if not self.dead:
            self.bench.release()
        self.settle()

    def compare_with_none(self) -> None:
        """Play the events so far without a connector, and compare what requests computed.

        Raises `NotApplicableError` on an engine that cannot run without one.
        """
        if self._own_engine:
            raise NotApplicableError("n/a: this engine is not run without a connector here")
        alone = type(self)(self.case, factory=NoConnector)
        for event in self.given["events"][: self._played]:
            if event != "neutral":
                happen(alone, event)
        may_wait = Capability.LONGEST_HIT not in self.oracle.claims
        judge_neutrality(self.tally, self.events, alone.events, may_wait=may_wait)
        alone.bench.close()

    def enter(self, spec: RequestSpec, *, reuse: bool = False) -> None:
        """A request enters the queue; with ``reuse`` under the id of one that has ended."""
        self._must_fit(spec)
        if reuse and not self._is_free(spec.name):
            return
        self._introduce(spec)
        self._lives.setdefault(spec.name, []).append(spec)
        at = len(self._events)
        rest = self.bench.idle()
        self.submit(spec.name, stay_on_miss=False)
        step = self._events[at].step + 1
        # Several that enter one after another do so at the same rest.
        if rest or step in self._rests:
            self._rests.add(step)

    def _is_free(self, name: str) -> bool:
        """Whether an id can come again: the engine knows it as long as blocks are kept for it.

        If they are kept for ever the trace ends here, and that is what is told of the case.
        """
        if self.dead:
            return False
        self._run(lambda: self.bench.gone(name), [name])
        if self.dead or self.bench.gone(name):
            return True
        if not self.bench.ended(name):
            raise TraceError(
                f"{self.case.source}: request {name!r} is alive, its id cannot be another's: run or "
                "abort it before"
            )
        if self._holds:
            raise NotApplicableError(f"n/a: blocks of {name!r} are kept while transfers are held")
        self._stuck = True
        return False

    def share_prompt(self, specs: Iterable[RequestSpec]) -> None:
        """Requests with one prompt enter the queue; they must go on together."""
        sharers = list(specs)
        for spec in sharers:
            self.enter(spec)
        last = sharers[-1]
        self._sharers.append(
            Sharers(
                names=[spec.name for spec in sharers],
                spec=last,
                num_blocks=self.layout.num_blocks,
                need=self._blocks_of_one(last) - 1,
                budget=self.layout.max_batched_tokens,
                max_running=self.bench.max_running,
            )
        )

    def _blocks_of_one(self, spec: RequestSpec) -> int:
        sizes = [group.block_size for group in self.layout.groups]
        return blocks_of_one(len(spec.prompt) + len(spec.output), sizes, self.layout.spec_tokens)

    def _must_fit(self, spec: RequestSpec) -> None:
        need = self._blocks_of_one(spec)
        if need > self.layout.num_blocks:
            raise TraceError(
                f"{self.case.source}: request {spec.name!r} takes {need} blocks of a pool of "
                f"{self.layout.num_blocks}, null block included: give layout.num_blocks more of "
                "them, or the request a shorter prompt"
            )

    def advance(self, count: int) -> None:
        """So many steps."""
        self._step(count)

    def run_to_end(self, name: str) -> None:
        """Steps until a request has ended."""
        self._run(lambda: self.bench.ended(name), [name])

    def hold_back(self, what: str) -> None:
        """Hold reports, copies, or both."""
        self._holds = True
        self._hold(what)

    def settle(self) -> None:
        """Run until nothing is left to do."""
        super().settle()
        if not self.dead and self.bench.idle():
            self._settled.append(len(self._events))

    def let_go(self) -> None:
        """End every hold."""
        self._holds = False
        self.bench.release()

    def hold_part(self, skew: Skew) -> None:
        """Hold what lags behind on some ranks."""
        self._holds = True
        self.bench.hold_ranks(skew.ranks, reports=skew.reports, copies=self._can_be_held(skew))

    def release_part(self, skew: Skew) -> None:
        """End a hold on some ranks."""
        self.bench.release_ranks(skew.ranks, reports=skew.reports, copies=self._can_be_held(skew))

    def _can_be_held(self, skew: Skew) -> frozenset[Direction]:
        if Capability.TRANSFER_CONTROL in self.oracle.claims:
            return skew.copies
        if skew.copies and not skew.reports:
            self._need(Capability.TRANSFER_CONTROL)
        return frozenset()

    def abort(self, name: str) -> None:
        """The client no longer wants a request; one that has ended is not aborted."""
        if not self.bench.ended(name):
            self.bench.abort(name)

    def drop(self, name: str, group: str, chunks: Sequence[int]) -> None:
        """Chunks of a request's prefix are gone."""
        self._need(Capability.CHUNK_CONTROL)
        self._need_chunks_as_wished()
        position = self.layout.index(group)
        self._must_have(name, position, max(chunks))
        self._drops.append(
            Dropped(
                at=len(self._events),
                spec=self._requests[name],
                group=position,
                chunks=tuple(chunks),
                at_rest=self.bench.idle(),
            )
        )
        for chunk in chunks:
            self.bench.drop_chunk(name, position, chunk)

    def fail_copies(  # noqa: PLR0913 - what an event may say
        self,
        direction: Direction,
        name: str,
        *,
        group: str | None,
        chunks: Sequence[int] | None,
        how: How,
        rank: int | None,
        nth: int,
        times: int,
    ) -> None:
        """Copies of a request's blocks fail from now on."""
        self._need(Capability.TRANSFER_CONTROL)
        if rank is not None and rank >= self.layout.world:
            raise TraceError(
                f"{self.case.source}: a copy of rank {rank} cannot fail, the layout has "
                f"{self.layout.world} rank(s): name one below, or give layout.world more"
            )
        position = None if group is None else self.layout.index(group)
        blocks = None
        if chunks is not None and position is not None:
            self._need_chunks_as_wished()
            self._must_have(name, position, max(chunks))
            of_chunks = (self.oracle.blocks_of((position, chunk)) for chunk in chunks)
            blocks = frozenset(index for listed in of_chunks for _, index in listed)
        self._armed.append((self._played, f"fail_{direction}"))
        self.bench.fail_copies(
            CopyFault(
                direction=direction,
                request=name,
                how=how,
                group=position,
                blocks=blocks,
                rank=rank,
                nth=nth,
                times=times,
            )
        )

    def _must_have(self, name: str, group: int, chunk: int) -> None:
        spec = self._requests[name]
        known, end = len(spec.prompt) + len(spec.output), self.oracle.tokens_of((group, chunk))[-1] + 1
        if end > known:
            raise TraceError(
                f"{self.case.source}: chunk {chunk} of group {self.layout.groups[group].name} ends with "
                f"token {end}, and request {name!r} has {known}: name a chunk that it has"
            )

    def judge_traffic(self) -> None:
        """Judge every verdict as far as what is stored is known; what cannot arise is no check."""
        self._paid("judge_traffic")
        lives = {
            life_of(name, number): spec
            for name, specs in self._lives.items()
            for number, spec in enumerate(specs, start=1)
        }
        traffic = Traffic(
            judge=self.judge,
            requests=lives,
            rests=frozenset(self._rests),
            drops=tuple(self._drops),
        )
        traffic.judge_events(self._events)
        self.best_hits = traffic.best
        traffic.judge_hits(self._events, self.given["hits"])
        self._name_dead_faults()
        self._judge_life()
        judge_drafts(self.judge, self._requests, frozenset(self._rests), self._events)
        if not self.dead:
            traffic.drop_idle_checks(self._events, self.given["hits"])

    def _name_dead_faults(self) -> None:
        """Say of which event of the case nothing came, where a check has nothing to measure."""
        struck = {event.fault for event in self._events if isinstance(event, CopyFailed)}
        dead = [armed for number, armed in enumerate(self._armed) if number not in struck]
        for check, kinds in ARISES_WITH.items():
            told = [self._named(at, kind) for at, kind in dead if kind in kinds]
            if told:
                self.tally.explain(check, f"no copy failed by {', '.join(told)}")

    def _named(self, at: int, kind: str) -> str:
        """An event as people find it: what it says, and where."""
        file = self.case.source.rpartition(":")[0]
        lines = self.case.event_lines
        where = f"{file}:{lines[at]}" if at < len(lines) else f"given.events[{at}]"
        return f"{kind} of {self.given['events'][at][kind]['of']!r} ({where})"

    def _judge_life(self) -> None:
        """Judge reports, what is left, what was stored however steps cut it, ranks and sharers."""
        life = LifeJudge(judge=self.judge, lives=self._lives, world=self.layout.world)
        life.stores(self._events, self._settled)
        life.ranks(self._events)
        life.sharers(self._sharers, self._events)
        quiet = not self.dead and self.bench.idle()
        if quiet:
            # Whoever has something to report without being asked has the occasion here.
            self._step(_QUIET_STEPS)
        life.reports(self._events)
        left = () if self.dead else self.bench.left_over()
        ended = not self.dead and all(self.bench.ended(name) for name in self._lives)
        life.rest(left, self._events, ended=ended)
        self._drop_idle_life()

    def _drop_idle_life(self) -> None:
        """Drop what this trace gave nothing to: a load need not be reported, a chunk not be whole."""
        if self.dead:
            return
        idle = {"stored-however-cut", "hit-on-every-rank"}
        if not any(isinstance(event, Reported) for event in self._events):
            idle.add("reported-as-asked")
        for name in idle:
            if not self.tally.has_seen(name) and not (self.given["hits"] and name == "hit-on-every-rank"):
                self.tally.drop(name)
