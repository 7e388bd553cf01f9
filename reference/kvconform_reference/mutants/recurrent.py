"""Faults of recurrent groups: states of another place, and states taken for something else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvconform.ports import BlockTable, ChunkState, Request
from kvconform_reference.connector import ReferenceConnector
from kvconform_reference.demand import GroupDemand
from kvconform_reference.lookup import Lookup
from kvconform_reference.manager import OffloadKey
from kvconform_reference.mutants.base import Mutant, Patched
from kvconform_reference.scheduler import ReferenceScheduler


class _OtherState(ReferenceScheduler):
    """Loads another state than that of the boundary, where there is one."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._loads_now = False

    def update_state_after_alloc(
        self, request: Request, blocks: BlockTable, num_external_tokens: int
    ) -> None:
        self._loads_now = True
        super().update_state_after_alloc(request, blocks, num_external_tokens)
        self._loads_now = False

    def _key(self, request: Request, group: int, chunk: int) -> OffloadKey:
        own = super()._key(request, group, chunk)
        if not self._loads_now or not self.demands[group].is_recurrent:
            return own
        keys = [self.lookup.key(request, group, other) for other in self.others(request, chunk)]
        ready = (key for key in keys if key and self.manager.state(key) is ChunkState.READY)
        return next(ready, own)

    def others(self, request: Request, chunk: int) -> list[int]:
        """Chunks whose state it takes instead, the best first."""
        del request
        return [chunk - 1] if chunk else []


class _StateBefore(Patched):
    scheduler_kind = _OtherState


class _NewestState(_OtherState):
    def others(self, request: Request, chunk: int) -> list[int]:
        return list(range(len(request.block_hashes), chunk, -1))


class _StateNotClamped(Patched):
    scheduler_kind = _NewestState


@dataclass(frozen=True, slots=True, kw_only=True)
class _AsFull(GroupDemand):
    """Every state from the first on is needed."""

    @property
    def is_full(self) -> bool:
        return True

    @property
    def is_recurrent(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _AsSliding(GroupDemand):
    """A state is a window of one block, which can end anywhere."""

    @property
    def is_recurrent(self) -> bool:
        return False

    @property
    def reach(self) -> int:
        return self.group.block_size


class _Otherwise(ReferenceConnector):
    """Recurrent groups are taken for another kind."""

    kind: type[GroupDemand]

    def make_demands(self, *, seed_bound: bool) -> tuple[GroupDemand, ...]:
        return tuple(
            self.kind(group=demand.group, chunk=demand.chunk) if demand.is_recurrent else demand
            for demand in super().make_demands(seed_bound=seed_bound)
        )


class _StatesAsFull(_Otherwise):
    kind = _AsFull


class _StatesAsWindow(_Otherwise):
    kind = _AsSliding


class _WholeLimit(Lookup):
    def limit(self, request: Request, local_tokens: int) -> int:
        longest, num_tokens = super().limit(request, local_tokens), len(request.token_ids)
        return num_tokens if longest == num_tokens - 1 else longest


class _StateOfLastToken(Patched):
    lookup_kind = _WholeLimit


class _Lenient(Lookup):
    """Every state of a stored chunk counts as there."""

    def _usable(self, request: Request, group: int, chunk: int, first_block: int) -> bool:
        if not self.demands[group].is_recurrent:
            return super()._usable(request, group, chunk, first_block)
        key = self.key(request, group, chunk)
        return key is not None and self.manager.get(key) is not None


class _SkippedStateTrusted(Patched):
    lookup_kind = _Lenient


RECURRENT = (
    Mutant(
        name="state-before",
        fault="A load brings the state of the block before the one that ends at the boundary.",
        clauses=("HYB-1",),
        factory=_StateBefore,
        seed_cases=0,
        classes=("C6",),
    ),
    Mutant(
        name="state-not-clamped",
        fault="Where another group ends the hit earlier, the newest state is loaded all the same.",
        clauses=("HYB-1",),
        factory=_StateNotClamped,
        seed_cases=0,
        classes=("C6",),
    ),
    Mutant(
        name="states-as-full",
        fault="A recurrent group is taken for full attention, so that a hit needs every state.",
        clauses=("COV-3", "COV-5"),
        factory=_StatesAsFull,
        seed_cases=0,
        classes=("C6", "C2"),
    ),
    Mutant(
        name="states-as-window",
        fault="A recurrent group is taken for a window of one block, so that a hit ends anywhere.",
        clauses=("HYB-1",),
        factory=_StatesAsWindow,
        seed_cases=0,
        classes=("C6", "C13"),
    ),
    Mutant(
        name="state-of-last-token",
        fault="A prompt that ends with a state is hit as a whole, and its last token computed from that state.",
        clauses=("HYB-1",),
        factory=_StateOfLastToken,
        seed_cases=0,
        classes=("C6",),
    ),
    Mutant(
        name="skipped-state-trusted",
        fault="Of a chunk of several states those count as there that no step ever wrote.",
        clauses=("HYB-1", "COV-2"),
        factory=_SkippedStateTrusted,
        seed_cases=0,
        classes=("C4", "C6"),
    ),
)
