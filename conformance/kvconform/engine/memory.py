"""One rank's KV memory: real tensors, written, poisoned and compared byte by byte."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from kvconform.engine.pages import Bytes, Pages, Region, overlaid_regions, regions_of
from kvconform.engine.pattern import (
    POISON_BYTE,
    Lane,
    Owners,
    Prefix,
    Words,
    lane_of,
    position_of,
)
from kvconform.ports import NULL_BLOCK, GroupKind, Layout, LayoutError


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
        self._pages: list[list[Pages]] = []
        self._regions: list[Region] = []
        if overlaid and len({group.page_bytes for group in layout.groups}) > 1:
            raise LayoutError("groups whose pages differ in size cannot share their memory")
        if overlaid:
            self._regions = list(overlaid_regions(layout, device))
        for position, group in enumerate(layout.groups):
            layers = group.layers_of(rank)
            caches = [region.tensor for region in self._regions[: len(layers)]] if overlaid else []
            for region, some in () if overlaid else regions_of(layout, position, device, layers):
                self._regions.append(region)
                caches += some
            self.caches.update(zip(group.layer_names(rank), caches, strict=True))
            self._pages.append(
                [Pages.over(cache, group, layer) for layer, cache in zip(layers, caches, strict=True)]
            )

    def poison(self, blocks: Iterable[int]) -> None:
        """Overwrite whole blocks: whoever reads them now reads nobody's bytes."""
        ids = torch.tensor(sorted(blocks), dtype=torch.long)
        if not len(ids):
            return
        for layers in self._pages:
            for pages in layers:
                pages.poison(ids)

    def take_out(self, blocks: Sequence[int]) -> list[torch.Tensor]:
        """The bytes of whole blocks, for `put_back`."""
        ids = torch.tensor(list(blocks), dtype=torch.long)
        return [region.tensor[ids.to(region.tensor.device)].clone() for region in self._regions]

    def put_back(self, blocks: Sequence[int], kept: Sequence[torch.Tensor]) -> None:
        """Make whole blocks hold again what `take_out` found in them."""
        ids = torch.tensor(list(blocks), dtype=torch.long)
        for region, rows in zip(self._regions, kept, strict=True):
            region.tensor[ids.to(region.tensor.device)] = rows

    def write(self, group: int, row: Sequence[int], prefix: Prefix, tokens: range) -> None:
        """The forward pass: fill the slots of token positions ``tokens``; null blocks are skipped.

        Blocks of a recurrent group get the state at their own end, the last one that at the end
        of ``tokens``.
        """
        if self._is_recurrent(group):
            size = self.layout.groups[group].block_size
            for index in sorted({token // size for token in tokens}):
                self._write_state(group, row, prefix, min(tokens.stop, (index + 1) * size))
            return
        positions, blocks, offsets = self._slots(group, row, tokens)
        for layer, pages in enumerate(self._pages[group]):
            pages.write(blocks, offsets, prefix.slots(self._lane(group, layer), pages.num_words)[positions])

    def _write_state(self, group: int, row: Sequence[int], prefix: Prefix, num_tokens: int) -> None:
        _, blocks, offsets = self._state_slots(group, row, num_tokens)
        for layer, pages in enumerate(self._pages[group]):
            if len(blocks):
                state = self._state(group, layer, prefix, num_tokens, pages.num_words)
                pages.write(blocks, offsets, state)

    def compare(self, group: int, row: Sequence[int], prefix: Prefix, tokens: range) -> tuple[int, Difference | None]:
        """Number of slots of ``tokens`` that were held and compared, and the first difference."""
        recurrent = self._is_recurrent(group)
        if recurrent:
            positions, blocks, offsets = self._state_slots(group, row, tokens.stop if tokens else 0)
        else:
            positions, blocks, offsets = self._slots(group, row, tokens)
        for layer, pages in enumerate(self._pages[group]):
            if not len(positions):
                break
            if recurrent:
                words = self._state(group, layer, prefix, tokens.stop, pages.num_words)
            else:
                words = prefix.slots(self._lane(group, layer), pages.num_words)[positions]
            found = pages.read(blocks, offsets)
            expected = np.ascontiguousarray(words).view(np.uint8)[:, : found.shape[1]]
            if np.array_equal(found, expected):
                continue
            wrong = (found != expected).any(axis=1)
            at = int(wrong.argmax())
            whole = found.shape[1] // 8 * 8
            return len(positions), Difference(
                rank=self.rank,
                group=self.layout.groups[group].name,
                layer=layer,
                token=int(positions[at]),
                byte=int((found[at] != expected[at]).argmax()),
                found=self._owners.name(found[at, :whole].copy().view(np.uint64)),
                slots=int(wrong.sum()),
            )
        return len(positions), None

    def block_index(self, group: int, block: int) -> int:
        """Block index that the bytes in a block name themselves, -1 if they are not the group's."""
        slot = self._pages[group][0].first_words(block, 0)
        position = int(position_of(slot)) if lane_of(slot) == self._lane(group, 0) else -1
        return -1 if position < 0 else position // self.layout.groups[group].block_size

    def content(self, group: int, block: int) -> int:
        """A word that tells whose bytes a block holds: it depends on all tokens up to its end.

        It is the first of the block's last slot in the first layer, see `Prefix.content`.
        """
        return int(self._pages[group][0].first_words(block, -1)[0])

    def stray(self, group: int, block: int) -> str:
        """What the first slot of a block holds that is no request's own token; empty if all are.

        The state of a recurrent group is none of any token's.
        """
        if self._is_recurrent(group):
            return ""
        lane, pages = self._lane(group, 0), self._pages[group][0]
        size = self.layout.groups[group].block_size
        slots = np.stack([pages.first_words(block, offset) for offset in range(size)])
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
        lane = lane_of(self._pages[0][0].first_words(block, 0))
        return lane.group if lane is not None else -1

    def snapshot(self) -> list[Bytes]:
        """Every byte of the rank's memory, for `strays`."""
        return [region.rows().copy() for region in self._regions]

    def strays(
        self, before: Sequence[Bytes], allowed: Collection[tuple[int, int]]
    ) -> str:
        """The first bytes that have changed outside the blocks ``allowed``, in words; "" for none.

        ``allowed`` are (group, block id), group -1 for any; bytes between pages are never allowed.
        """
        for region, old in zip(self._regions, before, strict=True):
            changed = region.rows() != old
            if not changed.any():
                continue
            blocks = [b for g, b in allowed if g == -1 or g in region.groups]
            changed[blocks, : region.used] = False
            if changed.any():
                return self._where(region, changed)
        return ""

    def damage(self) -> str:
        """What was written into the null block or between pages, which nobody does; "" for nothing."""
        for region in self._regions:
            rows = region.tensor
            if bool((rows[NULL_BLOCK] == POISON_BYTE).all()) and bool(
                (rows[:, region.used :] == POISON_BYTE).all()
            ):
                continue
            changed = region.rows() != POISON_BYTE
            changed[1:, : region.used] = False
            return self._where(region, changed)
        return ""

    def _where(self, region: Region, changed: NDArray[np.bool_]) -> str:
        block = int(changed.any(axis=1).argmax())
        byte = int(changed[block].argmax())
        names = ", ".join(self.layout.groups[group].name for group in sorted(region.groups))
        place = "the null block" if block == NULL_BLOCK else f"block {block}"
        if byte >= region.used:
            place = f"bytes behind the page of {place}"
        return f"{place} of group {names}, from byte {byte} on rank {self.rank}"

    def _is_recurrent(self, group: int) -> bool:
        return self.layout.groups[group].kind is GroupKind.RECURRENT

    def _state(
        self, group: int, layer: int, prefix: Prefix, num_tokens: int, num_words: int
    ) -> Words:
        rows = self.layout.groups[group].block_size
        return prefix.state(self._lane(group, layer), num_tokens, rows, num_words)

    def _state_slots(
        self, group: int, row: Sequence[int], num_tokens: int
    ) -> tuple[NDArray[np.int64], torch.Tensor, torch.Tensor]:
        """The rows of the page that holds the state after so many tokens, if it is held."""
        size = self.layout.groups[group].block_size
        block = row[(num_tokens - 1) // size] if num_tokens else NULL_BLOCK
        count = 0 if block == NULL_BLOCK else size
        positions = np.full(count, num_tokens - 1, dtype=np.int64)
        return positions, torch.full((count,), block, dtype=torch.long), torch.arange(count)

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
