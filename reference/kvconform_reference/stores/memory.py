"""A store in the memory of this process: for tests of what uses a store."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from kvconform.ports import (
    BatchAnswer,
    Overwrite,
    Store,
    StoreCapability,
    StoreClaims,
    StoreSetting,
)

_OPENED: dict[tuple[Path, str], OrderedDict[bytes, bytes]] = {}
"""Objects by (folder, namespace): who opens an equal setting again finds them."""


class MemoryStore(Store):
    """Objects in a dictionary, least recently used first; the oldest make way."""

    claims = StoreClaims(
        capabilities=frozenset(
            {
                StoreCapability.BOUNDED,
                StoreCapability.EVICTS,
                StoreCapability.ANY_KEY,
                StoreCapability.DELETES,
            }
        ),
        exists_answer=BatchAnswer.PER_KEY,
        get_answer=BatchAnswer.PER_KEY,
        overwrite=Overwrite.REPLACE,
    )

    def __init__(self, setting: StoreSetting) -> None:
        self._objects = _OPENED.setdefault((setting.directory, setting.namespace), OrderedDict())
        self._place = setting.directory, setting.namespace
        self._room = setting.capacity_bytes
        self._bytes = sum(map(len, self._objects.values()))

    def exists(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Whether each key is there."""
        return [key in self._objects for key in keys]

    def put(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Keep copies; what is larger than the whole store is refused."""
        return [self._put(key, bytes(data)) for key, data in zip(keys, buffers, strict=True)]

    def _put(self, key: bytes, data: bytes) -> bool:
        if self._room is not None and len(data) > self._room:
            return False
        self._bytes += len(data) - len(self._objects.pop(key, b""))
        self._objects[key] = data
        while self._room is not None and self._bytes > self._room:
            _, gone = self._objects.popitem(last=False)
            self._bytes -= len(gone)
        return True

    def get(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Copy each object into its buffer if it has the buffer's size."""
        return [self._get(key, buffer) for key, buffer in zip(keys, buffers, strict=True)]

    def _get(self, key: bytes, buffer: memoryview) -> bool:
        data = self._objects.get(key)
        if data is None or len(data) != len(buffer):
            return False
        self._objects.move_to_end(key)
        buffer[:] = data
        return True

    def delete(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Forget each key."""
        answers = []
        for key in keys:
            gone = self._objects.pop(key, None)
            self._bytes -= len(gone or b"")
            answers.append(gone is not None)
        return answers

    def close(self) -> None:
        """Nothing outlives it: the objects are gone."""
        _OPENED.pop(self._place, None)
