"""Faults of pages: their width, what lies behind their slots, where they begin, and which are named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from kvconform.ports import NULL_BLOCK, Direction, Group, Layout, ScheduledRequest, TransferJob
from kvconform_reference.mutants.base import Mutant, Patched
from kvconform_reference.scheduler import ReferenceScheduler
from kvconform_reference.transfer import Copy, HostChunks, HostCopier, Part, Transfer
from kvconform_reference.worker import ReferenceWorker


class _BytesCopier(HostCopier):
    """Copies pages as bytes, of a width and from a place that a mutant may get wrong."""

    def __init__(self, layout: Layout, caches: Mapping[str, torch.Tensor], host: HostChunks) -> None:
        super().__init__(layout, caches, host)
        self._words = {name: self.seen(cache) for name, cache in caches.items()}
        self._caches = {name: cache.numpy() for name, cache in self._words.items()}

    def seen(self, cache: torch.Tensor) -> torch.Tensor:
        """The cache as it is taken to lie."""
        return cache

    def width(self, group: Group, layer: int) -> int:
        """Bytes of a page that are copied."""
        return group.page_bytes_of(layer)

    def start(self, transfer: Transfer) -> Copy:
        for part in transfer.parts:
            group = self._layout.groups[part.group]
            for layer, name in enumerate(group.layer_names()):
                chunk, cache = self._chunks(part.group, layer, name), self._caches[name]
                width = min(self.width(group, layer), cache.shape[1])
                for block, slot, sub in zip(part.blocks, part.slots, part.subs, strict=True):
                    if transfer.direction is Direction.STORE:
                        chunk[slot, sub, :width] = cache[block, :width]
                    else:
                        cache[block, :width] = chunk[slot, sub, :width]
        return super().start(replace(transfer, parts=()))


class _Worker(ReferenceWorker):
    """A worker with a copier of the mutant's kind."""

    copier_kind: type[HostCopier] = _BytesCopier

    def register_kv_caches(self, kv_caches: Mapping[str, torch.Tensor]) -> None:
        super().register_kv_caches(kv_caches)
        host = HostChunks(self._layout, self._blocks_per_chunk, self._num_slots, pinned=False)
        self._copier = self.copier_kind(self._layout, kv_caches, host)


class _FirstLayersWidth(_BytesCopier):
    def width(self, group: Group, layer: int) -> int:
        del layer
        return group.page_bytes_of(0)


class _FirstWidthForAllWorker(_Worker):
    copier_kind = _FirstLayersWidth


class _FirstWidthForAll(Patched):
    worker_kind = _FirstWidthForAllWorker


class _SlotsOnly(_BytesCopier):
    def width(self, group: Group, layer: int) -> int:
        return group.block_size * group.slot_bytes_of(layer)


class _ScalesForgottenWorker(_Worker):
    copier_kind = _SlotsOnly


class _ScalesForgotten(Patched):
    worker_kind = _ScalesForgottenWorker


class _WholeWords(_BytesCopier):
    def width(self, group: Group, layer: int) -> int:
        return group.page_bytes_of(layer) // 8 * 8


class _OddBytesLostWorker(_Worker):
    copier_kind = _WholeWords


class _OddBytesLost(Patched):
    worker_kind = _OddBytesLostWorker


class _Contiguous(_BytesCopier):
    def seen(self, cache: torch.Tensor) -> torch.Tensor:
        return cache.as_strided(cache.shape, (cache.shape[1], 1))


class _StridesIgnoredWorker(_Worker):
    copier_kind = _Contiguous


class _StridesIgnored(Patched):
    worker_kind = _StridesIgnoredWorker


