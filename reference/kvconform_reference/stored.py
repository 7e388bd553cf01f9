"""The reference with its chunks in a store: host memory is where they pass through.

A rank puts its part of each chunk into a namespace of its own.  When all ranks have, the scheduler
side puts a description of the chunk into another, and that makes it findable: also for a
connector that opens the same stores later, in another process.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from kvconform.ports import (
    Capability,
    ChunkState,
    Direction,
    Layout,
    Setting,
    Store,
    StoreCapability,
    StoreFactory,
    StoreSetting,
    TransferGate,
)
from kvconform_reference.connector import ReferenceConnector
from kvconform_reference.manager import Chunk, ChunkManager, OffloadKey
from kvconform_reference.stores.guarded import GuardedStore
from kvconform_reference.transfer import Copier, Copy, Done, HostChunks, Transfer
from kvconform_reference.worker import ReferenceWorker

_LACKING_BYTES = 8


def store_key(key: OffloadKey) -> bytes:
    """What a store calls a chunk: letters and digits, which every store takes."""
    return f"{key[0].hex()}g{key[1]}".encode()


class StoreCopier:
    """Copies between pool and host as ``inner`` does, and between host and store before or after.

    Nothing stays in host memory, so that what a load brings comes from the store.
    """

    def __init__(self, inner: Copier, host: HostChunks, store: Store) -> None:
        self._inner = inner
        self._host = host
        self._store = store
        self.failed: set[int] = set()
        """Jobs whose bytes the store did not take, or did not bring."""

    def start(self, transfer: Transfer) -> Copy:
        """Copy at once; a failure is noted in ``failed``."""
        slots = [slot for slot, _ in transfer.names]
        keys = [store_key(key) for _, key in transfer.names]
        rows = [self._host.row(key[1], slot) for slot, key in transfer.names]
        if transfer.direction is Direction.LOAD:
            found = all(self._store.get(keys, rows))
            if found:
                self._inner.start(transfer).wait()
        else:
            self._host.clear(slots)
            self._inner.start(transfer).wait()
            found = all(self._put(key, row) for key, row in zip(keys, rows, strict=True))
        self._host.clear(slots)
        if not found:
            self.failed.add(transfer.job_id)
        return Done()

    def _put(self, key: bytes, row: memoryview) -> bool:
        """Put one chunk; what is there under its key may be an older, shorter version of it."""
        if all(self._store.put([key], [row])) or self._is_there(key, row):
            return True
        self._store.delete([key])
        return all(self._store.put([key], [row]))

    def _is_there(self, key: bytes, row: memoryview) -> bool:
        kept = memoryview(bytearray(len(row)))
        return all(self._store.get([key], [kept])) and kept == row


class StoredManager(ChunkManager):
    """Books whose chunks can be found by who opens the store later."""

    def __init__(self, num_slots: int, books: Store, ranks: Sequence[Store]) -> None:
        super().__init__(num_slots)
        self._books = books
        self._ranks = tuple(ranks)
        self._gone: set[OffloadKey] = set()
        """Chunks that were removed here: a store may keep them longer."""
        self._adopts = True

    def get(self, key: OffloadKey) -> Chunk | None:
        """The chunk, found in the store if it is not in the books."""
        chunk = super().get(key)
        return chunk if chunk is not None else self._adopt(key)

    def state(self, key: OffloadKey) -> ChunkState | None:
        """The state that a lookup sees."""
        self.get(key)
        return super().state(key)

    def prepare_store(
        self, offers: Sequence[tuple[OffloadKey, int]], access: int | None = None
    ) -> list[Chunk]:
        """Take slots for chunks that are neither in the books nor in the store."""
        for key, _ in offers:
            self.get(key)
        return super().prepare_store(offers, access)

    def complete_store(self, chunk: Chunk, *, success: bool = True) -> None:
        """All ranks have put their part: describe the chunk, or take the parts away again."""
        if success and not chunk.forgotten:
            self._gone.discard(chunk.key)
            success = self._describe(chunk)
        super().complete_store(chunk, success=success)
        if not chunk.ready:
            self._delete(chunk.key)

    def clear(self) -> None:
        """Remove every chunk; what others have put before is not looked for any more."""
        self._adopts = False
        super().clear()

    def _describe(self, chunk: Chunk) -> bool:
        lacking = sum(1 << block for block in chunk.lacking)
        said = chunk.first_block.to_bytes(_LACKING_BYTES, "little") + lacking.to_bytes(_LACKING_BYTES, "little")
        key = [store_key(chunk.key)]
        if all(self._books.put(key, [memoryview(said)])):
            return True
        self._books.delete(key)
        return all(self._books.put(key, [memoryview(said)]))

    def _adopt(self, key: OffloadKey) -> Chunk | None:
        if not self._adopts or key in self._gone:
            return None
        said = memoryview(bytearray(2 * _LACKING_BYTES))
        if not all(self._books.get([store_key(key)], [said])):
            return None
        if not self._free:
            self._make_room(1, self.new_access())
        if not self._free:
            return None
        lacking = int.from_bytes(said[_LACKING_BYTES:], "little")
        chunk = Chunk(key, self._free.pop(), int.from_bytes(said[:_LACKING_BYTES], "little"))
        chunk.lacking = frozenset(block for block in range(8 * _LACKING_BYTES) if lacking >> block & 1)
        chunk.ready = True
        self._chunks[key] = chunk
        self.use([key], self.new_access())
        return chunk

    def _remove(self, chunk: Chunk) -> None:
        super()._remove(chunk)
        self._gone.add(chunk.key)
        self._delete(chunk.key)

    def _delete(self, key: OffloadKey) -> None:
        """The description first: parts without one are nobody's."""
        for store in (self._books, *self._ranks):
            store.delete([store_key(key)])


