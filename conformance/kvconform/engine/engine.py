"""The built-in engine: steps, reports and seeded chunks on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from kvconform import __version__
from kvconform.engine.allocator import Allocator
from kvconform.engine.arrivals import Arrivals
from kvconform.engine.calls import ConnectorBrokeError, call, optional, problems_of, shown
from kvconform.engine.events import (
    Computed,
    Copied,
    Event,
    Happened,
    Read,
    Reset,
    Strayed,
    Submitted,
    skew,
)
from kvconform.engine.faults import CopyDue, CopyFault, CopyFaults, Place
from kvconform.engine.memory import Difference, RankMemory
from kvconform.engine.pattern import Lane, Owners
from kvconform.engine.pool import BlockPool
from kvconform.engine.rank import Plan, Rank
from kvconform.engine.remarks import listener
from kvconform.engine.requests import LiveRequest
from kvconform.engine.scheduler import Scheduler
from kvconform.engine.told import ChunkNames
from kvconform.engine.transfers import Gate, ReportQueue
from kvconform.engine.watch import WriteWatch, check_ids
from kvconform.ports import (
    NULL_BLOCK,
    Capability,
    ChunkControl,
    ChunkState,
    Connector,
    ConnectorFactory,
    Direction,
    Layout,
    RequestSpec,
    Scheduling,
    Setting,
    StepResult,
    TransferJob,
    WorkerSide,
)

_CONTROLS = ("seed", "finish", "drop")
"""Methods of `ChunkControl`."""

P = ParamSpec("P")
EngineMethod = Callable[Concatenate["Engine", P], None]


def _guarded(method: EngineMethod[P]) -> EngineMethod[P]:
    """A connector that breaks ends this engine, not the run."""

    @wraps(method)
    def guarded(self: Engine, *args: P.args, **kwargs: P.kwargs) -> None:
        if self.dead:
            return
        try:
            method(self, *args, **kwargs)
        except ConnectorBrokeError as error:
            self.dead = True
            self.events.append(self.scheduler.broke(error))

    return cast("EngineMethod[P]", guarded)


class Engine:
    """One pool, one scheduler, ``layout.world`` ranks, and the connector between them."""

    name = f"built-in {__version__}"
    max_running: int | None = None

    def __init__(
        self, layout: Layout, factory: ConnectorFactory, device: str, options: dict[str, object]
    ) -> None:
        self.layout = layout
        self.events: list[Event] = []
        self.dead = False
        self._requests: dict[str, LiveRequest] = {}
        self._owners = Owners()
        self._memories = [
            RankMemory(layout, rank, device, self._owners) for rank in range(layout.world)
        ]
        self._faults = CopyFaults(self._owns, self.events.append)
        self._watches = [WriteWatch(memory, self._strayed) for memory in self._memories]
        self._gates = [
            Gate(self._observer(rank), self._failer(rank), watch.after_copy)
            for rank, watch in enumerate(self._watches)
        ]
        gates, tell = tuple(self._gates), listener(self.events)
        setting = Setting(device=device, gates=gates, options=options, tell=tell)
        self._connector: Connector = call("factory", factory, layout, setting)
        problems = problems_of(self._connector, layout.world)
        if problems:
            raise ConnectorBrokeError("factory", "; ".join(problems))
        self.capabilities = frozenset(Capability(c) for c in self._connector.capabilities)
        self._allocator = Allocator(layout, BlockPool(layout.num_blocks))
        self.scheduler = Scheduler(
            layout, self._allocator, self._connector.scheduler, self.events.append
        )
        self._ranks: list[Rank] = []
        self._reports: list[ReportQueue[StepResult]] = []
        for memory, gate, worker in zip(
            self._memories, self._gates, self._connector.workers, strict=True
        ):
            call("register_kv_caches", worker.register_kv_caches, memory.caches)
            watch = self._watches[memory.rank]
            self._ranks.append(Rank(layout, memory, worker, gate, watch))
            self._reports.append(ReportQueue())
        self._arrivals = Arrivals(
            self.scheduler, self._ranks, self._requests, self.capabilities, self.events.append
        )
        self._late_results: Plan | None = None
        self._staged: dict[tuple[str, int, int], list[int]] = {}
        self._last_rank_first = False
        self._names: ChunkNames | None = None

    @property
    def unclaimed(self) -> frozenset[Capability]:
        """Ports that the connector has or uses and does not claim, so that nothing is asked of them."""
        control = call("chunk_control", getattr, self._connector, "chunk_control", None)
        has = {
            Capability.CHUNK_CONTROL: all(hasattr(control, name) for name in _CONTROLS),
            Capability.TRANSFER_CONTROL: any(gate.asked for gate in self._gates),
        }
        return frozenset(one for one, there in has.items() if there) - self.capabilities

    def chunk_tokens(self, group: int) -> int:
        """Tokens of one chunk of ``group``."""
        size = call("chunk_tokens", self._connector.chunk_tokens, group)
        if not isinstance(size, int):
            raise ConnectorBrokeError("chunk_tokens", f"returned {shown(size)}, expected a number of tokens")
        return size

    def prepare(self, spec: RequestSpec) -> None:
        """Make a request known."""
        request = LiveRequest(spec, self.layout.hash_block, self.layout.spec_tokens)
        self._requests[spec.name] = request
        self._owners.add(spec.name, request.prefix, request.wrong)

    def computed_elsewhere(self, request: str) -> None:
        """A prepared request was computed in another process: its tokens are no surprise here."""
        prefix = self._requests[request].prefix
        self.scheduler.origins.computed(prefix, range(len(prefix)))

    @_guarded
    def submit(self, request: str, *, stay_on_miss: bool = False) -> None:
        """Queue a prepared request."""
        live = self._requests[request]
        if stay_on_miss:
            self.scheduler.refused.add(request)
        self.events.append(
            Submitted(step=self.scheduler.number, request=request, num_tokens=live.num_tokens)
        )
        self.scheduler.submit(live)

    def allow_miss(self, request: str) -> None:
        """From now on a miss is admitted."""
        self.scheduler.refused.discard(request)

    def ended(self, request: str) -> bool:
        """Whether the request has ended."""
        return self._requests[request].ended

    @_guarded
    def step(self) -> None:
        """Schedule, run every rank, take reports, take results (one step late if asynchronous).

        What the connector tells of its chunks is taken before and after.
        """
        self._take_told()
        plan = self.scheduler.schedule()
        destinations = self._arrivals.destinations(plan)
        failed: list[StepResult] = []
        for rank, queue in zip(self._ranks, self._reports, strict=True):
            before = rank.gate.performed
            result = rank.run(plan, self._arrivals.loaded, self._on_read, destinations)
            moved = rank.gate.performed > before
            queue.send(result, news=moved or _has_news(plan, result))
            failed += [result] if result.failed_blocks else []
        # Load errors come with the tokens of their step, whatever is held: see docs/decisions.md.
        for result in failed:
            self._arrivals.take_errors(result)
        queues = self._reports[::-1] if self._last_rank_first else self._reports
        arrived = [report for queue in queues for report in queue.arrive()]
        if self.layout.scheduling is Scheduling.SYNC:
            self._settle(arrived, plan)
        else:
            late, self._late_results = self._late_results, plan
            self._settle(arrived, late)
        self._take_told()

    def _take_told(self) -> None:
        if Capability.EVENTS not in self.capabilities:
            return
        if self._names is None:
            sizes = (self.chunk_tokens(group) for group in range(len(self.layout.groups)))
            self._names = ChunkNames(self._requests, self.layout, list(sizes))
        told = self.scheduler.call("take_events")
        self.events.extend(self._names.told(told, self.scheduler.number))

    def _strayed(self, where: str) -> None:
        self.events.append(Strayed(step=self.scheduler.number, where=where))

    def _settle(self, reports: Sequence[StepResult], plan: Plan | None) -> None:
        for report in reports:
            self.scheduler.deliver(report)
            self._arrivals.take(report)
        if plan is not None:
            self.scheduler.receive_tokens(plan)

    def _on_read(self, request: LiveRequest, slots: int, difference: Difference | None) -> None:
        if slots:
            self.events.append(
                Read(
                    step=self.scheduler.number,
                    request=request.request_id,
                    slots=slots,
                    difference=difference,
                )
            )

    def idle(self) -> bool:
        """Whether nothing is left to do."""
        if self.dead:
            return True
        results = self._late_results is not None and bool(self._late_results.samples)
        in_flight = any(gate.busy for gate in self._gates) or any(q.busy for q in self._reports)
        return not (self.scheduler.busy or results or in_flight or self._has_pending_work())

    def _has_pending_work(self) -> bool:
        try:
            return bool(self.scheduler.call("has_pending_work"))
        except ConnectorBrokeError as error:
            self.dead = True
            self.events.append(self.scheduler.broke(error))
            return False

    def reset_prefix_cache(self) -> None:
        """Forget every cached block of the pool; its bytes stay until it is taken again."""
        self._allocator.pool.clear_cache()
        self._happened("pool: prefix cache reset")

    @_guarded
    def reset_cache(self) -> None:
        """Forget every cached block of the pool, and have the connector reset its cache.

        Requests keep the blocks that they hold, and nobody will find these blocks.
        """
        flying = [(rank, job) for rank, gate in enumerate(self._gates) for job in gate.waiting]
        self.events.append(
            Reset(step=self.scheduler.number, in_flight=tuple(flying), at_rest=self.idle())
        )
        self.scheduler.reset()

    def fail_copies(self, fault: CopyFault) -> None:
        """From now on copies fail as ``fault`` says."""
        self._faults.arm(fault)

    def hold(self, *, copies: bool) -> None:
        """Hold reports of every rank, and with ``copies`` its copies too."""
        for queue in self._reports:
            queue.held = True
        self._happened("reports held")
        if copies:
            self.hold_copies()

    def hold_copies(self) -> None:
        """Hold the copies of every rank and let reports pass."""
        for gate in self._gates:
            gate.held = set(Direction)
        self._happened("copies held")

    def release(self) -> None:
        """End every hold."""
        for queue in self._reports:
            queue.held = False
        for gate in self._gates:
            gate.held = set()
        self._happened("released")

    @_guarded
    def abort(self, request: str) -> None:
        """The client no longer wants a request."""
        self._tell(request, "is aborted")
        self.scheduler.abort(self._requests[request])

    @_guarded
    def preempt(self, request: str) -> None:
        """Preempt a request in the next step, if it is running."""
        if not self.scheduler.preempt(self._requests[request]):
            self._tell(request, "is not running and cannot be preempted")

    def gone(self, request: str) -> bool:
        """Whether a request has ended and none of its blocks is kept."""
        kept = request in self.scheduler.kept or request in self.scheduler.unloaded
        return self.ended(request) and not kept

    def hold_ranks(
        self, ranks: Collection[int], *, reports: bool, copies: Collection[Direction]
    ) -> None:
        """Hold reports of some ranks, and their copies of some directions."""
        for rank in ranks:
            self._reports[rank].held |= reports
            self._gates[rank].held |= set(copies)
        self._happened(skew("held", ranks, copies, reports=reports))

    def release_ranks(
        self, ranks: Collection[int], *, reports: bool, copies: Collection[Direction]
    ) -> None:
        """End such holds."""
        for rank in ranks:
            self._reports[rank].held &= not reports
            self._gates[rank].held -= set(copies)
        self._happened(skew("released", ranks, copies, reports=reports))

    def last_first(self) -> None:
        """From now on what is due together comes in reverse: copies of a rank, reports of ranks."""
        self._last_rank_first = True
        for gate in self._gates:
            gate.last_first = True
        self._happened("what is due together comes last first")

    def left_over(self) -> Sequence[str]:
        """What is not as it was before the first request, in words."""
        left = []
        if not self._allocator.pool.at_rest():
            left.append("blocks of the pool are not free")
        if any(gate.busy for gate in self._gates):
            left.append("a copy has not completed")
        if any(queue.busy for queue in self._reports):
            left.append("a report has not arrived")
        if not self.dead and self._has_pending_work():
            left.append("has_pending_work is True")
        return left

    @_guarded
    def seed_chunk(self, request: str, group: int, chunk: int, state: ChunkState) -> None:
        """Fill staging blocks with the chunk's own bytes and hand them to `ChunkControl`."""
        live = self._requests[request]
        size = self.chunk_tokens(group)
        block_size = self.layout.groups[group].block_size
        blocks = self._allocator.pool.allocate(size // block_size)
        # A row in which only the chunk's blocks are held, so that slots fall on them.
        row = [NULL_BLOCK] * (chunk * size // block_size) + blocks
        tokens = range(chunk * size, chunk * size + size)
        self.scheduler.origins.computed(live.prefix, tokens)
        for memory in self._memories:
            memory.poison(blocks)
            memory.write(group, row, live.prefix, tokens)
        call("ChunkControl.seed", self._chunk_control.seed, live, group, chunk, state, blocks)
        if state is ChunkState.PENDING:
            self._staged[request, group, chunk] = blocks
        else:
            self._unstage(blocks)
        self._chunk_is(group, chunk, state)

    @_guarded
    def finish_chunk(self, request: str, group: int, chunk: int) -> None:
        """Complete the store or the other load of a seeded chunk."""
        call("ChunkControl.finish", self._chunk_control.finish, self._requests[request], group, chunk)
        self._unstage(self._staged.pop((request, group, chunk), []))
        self._chunk_is(group, chunk, "finished")

    @_guarded
    def drop_chunk(self, request: str, group: int, chunk: int) -> None:
        """Take one chunk away, as an eviction would."""
        call("ChunkControl.drop", self._chunk_control.drop, self._requests[request], group, chunk)
        self._chunk_is(group, chunk, "dropped")

    @property
    def _chunk_control(self) -> ChunkControl:
        control = getattr(self._connector, "chunk_control", None)
        if control is None:
            raise ConnectorBrokeError("chunk_control", "is claimed, but the connector has none")
        lacking = [name for name in _CONTROLS if not hasattr(control, name)]
        if lacking:
            raise ConnectorBrokeError("chunk_control", f"is {shown(control)}, which has no {lacking[0]!r}")
        return cast("ChunkControl", control)

    def _chunk_is(self, group: int, chunk: int, what: str) -> None:
        self._happened(f"chunk {chunk} of group {self.layout.groups[group].name} is {what}")

    def _unstage(self, blocks: list[int]) -> None:
        for memory in self._memories:
            memory.poison(blocks)
        self._allocator.pool.free(blocks)

    def token_steps(self, request: str) -> Sequence[int]:
        """Computed tokens of the request after each of its steps."""
        return [e.end for e in self.events if isinstance(e, Computed) and e.request == request]

    def close(self) -> None:
        """Shut the workers down; what they raise now is no longer judged."""
        for watch in self._watches:
            watch.at_end()
        for worker in self._connector.workers:
            try:
                call("shutdown", optional(worker, WorkerSide, "shutdown"))
            except ConnectorBrokeError as error:
                self.events.append(self.scheduler.broke(error))

    def _tell(self, request: str, what: str) -> None:
        self.events.append(Happened(step=self.scheduler.number, request=request, what=what))

    def _happened(self, what: str) -> None:
        self.events.append(Happened(step=self.scheduler.number, request="", what=what))

    def _owns(self, request: str, rank: int, place: Place) -> bool:
        """Whether a stored block holds bytes of a request."""
        prefix = self._requests[request].prefix
        last = (place.index + 1) * self.layout.groups[place.group].block_size - 1
        lane = Lane(group=place.group, layer=0, rank=rank)
        return last < len(prefix) and prefix.content(lane, last) == place.content

    def _failer(self, rank: int) -> Callable[[TransferJob, Callable[[], None]], bool]:
        def fails(job: TransferJob, perform: Callable[[], None]) -> bool:
            if not self._faults.armed:
                return False
            memory = self._memories[rank]
            places = [self._place(memory, job.direction, *block) for block in job.blocks]
            return self._faults.fail(
                CopyDue(
                    job=job,
                    perform=perform,
                    memory=memory,
                    places=places,
                    step=self.scheduler.number,
                )
            )

        return fails

    def _place(self, memory: RankMemory, direction: Direction, group: int, block: int) -> Place:
        if direction is Direction.STORE:
            return Place(
                group=group,
                index=memory.block_index(group, block),
                content=memory.content(group, block),
            )
        for name in self.scheduler.holders_of_loads():
            row = self._allocator.holding(name).rows[group]
            if block in row:
                return Place(group=group, index=row.index(block), request=name)
        return Place(group=group, index=-1)

    def _observer(self, rank: int) -> Callable[[TransferJob], None]:
        def observe(job: TransferJob) -> None:
            contents: tuple[int, ...] = ()
            requests: tuple[str, ...] = ()
            check_ids(job, self.layout)
            if job.direction is Direction.LOAD:
                self._watches[rank].begin()
            strays: tuple[str, ...] = ()
            if job.direction is Direction.STORE:
                memory = self._memories[rank]
                blocks = tuple(
                    (self.layout.groups[group].name, memory.block_index(group, block))
                    for group, block in job.blocks
                )
                contents = tuple(memory.content(group, block) for group, block in job.blocks)
                if self.layout.spec_tokens:
                    strays = tuple(filter(None, (memory.stray(group, block) for group, block in job.blocks)))
            else:
                places = [self._destination(group, block) for group, block in job.blocks]
                blocks = tuple((self.layout.groups[place.group].name, place.index) for place in places)
                requests = tuple(place.request for place in places)
            self.events.append(
                Copied(
                    step=self.scheduler.number,
                    direction=job.direction,
                    rank=rank,
                    job=job.job_id,
                    blocks=blocks,
                    contents=contents,
                    requests=requests,
                    strays=strays,
                    block_ids=job.blocks,
                )
            )

        return observe

    def _destination(self, group: int, block: int) -> Place:
        """Which loading or starting request has a pool block, and where; index -1 for none."""
        return self._place(self._memories[0], Direction.LOAD, group, block)


def _has_news(plan: Plan, result: StepResult) -> bool:
    """Whether a rank's report can matter: it did something, or says that something ended."""
    ended = result.finished_stores or result.finished_loads or result.failed_blocks
    return bool(plan.work or plan.finished or ended)
