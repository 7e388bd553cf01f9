"""Faults of a reset: what it forgets, what it keeps, and what comes after it."""

from __future__ import annotations

from typing import Any

from kvconform.ports import Direction
from kvconform_reference.manager import Chunk, ChunkManager
from kvconform_reference.mutants.base import Mutant, Patched
from kvconform_reference.scheduler import ReferenceScheduler


class _Deaf(ReferenceScheduler):
    def reset_cache(self) -> None:
        pass


class _ResetIgnored(Patched):
    scheduler_kind = _Deaf


class _Other(ReferenceScheduler):
    """Keeps its books in another way."""

    manager_kind: type[ChunkManager] = ChunkManager

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.manager.__class__ = self.manager_kind


class _ReadyOnlyManager(ChunkManager):
    def clear(self) -> None:
        for chunk in list(self._chunks.values()):
            if chunk.ready:
                self._remove(chunk)


class _ReadyOnlyScheduler(_Other):
    manager_kind = _ReadyOnlyManager


class _ResetOfReadyChunks(Patched):
    scheduler_kind = _ReadyOnlyScheduler


class _UnpinningManager(ChunkManager):
    def clear(self) -> None:
        for chunk in list(self._chunks.values()):
            self._remove(chunk)
            if chunk.loads:
                self._free.append(chunk.slot)

    def complete_load(self, chunks: Any) -> None:
        for chunk in chunks:
            chunk.loads -= 1


class _UnpinningScheduler(_Other):
    manager_kind = _UnpinningManager


class _ResetUnpins(Patched):
    scheduler_kind = _UnpinningScheduler


class _JobsForgotten(ReferenceScheduler):
    def reset_cache(self) -> None:
        super().reset_cache()
        for direction in Direction:
            self._jobs[direction].clear()


class _ResetForgetsJobs(Patched):
    scheduler_kind = _JobsForgotten


class _LeakingManager(ChunkManager):
    def _remove(self, chunk: Chunk) -> None:
        del self._chunks[chunk.key]
        chunk.forgotten = True


class _LeakingScheduler(_Other):
    manager_kind = _LeakingManager


class _ResetLeaks(Patched):
    scheduler_kind = _LeakingScheduler


RESETS = (
    Mutant(
        name="reset-ignored",
        fault="A reset of the cache forgets nothing.",
        clauses=("RST-1",),
        factory=_ResetIgnored,
        classes=("C11",),
    ),
    Mutant(
        name="reset-of-ready-chunks",
        fault="A reset forgets what is stored, and a store in flight makes a hit later.",
        clauses=("RST-1",),
        factory=_ResetOfReadyChunks,
        classes=("C11",),
    ),
    Mutant(
        name="reset-unpins",
        fault="A reset gives away the memory that a load in flight still reads.",
        clauses=("COV-1",),
        factory=_ResetUnpins,
        classes=("C11",),
    ),
    Mutant(
        name="reset-forgets-jobs",
        fault="A report about a copy from before a reset raises.",
        clauses=("LIF-1",),
        factory=_ResetForgetsJobs,
        classes=("C11",),
    ),
    Mutant(
        name="reset-leaks",
        fault="The memory of what a reset forgets is never used again.",
        clauses=("RST-2",),
        factory=_ResetLeaks,
        classes=("C11",),
    ),
)
