"""One rank's KV memory: real tensors, written, poisoned and compared byte by byte."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from kvconform.engine.pattern import (
    POISON_BYTE,
    Lane,
    Owners,
    Prefix,
    lane_of,
    position_of,
)
from kvconform.ports import NULL_BLOCK, Layout, LayoutError

_POISON = int.from_bytes(bytes([POISON_BYTE]) * 8, "little", signed=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first byte of a comparison that is not its owner's; ``token`` is a position."""

    rank: int
    group: str
    layer: int
    token: int
    byte: int
    found: str
    slots: int
    """How many slots of this comparison differ."""

    def __str__(self) -> str:
        return (
            f"first difference at (group {self.group}, layer {self.layer}, token {self.token}, "
            f"byte {self.byte}) on rank {self.rank}; found there: {self.found}; "
            f"{self.slots} slot(s) differ"
        )


def _poisoned(shape: tuple[int, int, int], device: str) -> Iterable[torch.Tensor]:
    """The layers of one allocation of (layers, num_blocks, page_bytes)."""
    return torch.full(shape, POISON_BYTE, dtype=torch.uint8, device=device).unbind()


class RankMemory:
    """KV caches of one rank: for each layer a uint8 tensor of (num_blocks, page_bytes).

    With ``overlaid`` the layers of equal number of all groups share one tensor, as engines lay
    them out: a block id then has one group's bytes at a time, and the tensors lie one behind the
    other in one allocation.  All pages must be equal in size.
    """

    def __init__(
        self, layout: Layout, rank: int, device: str, owners: Owners, *, overlaid: bool = False
    ) -> None:
        self.layout = layout
        self.rank = rank
        self._owners = owners
        self.caches: dict[str, torch.Tensor] = {}
        self._views: list[list[torch.Tensor]] = []
        self._tensors: list[torch.Tensor] = []
        if overlaid and len({group.page_bytes for group in layout.groups}) > 1:
            raise LayoutError("groups whose pages differ in size cannot share their memory")
        if overlaid:
            layers = max(len(group.layer_names(rank)) for group in layout.groups)
            shape = (layers, layout.num_blocks, layout.groups[0].page_bytes)
            self._tensors = list(_poisoned(shape, device))
        for group in layout.groups:
            views = []
            for layer, name in enumerate(group.layer_names(rank)):
                if not overlaid:
                    shape = (1, layout.num_blocks, group.page_bytes)
                    self._tensors += _poisoned(shape, device)
                cache = self._tensors[layer if overlaid else -1]
                self.caches[name] = cache
                words = group.slot_bytes // 8
                views.append(
                    cache.view(torch.int64).view(layout.num_blocks, group.block_size, words)
                )
            self._views.append(views)

    def poison(self, blocks: Iterable[int]) -> None:
        """Overwrite whole blocks: whoever reads them now reads nobody's bytes."""
        ids = torch.tensor(sorted(blocks), dtype=torch.long)
        if not len(ids):
            return
        for cache in self._tensors:
            cache.view(torch.int64).index_fill_(0, ids.to(cache.device), _POISON)

    def take_out(self, blocks: Sequence[int]) -> list[torch.Tensor]:
        """The bytes of whole blocks, for `put_back`."""
        ids = torch.tensor(list(blocks), dtype=torch.long)
        return [cache[ids.to(cache.device)].clone() for cache in self._tensors]

    def put_back(self, blocks: Sequence[int], kept: Sequence[torch.Tensor]) -> None:
        """Make whole blocks hold again what `take_out` found in them."""
        ids = torch.tensor(list(blocks), dtype=torch.long)
        for cache, rows in zip(self._tensors, kept, strict=True):
            cache[ids.to(cache.device)] = rows

    def write(self, group: int, row: Sequence[int], prefix: Prefix, tokens: range) -> None:
        """The forward pass: fill the slots of token positions ``tokens``; null blocks are skipped."""
        positions, blocks, offsets = self._slots(group, row, tokens)
        for layer, view in enumerate(self._views[group]):
            words = prefix.slots(self._lane(group, layer), view.shape[2])[positions]
            view[blocks.to(view.device), offsets.to(view.device)] = torch.from_numpy(
                words.view(np.int64)
            ).to(view.device)

    def compare(self, group: int, row: Sequence[int], prefix: Prefix, tokens: range) -> tuple[int, Difference | None]:
        """Number of slots of ``tokens`` that were held and compared, and the first difference."""
        positions, blocks, offsets = self._slots(group, row, tokens)
        for layer, view in enumerate(self._views[group]):
            if not len(positions):
                break
            expected = prefix.slots(self._lane(group, layer), view.shape[2])[positions]
            found = view[blocks.to(view.device), offsets.to(view.device)].cpu().numpy().view(np.uint64)
            if np.array_equal(found, expected):
                continue
            wrong = (found != expected).any(axis=1)
            at = int(wrong.argmax())
            byte = int((found[at : at + 1].view(np.uint8) != expected[at : at + 1].view(np.uint8)).argmax())
            return len(positions), Difference(
                rank=self.rank,
                group=self.layout.groups[group].name,
                layer=layer,
                token=int(positions[at]),
                byte=byte,
                found=self._owners.name(found[at]),
                slots=int(wrong.sum()),
            )
        return len(positions), None

    def block_index(self, group: int, block: int) -> int:
        """Block index that the bytes in a block name themselves, -1 if they are not the group's."""
        slot = self._views[group][0][block, 0].cpu().numpy().view(np.uint64)
        position = int(position_of(slot)) if lane_of(slot) == self._lane(group, 0) else -1
        return -1 if position < 0 else position // self.layout.groups[group].block_size

    def content(self, group: int, block: int) -> int:
        """A word that tells whose bytes a block holds: it depends on all tokens up to its end.

        It is the first of the block's last slot in the first layer, see `Prefix.content`.
        """
        return int(self._views[group][0][block, -1, 0]) & (1 << 64) - 1

    def stray(self, group: int, block: int) -> str:
        """What the first slot of a block holds that is no request's own token; empty if all are."""
        lane = self._lane(group, 0)
        slots = self._views[group][0][block].cpu().numpy().view(np.uint64)
        right = self._owners.own(slots, lane)
        if right.all():
            return ""
        at = int((~right).argmax())
        index = self.block_index(group, block)
        where = f"block {index}" if index >= 0 else f"pool block {block}"
        name = self.layout.groups[group].name
        return f"{where} of group {name}, slot {at}: {self._owners.name(slots[at])}"

    def group_of(self, block: int) -> int:
        """Group whose bytes an overlaid block holds, judged by its first slot; -1 for nobody's."""
        lane = lane_of(self._views[0][0][block, 0].cpu().numpy().view(np.uint64))
        return lane.group if lane is not None else -1

    def _lane(self, group: int, layer: int) -> Lane:
        return Lane(group=group, layer=layer, rank=self.rank)

    def _slots(
        self, group: int, row: Sequence[int], tokens: range
    ) -> tuple[NDArray[np.int64], torch.Tensor, torch.Tensor]:
        """Positions of ``tokens`` whose block is held, with block ids and offsets."""
        positions = np.arange(tokens.start, tokens.stop, dtype=np.int64)
        block_size = self.layout.groups[group].block_size
        index, offsets = np.divmod(positions, block_size)
        blocks = np.asarray(row, dtype=np.int64)[index] if len(positions) else positions
        held = blocks != NULL_BLOCK
        if not held.all():
            positions, blocks, offsets = positions[held], blocks[held], offsets[held]
        return positions, torch.from_numpy(blocks), torch.from_numpy(offsets)
