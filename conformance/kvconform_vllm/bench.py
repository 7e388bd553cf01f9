"""The bench on vLLM: one scheduler, its ranks and one connector, for one case."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, cast

from kvconform.engine.calls import ConnectorBrokeError, call
from kvconform.engine.effort import leave_out
from kvconform.engine.events import Broke, Computed, Event, Happened, Reset, Submitted, skew
from kvconform.engine.faults import CopyFault, CopyFaults, Place
from kvconform.engine.origins import Origins
from kvconform.engine.pattern import Lane, Owners
from kvconform.ports import ChunkState, Direction, KvconformError, Layout, RequestSpec
from kvconform.stage.errors import NotApplicableError
from kvconform_vllm import config
from kvconform_vllm.assembly import Assembler, Assembly, refuse_for_want_of_a_gpu
from kvconform_vllm.connectors import ConnectorClass
from kvconform_vllm.releases import Release
from kvconform_vllm.requests import Live
from kvconform_vllm.stepping import Stepper

leave_out(Path(__file__).resolve().parent)

_RESET_STEPS = 3
"""Steps after which the blocks of a request that has ended are free, if nobody pins them."""

P = ParamSpec("P")
BenchMethod = Callable[Concatenate["VllmBench", P], None]


def _guarded(method: BenchMethod[P]) -> BenchMethod[P]:
    """A connector that breaks, or an engine that it brings down, ends this bench, not the run."""

    @wraps(method)
    def guarded(self: VllmBench, *args: P.args, **kwargs: P.kwargs) -> None:
        if self.dead:
            return
        try:
            method(self, *args, **kwargs)
        except ConnectorBrokeError as error:
            self.broke(error)

    return cast("BenchMethod[P]", guarded)


class VllmBench:
    """vLLM's scheduler, KV cache manager and one of its connectors; memory and forward pass ours.

    All groups lie over each other in memory, as vLLM lays them out.
    """

    def __init__(
        self,
        layout: Layout,
        kind: ConnectorClass,
        release: Release,
        device: str,
        options: Mapping[str, object],
    ) -> None:
        self.name = release.title
        self.layout = config.with_equal_pages(layout)
        self.events: list[Event] = []
        self.dead = False
        self._kind = kind
        self._requests: dict[str, Live] = {}
        self._owners = Owners()
        self._origins = Origins()
        self._faults = CopyFaults(self._owns, self.events.append)
        parts = Assembler(
            layout=self.layout,
            kind=kind,
            release=release,
            device=device,
            owners=self._owners,
            faults=self._faults,
            record=self.events.append,
        ).assemble(options)
        self._parts: Assembly | None = parts
        self._scheduler, self._observer, self._ranks = parts.scheduler, parts.observer, parts.ranks
        self._stepper = Stepper(
            layout=self.layout,
            scheduler=self._scheduler,
            ranks=self._ranks,
            observer=self._observer,
            requests=self._requests,
            origins=self._origins,
            record=self.events.append,
        )
        try:
            self._chunks = call(
                "__init__", kind.chunk_control, self._scheduler.connector, self._ranks, release
            )
            self.capabilities = kind.capabilities(layout, options, self._ranks)
        except (ConnectorBrokeError, KvconformError):
            self.close()
            raise

    @property
    def max_running(self) -> int:
        """Requests that run at once at most."""
        return int(self._scheduler.max_num_running_reqs)

    def chunk_tokens(self, group: int) -> int:
        """Tokens of one chunk of ``group``."""
        return self._kind.chunk_tokens(self.layout, self._scheduler.connector, group)

    def prepare(self, spec: RequestSpec) -> None:
        """Make a request known."""
        live = Live.of(spec, self.layout.hash_block, self.layout.spec_tokens)
        self._requests[spec.name] = live
        self._owners.add(spec.name, live.prefix, live.wrong)

    @_guarded
    def submit(self, request: str, *, stay_on_miss: bool = False) -> None:
        """Queue a prepared request."""
        if stay_on_miss:
            self._observer.refused.add(request)
        live = self._requests[request]
        tokens = len(live.spec.prompt)
        self.events.append(
            Submitted(step=self._stepper.number, request=request, num_tokens=tokens)
        )
        call("engine", self._scheduler.add_request, live.request)

    def allow_miss(self, request: str) -> None:
        """From now on a miss is admitted."""
        self._observer.refused.discard(request)

    @_guarded
    def step(self) -> None:
        """One engine step."""
        self._stepper.step()

    def ended(self, request: str) -> bool:
        """Whether the request has ended."""
        return self._requests[request].ended

    def idle(self) -> bool:
        """Whether nothing is left to do."""
        if self.dead:
            return True
        try:
            return self._stepper.idle()
        except ConnectorBrokeError as error:
            self.broke(error)
            return True

    @_guarded
    def reset_prefix_cache(self) -> None:
        """Forget every cached block; bytes stay until a block is taken again.

        vLLM refuses while a block is in use.  Under asynchronous scheduling the blocks of an
        ended request are given back a step late; those that a connector pins stay cached.
        """
        for _ in range(_RESET_STEPS):
            if call("engine", self._scheduler.reset_prefix_cache):
                self._happened("pool: prefix cache reset")
                return
            self._stepper.step()
        self._happened("pool: prefix cache reset is refused, blocks are in use")

    @_guarded
    def reset_cache(self) -> None:
        """Reset the connector's cache, and the pool's unless a block is in use: then vLLM refuses."""
        flying = [(at, job) for at, rank in enumerate(self._ranks) for job in rank.gate.waiting]
        self.events.append(
            Reset(step=self._stepper.number, in_flight=tuple(flying), at_rest=self.idle())
        )
        if not call("engine", self._scheduler.reset_prefix_cache):
            self._happened("pool: prefix cache reset is refused, blocks are in use")
        call("reset_cache", self._scheduler.connector.reset_cache)

    def fail_copies(self, fault: CopyFault) -> None:
        """From now on copies fail as ``fault`` says."""
        self._faults.arm(fault)

    def _owns(self, request: str, rank: int, place: Place) -> bool:
        """Whether a stored block holds bytes of a request."""
        prefix = self._requests[request].prefix
        last = (place.index + 1) * self.layout.groups[place.group].block_size - 1
        lane = Lane(group=place.group, layer=0, rank=rank)
        return last < len(prefix) and prefix.content(lane, last) == place.content

    def hold(self, *, copies: bool) -> None:
        """Hold the reports of every rank, and with ``copies`` its copies too."""
        for rank in self._ranks:
            rank.reports.held = True
        self._happened("reports held")
        if copies:
            self.hold_copies()

    def hold_copies(self) -> None:
        """Hold the copies of every rank and let reports pass."""
        for rank in self._ranks:
            rank.gate.held = set(Direction)
        self._happened("copies held")

    def release(self) -> None:
        """End every hold."""
        for rank in self._ranks:
            rank.reports.held = False
            rank.gate.held = set()
        self._happened("released")

    @_guarded
    def abort(self, request: str) -> None:
        """The client no longer wants a request."""
        self._tell(request, "is aborted")
        self._stepper.abort(request)

    @_guarded
    def preempt(self, request: str) -> None:
        """Preempt a request in the next step, if it is running."""
        if not self._stepper.preempt(request):
            self._tell(request, "is not running and cannot be preempted")

    def gone(self, request: str) -> bool:
        """Whether a request has ended and vLLM no longer knows it."""
        return self.ended(request) and request not in self._scheduler.requests

    def hold_ranks(
        self, ranks: Collection[int], *, reports: bool, copies: Collection[Direction]
    ) -> None:
        """Hold reports of some ranks, and their copies of some directions."""
        for rank in ranks:
            self._ranks[rank].reports.held |= reports
            self._ranks[rank].gate.held |= set(copies)
        self._happened(skew("held", ranks, copies, reports=reports))

    def release_ranks(
        self, ranks: Collection[int], *, reports: bool, copies: Collection[Direction]
    ) -> None:
        """End such holds."""
        for rank in ranks:
            self._ranks[rank].reports.held &= not reports
            self._ranks[rank].gate.held -= set(copies)
        self._happened(skew("released", ranks, copies, reports=reports))

    def last_first(self) -> None:
        """From now on copies that are due together complete in reverse; ranks report all at once."""
        for rank in self._ranks:
            rank.gate.last_first = True
        self._happened("what is due together comes last first")

    def left_over(self) -> Sequence[str]:
        """What is not as it was before the first request, in words."""
        pool = self._scheduler.kv_cache_manager.block_pool
        left = []
        # The null block is never free.
        if pool.get_num_free_blocks() != self.layout.num_blocks - 1:
            left.append("blocks of the pool are not free")
        if self._scheduler.requests:
            left.append(f"the engine still knows {', '.join(sorted(self._scheduler.requests))}")
        if any(rank.gate.busy for rank in self._ranks):
            left.append("a copy has not completed")
        if any(rank.reports.busy for rank in self._ranks):
            left.append("a report has not arrived")
        return left

    @_guarded
    def seed_chunk(self, request: str, group: int, chunk: int, state: ChunkState) -> None:
        """Fill scratch blocks with the chunk's own bytes and have them stored."""
        live = self._requests[request]
        block_size, size = self.layout.groups[group].block_size, self.chunk_tokens(group)
        pool = self._scheduler.kv_cache_manager.block_pool
        scratch = pool.get_new_blocks(size // block_size)
        blocks = [block.block_id for block in scratch]
        # A row in which only the chunk's blocks are held, so that slots fall on them.
        row = [0] * (chunk * size // block_size) + blocks
        tokens = range(chunk * size, chunk * size + size)
        self._origins.computed(live.prefix, tokens)
        for rank in self._ranks:
            rank.memory.poison(blocks)
            rank.memory.write(group, row, live.prefix, tokens)
        call("chunk_control", self._control.seed, live.request, group, chunk, state, blocks)
        for rank in self._ranks:
            rank.memory.poison(blocks)
        pool.free_blocks(scratch)
        self._chunk_is(group, chunk, state)

    @_guarded
    def finish_chunk(self, request: str, group: int, chunk: int) -> None:
        """Complete the store or the other load of a seeded chunk."""
        live = self._requests[request]
        call("chunk_control", self._control.finish, live.request, group, chunk)
        self._chunk_is(group, chunk, "finished")

    @_guarded
    def drop_chunk(self, request: str, group: int, chunk: int) -> None:
        """Take one chunk away, as an eviction would.

        Raises `NotApplicableError` for one that is being loaded: vLLM evicts none of these.
        """
        live = self._requests[request]
        in_use = getattr(self._control, "in_use", None)
        if in_use is not None and call("chunk_control", in_use, live.request, group, chunk):
            raise NotApplicableError("n/a: a chunk that is being loaded is not evicted")
        call("chunk_control", self._control.drop, live.request, group, chunk)
        self._chunk_is(group, chunk, "dropped")

    @property
    def _control(self) -> Any:
        if self._chunks is None:
            raise ConnectorBrokeError("chunk_control", "is claimed, but the connector has none")
        return self._chunks

    def token_steps(self, request: str) -> Sequence[int]:
        """Computed tokens of the request after each of its steps."""
        return [e.end for e in self.events if isinstance(e, Computed) and e.request == request]

    def close(self) -> None:
        """Leave nothing behind; an error in that counts, but not one of emptying the store.

        vLLM resets a cache on demand, between steps, and not at the end of whatever went wrong.
        """
        parts, self._parts = self._parts, None
        if parts is None:
            return
        for error in parts.take_down():
            if error.method == "reset_cache":
                self._happened(f"reset_cache: {error.text}")
            else:
                self.events.append(self._broke_event(error))
        self._kind.close()

    def broke(self, error: ConnectorBrokeError) -> None:
        """Nothing further can be done here; raises `UnsupportedLayoutError` for want of a GPU."""
        refuse_for_want_of_a_gpu(error)
        self.dead = True
        self.events.append(self._broke_event(error))

    def _broke_event(self, error: ConnectorBrokeError) -> Broke:
        return Broke(step=self._stepper.number, method=error.method, text=error.text)

    def _chunk_is(self, group: int, chunk: int, what: str) -> None:
        self._happened(f"chunk {chunk} of group {self.layout.groups[group].name} is {what}")

    def _tell(self, request: str, what: str) -> None:
        self.events.append(Happened(step=self._stepper.number, request=request, what=what))

    def _happened(self, what: str) -> None:
        self.events.append(Happened(step=self._stepper.number, request="", what=what))
