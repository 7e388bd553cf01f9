"""Faults in what becomes of a copy that fails."""

from __future__ import annotations

from typing import Any

from kvconform.ports import Direction
from kvconform_reference.manager import Chunk, ChunkManager
from kvconform_reference.mutants.base import Mutant, Patched
from kvconform_reference.scheduler import Job, ReferenceScheduler
from kvconform_reference.worker import ReferenceWorker


class _Hopeful(ReferenceWorker):
    """Takes every copy in one direction for one that succeeded."""

    blind: Direction = Direction.LOAD

    def _finished(self) -> list[tuple[int, bool]]:
        stores = self.blind is Direction.STORE
        return [
            (job, success or (job in self._storing) is stores) for job, success in super()._finished()
        ]


class _LoadSuccessIgnored(Patched):
    worker_kind = _Hopeful


class _HopefulOfStores(_Hopeful):
    blind = Direction.STORE


class _StoreSuccessIgnored(Patched):
    worker_kind = _HopefulOfStores


class _Repeating(ReferenceWorker):
    """Reports load errors again in the next step."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._before: set[int] = set()

    def get_block_ids_with_load_errors(self) -> set[int]:
        told = super().get_block_ids_with_load_errors()
        again, self._before = self._before, told
        return told | again


class _LoadErrorsTwice(Patched):
    worker_kind = _Repeating


class _FirstBlockOnly(ReferenceWorker):
    def get_block_ids_with_load_errors(self) -> set[int]:
        return set(sorted(super().get_block_ids_with_load_errors())[:1])


class _LoadErrorsOfOneBlock(Patched):
    worker_kind = _FirstBlockOnly


class _Sweeping(ReferenceWorker):
    """Reports the blocks of all loads of the step in which one failed."""

    def start_load_kv(self) -> None:
        super().start_load_kv()
        if self.metadata.loads:
            self._step = {b for t in self.metadata.loads for part in t.parts for b in part.blocks}

    def get_block_ids_with_load_errors(self) -> set[int]:
        told = super().get_block_ids_with_load_errors()
        return told | self._step if told else told


class _LoadErrorsOfOthers(Patched):
    worker_kind = _Sweeping


class _Endless(ReferenceWorker):
    """Reports the blocks of a failed load and never its end."""

    def get_finished(self, finished_request_ids: set[str]) -> tuple[set[str], set[str]]:
        loading = {job: t.request_id for job, t in self._loading.items()}
        stores, loads = super().get_finished(finished_request_ids)
        failed = {loading[job] for job in self._completed.failed if job in loading}
        return stores, loads - failed


class _FailedLoadNotOver(Patched):
    worker_kind = _Endless


class _LoadFailedError(RuntimeError):
    pass


class _Strict(ReferenceWorker):
    """Takes for granted that copies succeed."""

    def _finished(self) -> list[tuple[int, bool]]:
        finished = super()._finished()
        if not all(success for _, success in finished):
            raise _LoadFailedError("a copy failed")
        return finished


class _FailureRaises(Patched):
    worker_kind = _Strict


class _LastRankDecides(ReferenceScheduler):
    """What the last rank to report says goes for all."""

    def _reported(
        self, direction: Direction, job_id: int, rank: int, failed: frozenset[int]
    ) -> Job | None:
        job = super()._reported(direction, job_id, rank, failed)
        if job is not None:
            job.failed = job_id in failed
        return job


class _LastRankCounts(Patched):
    scheduler_kind = _LastRankDecides


class _Leaking(ChunkManager):
    """Forgets the slot of a chunk whose store failed."""

    def complete_store(self, chunk: Chunk, *, success: bool = True) -> None:
        if success:
            super().complete_store(chunk)
        elif not chunk.forgotten:
            del self._chunks[chunk.key]
            chunk.forgotten = True


class _LeakingScheduler(ReferenceScheduler):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.manager.__class__ = _Leaking


class _FailedStoreLeaks(Patched):
    scheduler_kind = _LeakingScheduler


class _PinningScheduler(ReferenceScheduler):
    """Ends a load only if it succeeded."""

    def loaded(self, job: Job) -> None:
        if not job.failed:
            super().loaded(job)


class _FailedLoadPins(Patched):
    scheduler_kind = _PinningScheduler


FAULTS = (
    Mutant(
        name="load-success-ignored",
        fault="A load that failed is taken for one that succeeded.",
        clauses=("FLT-1",),
        factory=_LoadSuccessIgnored,
        classes=("C12",),
    ),
    Mutant(
        name="store-success-ignored",
        fault="A store that failed is taken for one that succeeded.",
        clauses=("FLT-3",),
        factory=_StoreSuccessIgnored,
        classes=("C12",),
    ),
    Mutant(
        name="load-errors-twice",
        fault="The blocks of a failed load are reported in two steps.",
        clauses=("FLT-2",),
        factory=_LoadErrorsTwice,
        classes=("C12",),
    ),
    Mutant(
        name="load-errors-of-one-block",
        fault="Of a failed load only the first block is reported.",
        clauses=("FLT-1",),
        factory=_LoadErrorsOfOneBlock,
        classes=("C12",),
    ),
    Mutant(
        name="load-errors-of-others",
        fault="Where one load fails, the blocks of all loads of its step are reported.",
        clauses=("FLT-2",),
        factory=_LoadErrorsOfOthers,
        classes=("C12",),
    ),
    Mutant(
        name="failed-load-not-over",
        fault="A failed load is never reported as over.",
        clauses=("TRM-1",),
        factory=_FailedLoadNotOver,
        classes=("C12",),
    ),
    Mutant(
        name="failure-raises",
        fault="A copy that fails raises in the engine.",
        clauses=("LIF-1",),
        factory=_FailureRaises,
        classes=("C12",),
    ),
    Mutant(
        name="last-rank-counts",
        fault="A store that failed on one rank counts as stored if it succeeds on the last one.",
        clauses=("FLT-3",),
        factory=_LastRankCounts,
        classes=("C12",),
    ),
    Mutant(
        name="failed-store-leaks",
        fault="The memory of a chunk whose store failed is never used again.",
        clauses=("FLT-4",),
        factory=_FailedStoreLeaks,
        classes=("C12",),
    ),
    Mutant(
        name="failed-load-pins",
        fault="The chunks of a failed load stay marked as being loaded.",
        clauses=("TRM-1",),
        factory=_FailedLoadPins,
        classes=("C12",),
    ),
)
