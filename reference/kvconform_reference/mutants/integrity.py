"""Faults of content: what a stored chunk holds, what a load writes, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from kvconform.ports import BlockTable, Direction, Request, Step
from kvconform_reference.lookup import Lookup
from kvconform_reference.mutants.base import Mutant, Patched
from kvconform_reference.scheduler import ReferenceScheduler
from kvconform_reference.transfer import HostChunks, HostCopier, Transfer
from kvconform_reference.worker import ReferenceWorker, StepMetadata


class _NoFences(ReferenceScheduler):
    def fences(self, step: Step) -> tuple[int, ...]:
        del step
        return ()


class _NoFence(Patched):
    scheduler_kind = _NoFences


class _Trusting(Lookup):
    """Every block of a stored chunk counts as valid."""

    def _usable(self, request: Request, group: int, chunk: int, first_block: int) -> bool:
        del first_block
        return super()._usable(request, group, chunk, 1 << 30)


class _PartialChunkTrusted(Patched):
    lookup_kind = _Trusting


class _MirroredWorker(ReferenceWorker):
    """Takes the blocks of a chunk in the opposite order when it loads."""

    def submit(self, transfer: Transfer) -> None:
        if transfer.direction is Direction.LOAD:
            last = self._blocks_per_chunk - 1
            parts = (
                replace(part, subs=tuple(last - sub for sub in part.subs))
                for part in transfer.parts
            )
            transfer = replace(transfer, parts=tuple(parts))
        super().submit(transfer)


class _HalfChunk(Patched):
    worker_kind = _MirroredWorker


@dataclass(frozen=True, slots=True, kw_only=True)
class _StrayMetadata(StepMetadata):
    strays: tuple[int, ...] = ()
    """Pool blocks that the ranks overwrite in this step."""


class _StrayScheduler(ReferenceScheduler):
    """Remembers the blocks that a request got in the first step after its load."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._fresh: set[str] = set()
        self._strays: tuple[int, ...] = ()

    def update_state_after_alloc(
        self, request: Request, blocks: BlockTable, num_external_tokens: int
    ) -> None:
        super().update_state_after_alloc(request, blocks, num_external_tokens)
        if num_external_tokens:
            self._fresh.add(request.request_id)

    def build_connector_meta(self, step: Step) -> StepMetadata:
        meta = super().build_connector_meta(step)
        strays, self._strays = self._strays, ()
        for scheduled in step.scheduled:
            if scheduled.request.request_id in self._fresh:
                self._fresh.discard(scheduled.request.request_id)
                self._strays += tuple(block for row in scheduled.appended for block in row)
        return _StrayMetadata(stores=meta.stores, loads=meta.loads, flush=meta.flush, strays=strays)


class _StrayWorker(ReferenceWorker):
    def register_kv_caches(self, kv_caches: Mapping[str, torch.Tensor]) -> None:
        super().register_kv_caches(kv_caches)
        self._caches = kv_caches

    def start_load_kv(self) -> None:
        super().start_load_kv()
        for cache in self._caches.values():
            cache[list(self.metadata.strays)] = 0


class _StrayWrite(Patched):
    scheduler_kind = _StrayScheduler
    worker_kind = _StrayWorker


class _RanksShareMemory(Patched):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.memory: list[HostChunks] = []
        for worker in self.workers:
            if isinstance(worker, _SharingWorker):
                worker.memory = self.memory


class _SharingWorker(ReferenceWorker):
    """Every rank keeps its chunks where rank 0 does."""

    memory: list[HostChunks]

    def register_kv_caches(self, kv_caches: Mapping[str, torch.Tensor]) -> None:
        super().register_kv_caches(kv_caches)
        if not self.memory:
            self.memory.append(
                HostChunks(self._layout, self._blocks_per_chunk, self._num_slots, pinned=False)
            )
        self._copier = HostCopier(self._layout, kv_caches, self.memory[0])


_RanksShareMemory.worker_kind = _SharingWorker


INTEGRITY = (
    Mutant(
        name="no-fence",
        fault="A store in flight is not completed before its source blocks get a new owner.",
        clauses=("COV-1",),
        factory=_NoFence,
        seed_cases=0,
        classes=("C4", "C10"),
    ),
    Mutant(
        name="partial-chunk-trusted",
        fault="A chunk that was stored without its first blocks is served as if it were whole.",
        clauses=("COV-1", "COV-2"),
        factory=_PartialChunkTrusted,
        seed_cases=0,
        classes=("C4",),
    ),
    Mutant(
        name="half-chunk",
        fault="A load takes the blocks of a chunk in the opposite order.",
        clauses=("COV-1",),
        factory=_HalfChunk,
        classes=("C14",),
    ),
    Mutant(
        name="stray-write",
        fault="A step after a load was complete, it overwrites the block that its request got next.",
        clauses=("INT-1",),
        factory=_StrayWrite,
        seed_cases=3,
        classes=("C4",),
    ),
    Mutant(
        name="ranks-share-memory",
        fault="All ranks keep the same chunk in the same place, so the last one to store wins.",
        clauses=("COV-1",),
        factory=_RanksShareMemory,
        seed_cases=0,
        classes=("C14",),
    ),
)
