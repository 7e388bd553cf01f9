"""Copies between pool blocks and host chunks: batched, on the device's own terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from kvconform.ports import Direction, Layout, TransferJob
from kvconform_reference.manager import OffloadKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One group's part of a transfer.

    Block ``blocks[i]`` of the pool goes with block ``subs[i]`` of the chunk in slot ``slots[i]``.
    """

    group: int
    blocks: tuple[int, ...]
    slots: tuple[int, ...]
    subs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One job, as the scheduler side sends it to every rank."""

    job_id: int
    direction: Direction
    parts: tuple[Part, ...]
    names: tuple[tuple[int, OffloadKey], ...] = ()
    """(slot, key) of the chunks that it is about."""
    request_id: str = ""
    """The request that waits for a load, or whose blocks are stored."""

    def as_job(self) -> TransferJob:
        """What a transfer gate is told."""
        blocks = tuple((part.group, block) for part in self.parts for block in part.blocks)
        return TransferJob(job_id=self.job_id, direction=self.direction, blocks=blocks)


class HostChunks:
    """Host memory of one rank: ``num_slots`` chunks, each large enough for any group.

    Memory is moved as 64-bit words where the pool's pages allow it, else as bytes.
    """

    def __init__(self, layout: Layout, blocks_per_chunk: int, num_slots: int, *, pinned: bool) -> None:
        self._layout = layout
        self._blocks_per_chunk = blocks_per_chunk
        block_bytes = max(sum(self._sizes(group)) for group in range(len(layout.groups)))
        shape = (num_slots, block_bytes * blocks_per_chunk)
        self._memory = torch.empty(shape, dtype=torch.uint8, pin_memory=pinned)

    def _sizes(self, group: int) -> list[int]:
        """Bytes that a block takes here in each layer, rounded up to whole words."""
        spec = self._layout.groups[group]
        return [-(-spec.page_bytes_of(layer) // 8) * 8 for layer in range(spec.layers)]

    def row(self, group: int, slot: int) -> memoryview:
        """All bytes of the chunk of ``group`` in one slot."""
        size = sum(self._sizes(group)) * self._blocks_per_chunk
        return memoryview(self._memory[slot, :size].numpy())  # type: ignore[arg-type]

    def clear(self, slots: Sequence[int]) -> None:
        """Fill these slots with zeros."""
        self._memory[list(slots)] = 0

    def view(self, group: int, layer: int, dtype: torch.dtype) -> torch.Tensor:
        """One layer's part of every chunk: (num_slots, blocks_per_chunk, units of a page)."""
        sizes, count = self._sizes(group), self._blocks_per_chunk
        part = self._memory.narrow(1, sum(sizes[:layer]) * count, sizes[layer] * count)
        page = self._layout.groups[group].page_bytes_of(layer)
        return part.view(len(part), count, -1)[:, :, :page].view(dtype)


class Copier(Protocol):
    """Starts copies; a started copy is asked whether it is done, or waited for."""

    def start(self, transfer: Transfer) -> Copy:
        """Start a copy."""


class Copy(Protocol):
    """A copy that was started."""

    def done(self) -> bool:
        """Whether all bytes are in place; completes what the host has to do."""

    def wait(self) -> None:
        """Return once all bytes are in place."""


class Done:
    """A copy that was over when it was started."""

    def done(self) -> bool:
        """It is."""
        return True

    def wait(self) -> None:
        """There is nothing to wait for."""


