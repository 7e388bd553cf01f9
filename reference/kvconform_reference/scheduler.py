"""The scheduler side: lookups, store policy, jobs in flight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kvconform.ports import (
    BlockTable,
    Direction,
    Layout,
    Request,
    ScheduledRequest,
    SchedulerSide,
    Step,
    StepResult,
    store_cap,
)
from kvconform_reference.demand import GroupDemand, StoreMask, cdiv
from kvconform_reference.lookup import LATER, Lookup
from kvconform_reference.manager import Chunk, ChunkManager, OffloadKey
from kvconform_reference.transfer import Part, Transfer
from kvconform_reference.worker import Completed, StepMetadata


@dataclass(slots=True)
class _Job:
    """A transfer in flight and the ranks that have reported it."""

    chunks: list[Chunk]
    sources: frozenset[int] = frozenset()
    """Pool blocks that a store reads."""
    ranks: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Offer:
    """A complete chunk of a request: the pool blocks that hold it, and which of its ``size`` blocks they are."""

    key: OffloadKey
    blocks: tuple[int, ...]
    subs: tuple[int, ...]
    size: int

    @property
    def first_block(self) -> int:
        """The first block of the chunk that there is."""
        return self.subs[0]

    @property
    def lacking(self) -> frozenset[int]:
        """Blocks of the chunk behind it that there are not, of so many as it has."""
        return frozenset(range(self.first_block, self.size)) - set(self.subs)


class ReferenceScheduler(SchedulerSide):
    """One for all ranks."""

    def __init__(
        self, layout: Layout, demands: Sequence[GroupDemand], mask: StoreMask, manager: ChunkManager
    ) -> None:
        self.layout = layout
        self.demands = tuple(demands)
        self.mask = mask
        self.manager = manager
        self.lookup = Lookup(demands=self.demands, hash_block=layout.hash_block, manager=manager)
        self._cursors: dict[str, list[int]] = {}
        self._jobs: dict[Direction, dict[int, _Job]] = {Direction.STORE: {}, Direction.LOAD: {}}
        self._next_job = 0
        self._loads: list[Transfer] = []

    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        """The longest hit beyond the local tokens, loaded asynchronously."""
        boundary = self.lookup.longest(request, num_computed_tokens)
        if boundary is LATER:
            return None, False
        return max(0, boundary - num_computed_tokens), boundary > 0

    def update_state_after_alloc(
        self, request: Request, blocks: BlockTable, num_external_tokens: int
    ) -> None:
        """Start one load of every block that the engine made room for."""
        if not num_external_tokens:
            return
        local = blocks.num_local_tokens
        boundary = local + num_external_tokens
        chunks: list[Chunk] = []
        parts = []
        for group, demand in enumerate(self.demands):
            size = demand.group.block_size
            # A group that keeps nothing below the boundary has room for the next token there.
            needs = demand.first_token(boundary) < boundary
            held = blocks.held(group, local // size, cdiv(boundary, size) if needs else 0)
            per_chunk = demand.chunk // size
            indices = sorted({index // per_chunk for index, _ in held})
            loaded = self.manager.prepare_load(self._key(request, group, chunk) for chunk in indices)
            slots = {index: chunk.slot for index, chunk in zip(indices, loaded, strict=True)}
            chunks += loaded
            if held:
                parts.append(
                    Part(
                        group=group,
                        blocks=tuple(block for _, block in held),
                        slots=tuple(slots[index // per_chunk] for index, _ in held),
                        subs=tuple(index % per_chunk for index, _ in held),
                    )
                )
        job_id = self._track(Direction.LOAD, _Job(chunks))
        self._loads.append(
            Transfer(job_id=job_id, direction=Direction.LOAD, parts=tuple(parts), request_id=request.request_id)
        )

    def build_connector_meta(self, step: Step) -> StepMetadata:
        """The step's loads, the chunks that it completes, and the fences it needs."""
        flush = self.fences(step)
        for request_id in step.preempted:
            self._cursors.pop(request_id, None)
        stores = tuple(
            transfer for scheduled in step.scheduled if (transfer := self._store(scheduled)) is not None
        )
        loads, self._loads = tuple(self._loads), []
        return StepMetadata(stores=stores, loads=loads, flush=flush)

    def fences(self, step: Step) -> tuple[int, ...]:
        """Store jobs in flight whose source blocks have a new owner in this step."""
        jobs = self._jobs[Direction.STORE]
        return tuple(job_id for job_id, job in jobs.items() if job.sources & step.allocated)

    def _store(self, scheduled: ScheduledRequest) -> Transfer | None:
        """One job for all chunks of a request that this step completes."""
        offers = self._offers(scheduled)
        taken = {chunk.key: chunk for chunk in self.manager.prepare_store([(o.key, o.first_block) for o in offers])}
        stored = [offer for offer in offers if offer.key in taken]
        if not stored:
            return None
        for offer in stored:
            taken[offer.key].lacking = offer.lacking
        parts = []
        for group in sorted({offer.key[1] for offer in stored}):
            rows = [
                (block, taken[offer.key].slot, sub)
                for offer in stored
                if offer.key[1] == group
                for block, sub in zip(offer.blocks, offer.subs, strict=True)
            ]
            blocks, slots, subs = zip(*rows, strict=True)
            parts.append(Part(group=group, blocks=blocks, slots=slots, subs=subs))
        sources = frozenset(block for offer in stored for block in offer.blocks)
        job_id = self._track(Direction.STORE, _Job(list(taken.values()), sources))
        return Transfer(job_id=job_id, direction=Direction.STORE, parts=tuple(parts))

    def _offers(self, scheduled: ScheduledRequest) -> list[_Offer]:
        """Complete chunks beyond the request's cursors that the mask wants.

        The cursor moves over chunks that were offered; under asynchronous scheduling tokens may
        be computed before they are known here, and their chunks wait for their keys.
        """
        request = scheduled.request
        cursors = self._cursors.setdefault(request.request_id, [0] * len(self.demands))
        computed = scheduled.num_computed_tokens + scheduled.num_scheduled_tokens
        limit = min(computed, self.storable_tokens(request))
        offers = []
        for group, demand in enumerate(self.demands):
            per_chunk = demand.chunk // demand.group.block_size
            for chunk in range(cursors[group], limit // demand.chunk):
                if not self.mask.wants(group, chunk, request.num_prompt_tokens):
                    continue
                row = scheduled.table.held(group, chunk * per_chunk, (chunk + 1) * per_chunk)
                if row:
                    subs = tuple(index - chunk * per_chunk for index, _ in row)
                    offers.append(
                        _Offer(self._key(request, group, chunk), tuple(b for _, b in row), subs, per_chunk)
                    )
            cursors[group] = max(cursors[group], limit // demand.chunk)
        return offers

    def storable_tokens(self, request: Request) -> int:
        """Tokens from the front that have keys and may be stored."""
        limits = [len(request.block_hashes) * self.layout.hash_block]
        if self.layout.prompt_only:
            limits.append(request.num_prompt_tokens)
        cap = store_cap(request)
        if cap is not None:
            limits.append(cap)
        return min(limits)

    def request_finished(
        self, request: Request, blocks: BlockTable
    ) -> tuple[bool, Mapping[str, object] | None]:
        """Blocks are not kept: a fence completes a store before its blocks are overwritten."""
        del blocks
        self._cursors.pop(request.request_id, None)
        return False, None

    def update_connector_output(self, result: StepResult) -> None:
        """Complete the jobs that every rank has reported."""
        completed = result.worker_meta
        if not isinstance(completed, Completed):
            return
        for job_id in completed.stores:
            for chunk in self._reported(Direction.STORE, job_id, result.rank):
                self.manager.complete_store(chunk)
        for job_id in completed.loads:
            self.manager.complete_load(self._reported(Direction.LOAD, job_id, result.rank))

    def _reported(self, direction: Direction, job_id: int, rank: int) -> list[Chunk]:
        job = self._jobs[direction][job_id]
        job.ranks.add(rank)
        if len(job.ranks) < self.layout.world:
            return []
        del self._jobs[direction][job_id]
        return job.chunks

    def reset_cache(self) -> None:
        """Forget every chunk; jobs in flight end without effect."""
        self.manager.clear()

    def has_pending_work(self) -> bool:
        """Jobs need steps to be submitted and reported."""
        return any(self._jobs.values())

    def _key(self, request: Request, group: int, chunk: int) -> OffloadKey:
        key = self.lookup.key(request, group, chunk)
        if key is None:
            raise LookupError(f"chunk {chunk} of group {group} has no key in {request.request_id!r} yet")
        return key

    def _track(self, direction: Direction, job: _Job) -> int:
        self._next_job += 1
        self._jobs[direction][self._next_job] = job
        return self._next_job
