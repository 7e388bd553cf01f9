"""The connector: both sides put together for one layout."""

from __future__ import annotations

from collections.abc import Sequence

from kvconform.ports import (
    Capability,
    ChunkControl,
    Layout,
    Setting,
    TransferGate,
    UnsupportedLayoutError,
)
from kvconform_reference.control import ReferenceChunkControl
from kvconform_reference.demand import GroupDemand, StoreMask, demands_of
from kvconform_reference.manager import ChunkManager
from kvconform_reference.scheduler import ReferenceScheduler
from kvconform_reference.worker import ReferenceWorker

CLAIMS = frozenset(Capability) - {Capability.PERSISTENT}
"""The reference claims every port and every policy; its chunks end with it, but for those in a store."""

DEFAULT_SLOTS = 512
"""Chunks that host memory holds where nobody says how many."""

OPTIONS = {
    "num_slots": "chunks that host memory holds (default: the layout's budget, else 512)",
    "seed_bound": "true: the lookup bound of vllm-project/vllm#56709, one chunk more in places",
    "sync_loads": "true: the step that makes room for a hit waits for its load",
    "own_transfers": "true: copies run at once or on own streams, not through the engine's gate",
}


class ReferenceConnector:
    """Chunks of every group in host memory, one set of books, LRU.

    Its parts are made by methods, so that a copy with one fault replaces just one of them.
    """

    def __init__(self, layout: Layout, setting: Setting) -> None:
        unknown = sorted(set(setting.options) - set(OPTIONS))
        if unknown:
            raise UnsupportedLayoutError(f"unknown option {unknown[0]!r}; options are {', '.join(OPTIONS)}")
        self.layout = layout
        num_slots = int(str(setting.options.get("num_slots", self.slots_within(layout))))
        own = _flag(setting.options.get("own_transfers", False))
        gates = setting.gates if not own else ()
        self.capabilities = CLAIMS if gates else CLAIMS - {Capability.TRANSFER_CONTROL}
        synchronous = _flag(setting.options.get("sync_loads", False))
        if synchronous:
            self.capabilities -= {Capability.ASYNC_LOAD}
        seed_bound = _flag(setting.options.get("seed_bound", False))
        demands = self.make_demands(seed_bound=seed_bound)
        manager = self.make_manager(num_slots)
        self.scheduler = self.make_scheduler(demands, manager)
        self.workers: Sequence[ReferenceWorker] = [
            self.make_worker(num_slots, gates[rank] if gates else None)
            for rank in range(layout.world)
        ]
        self.scheduler.synchronous = synchronous
        for worker in self.workers:
            worker.synchronous = synchronous
        self.chunk_control: ChunkControl | None = ReferenceChunkControl(
            self.scheduler.lookup, manager, self.workers
        )

    def chunk_tokens(self, group: int) -> int:
        """The layout's wish is met for every group."""
        return self.layout.chunk_tokens(group)

    def slots_within(self, layout: Layout) -> int:
        """Slots, each large enough for a chunk of any group, that the layout has room for."""
        if layout.host_bytes is None:
            return DEFAULT_SLOTS
        return layout.host_bytes // max(map(layout.chunk_bytes, range(len(layout.groups))))

    def make_manager(self, num_slots: int) -> ChunkManager:
        """The books on chunks."""
        return ChunkManager(num_slots)

    def make_demands(self, *, seed_bound: bool) -> tuple[GroupDemand, ...]:
        """What a boundary needs, for each group."""
        return demands_of(self.layout, self.layout.blocks_per_chunk, seed_bound=seed_bound)

    def make_mask(self, demands: Sequence[GroupDemand]) -> StoreMask:
        """What is worth storing."""
        return StoreMask(
            demands=tuple(demands),
            hash_block=self.layout.hash_block,
            retention_interval=self.layout.retention_interval,
        )

    def make_scheduler(
        self, demands: Sequence[GroupDemand], manager: ChunkManager
    ) -> ReferenceScheduler:
        """The scheduler side."""
        return ReferenceScheduler(self.layout, demands, self.make_mask(demands), manager)

    def make_worker(self, num_slots: int, gate: TransferGate | None) -> ReferenceWorker:
        """The worker side of one rank."""
        return ReferenceWorker(self.layout, self.layout.blocks_per_chunk, num_slots, gate)


def make_connector(layout: Layout, setting: Setting) -> ReferenceConnector:
    """The factory: one connector for one case."""
    return ReferenceConnector(layout, setting)


def _flag(value: object) -> bool:
    return str(value).lower() in {"1", "true", "yes"}
