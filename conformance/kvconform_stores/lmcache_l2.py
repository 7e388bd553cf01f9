"""LMCache: its L2 adapter that keeps objects as files, driven as its storage controllers drive it."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# Nothing is reported to anybody, and what is usual is not told. Read when the package is imported.
os.environ.setdefault("LMCACHE_TRACK_USAGE", "false")
os.environ.setdefault("LMCACHE_LOG_LEVEL", "ERROR")

import torch
from lmcache.v1.distributed.api import MemoryLayoutDesc, ObjectKey
from lmcache.v1.distributed.l2_adapters import create_l2_adapter
from lmcache.v1.distributed.l2_adapters.fs_l2_adapter import FSL2AdapterConfig
from lmcache.v1.memory_management import MemoryFormat, MemoryObjMetadata, TensorMemoryObj
from lmcache.v1.platform import consume_fd

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

_LIMIT_MS = 60_000
"""How long a task may take before it is taken for lost."""


class LmcacheL2Error(KvconformError):
    """The store does not open, or does not end what it was given: says why."""


def make(argument: str) -> StoreFactory:
    """The factory; it takes no argument."""
    if argument:
        raise LmcacheL2Error(f"lmcache-l2 takes no argument, not {argument!r}")
    return LmcacheL2Store


class LmcacheL2Store(Store):
    """One file an object; a key is the hash of a chunk, a namespace the name of a model.

    File names spell keys out in hex, so that their length is bounded.  LMCache answers for a
    whole task of puts: each key is a task of its own.
    """

    claims = StoreClaims(
        capabilities=frozenset(
            {
                StoreCapability.PERSISTENT,
                StoreCapability.SHARED,
                StoreCapability.ANY_KEY,
                StoreCapability.PARTIAL_READS,
                StoreCapability.DELETES,
                StoreCapability.OBJECT_FILES,
                StoreCapability.REAL_TIME,
            }
        ),
        exists_answer=BatchAnswer.PER_KEY,
        get_answer=BatchAnswer.PER_KEY,
        overwrite=Overwrite.KEEP,
        max_key_bytes=100,
    )

    def __init__(self, setting: StoreSetting) -> None:
        self._namespace = setting.namespace
        config = FSL2AdapterConfig.from_dict({"base_path": str(setting.directory)})
        try:
            self._adapter: Any = create_l2_adapter(config)
        except OSError as error:
            raise LmcacheL2Error(
                f"lmcache-l2 does not open in {setting.directory}: {error}"
            ) from error

    def exists(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Look each key up; the lock that goes with it is released at once."""
        names = self._named(keys)
        layout = {0: MemoryLayoutDesc([torch.Size([1])], [torch.uint8])}
        task = self._adapter.submit_lookup_and_lock_task(names, layout)
        found = self._answer(
            self._adapter.get_lookup_and_lock_event_fd(),
            lambda: self._adapter.query_lookup_and_lock_result(task),
        )
        answers = [found.test(at) for at in range(len(names))]
        self._adapter.submit_unlock(
            [name for name, there in zip(names, answers, strict=True) if there]
        )
        return answers

    def put(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Store each buffer; what LMCache calls a success is one here."""
        tasks = [
            self._adapter.submit_store_task([name], [_memory(bytearray(buffer))])
            for name, buffer in zip(self._named(keys), buffers, strict=True)
        ]
        done: dict[int, Any] = {}

        def ended() -> dict[int, Any] | None:
            done.update(self._adapter.pop_completed_store_tasks())
            return done if done.keys() >= set(tasks) else None

        self._answer(self._adapter.get_store_event_fd(), ended)
        return [bool(done[task].is_successful()) for task in tasks]

    def get(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Load each object into its buffer."""
        task = self._adapter.submit_load_task(self._named(keys), [_memory(one) for one in buffers])
        loaded = self._answer(
            self._adapter.get_load_event_fd(), lambda: self._adapter.query_load_result(task)
        )
        return [loaded.test(at) for at in range(len(keys))]

    def delete(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Delete each key; LMCache itself does not say whether there was anything."""
        before = self.exists(keys)
        self._adapter.delete(self._named(keys))
        after = self.exists(keys)
        return [was and not still for was, still in zip(before, after, strict=True)]

    def object_file(self, key: bytes) -> Path:
        """The file of a key."""
        file: Path = self._adapter._key_to_path(self._named([key])[0])  # noqa: SLF001 - told nowhere else
        return file

    def close(self) -> None:
        """End its thread."""
        self._adapter.close()

    def _named(self, keys: Sequence[bytes]) -> list[Any]:
        rank = ObjectKey.ComputeKVRank(1, 0, 1, 0)
        return [ObjectKey(chunk_hash=key, model_name=self._namespace, kv_rank=rank) for key in keys]

    def _answer(self, event_fd: int, query: Callable[[], Any]) -> Any:
        """Query once more each time that something ended, until there is an answer."""
        events = select.poll()
        events.register(event_fd, select.POLLIN)
        while (answer := query()) is None:
            if not events.poll(_LIMIT_MS):
                raise LmcacheL2Error(f"lmcache-l2: no task ended within {_LIMIT_MS // 1000} s")
            consume_fd(event_fd)
        return answer


def _memory(buffer: bytearray | memoryview) -> Any:
    """LMCache's memory object over the caller's own bytes."""
    shape = torch.Size([len(buffer)])
    metadata = MemoryObjMetadata(
        shape=shape,
        dtype=torch.uint8,
        address=0,
        phy_size=len(buffer),
        ref_count=1,
        fmt=MemoryFormat.KV_2LTD,
    )
    return TensorMemoryObj(torch.frombuffer(buffer, dtype=torch.uint8), metadata, None)
