"""The steps of scenarios: a producer, a wiped pool, cold consumers, seeded chunks, holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kvconform.case import Case
from kvconform.contract.oracle import Chunk, Oracle, Supply
from kvconform.engine.bench import Bench
from kvconform.engine.calls import ConnectorBrokeError
from kvconform.engine.engine import Engine
from kvconform.engine.events import Admitted, Answered, Broke, Copied, Event
from kvconform.ports import (
    Capability,
    ChunkState,
    ConnectorFactory,
    Direction,
    RequestSpec,
    UnsupportedLayoutError,
)
from kvconform.results.record import CheckResult, Outcome, combine
from kvconform.stage.errors import (
    CaseFailedError,
    NotApplicableError,
    PinError,
    UnfinishedScenarioError,
)
from kvconform.stage.judge import Blocks, Judge, claims_everything, say
from kvconform.stage.tally import Tally

_ASK_STEPS = 4
"""Steps in which a lookup may answer *later* before that counts as its verdict."""

_SPARE_STEPS = 200
"""Steps beyond those that computing takes, before a request counts as stuck."""


@lru_cache(maxsize=64)
def prompt_tokens(count: int, branch: int = 0) -> tuple[int, ...]:
    """A fixed prompt of ``count`` tokens; another ``branch`` differs from the first token on."""
    return tuple((position * 7919 + branch * 104729 + 13) % 50021 for position in range(count))


class Stage:
    """One case on one connector.  Templates call its steps and end with `conclude`.

    Raises `NotApplicableError` where the connector does not claim what the case requires, or
    refuses the layout by name.
    """

    def __init__(
        self,
        case: Case,
        *,
        factory: ConnectorFactory,
        device: str = "cpu",
        checks: Iterable[str] = (),
        options: Mapping[str, object] | None = None,
    ) -> None:
        self.case = case
        self.given: Mapping[str, Any] = case.given
        self.layout = case.layout
        self.concluded = False
        self.results: tuple[CheckResult, ...] = ()
        self.outcome = Outcome.ERROR
        self._events: list[Event] = []
        self._bench: Bench | None = None
        claims, chunk_tokens = self._open(factory, device, dict(options or {}))
        missing = [need for need in case.requires if need not in claims]
        if missing and self._bench is not None:
            raise NotApplicableError(f"n/a: {missing[0]}")
        self.oracle = Oracle(layout=self.layout, chunk_tokens=chunk_tokens, claims=claims)
        arising = [name for name in checks if self._arises(name)]
        self.tally = Tally(arising, claims)
        self.judge = Judge(oracle=self.oracle, tally=self.tally)
        self._supply = Supply(states={})
        self._requests: dict[str, RequestSpec] = {}
        self._marks: dict[str, int] = {}
        self._policy = Supply(states={})
        self._dropped = False
        self._cold = False
        self._held = False
        self._owed: list[str] = []
        self._stored: set[tuple[int, int]] = set()
        self._stores_seen = 0

    def _open(
        self, factory: ConnectorFactory, device: str, options: dict[str, object]
    ) -> tuple[frozenset[Capability], tuple[int, ...]]:
        """Bring up the engine with the connector; a broken factory leaves a dead stage."""
        groups = range(len(self.layout.groups))
        wish = tuple(self.layout.chunk_tokens(group) for group in groups)
        make_bench = getattr(factory, "make_bench", Engine)
        try:
            self._bench = make_bench(self.layout, factory, device, options)
            self._events = self._bench.events
            chunk_tokens = tuple(self._bench.chunk_tokens(group) for group in groups)
            self._check_chunks(chunk_tokens)
        except UnsupportedLayoutError as error:
            raise NotApplicableError(f"n/a: layout refused: {error}") from error
        except ConnectorBrokeError as error:
            self._bench = None
            self._events = [Broke(step=0, method=error.method, text=error.text)]
            return frozenset(Capability), wish
        return self._bench.capabilities, chunk_tokens

    def _check_chunks(self, chunk_tokens: Sequence[int]) -> None:
        for group, size in zip(self.layout.groups, chunk_tokens, strict=True):
            if size < 1 or size % group.block_size:
                raise ConnectorBrokeError(
                    "chunk_tokens",
                    f"is {size} for group {group.name}, expected a multiple of its "
                    f"{group.block_size}-token blocks",
                )

    @property
    def trace(self) -> tuple[str, ...]:
        """The engine's events in words, oldest first."""
        return tuple(str(event) for event in self._events)

    @property
    def bench(self) -> Bench:
        """The engine; only for steps that have made sure that it lives."""
        if self._bench is None:
            raise RuntimeError("the connector's factory failed")
        return self._bench

    @property
    def dead(self) -> bool:
        """Whether the connector broke, so that nothing further can be measured."""
        return self._bench is None or self._bench.dead

    def _arises(self, check: str) -> bool:
        """Whether a check can come up at all, from the case alone."""
        if check == "draft-tail-dropped":
            return any(group.eagle for group in self.layout.groups)
        return True

    # --- seeded chunks ------------------------------------------------------------------------

    def _need_chunks_as_wished(self) -> None:
        """Chunk indices in a matrix mean chunks of the size that it asks for."""
        wish = tuple(self.layout.chunk_tokens(group) for group in range(len(self.layout.groups)))
        if self.oracle.chunk_tokens != wish:
            raise NotApplicableError(
                f"n/a: chunks of {list(self.oracle.chunk_tokens)} tokens, the matrix is about {list(wish)}"
            )

    def seed_chunks(self, name: str = "consumer") -> None:
        """Put every chunk that the case lists into its state, and those alone."""
        self._need_chunks_as_wished()
        states: dict[Chunk, ChunkState] = {}
        for entry in self.given["chunks"]:
            state = ChunkState(str(entry["state"]).replace("present", "ready"))
            states |= dict.fromkeys(self._chunks_of(entry), state)
        self._prepare(name, self.given["prompt_tokens"])
        self._supply = Supply(states=states)
        for (group, chunk), state in sorted(states.items()):
            if state is not ChunkState.MISSING and not self.dead:
                self.bench.seed_chunk(name, group, chunk, state)

    def _chunks_of(self, entry: Mapping[str, Any]) -> set[Chunk]:
        name = entry.get("group")
        groups = [self.layout.index(name)] if name else range(len(self.layout.groups))
        if "index" in entry:
            return {(group, index) for group in groups for index in entry["index"]}
        if "needed_at" in entry:
            return {c for c in self.oracle.verified_chunks(entry["needed_at"]) if c[0] in groups}
        last = entry["left_of"] - 1
        return {(g, c) for g in groups if (c := self.oracle.chunk_of(g, last) - 1) >= 0}

    def repair(self, name: str = "consumer") -> None:
        """Positive control: all listed chunks become ready, and the waiting request must hit.

        Only a miss or *later* needs it; a hit shows by itself that the connector works.
        """
        num_tokens = len(self._requests[name].prompt)
        if self.oracle.best_verdict(num_tokens, self._supply):
            self.tally.drop("repaired-then-hits")
            return
        self.tally.open("repaired-then-hits")
        whole = self._supply.with_states(self._supply.states, ChunkState.READY)
        if self.dead or self._was_admitted(name):
            return
        for (group, chunk), state in sorted(self._supply.states.items()):
            if state is ChunkState.MISSING:
                self.bench.seed_chunk(name, group, chunk, ChunkState.READY)
            elif state is not ChunkState.READY:
                self.bench.finish_chunk(name, group, chunk)
        self._supply = whole
        self._mark(name)
        answer = self.ask(name)
        if answer is None:
            return
        self.judge.answer(answer, whole)
        target = self.oracle.best_verdict(num_tokens, whole)
        self.tally.saw("repaired-then-hits")
        if answer.boundary != target:
            self.tally.wrong("repaired-then-hits", say(target), say(answer.boundary), str(answer))

    def _complete_seeded(self, name: str) -> None:
        in_flight = {ChunkState.PENDING, ChunkState.LOADING}
        for (group, chunk), state in sorted(self._supply.states.items()):
            if state in in_flight:
                self.bench.finish_chunk(name, group, chunk)
        flying = [chunk for chunk, state in self._supply.states.items() if state in in_flight]
        self._supply = self._supply.with_states(flying, ChunkState.READY)

    # --- requests -----------------------------------------------------------------------------

    def _owe(self, *steps: str) -> None:
        """From here on the scenario is not whole without these steps."""
        self._owed += steps

    def _paid(self, step: str) -> None:
        if step in self._owed:
            self._owed.remove(step)

    def _prepare(self, name: str, num_tokens: int, output_tokens: int | None = None) -> None:
        if output_tokens is None:
            output_tokens = int(self.given.get("output_tokens", 1))
        output = tuple(60000 + at for at in range(output_tokens))
        spec = RequestSpec(name=name, prompt=prompt_tokens(num_tokens), output=output)
        self._requests[name] = spec
        if not self.dead:
            self.bench.prepare(spec)

    def submit(self, name: str = "consumer", *, stay_on_miss: bool = True) -> None:
        """Queue a request; a miss leaves it waiting, so that it can be asked again."""
        self._mark(name)
        self._cold = False
        if not self.dead:
            self.bench.submit(name, stay_on_miss=stay_on_miss)

    def _mark(self, name: str) -> None:
        """From here on is what counts for this request."""
        self._marks[name] = len(self._events)

    def _since(self, name: str) -> Sequence[Event]:
        return self._events[self._marks[name] :]

    def _answers(self, name: str) -> list[Answered]:
        return [e for e in self._since(name) if isinstance(e, Answered) and e.request == name]

    def _was_admitted(self, name: str) -> bool:
        return any(isinstance(e, Admitted) and e.request == name for e in self._since(name))

    def ask(self, name: str = "consumer") -> Answered | None:
        """Step until the request has its verdict; *later* is one after a few steps."""
        for _ in range(_ASK_STEPS):
            if self.dead:
                break
            self.bench.step()
            answers = self._answers(name)
            if answers and answers[-1].tokens is not None:
                break
        answers = self._answers(name)
        return answers[-1] if answers else None

    def judge_verdict(self, name: str = "consumer") -> None:
        """Judge the request's verdict against what the seeded states allow."""
        self.tally.open("hit-is-covered", "hit-is-best", "load-is-async", "draft-tail-dropped")
        answers = self._answers(name)
        if not answers:
            return
        self.judge.answer(answers[-1], self._supply)
        best = self.oracle.best_verdict(answers[-1].num_tokens, self._supply)
        self._compare_pin("verdict", "later" if best is None else best)

    def finish(self, name: str = "consumer") -> None:
        """Run the request to its end, and judge what its load brought.

        What a case left in flight is completed first: a request that waits for it is right to.
        """
        if not (self.dead or self._was_admitted(name)):
            self._complete_seeded(name)
        if not self.dead:
            self.bench.allow_miss(name)
        self._run(lambda: self.bench.ended(name), [name])
        self.tally.open("load-is-exact")
        hits = [answer for answer in self._answers(name) if answer.tokens]
        if hits and not self.dead:
            self.judge.load(self._since(name), hits[-1])

    def _run(self, done: Callable[[], bool], names: Iterable[str]) -> None:
        limit = _SPARE_STEPS
        for name in names:
            spec = self._requests[name]
            # Preempted once, a request computes its prompt and its answer again.
            prefill = len(spec.prompt) // self.layout.max_batched_tokens + 1
            limit += 2 * (prefill + len(spec.output))
        for _ in range(limit):
            if self.dead or done():
                return
            self.bench.step()

    def settle(self) -> None:
        """Run until nothing is left to do."""
        if not self.dead:
            self._run(self.bench.idle, self._requests)

    def _come_to_rest(self) -> None:
        """At the end nothing may be left to do: no kept block, report, copy or pending work."""
        for name in self._requests:
            if not self.dead:
                self._complete_seeded(name)
        self.settle()
        if not (self.dead or self.bench.idle()):
            self.tally.wrong(
                "every-request-ends",
                "nothing is left to do once the requests have ended",
                "the connector keeps blocks, or says that it has work pending, for ever",
                self.trace[-1],
            )

    def wipe_pool(self) -> None:
        """Settle, then forget every cached block: what a consumer hits comes from the connector.

        In a warm case the blocks of earlier consumers stay: a hit goes on where they end.
        """
        self.settle()
        self._cold = True
        if self.given.get("warm") and any(name.startswith("consumer") for name in self._requests):
            return
        if not self.dead:
            self.bench.reset_prefix_cache()

    # --- a producer and cold consumers ----------------------------------------------------------

    def produce(self, name: str = "producer") -> None:
        """Compute a prompt and its answer, and let every store complete."""
        self._prepare(name, self.given["prompt_tokens"])
        self.submit(name, stay_on_miss=False)
        self._run(lambda: self.bench.ended(name), [name])
        self.settle()
        if not self.dead:
            steps = self.bench.token_steps(name)
            self._policy = self._supply = self.oracle.supply(self._stored_tokens(name), steps)
            self._see_stores()

    def _see_stores(self) -> None:
        """Take what copies were seen to store for what is there, where copies can be seen.

        Which chunks a policy stores, and which of their blocks the engine still held, is then no
        assumption of the suite; whether the policy is a good one is judged by `judge_stores`.
        """
        if Capability.TRANSFER_CONTROL not in self.oracle.claims:
            return
        for event in self._events[self._stores_seen :]:
            if isinstance(event, Copied) and event.direction is Direction.STORE and event.rank == 0:
                for group, index in event.blocks:
                    if index >= 0:
                        self._stored.add((self.layout.index(group), index))
        self._stores_seen = len(self._events)
        self._supply = self.oracle.seen_supply(self._stored)

    def _stored_tokens(self, name: str) -> int:
        """Tokens of the producer whose KV was computed and may be stored."""
        spec = self._requests[name]
        return len(spec.prompt) if self.layout.prompt_only else len(spec.prompt) + len(spec.output) - 1

    def judge_stores(self, name: str = "producer") -> None:
        """Judge what the producer stored."""
        self.tally.open("store-is-exact")
        if self.dead:
            return
        stored = self.judge.stores(self._since(name), self._stored_tokens(name))
        if claims_everything(self.oracle.claims):
            required = self.oracle.reachable_chunks(self._stored_tokens(name))
            self._compare_pin("stored", self._blocks_of(required))
        del stored

    def _blocks_of(self, chunks: Iterable[Chunk]) -> Blocks:
        blocks: Blocks = {group.name: [] for group in self.layout.groups}
        for chunk in sorted(chunks):
            group = self.layout.groups[chunk[0]]
            tokens = self.oracle.tokens_of(chunk)
            blocks[group.name] += sorted({token // group.block_size for token in tokens})
        return blocks

    def drop_chunks(self, name: str = "producer") -> None:
        """Take away the chunks that the case lists, as an eviction would."""
        self._paid("drop_chunks")
        self._dropped = "drop" in self.given
        if self._dropped:
            self._owe("consume")
        self._see_stores()
        states = dict(self._supply.states)
        for entry in self.given.get("drop", ()):
            self._need_chunks_as_wished()
            group = self.layout.index(entry["group"])
            for chunk in entry["index"]:
                states.pop((group, chunk), None)
                self._stored -= self.oracle.blocks_of((group, chunk))
                if not self.dead:
                    self.bench.drop_chunk(name, group, chunk)
        self._supply = Supply(states=states, gone=self._supply.gone)

    def cuts(self) -> Sequence[int]:
        """The boundaries at which consumers are cut off the producer's prompt, in tokens."""
        wanted = self.given.get("consumers", "alignment")
        last = self.given["prompt_tokens"] - 1
        if wanted == "alignment":
            return self.oracle.alignment_boundaries(last)
        if wanted == "hash_block":
            return range(self.layout.hash_block, last + 1, self.layout.hash_block)
        return list(wanted)

    def cuts_once_dropped(self) -> Sequence[int]:
        """Where the consumer is cut that asks once chunks are gone: the last of `cuts`."""
        return [max(self.cuts())] if "drop" in self.given else []

    def consume(self, boundary: int) -> None:
        """A cold consumer whose prompt ends one token after ``boundary``.

        Raises `UnfinishedScenarioError` if the pool was not wiped before it.
        """
        if not self._cold:
            raise UnfinishedScenarioError("a cold consumer needs the step wipe_pool before it")
        self._paid("consume")
        if "drop" in self.given and not self._dropped and "drop_chunks" not in self._owed:
            self._owe("drop_chunks")
        name = f"consumer-{len(self._requests)}"
        self._see_stores()
        self._prepare(name, boundary + 1, 1)
        self.submit(name, stay_on_miss=False)
        answer = self.ask(name)
        self.tally.open("hit-is-covered", "hit-is-best", "load-is-async")
        if answer is not None:
            # Where neither a mask nor the copies tell what was stored, what a masked store keeps
            # is the least that must be found again.
            known = {Capability.MASKED_STORE, Capability.TRANSFER_CONTROL} & self.oracle.claims
            least = self._supply if known else self._least_supply()
            self.judge.answer(answer, least, at_least=not known)
        self.finish(name)
        if answer is not None and answer.boundary and claims_everything(self.oracle.claims):
            # Pins are about what the policy stores, not about what this connector did.
            best = self.oracle.best_verdict(answer.num_tokens, self._policy)
            self._compare_pin("verdict", best, only_for=boundary)
            needed = self.judge.needed_blocks(best or 0, answer.local)
            self._compare_pin("loaded", needed, only_for=boundary)

    def _least_supply(self) -> Supply:
        reachable = self.oracle.reachable_chunks(self._stored_tokens("producer"))
        chunks = {
            chunk: state for chunk, state in self._supply.states.items() if chunk in reachable
        }
        return Supply(states=chunks, gone=self._supply.gone)

    # --- holds ------------------------------------------------------------------------------------

    def hold_transfers(self) -> None:
        """Bring the producer's store, or the first sharer's load, into flight and keep it there.

        Reports are held, and copies too where the connector lets them be held; or only one of the
        two, if the case says so.  The pool forgets
        the prefix, so that sharers depend on the connector.
        """
        self._held = True
        self._owe("share", "steps", "release", "finish_all", "share_once_more")
        store = self.given["hold"] == "store"
        if store:
            self._hold()
        self._prepare("producer", self.given["prompt_tokens"])
        self.submit("producer", stay_on_miss=False)
        self._run(lambda: self.bench.ended("producer"), ["producer"])
        if not store:
            self.settle()
        if not self.dead:
            self.bench.reset_prefix_cache()
        if not store:
            self._hold()
            self._share("first")
            self._step(1)

    def _hold(self) -> None:
        held = self.given.get("held", "both")
        controlled = Capability.TRANSFER_CONTROL in self.oracle.claims
        if held == "copies" and not controlled:
            raise NotApplicableError(f"n/a: {Capability.TRANSFER_CONTROL}")
        if self.dead:
            return
        if held == "copies":
            self.bench.hold_copies()
        else:
            self.bench.hold(copies=controlled and held == "both")

    def _share(self, name: str) -> None:
        self._prepare(name, self.given["prompt_tokens"])
        self.submit(name, stay_on_miss=False)

    def share(self) -> None:
        """Submit the case's number of requests with the producer's prompt."""
        if not self._held:
            raise UnfinishedScenarioError("sharers need the step hold_transfers before them")
        self._paid("share")
        for index in range(self.given["sharers"]):
            self._share(f"sharer-{index}")

    def steps(self, count: int) -> None:
        """Step ``count`` times."""
        self._paid("steps")
        self._step(count)

    def _step(self, count: int) -> None:
        for _ in range(count):
            if not self.dead:
                self.bench.step()

    def release(self) -> None:
        """End the hold."""
        self._paid("release")
        if not self.dead:
            self.bench.release()

    def finish_all(self) -> None:
        """Run until nothing is left to do."""
        self._paid("finish_all")
        self.settle()

    def share_once_more(self) -> None:
        """Positive control: with nothing in flight, one more cold sharer; judge every verdict."""
        self._paid("share_once_more")
        self.wipe_pool()
        self._share("last")
        self.settle()
        self.tally.open("hit-is-covered")
        for event in self._events:
            if isinstance(event, Answered):
                self.judge.answer(event, None)

    # --- the end ------------------------------------------------------------------------------

    def _compare_pin(self, key: str, expected: object, *, only_for: int | None = None) -> None:
        """A figure pinned in the matrix must be what the oracle says."""
        if key not in self.case.pinned or not claims_everything(self.oracle.claims):
            return
        if only_for is not None and (only_for != max(self.cuts()) or self._dropped):
            return
        pinned = self.case.pinned[key]
        if isinstance(pinned, Mapping):
            pinned = {name: sorted(indices) for name, indices in pinned.items()}
            expected = {n: i for n, i in dict(expected).items() if i or n in pinned}  # type: ignore[call-overload]
        if pinned != expected:
            raise PinError(f"{self.case.id}: {key} is pinned to {pinned}, the oracle says {expected}")

    def conclude(self) -> None:
        """Judge what holds everywhere, and end the case.

        Raises `CaseFailedError` if a check failed or measured nothing, `NotApplicableError` if
        none applies, `UnfinishedScenarioError` if a step that the case needs was left out.
        """
        __tracebackhide__ = True
        if self._owed:
            raise UnfinishedScenarioError(
                f"the case needs the step(s) {', '.join(self._owed)}; missing from its template"
            )
        self._come_to_rest()
        if self._bench is not None:
            self._bench.close()
        broke = next((str(event) for event in self._events if isinstance(event, Broke)), "")
        self.judge.bytes_and_ends(self._events, broke)
        self.results = self.tally.results(broke)
        self.outcome = combine(self.results)
        self.concluded = True
        if self.outcome is Outcome.NOT_APPLICABLE:
            raise NotApplicableError(self.results[0].detail)
        if self.outcome.is_bad:
            raise CaseFailedError(self._picture())

    def _picture(self) -> str:
        lines = [f"{self.case.id} ({self.case.source})"]
        for result in self.results:
            if result.outcome.is_bad:
                lines.append(f"{result.clause} {result.check}: {result.outcome}")
                lines.append(f"  expected: {result.expected}")
                lines.append(f"  got:      {result.got}")
                if result.detail:
                    lines.append(f"  {result.detail}")
        lines += ["last events:", *(f"  {line}" for line in self.trace[-8:])]
        return "\n".join(lines)