def _as_words(caches: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Caches in the widest units that their pages and strides are multiples of."""
    return {
        name: cache if any(n % 8 for n in _extents(cache)) else cache.view(torch.int64)
        for name, cache in caches.items()
    }


def _extents(cache: torch.Tensor) -> tuple[int, int, int]:
    return int(cache.shape[1]), int(cache.stride(0)), int(cache.storage_offset())


def _layers_here(
    layout: Layout, group: int, caches: Mapping[str, object]
) -> list[tuple[int, str]]:
    """Numbers and names of the group's layers that this rank has: not all, if ranks have their own."""
    names = enumerate(layout.groups[group].layer_names())
    return [(layer, name) for layer, name in names if name in caches]


class HostCopier:
    """Copies where pool and chunks are both in host memory: done when started."""

    def __init__(self, layout: Layout, caches: Mapping[str, torch.Tensor], host: HostChunks) -> None:
        self._layout = layout
        self._words = _as_words(caches)
        self._caches = {name: words.numpy() for name, words in self._words.items()}
        self._host = host

    def _chunks(self, group: int, layer: int, name: str) -> Any:
        return self._host.view(group, layer, self._words[name].dtype).numpy()

    def start(self, transfer: Transfer) -> Copy:
        """Copy at once, row by row: numpy moves a row as one piece, and starts soonest."""
        for part in transfer.parts:
            places = list(zip(part.blocks, part.slots, part.subs, strict=True))
            for layer, name in _layers_here(self._layout, part.group, self._caches):
                chunk, cache = self._chunks(part.group, layer, name), self._caches[name]
                for block, slot, sub in places:
                    if transfer.direction is Direction.STORE:
                        chunk[slot, sub] = cache[block]
                    else:
                        cache[block] = chunk[slot, sub]
        return Done()


@dataclass(slots=True)
class _StreamCopy:
    event: torch.cuda.Event
    land: list[Callable[[], object]]
    """What the host does once the device is through: scatter staged blocks into chunks."""

    def done(self) -> bool:
        if not self.event.query():  # type: ignore[no-untyped-call]
            return False
        for step in self.land:
            step()
        self.land = []
        return True

    def wait(self) -> None:
        self.event.synchronize()
        self.done()


class CudaCopier:
    """Copies between a CUDA pool and pinned host memory, on a stream for each direction.

    Blocks are gathered and scattered by index on both sides and cross the bus in one copy a
    layer.  A copy starts after everything that the compute stream was given before it.
    """

    def __init__(self, layout: Layout, caches: Mapping[str, torch.Tensor], host: HostChunks) -> None:
        self._layout = layout
        self._caches = _as_words(caches)
        self._host = host
        device = next(iter(caches.values())).device
        self._streams = {direction: torch.cuda.Stream(device) for direction in Direction}  # type: ignore[no-untyped-call]

    def start(self, transfer: Transfer) -> Copy:
        """Queue the copy on its stream."""
        stream = self._streams[transfer.direction]
        stream.wait_stream(torch.cuda.current_stream(stream.device))
        land: list[Callable[[], object]] = []
        with torch.cuda.stream(stream):
            for part in transfer.parts:
                for layer, name in _layers_here(self._layout, part.group, self._caches):
                    cache = self._caches[name]
                    chunk = self._host.view(part.group, layer, cache.dtype)
                    self._queue(transfer.direction, part, chunk, cache, land)
            event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            event.record(stream)
        return _StreamCopy(event, land)

    @staticmethod
    def _queue(
        direction: Direction,
        part: Part,
        chunk: torch.Tensor,
        cache: torch.Tensor,
        land: list[Callable[[], object]],
    ) -> None:
        blocks = torch.tensor(part.blocks).pin_memory().to(cache.device, non_blocking=True)
        at = (torch.tensor(part.slots), torch.tensor(part.subs))
        if direction is Direction.STORE:
            staged = torch.empty((len(part.blocks), cache.shape[1]), dtype=cache.dtype, pin_memory=True)
            staged.copy_(cache[blocks], non_blocking=True)
            land.append(lambda: chunk.index_put_(at, staged))
        else:
            staged = chunk[at].pin_memory()
            cache.index_copy_(0, blocks, staged.to(cache.device, non_blocking=True))
            # The staged bytes must live until the device has read them.
            land.append(staged.size)
