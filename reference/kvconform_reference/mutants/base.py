"""What a mutant says about itself, and connectors of which one part is replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvconform.ports import ConnectorFactory, TransferGate
from kvconform_reference.connector import ReferenceConnector
from kvconform_reference.demand import GroupDemand
from kvconform_reference.lookup import Lookup
from kvconform_reference.manager import ChunkManager
from kvconform_reference.scheduler import ReferenceScheduler
from kvconform_reference.worker import ReferenceWorker


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A faulty connector.

    ``fault`` is one sentence; of ``clauses`` at least one must be among those that fail.
    ``seed_cases`` is the exact number of the 102 cases of vllm-project/vllm#56709 that fail,
    where it is known.
    """

    name: str
    fault: str
    clauses: tuple[str, ...]
    factory: ConnectorFactory
    seed_cases: int | None = None
    against: str = "reference"
    """The connector without the fault."""
    classes: tuple[str, ...] = ()
    """Classes of faults seen in the field that it stands for: C1 to C18."""
    unkept: str = ""
    """The capability of a store that it claims and does not keep, if that is its fault."""


class Patched(ReferenceConnector):
    """The reference with another kind of lookup, scheduler side or worker."""

    lookup_kind: type[Lookup] = Lookup
    scheduler_kind: type[ReferenceScheduler] = ReferenceScheduler
    worker_kind: type[ReferenceWorker] = ReferenceWorker
    manager_kind: type[ChunkManager] = ChunkManager

    def make_manager(self, num_slots: int) -> ChunkManager:
        """The books of the mutant's kind."""
        return self.manager_kind(num_slots)

    def make_scheduler(
        self, demands: Sequence[GroupDemand], manager: ChunkManager
    ) -> ReferenceScheduler:
        """The scheduler side of the mutant's kind, with its kind of lookup."""
        scheduler = self.scheduler_kind(self.layout, demands, self.make_mask(demands), manager)
        scheduler.lookup = self.lookup_kind(
            demands=scheduler.demands, hash_block=self.layout.hash_block, manager=manager
        )
        return scheduler

    def make_worker(self, num_slots: int, gate: TransferGate | None) -> ReferenceWorker:
        """A worker of the mutant's kind."""
        return self.worker_kind(self.layout, self.layout.blocks_per_chunk, num_slots, gate)