class StoredWorker(ReferenceWorker):
    """A rank that puts its chunks into a store."""

    def __init__(self, *args: Any, store: Store) -> None:
        super().__init__(*args)
        self._store = store

    def register_kv_caches(self, kv_caches: Mapping[str, torch.Tensor]) -> None:
        """Make the host memory, and copiers on to the device and to the store."""
        super().register_kv_caches(kv_caches)
        self._copier = StoreCopier(self.copier, self.host, self._store)

    def shutdown(self) -> None:
        """Close the store."""
        self._store.close()

    def _finished(self) -> list[tuple[int, bool]]:
        over = super()._finished()
        failed = self.copier.failed if isinstance(self.copier, StoreCopier) else set()
        return [(job, success and job not in failed) for job, success in over]


class _FirstWorker(StoredWorker):
    """Closes the books as well, and removes a folder that was made for one case."""

    books: Store
    folder: Path | None = None

    def shutdown(self) -> None:
        """Close what was opened for all ranks."""
        super().shutdown()
        self.books.close()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


class StoredConnector(ReferenceConnector):
    """The reference over one store."""

    def __init__(self, store: StoreFactory, layout: Layout, setting: Setting) -> None:
        folder = setting.state_dir
        own = None if folder is not None else Path(tempfile.mkdtemp(prefix="kvconform-chunks-"))
        names = ["books", *(f"rank{rank}" for rank in range(layout.world))]
        opened = self._open(store, folder or own or Path(), layout, names)
        self._books, *self._stores = [GuardedStore(one, setting.tell) for one in opened]
        super().__init__(layout, setting)
        first = self.workers[0]
        if isinstance(first, _FirstWorker):
            first.books, first.folder = self._books, own
        if StoreCapability.PERSISTENT in self._books.claims.capabilities:
            self.capabilities |= {Capability.PERSISTENT}
        else:
            self.capabilities -= {Capability.PERSISTENT}

    @staticmethod
    def _open(
        store: StoreFactory, folder: Path, layout: Layout, names: Iterable[str]
    ) -> list[Store]:
        said = repr((layout.groups, layout.hash_block, layout.blocks_per_chunk, layout.world))
        digest = hashlib.blake2b(said.encode(), digest_size=8).hexdigest()
        return [
            store(StoreSetting(directory=folder, namespace=f"{layout.model}-{digest}-{name}"))
            for name in names
        ]

    def make_manager(self, num_slots: int) -> ChunkManager:
        """Books over the store."""
        return StoredManager(num_slots, self._books, self._stores)

    def make_worker(self, num_slots: int, gate: TransferGate | None) -> ReferenceWorker:
        """A rank over its own namespace."""
        rank = getattr(self, "_made", 0)
        self._made = rank + 1
        kind = _FirstWorker if rank == 0 else StoredWorker
        per_chunk = self.layout.blocks_per_chunk
        return kind(self.layout, per_chunk, num_slots, gate, store=self._stores[rank])


class OverStore:
    """Makes connectors over ``store``, one for each case."""

    def __init__(self, store: StoreFactory) -> None:
        self.store = store
        self.session = getattr(store, "session", None)
        """What runs the store's servers, None if it needs none."""

    def __call__(self, layout: Layout, setting: Setting) -> StoredConnector:
        """One connector for one case."""
        return StoredConnector(self.store, layout, setting)
