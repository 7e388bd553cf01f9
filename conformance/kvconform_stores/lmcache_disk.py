"""LMCache: its local disk backend, as its storage manager drives it."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Nothing is reported to anybody, and what is usual is not told. Read when the package is imported.
os.environ.setdefault("LMCACHE_TRACK_USAGE", "false")
os.environ.setdefault("LMCACHE_LOG_LEVEL", "ERROR")

import torch
from lmcache.utils import CacheEngineKey
from lmcache.v1.config import LMCacheEngineConfig
from lmcache.v1.memory_allocators.mixed_memory_allocator import MixedMemoryAllocator
from lmcache.v1.memory_management import MemoryFormat
from lmcache.v1.storage_backend.local_cpu_backend import LocalCPUBackend
from lmcache.v1.storage_backend.local_disk_backend import LocalDiskBackend

from kvconform.ports import (
    BatchAnswer,
    KvconformError,
    Overwrite,
    Store,
    StoreCapability,
    StoreClaims,
    StoreFactory,
    StoreSetting,
)

_GIB = 1024**3
_STAGING_BYTES = 64 << 20
"""Memory through which chunks go; a batch must fit, LMCache waits for room."""
_UNBOUNDED_GIB = 64.0
_LIMIT_S = 10.0
"""How long a put may take before it is taken for lost."""
_PAUSE_S = 0.002


class LmcacheDiskError(KvconformError):
    """The store does not open: says why."""


def make(argument: str) -> StoreFactory:
    """The factory; it takes no argument."""
    if argument:
        raise LmcacheDiskError(f"lmcache-disk takes no argument, not {argument!r}")
    return LmcacheDiskStore


class LmcacheDiskStore(Store):
    """One file an object, and an index in memory; a namespace is the name of a model.

    File names spell keys out in hex, so that their length is bounded.  A lookup of several keys
    is LMCache's ``batched_contains``, which counts those in front that are there.
    """

    claims = StoreClaims(
        capabilities=frozenset(
            {
                StoreCapability.BOUNDED,
                StoreCapability.EVICTS,
                StoreCapability.ANY_KEY,
                StoreCapability.DELETES,
                StoreCapability.OBJECT_FILES,
                StoreCapability.REAL_TIME,
            }
        ),
        exists_answer=BatchAnswer.PREFIX,
        get_answer=BatchAnswer.PER_KEY,
        overwrite=Overwrite.KEEP,
        max_key_bytes=100,
        max_object_bytes=_STAGING_BYTES // 4,
    )

    def __init__(self, setting: StoreSetting) -> None:
        self._namespace = setting.namespace
        room = setting.capacity_bytes
        config = LMCacheEngineConfig.from_defaults(
            local_cpu=False,
            local_disk=str(setting.directory),
            max_local_disk_size=_UNBOUNDED_GIB if room is None else room / _GIB,
        )
        self._memory: Any = LocalCPUBackend(
            config, dst_device="cpu", memory_allocator=MixedMemoryAllocator(_STAGING_BYTES)
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        try:
            self._backend: Any = LocalDiskBackend(
                config, self._loop, self._memory, dst_device="cpu"
            )
        except OSError as error:
            self._end_loop()
            raise LmcacheDiskError(
                f"lmcache-disk does not open in {setting.directory}: {error}"
            ) from error

    def exists(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """The keys in front that are there."""
        hits = self._backend.batched_contains(self._named(keys))
        return [at < hits for at in range(len(keys))]

    def put(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Put each buffer: True where LMCache calls back that it is on disk."""
        names = self._named(keys)
        written: dict[Any, threading.Event] = {name: threading.Event() for name in names}
        # Of a key that is there nothing is ever called back.
        to_come = [name for name in names if not self._backend.contains(name)]
        objects = [self._staged(buffer) for buffer in buffers]
        self._backend.batched_submit_put_task(
            names, objects, on_complete_callback=lambda name: written[name].set()
        )
        for one in objects:
            one.ref_count_down()
        deadline = time.monotonic() + _LIMIT_S
        for name in to_come:
            while not written[name].wait(_PAUSE_S) and time.monotonic() < deadline:
                # A put that is refused is told nowhere: it is neither under way nor there.
                if not self._backend.exists_in_put_tasks(name) and not self._backend.contains(name):
                    break
        return [written[name].is_set() for name in names]

    def get(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Get each object, and copy it where it has the size that is asked for."""
        answers = []
        for found, buffer in zip(
            self._backend.batched_get_blocking(self._named(keys)), buffers, strict=True
        ):
            fits = found is not None and len(found.byte_array) == len(buffer)
            if fits:
                buffer[:] = found.byte_array.cast("B")
            if found is not None:
                found.ref_count_down()
            answers.append(fits)
        return answers

    def delete(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Remove each key."""
        return [bool(self._backend.remove(name)) for name in self._named(keys)]

    def object_file(self, key: bytes) -> Path | None:
        """The file that the index has for a key."""
        entry = self._backend.dict.get(self._named([key])[0])
        return Path(entry.path) if entry is not None else None

    def close(self) -> None:
        """End its threads and release its memory."""
        self._backend.close()
        self._memory.close()
        self._end_loop()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _named(self, keys: Sequence[bytes]) -> list[Any]:
        return [
            CacheEngineKey(
                model_name=self._namespace,
                world_size=1,
                worker_id=0,
                chunk_hash=key,
                dtype=torch.uint8,
            )
            for key in keys
        ]

    def _staged(self, buffer: memoryview) -> Any:
        """A copy of the bytes in LMCache's own memory, where chunks are when they are put."""
        shape = torch.Size([len(buffer)])
        staged = self._memory.allocate(shape, torch.uint8, MemoryFormat.KV_2LTD, busy_loop=False)
        if staged is None:
            raise LmcacheDiskError(f"lmcache-disk: a batch is at most {_STAGING_BYTES} bytes")
        staged.byte_array.cast("B")[:] = buffer
        return staged
