"""AIBrix kvcache: its RocksDB connector, as its L2 cache drives it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# Host memory is not pinned: there may be no GPU driver. Read when the package is imported.
os.environ.setdefault("TESTING_DISABLE_PIN_MEMORY", "True")

import torch
from aibrix_kvcache.l2.connectors import Connector, ConnectorConfig
from aibrix_kvcache.memory import ExternalMemoryRegion

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

_ROOT = "AIBRIX_KV_CACHE_OL_ROCKSDB_ROOT"


class AibrixStoreError(KvconformError):
    """The store does not open: says why."""


def make(argument: str) -> StoreFactory:
    """The factory; it takes no argument."""
    if argument:
        raise AibrixStoreError(f"aibrix takes no argument, not {argument!r}")
    return AibrixStore


class AibrixStore(Store):
    """One RocksDB a namespace.  Another process can open it once this one has closed it."""

    claims = StoreClaims(
        capabilities=frozenset(
            {
                StoreCapability.PERSISTENT,
                StoreCapability.ANY_KEY,
                StoreCapability.DELETES,
                StoreCapability.REAL_TIME,
            }
        ),
        exists_answer=BatchAnswer.PER_KEY,
        get_answer=BatchAnswer.PER_KEY,
        overwrite=Overwrite.REPLACE,
    )

    def __init__(self, setting: StoreSetting) -> None:
        os.environ[_ROOT] = str(setting.directory)
        self._executor = ThreadPoolExecutor(max_workers=2)
        self._runner = asyncio.Runner()
        config = ConnectorConfig(
            backend_name="ROCKSDB",
            namespace=setting.namespace,
            partition_id="kvconform",
            executor=self._executor,
        )
        self._connector: Any = Connector.create(config)
        opened = self._connector.open()
        if not opened.is_ok():
            raise AibrixStoreError(f"aibrix: RocksDB does not open in {setting.directory}: {opened}")

    def exists(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Whether each key is there."""
        return self._each(self._connector.exists(key) for key in keys)

    def put(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Put each buffer."""
        return self._each(
            self._connector.put(key, _region(bytearray(buffer)))
            for key, buffer in zip(keys, buffers, strict=True)
        )

    def get(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Get each object into its buffer."""
        return self._each(
            self._connector.get(key, _region(buffer))
            for key, buffer in zip(keys, buffers, strict=True)
        )

    def delete(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Delete each key; the connector itself does not say whether there was anything."""
        there = self.exists(keys)
        gone = self._each(self._connector.delete(key) for key in keys)
        return [was and done for was, done in zip(there, gone, strict=True)]

    def close(self) -> None:
        """Close the database, so that another process can open it."""
        self._connector.close()
        self._runner.close()
        self._executor.shutdown()

    def _each(self, calls: Any) -> list[bool]:
        """Await one call after another: each answers with a status of its own."""

        async def one_by_one() -> list[bool]:
            return [(await _status(call)).is_ok() for call in calls]

        return self._runner.run(one_by_one())


async def _status(call: Awaitable[Any]) -> Any:
    return await call


def _region(buffer: bytearray | memoryview) -> ExternalMemoryRegion:
    """A region over the caller's own bytes."""
    return ExternalMemoryRegion(torch.frombuffer(buffer, dtype=torch.uint8), 0, len(buffer))
