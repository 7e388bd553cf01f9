"""The pages of one layer: where they lie in memory, and the slots of tokens in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from kvconform.engine.pattern import POISON_BYTE, Words
from kvconform.ports import Group, Layout, Storage

Bytes = NDArray[np.uint8]

GUARD_BYTES = 40
"""Bytes between pages, or behind a block's pages, that belong to nobody."""

_WORD = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One allocation: shape (num_blocks, bytes of a row), of which the first ``used`` are pages.

    The pages of all ``groups`` whose blocks lie in it go by block id.
    """

    tensor: torch.Tensor
    used: int
    groups: frozenset[int]

    def rows(self) -> Bytes:
        """All bytes, on the host."""
        return self.tensor.cpu().numpy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """A layer's pages: ``cache`` is what a connector gets, (num_blocks, page bytes).

    ``slots`` is (num_blocks, block_size, slot), in words where ``by_words``, else in bytes;
    ``scales`` are the bytes behind them, None if there are none.
    """

    cache: torch.Tensor
    slots: torch.Tensor
    scales: torch.Tensor | None
    by_words: bool
    num_words: int
    """Words of the pattern that a token's slot and scale take."""

    @classmethod
    def over(cls, cache: torch.Tensor, group: Group, layer: int) -> Pages:
        """The slots of a layer's cache."""
        size, scale, count = group.slot_bytes_of(layer), group.scale_bytes, group.block_size
        whole = size % _WORD == 0 and scale == 0 and _is_aligned(cache)
        slots = cache[:, : count * size]
        if whole:
            slots = slots.view(torch.int64)
        scales = cache[:, count * size : count * (size + scale)] if scale else None
        return cls(
            cache=cache,
            slots=slots.view(len(cache), count, -1),
            scales=None if scales is None else scales.view(len(cache), count, -1),
            by_words=whole,
            num_words=-(-(size + scale) // _WORD),
        )

    def write(self, blocks: torch.Tensor, offsets: torch.Tensor, words: Words) -> None:
        """Fill slots: ``words`` has one row for each."""
        device = self.cache.device
        at = (blocks.to(device), offsets.to(device))
        if self.by_words:
            self.slots[at] = torch.from_numpy(words.view(np.int64)).to(device)
            return
        rows = torch.from_numpy(np.ascontiguousarray(words).view(np.uint8)).to(device)
        size = self.slots.shape[2]
        self.slots[at] = rows[:, :size]
        if self.scales is not None:
            self.scales[at] = rows[:, size : size + self.scales.shape[2]]

    def read(self, blocks: torch.Tensor, offsets: torch.Tensor) -> Bytes:
        """The bytes of slots, each with its scale behind it: a row each."""
        at = (blocks.to(self.cache.device), offsets.to(self.cache.device))
        found = self.slots[at].cpu().numpy()
        if self.by_words:
            return found.view(np.uint8)
        if self.scales is None:
            return found
        return np.concatenate([found, self.scales[at].cpu().numpy()], axis=1)

    def first_words(self, block: int, offset: int) -> Words:
        """The two words that tell whose a slot is."""
        slot = self.slots[block, offset].cpu().numpy().view(np.uint8)
        return slot[: 2 * _WORD].copy().view(np.uint64)

    def poison(self, blocks: torch.Tensor) -> None:
        """Overwrite whole pages."""
        if _is_aligned(self.cache):
            word = int.from_bytes(bytes([POISON_BYTE]) * _WORD, "little", signed=True)
            self.cache.view(torch.int64).index_fill_(0, blocks.to(self.cache.device), word)
        else:
            self.cache.index_fill_(0, blocks.to(self.cache.device), POISON_BYTE)


def _is_aligned(cache: torch.Tensor) -> bool:
    """Whether its rows can be taken for 64-bit words."""
    return not any(n % _WORD for n in (cache.shape[1], cache.stride(0), cache.storage_offset()))


def _fresh(num_blocks: int, row: int, device: str) -> torch.Tensor:
    return torch.full((num_blocks, row), POISON_BYTE, dtype=torch.uint8, device=device)


def regions_of(
    layout: Layout, position: int, device: str, layers: Iterable[int]
) -> Iterable[tuple[Region, Sequence[torch.Tensor]]]:
    """Fresh memory of these layers of one group, with their caches in order."""
    group = layout.groups[position]
    pages = [group.page_bytes_of(layer) for layer in layers]
    groups = frozenset({position})
    if layout.storage is Storage.PACKED:
        base = _fresh(layout.num_blocks, sum(pages) + GUARD_BYTES, device)
        starts = [sum(pages[:layer]) for layer in range(len(pages))]
        caches = [base[:, at : at + page] for at, page in zip(starts, pages, strict=True)]
        yield Region(tensor=base, used=sum(pages), groups=groups), caches
        return
    guard = GUARD_BYTES if layout.storage is Storage.STRIDED else 0
    for page in pages:
        base = _fresh(layout.num_blocks, page + guard, device)
        yield Region(tensor=base, used=page, groups=groups), [base[:, :page]]


def overlaid_regions(layout: Layout, device: str) -> Sequence[Region]:
    """One region for each layer number, shared by all groups; one behind the other in memory."""
    layers = max(group.layers for group in layout.groups)
    page = layout.groups[0].page_bytes
    shape = (layers, layout.num_blocks, page)
    base = torch.full(shape, POISON_BYTE, dtype=torch.uint8, device=device)
    groups = frozenset(range(len(layout.groups)))
    return [Region(tensor=tensor, used=page, groups=groups) for tensor in base.unbind()]
