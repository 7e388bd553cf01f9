"""The scheduler side: lookups, store policy, jobs in flight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from kvconform.ports import (
    BlockTable,
    ChunkEvent,
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
class Job:
    """A transfer in flight and the ranks that have reported it."""

    chunks: list[Chunk]
    request_id: str
    sources: frozenset[int] = frozenset()
    """Pool blocks that a store reads."""
    ranks: set[int] = field(default_factory=set)
    failed: bool = False
    """Whether it failed on a rank."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A complete chunk of a request: the pool blocks that hold it, and which of its ``size`` blocks they are."""

    key: OffloadKey
    chunk: int
    end: int
    """Tokens up to its end."""
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

    synchronous: bool
    """Whether the step that makes room for a hit waits for its load."""

    def __init__(
        self, layout: Layout, demands: Sequence[GroupDemand], mask: StoreMask, manager: ChunkManager
    ) -> None:
        self.layout = layout
        self.demands = tuple(demands)
        self.mask = mask
        self.manager = manager
        self.lookup = Lookup(demands=self.demands, hash_block=layout.hash_block, manager=manager)
        self._cursors: dict[str, list[int]] = {}
        self._accesses: dict[str, int] = {}
        self._jobs: dict[Direction, dict[int, Job]] = {Direction.STORE: {}, Direction.LOAD: {}}
        self._job_ids = count()
        self._loads: list[Transfer] = []

    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        """The longest hit beyond the local tokens."""
        boundary = self.lookup.longest(request, num_computed_tokens)
        if boundary is LATER:
            return None, False
        if not boundary:
            return 0, False
        return boundary - num_computed_tokens, not self.synchronous

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
            held = blocks.held(group, local // size, cdiv(boundary, size)) if needs else []
            per_chunk = demand.chunk // size
            indices = sorted({index // per_chunk for index, _ in held})
            loaded = self.manager.prepare_load(self._key(request, group, chunk) for chunk in indices)
            slots = {index: chunk.slot for index, chunk in zip(indices, loaded, strict=True)}
            self.manager.use((chunk.key for chunk in loaded), self._access(request))
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
        job_id = self._track(Direction.LOAD, Job(chunks, request.request_id))
        self._loads.append(
            Transfer(
                job_id=job_id,
                direction=Direction.LOAD,
                parts=tuple(parts),
                names=tuple((chunk.slot, chunk.key) for chunk in chunks),
                request_id=request.request_id,
            )
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
        # The head of what is offered goes first, in all groups: it is of use without the tail.
        offers = sorted(self.offers(scheduled), key=lambda offer: offer.end)
        found = [(offer.key, offer.first_block) for offer in offers]
        chunks = self.manager.prepare_store(found, self._access(scheduled.request))
        taken = {chunk.key: chunk for chunk in chunks}
        self.advance(scheduled, offers)
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
        name = scheduled.request.request_id
        job_id = self._track(Direction.STORE, Job(list(taken.values()), name, sources))
        return Transfer(
            job_id=job_id,
            direction=Direction.STORE,
            parts=tuple(parts),
            names=tuple((chunk.slot, key) for key, chunk in taken.items()),
            request_id=name,
        )

    def limit(self, scheduled: ScheduledRequest) -> int:
        """Tokens that are computed once the step is over and may be stored.

        Under asynchronous scheduling tokens may be computed before they are known here, and their
        chunks wait for their keys.
        """
        computed = scheduled.num_computed_tokens + scheduled.num_scheduled_tokens
        return min(computed, self.storable_tokens(scheduled.request))

    def offers(self, scheduled: ScheduledRequest) -> list[Offer]:
        """Complete chunks beyond the request's cursors that the mask wants."""
        request, limit = scheduled.request, self.limit(scheduled)
        cursors = self._cursors.setdefault(request.request_id, [0] * len(self.demands))
        offers = []
        for group, demand in enumerate(self.demands):
            per_chunk = demand.chunk // demand.group.block_size
            for chunk in range(cursors[group], limit // demand.chunk):
                if not self.mask.wants(group, chunk, request.num_prompt_tokens):
                    continue
                row = scheduled.table.held(group, chunk * per_chunk, (chunk + 1) * per_chunk)
                if row:
                    key, end = self._key(request, group, chunk), (chunk + 1) * demand.chunk
                    blocks = tuple(block for _, block in row)
                    subs = tuple(index - chunk * per_chunk for index, _ in row)
                    offers.append(Offer(key, chunk, end, blocks, subs, per_chunk))
        return offers

    def advance(self, scheduled: ScheduledRequest, offers: Sequence[Offer]) -> None:
        """Move the cursors over what was offered, up to the first chunk that found no room.

        That one is offered again in the request's next step: room may have come by then.
        """
        cursors, limit = self._cursors[scheduled.request.request_id], self.limit(scheduled)
        refused = [offer for offer in offers if self.manager.get(offer.key) is None]
        for group, demand in enumerate(self.demands):
            ends = [offer.chunk for offer in refused if offer.key[1] == group]
            cursors[group] = max(cursors[group], min([limit // demand.chunk, *ends]))

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
        self._accesses.pop(request.request_id, None)
        self.manager.use(self.prefix(request), self.manager.new_access())
        return False, None

    def prefix(self, request: Request) -> list[OffloadKey]:
        """The keys of all chunks of a request, head first, groups side by side."""
        known = len(request.block_hashes) * self.layout.hash_block
        ends = [
            ((chunk + 1) * demand.chunk, group, chunk)
            for group, demand in enumerate(self.demands)
            for chunk in range(known // demand.chunk)
        ]
        return [self._key(request, group, chunk) for _, group, chunk in sorted(ends)]

    def _access(self, request: Request) -> int:
        """The number of a request's use of chunks while it lives; its end is a later one."""
        if request.request_id not in self._accesses:
            self._accesses[request.request_id] = self.manager.new_access()
        return self._accesses[request.request_id]

    def update_connector_output(self, result: StepResult) -> None:
        """Complete the jobs that every rank has reported; one that failed on a rank has failed."""
        completed = result.worker_meta
        if not isinstance(completed, Completed):
            return
        for job_id in completed.stores:
            job = self._reported(Direction.STORE, job_id, result.rank, completed.failed)
            if job is not None:
                self.stored(job)
        for job_id in completed.loads:
            job = self._reported(Direction.LOAD, job_id, result.rank, completed.failed)
            if job is not None:
                self.loaded(job)

    def stored(self, job: Job) -> None:
        """A store is over on every rank."""
        for chunk in job.chunks:
            self.manager.complete_store(chunk, success=not job.failed)

    def loaded(self, job: Job) -> None:
        """A load is over on every rank; chunks that could not be read are stored anew."""
        self.manager.complete_load(job.chunks)
        if job.failed:
            self.manager.give_up(job.chunks)
            # The request computes these tokens itself and offers their chunks once more.
            self._cursors.pop(job.request_id, None)

    def _reported(
        self, direction: Direction, job_id: int, rank: int, failed: frozenset[int]
    ) -> Job | None:
        """The job, if this was the last rank to report it."""
        job = self._jobs[direction][job_id]
        job.ranks.add(rank)
        job.failed |= job_id in failed
        if len(job.ranks) < self.layout.world:
            return None
        return self._jobs[direction].pop(job_id)

    def reset_cache(self) -> None:
        """Forget every chunk; jobs in flight end without effect."""
        self.manager.clear()

    def take_events(self) -> Sequence[ChunkEvent]:
        """Chunks stored and removed since the last call."""
        return self.manager.take_events()

    def has_pending_work(self) -> bool:
        """Jobs need steps to be submitted and reported."""
        return any(self._jobs.values())

    def _key(self, request: Request, group: int, chunk: int) -> OffloadKey:
        key = self.lookup.key(request, group, chunk)
        if key is None:
            raise LookupError(f"chunk {chunk} of group {group} has no key in {request.request_id!r} yet")
        return key

    def _track(self, direction: Direction, job: Job) -> int:
        job_id = next(self._job_ids)
        self._jobs[direction][job_id] = job
        return job_id
