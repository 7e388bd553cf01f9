"""A store in the memory of this process: for tests of what uses a store."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kvconform.ports import (
    BatchAnswer,
    Overwrite,
    Store,
    StoreCapability,
    StoreClaims,
    StoreSetting,
)


class Kept(NamedTuple):
    """One object, and when it was put (seconds of the setting's clock)."""

    data: bytes
    put_s: float


@dataclass(slots=True)
class _Shelf:
    """Objects, least recently used first, and until when leases keep them."""

    objects: OrderedDict[bytes, Kept] = field(default_factory=OrderedDict)
    leased_until_s: dict[bytes, float] = field(default_factory=dict)


_OPENED: dict[tuple[Path, str], _Shelf] = {}
"""By folder and namespace: who opens an equal setting again finds what is there."""


class MemoryStore(Store):
    """Objects in a dictionary, least recently used first; the oldest that no lease keeps make way."""

    claims = StoreClaims(
        capabilities=frozenset(
            {
                StoreCapability.BOUNDED,
                StoreCapability.EVICTS,
                StoreCapability.ANY_KEY,
                StoreCapability.DELETES,
                StoreCapability.LEASES,
                StoreCapability.TTL,
                StoreCapability.ZERO_COPY,
            }
        ),
        exists_answer=BatchAnswer.PER_KEY,
        get_answer=BatchAnswer.PER_KEY,
        overwrite=Overwrite.REPLACE,
    )

    def __init__(self, setting: StoreSetting) -> None:
        self._place = setting.directory, setting.namespace
        self._shelf = _OPENED.setdefault(self._place, _Shelf())
        self._objects = self._shelf.objects
        self._room = setting.capacity_bytes
        self._ttl_s, self._lease_s, self._clock = setting.ttl_s, setting.lease_s, setting.clock

    @property
    def _bytes(self) -> int:
        return sum(len(kept.data) for kept in self._objects.values())

    def exists(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Whether each key is there."""
        return [self._find(key) is not None for key in keys]

    def put(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Keep copies; what finds no room beside what is leased is refused."""
        return [self._put(key, bytes(data)) for key, data in zip(keys, buffers, strict=True)]

    def _put(self, key: bytes, data: bytes) -> bool:
        if self._room is not None:
            others = [other for other in self._objects if other != key]
            kept = sum(len(self._objects[one].data) for one in others if self._leased(one))
            if kept + len(data) > self._room:
                return False
            free = self._room - len(data) - sum(len(self._objects[one].data) for one in others)
            for one in others:
                if free >= 0:
                    break
                if not self._leased(one):
                    free += len(self._objects.pop(one).data)
        self._objects.pop(key, None)
        self._objects[key] = Kept(data, self._clock())
        return True

    def get(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Copy each object into its buffer if it has the buffer's size."""
        return [self._get(key, buffer) for key, buffer in zip(keys, buffers, strict=True)]

    def _get(self, key: bytes, buffer: memoryview) -> bool:
        data = self._find(key)
        if data is None or len(data) != len(buffer):
            return False
        self._objects.move_to_end(key)
        buffer[:] = data
        return True

    def _find(self, key: bytes) -> bytes | None:
        """The object, if its time is not over; it is leased from now on."""
        kept = self._objects.get(key)
        if kept is None:
            return None
        if self._expired(kept):
            del self._objects[key]
            return None
        if self._lease_s is not None:
            self._shelf.leased_until_s[key] = self._clock() + self._lease_s
        return kept.data

    def _expired(self, kept: Kept) -> bool:
        return self._ttl_s is not None and self._clock() - kept.put_s >= self._ttl_s

    def _leased(self, key: bytes) -> bool:
        now_s = self._clock()
        return now_s < self._shelf.leased_until_s.get(key, now_s)

    def delete(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Forget each key that no lease keeps."""
        return [self._delete(key) for key in keys]

    def _delete(self, key: bytes) -> bool:
        kept = self._objects.get(key)
        if kept is None or self._leased(key):
            return False
        del self._objects[key]
        return not self._expired(kept)

    def close(self) -> None:
        """Nothing outlives it: the objects are gone."""
        _OPENED.pop(self._place, None)
