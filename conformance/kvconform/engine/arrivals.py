"""What ranks report of loads and stores: each end is counted, each load compared when it is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kvconform.engine.calls import ConnectorBrokeError
from kvconform.engine.events import Broke, Event, Loaded, LoadErrors, LoadFailed, Reported
from kvconform.engine.memory import Difference
from kvconform.engine.rank import Plan, Rank, rows_of
from kvconform.engine.requests import LiveRequest
from kvconform.engine.scheduler import Scheduler
from kvconform.ports import NULL_BLOCK, Capability, Direction, StepResult


class Arrivals:
    """Takes the reports of all ranks; a load or a store is over when every rank has reported it."""

    def __init__(
        self,
        scheduler: Scheduler,
        ranks: Sequence[Rank],
        requests: Mapping[str, LiveRequest],
        claims: frozenset[Capability],
        record: Callable[[Event], None],
    ) -> None:
        self._scheduler = scheduler
        self._allocator = scheduler.allocator
        self._ranks = ranks
        self._requests = requests
        self._claims = claims
        self._record = record
        self._loads: dict[str, set[int]] = {}
        self._bad: dict[str, frozenset[int]] = {}
        """Blocks of each load in flight that were said to have failed."""
        self._loaded_once: set[str] = set()
        self._stores: dict[str, set[int]] = {}

    def destinations(self, plan: Plan) -> frozenset[tuple[int, int]]:
        """Blocks that loads may fill in this step, as (group, block id)."""
        names = [*self._scheduler.loading]
        names += [part.request.request_id for part in plan.work if part.synchronous_boundary]
        return frozenset(
            (group, block)
            for name in names
            for group, row in enumerate(self._allocator.holding(name).rows)
            for block in row[
                self._allocator.holding(name).num_local_tokens
                // self._scheduler.layout.groups[group].block_size :
            ]
            if block != NULL_BLOCK
        )

    def take(self, report: StepResult) -> None:
        """A rank's report has arrived at the scheduler side."""
        for name in sorted(report.finished_loads):
            self._load_reported(report.rank, name)
        for name in sorted(report.finished_stores):
            self._reported(report.rank, name, "stores")
            self._stores.setdefault(name, set()).add(report.rank)
            if len(self._stores[name]) == len(self._ranks):
                del self._stores[name]
                self._scheduler.stores_complete(name)

    def _load_reported(self, rank: int, name: str) -> None:
        over = name in self._loaded_once and name not in self._scheduler.loading
        if over or rank in self._loads.get(name, ()):
            text = f"rank {rank} reports the end of the load of {name!r} once more"
            self._record(Broke(step=self._scheduler.number, method="get_finished", text=text))
        self._reported(rank, name, "load")
        if name not in self._scheduler.loading and name not in self._scheduler.unloaded:
            return
        self._loads.setdefault(name, set()).add(rank)
        if len(self._loads[name]) == len(self._ranks):
            del self._loads[name]
            self._loaded_once.add(name)
            if name in self._scheduler.unloaded:
                self._scheduler.load_over(name)
                return
            if name in self._bad:
                self._end_failed_load(name, self._bad.pop(name))
                return
            self._check_load(name)
            self._scheduler.load_complete(name)

    def _reported(self, rank: int, name: str, what: str) -> None:
        fault = self._scheduler.fault_of(what, name, rank)
        self._record(
            Reported(step=self._scheduler.number, rank=rank, request=name, what=what, fault=fault)
        )

    def take_errors(self, report: StepResult) -> None:
        """Load errors: a load in flight is judged when it is over; who runs on such blocks goes back at once."""
        bad = report.failed_blocks
        ids = tuple(sorted(bad))
        names = self._scheduler.holders_of_loads()
        held_by = {name: self._scheduler.held_of(name, bad) for name in names}
        self._record(
            LoadErrors(
                step=self._scheduler.number,
                rank=report.rank,
                ids=ids,
                holders=tuple(frozenset(n for n in names if one in held_by[n]) for one in ids),
            )
        )
        bad -= {NULL_BLOCK}
        for name in self._scheduler.loading:
            held = self._scheduler.held_of(name, bad)
            if held:
                self._bad[name] = self._bad.get(name, frozenset()) | held
        for request in self._scheduler.holders(bad):
            holding = self._allocator.holding(request.request_id)
            boundary = holding.num_local_tokens + holding.num_external_tokens
            valid = self._scheduler.cut_back(request, bad)
            self._load_failed(request.request_id, boundary, valid, None)
        loading = {block for held in self._bad.values() for block in held}
        for rank in self._ranks:
            rank.failed -= bad - loading

    def _end_failed_load(self, name: str, bad: frozenset[int]) -> None:
        """Every block that was not said to have failed must hold its owner's bytes."""
        request, rows = self._requests[name], rows_of(self._allocator, name)
        boundary, first = request.num_computed_tokens, None
        for rank in self._ranks:
            rank.failed |= bad
            _, difference = rank.retained(request, rows, boundary)
            first = first or difference
            rank.failed -= bad
        self._load_failed(name, boundary, self._scheduler.load_failed(name, bad), first)

    def _load_failed(
        self, name: str, boundary: int, valid: int, difference: Difference | None
    ) -> None:
        self._record(
            LoadFailed(
                step=self._scheduler.number,
                request=name,
                boundary=boundary,
                valid=valid,
                difference=difference,
            )
        )

    def _check_load(self, name: str) -> None:
        request = self._requests[name]
        rows = rows_of(self._allocator, name)
        slots, first = 0, None
        for rank in self._ranks:
            compared, difference = rank.retained(request, rows, request.num_computed_tokens)
            slots += compared
            first = first or difference
        self.loaded(request, slots, first)

    def loaded(self, request: LiveRequest, slots: int, difference: Difference | None) -> None:
        """A load is over and its ``slots`` were compared."""
        holding = self._allocator.holding(request.request_id)
        self._record(
            Loaded(
                step=self._scheduler.number,
                request=request.request_id,
                boundary=holding.num_local_tokens + holding.num_external_tokens,
                slots=slots,
                difference=difference,
            )
        )
        if slots and difference is None and not holding.num_local_tokens:
            self._must_have_asked(Direction.LOAD)
        if slots and difference is None:
            self._scheduler.origins.check_load(
                request.prefix, holding.num_local_tokens + holding.num_external_tokens
            )

    def _must_have_asked(self, direction: Direction) -> None:
        """Bytes have come where none were: with the claim that the gate brings all of them, it did."""
        claimed = Capability.TRANSFER_CONTROL in self._claims
        if claimed and not any(direction in rank.gate.asked for rank in self._ranks):
            raise ConnectorBrokeError(
                "TransferGate.submit",
                f"was not called for the bytes of a {direction.value}, although transfer_control is "
                "claimed: hand every copy to the gate, or do not claim it",
            )
