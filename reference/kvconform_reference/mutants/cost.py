"""Faults of cost: right bytes, and too many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kvconform.ports import NULL_BLOCK, BlockTable, Request
from kvconform_reference.demand import GroupDemand, StoreMask
from kvconform_reference.mutants.base import Mutant, Patched
from kvconform_reference.scheduler import ReferenceScheduler
from kvconform_reference.transfer import Part


class _GreedyScheduler(ReferenceScheduler):
    """Loads the chunk before the first that is needed too, into the null block."""

    def update_state_after_alloc(
        self, request: Request, blocks: BlockTable, num_external_tokens: int
    ) -> None:
        super().update_state_after_alloc(request, blocks, num_external_tokens)
        if not num_external_tokens:
            return
        transfer = self._loads[-1]
        boundary = blocks.num_local_tokens + num_external_tokens
        more = []
        for group, demand in enumerate(self.demands):
            left = demand.needed(boundary).start - 1
            key = self.lookup.key(request, group, left) if left >= 0 else None
            chunk = self.manager.get(key) if key is not None else None
            if chunk is not None and chunk.ready:
                more.append(Part(group=group, blocks=(NULL_BLOCK,), slots=(chunk.slot,), subs=(0,)))
        self._loads[-1] = replace(transfer, parts=(*transfer.parts, *more))


class _LoadsTooMuch(Patched):
    scheduler_kind = _GreedyScheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class _NoMask(StoreMask):
    def wants(self, group: int, chunk: int, prompt_tokens: int) -> bool:
        del group, chunk, prompt_tokens
        return True


class _StoresEverything(Patched):
    def make_mask(self, demands: Sequence[GroupDemand]) -> StoreMask:
        return _NoMask(demands=tuple(demands), hash_block=self.layout.hash_block)


COST = (
    Mutant(
        name="loads-too-much",
        fault="A load brings the chunk before the first that is needed as well.",
        clauses=("COV-4",),
        factory=_LoadsTooMuch,
    ),
    Mutant(
        name="stores-everything",
        fault="Of windowed groups every chunk is stored, of use or not.",
        clauses=("COV-5",),
        factory=_StoresEverything,
        classes=("C2",),
    ),
)
