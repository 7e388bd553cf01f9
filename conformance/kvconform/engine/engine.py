"""The built-in engine: steps, reports and seeded chunks on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast

from kvconform import __version__
from kvconform.engine.allocator import Allocator
from kvconform.engine.calls import ConnectorBrokeError, call, optional, problems_of, shown
from kvconform.engine.events import (
    Broke,
    Computed,
    Copied,
    Event,
    Happened,
    Loaded,
    Read,
    Reported,
    Submitted,
    skew,
)
from kvconform.engine.memory import Difference, RankMemory
from kvconform.engine.pattern import Owners
from kvconform.engine.pool import BlockPool
from kvconform.engine.rank import Plan, Rank, rows_of
from kvconform.engine.requests import LiveRequest
from kvconform.engine.scheduler import Scheduler
from kvconform.engine.transfers import Gate, ReportQueue
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
        self._gates = [Gate(self._observer(rank)) for rank in range(layout.world)]
        setting = Setting(device=device, gates=tuple(self._gates), options=options)
        self._connector: Connector = call("factory", factory, layout, setting)
        problems = problems_of(self._connector, layout.world)
        if problems:
            raise ConnectorBrokeError("factory", "; ".join(problems))
        self.capabilities = frozenset(Capability(c) for c in self._connector.capabilities)
        self._allocator = Allocator(layout, BlockPool(layout.num_blocks))
        self.scheduler = Scheduler(
            layout, self._allocator, self._connector.scheduler, self.events.append
        )
        self._ranks = []
        self._reports: list[ReportQueue[StepResult]] = []
        for memory, gate, worker in zip(
            self._memories, self._gates, self._connector.workers, strict=True
        ):
            call("register_kv_caches", worker.register_kv_caches, memory.caches)
            self._ranks.append(Rank(layout, memory, worker, gate))
            self._reports.append(ReportQueue())
        self._late_results: Plan | None = None
        self._loads: dict[str, set[int]] = {}
        self._loaded_once: set[str] = set()
        self._stores: dict[str, set[int]] = {}
        self._staged: dict[tuple[str, int, int], list[int]] = {}
        self._last_rank_first = False

    def chunk_tokens(self, group: int) -> int:
        """Tokens of one chunk of ``group``."""
        size = call("chunk_tokens", self._connector.chunk_tokens, group)
        if not isinstance(size, int):
            raise ConnectorBrokeError("chunk_tokens", f"returned {shown(size)}, expected a number of tokens")
        return size

    def prepare(self, spec: RequestSpec) -> None:
        """Make a request known."""
        request = LiveRequest(spec, self.layout.hash_block)
        self._requests[spec.name] = request
        self._owners.add(spec.name, request.prefix)

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
        """Schedule, run every rank, take reports, take results (one step late if asynchronous)."""
        plan = self.scheduler.schedule()
        for rank, queue in zip(self._ranks, self._reports, strict=True):
            before = rank.gate.performed
            result = rank.run(plan, self._loaded, self._on_read)
            moved = rank.gate.performed > before
            queue.send(result, news=moved or _has_news(plan, result))
        queues = self._reports[::-1] if self._last_rank_first else self._reports
        arrived = [report for queue in queues for report in queue.arrive()]
        if self.layout.scheduling is Scheduling.SYNC:
            self._settle(arrived, plan)
        else:
            late, self._late_results = self._late_results, plan
            self._settle(arrived, late)

    def _settle(self, reports: Sequence[StepResult], plan: Plan | None) -> None:
        for report in reports:
            self.scheduler.deliver(report)
            self._take_report(report)
        if plan is not None:
            self.scheduler.receive_tokens(plan)

    def _take_report(self, report: StepResult) -> None:
        if report.failed_blocks:
            for name in list(self.scheduler.loading):
                if report.failed_blocks & {b for row in rows_of(self._allocator, name) for b in row}:
                    self._loads.pop(name, None)
                    self.scheduler.load_failed(name)
        for name in sorted(report.finished_loads):
            self._load_reported(report.rank, name)
        for name in sorted(report.finished_stores):
            self._reported(report.rank, name, "stores")
            self._stores.setdefault(name, set()).add(report.rank)
            if len(self._stores[name]) == self.layout.world:
                del self._stores[name]
                self.scheduler.stores_complete(name)

    def _load_reported(self, rank: int, name: str) -> None:
        over = name in self._loaded_once and name not in self.scheduler.loading
        if over or rank in self._loads.get(name, ()):
            text = f"rank {rank} reports the end of the load of {name!r} once more"
            self.events.append(Broke(step=self.scheduler.number, method="get_finished", text=text))
        self._reported(rank, name, "load")
        if name not in self.scheduler.loading and name not in self.scheduler.unloaded:
            return
        self._loads.setdefault(name, set()).add(rank)
        if len(self._loads[name]) == self.layout.world:
            del self._loads[name]
            self._loaded_once.add(name)
            if name in self.scheduler.unloaded:
                self.scheduler.load_over(name)
                return
            self._check_load(name)
            self.scheduler.load_complete(name)

    def _reported(self, rank: int, name: str, what: str) -> None:
        fault = self.scheduler.fault_of(what, name, rank)
        self.events.append(
            Reported(step=self.scheduler.number, rank=rank, request=name, what=what, fault=fault)
        )

    def _check_load(self, name: str) -> None:
        request = self._requests[name]
        rows = rows_of(self._allocator, name)
        slots, first = 0, None
        for rank in self._ranks:
            compared, difference = rank.retained(request, rows, request.num_computed_tokens)
            slots += compared
            first = first or difference
        self._loaded(request, slots, first)

    def _loaded(self, request: LiveRequest, slots: int, difference: Difference | None) -> None:
        holding = self._allocator.holding(request.request_id)
        self.events.append(
            Loaded(
                step=self.scheduler.number,
                request=request.request_id,
                boundary=holding.num_local_tokens + holding.num_external_tokens,
                slots=slots,
                difference=difference,
            )
        )
        if slots and difference is None:
            self.scheduler.origins.check_load(
                request.prefix, holding.num_local_tokens + holding.num_external_tokens
            )

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
        lacking = [name for name in ("seed", "finish", "drop") if not hasattr(control, name)]
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
        for worker in self._connector.workers:
            try:
                call("shutdown", optional(worker, WorkerSide, "shutdown"))
            except ConnectorBrokeError as error:
                self.events.append(self.scheduler.broke(error))

    def _tell(self, request: str, what: str) -> None:
        self.events.append(Happened(step=self.scheduler.number, request=request, what=what))

    def _happened(self, what: str) -> None:
        self.events.append(Happened(step=self.scheduler.number, request="", what=what))

    def _observer(self, rank: int) -> Callable[[TransferJob], None]:
        def observe(job: TransferJob) -> None:
            contents: tuple[int, ...] = ()
            if job.direction is Direction.STORE:
                memory = self._memories[rank]
                blocks = tuple(
                    (self.layout.groups[group].name, memory.block_index(group, block))
                    for group, block in job.blocks
                )
                contents = tuple(memory.content(group, block) for group, block in job.blocks)
            else:
                blocks = tuple(self._destination(group, block) for group, block in job.blocks)
            self.events.append(
                Copied(
                    step=self.scheduler.number,
                    direction=job.direction,
                    rank=rank,
                    job=job.job_id,
                    blocks=blocks,
                    contents=contents,
                )
            )

        return observe

    def _destination(self, group: int, block: int) -> tuple[str, int]:
        """The block index that a loading or starting request has for a pool block, -1 for none."""
        candidates: list[Any] = [*self.scheduler.loading, *(r.request_id for r in self.scheduler.running)]
        for name in candidates:
            row = self._allocator.holding(name).rows[group]
            if block in row:
                return self.layout.groups[group].name, row.index(block)
        return self.layout.groups[group].name, -1


def _has_news(plan: Plan, result: StepResult) -> bool:
    """Whether a rank's report can matter: it did something, or says that something ended."""
    ended = result.finished_stores or result.finished_loads or result.failed_blocks
    return bool(plan.work or plan.finished or ended)