class _PastPage(HostCopier):
    """Loads end at the next whole 64 bytes."""

    def __init__(self, layout: Layout, caches: Mapping[str, torch.Tensor], host: HostChunks) -> None:
        super().__init__(layout, caches, host)
        self._raw = caches

    def start(self, transfer: Transfer) -> Copy:
        done = super().start(transfer)
        if transfer.direction is Direction.LOAD:
            for part in transfer.parts:
                for name in self._layout.groups[part.group].layer_names():
                    for block in part.blocks:
                        self._overrun(self._raw[name], block)
        return done

    @staticmethod
    def _overrun(cache: torch.Tensor, block: int) -> None:
        page, begin = cache.shape[1], cache.storage_offset() + block * cache.stride(0)
        everything = cache.as_strided((cache.untyped_storage().nbytes(),), (1,), 0)
        everything[begin + page : begin + -(-page // 64) * 64] = 0


class _WritesPastPageWorker(_Worker):
    copier_kind = _PastPage


class _WritesPastPage(Patched):
    worker_kind = _WritesPastPageWorker


class _NullFilled(_Worker):
    """A load is rounded up by a copy into the null block, of which nobody is told."""

    copier_kind = HostCopier

    def submit(self, transfer: Transfer) -> None:
        super().submit(transfer)
        if transfer.direction is Direction.LOAD and self._gate is not None:
            parts = tuple(
                Part(group=part.group, blocks=(NULL_BLOCK,), slots=part.slots[:1], subs=part.subs[:1])
                for part in transfer.parts
            )
            self.copier.start(replace(transfer, parts=parts)).wait()


class _NullBlockFilled(Patched):
    worker_kind = _NullFilled


class _ByPosition(ReferenceScheduler):
    """A store takes a chunk's blocks by their place in the table, null blocks too."""

    def offers(self, scheduled: ScheduledRequest) -> list[Any]:
        offers = []
        for offer in super().offers(scheduled):
            table, group = scheduled.table.blocks, offer.key[1]
            at = table[group].index(offer.blocks[0]) - offer.subs[0]
            offers.append(
                replace(
                    offer,
                    blocks=tuple(table[group][at : at + offer.size]),
                    subs=tuple(range(offer.size)),
                )
            )
        return offers


class _NullBlockStored(Patched):
    scheduler_kind = _ByPosition


class _TwiceWorker(ReferenceWorker):
    """A store job names its first block once more."""

    def submit(self, transfer: Transfer) -> None:
        if transfer.direction is Direction.LOAD or self._gate is None:
            super().submit(transfer)
            return
        job = transfer.as_job()
        again = TransferJob(
            job_id=job.job_id, direction=job.direction, blocks=job.blocks + job.blocks[:1]
        )
        self._gate.submit(again, lambda: self.copier.start(transfer).wait())


class _BlockTwice(Patched):
    worker_kind = _TwiceWorker


PAGES = (
    Mutant(
        name="first-width-for-all",
        fault="Every layer of a group is copied with the width of its first one.",
        clauses=("COV-1",),
        factory=_FirstWidthForAll,
        seed_cases=0,
        classes=("C14", "C13"),
    ),
    Mutant(
        name="scales-forgotten",
        fault="Of a page its slots are copied, and not the scales behind them.",
        clauses=("COV-1",),
        factory=_ScalesForgotten,
        seed_cases=0,
        classes=("C14",),
    ),
    Mutant(
        name="odd-bytes-lost",
        fault="Of a page so many bytes are copied as make whole words.",
        clauses=("COV-1",),
        factory=_OddBytesLost,
        seed_cases=0,
        classes=("C14",),
    ),
    Mutant(
        name="strides-ignored",
        fault="A block is looked for as if pages lay one behind the other.",
        clauses=("INT-2",),
        factory=_StridesIgnored,
        seed_cases=0,
        classes=("C13", "C14"),
    ),
    Mutant(
        name="writes-past-page",
        fault="A load fills a page up to the next 64 bytes, although it ends before.",
        clauses=("INT-2",),
        factory=_WritesPastPage,
        seed_cases=0,
        classes=("C14",),
    ),
    Mutant(
        name="null-block-filled",
        fault="A load also writes into the null block.",
        clauses=("INT-2",),
        factory=_NullBlockFilled,
        seed_cases=None,
        classes=("C4",),
    ),
    Mutant(
        name="null-block-stored",
        fault="A store takes blocks by their place in the table, null blocks for those that are gone.",
        clauses=("INT-3",),
        factory=_NullBlockStored,
        seed_cases=0,
        classes=("C4",),
    ),
    Mutant(
        name="block-twice",
        fault="A store job names a block twice.",
        clauses=("INT-3",),
        factory=_BlockTwice,
        seed_cases=None,
        classes=("C4",),
    ),
)
