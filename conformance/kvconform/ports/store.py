"""The store port: only the place where chunks live, as a storage vendor implements it.

A store knows keys and bytes and nothing of requests.  It is put to the test by itself, and runs
inside the reference connector, so that every matrix of connectors runs on it too.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from kvconform.ports.errors import KvconformError


class StoreUnavailableError(KvconformError):
    """The place itself fails: its disk is full, access is denied, its server is gone.

    A store may raise it from any method with the cause as its text, instead of answering False.
    """


class StoreCapability(StrEnum):
    """What a store may claim.  A claim that is not kept is a failure."""

    PERSISTENT = "persistent"
    """What was put is found after `Store.close` by who opens the same setting again."""
    SHARED = "shared"
    """What one process has put, another one that has the same setting open finds."""
    BOUNDED = "bounded"
    """``capacity_bytes`` of the setting is kept."""
    EVICTS = "evicts"
    """Where there is no room, older objects make way: a put is never refused for want of room."""
    ANY_KEY = "any_key"
    """A key may hold every byte value, ``/`` and NUL among them, else letters and digits alone."""
    PARTIAL_READS = "partial_reads"
    """A get into a shorter buffer fills it with the front of the object, else it is a miss."""
    DELETES = "deletes"
    """Objects can be deleted at any time, but for leases that a setting asks for."""
    LEASES = "leases"
    """What an exists or a get found neither makes way nor is deleted for ``lease_s`` of the setting."""
    TTL = "ttl"
    """An object is found for ``ttl_s`` of the setting since its put, and not after; a get adds nothing."""
    OBJECT_FILES = "object_files"
    """`Store.object_file` tells where the bytes of a key are on disk."""
    ZERO_COPY = "zero_copy"
    """A get brings an object into the caller's buffer, and nowhere else in this process's memory."""
    REAL_TIME = "real_time"
    """Its time is the machine's, not ``clock`` of the setting: leases and TTL are not judged.

    It promises nothing; the others do.
    """

    @property
    def hint(self) -> str:
        """One sentence for messages."""
        return _HINTS[self]


_HINTS = {
    StoreCapability.PERSISTENT: "objects outlive the process that put them",
    StoreCapability.SHARED: "another process finds what was put",
    StoreCapability.BOUNDED: "the capacity in bytes is kept",
    StoreCapability.EVICTS: "older objects make way for new ones",
    StoreCapability.ANY_KEY: "keys may hold every byte value",
    StoreCapability.PARTIAL_READS: "a shorter buffer gets the front of an object",
    StoreCapability.DELETES: "objects can be deleted at any time",
    StoreCapability.LEASES: "what was looked up stays for the setting's lease",
    StoreCapability.TTL: "objects expire as the setting says",
    StoreCapability.OBJECT_FILES: "the file of an object can be told",
    StoreCapability.ZERO_COPY: "a get makes no second copy",
    StoreCapability.REAL_TIME: "its time is the machine's",
}


class BatchAnswer(StrEnum):
    """What a batch of which one key is absent answers for the others."""

    PER_KEY = "per_key"
    """Each key for itself."""
    PREFIX = "prefix"
    """The keys before the first absent one are there, all others are not."""
    ALL_OR_NOTHING = "all_or_nothing"
    """None is there."""


class Overwrite(StrEnum):
    """What a put under a key that is there does."""

    REPLACE = "replace"
    """The new bytes are there from then on."""
    KEEP = "keep"
    """The old bytes stay, and the put answers False."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreClaims:
    """What a store says of itself.

    ``exists_answer`` and ``get_answer`` say how batches answer.  Keys have 1 to
    ``max_key_bytes`` bytes, objects 1 to ``max_object_bytes``.
    """

    capabilities: frozenset[StoreCapability] = frozenset()
    exists_answer: BatchAnswer = BatchAnswer.PER_KEY
    get_answer: BatchAnswer = BatchAnswer.PER_KEY
    overwrite: Overwrite = Overwrite.REPLACE
    max_key_bytes: int = 512
    max_object_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSetting:
    """Which store is meant: two openings of an equal setting mean the same one.

    ``directory`` is a folder for whatever the store keeps on disk; ``namespace`` names model,
    dtype, layout and rank, and keys of two namespaces never meet.  ``capacity_bytes`` bounds the
    bytes of all objects of the namespace; None is no bound.  ``ttl_s`` and ``lease_s`` are seconds
    of ``clock``, for stores that claim ``ttl`` and ``leases``; None is no expiry and no lease.
    """

    directory: Path
    namespace: str = "model"
    capacity_bytes: int | None = None
    ttl_s: float | None = None
    lease_s: float | None = None
    clock: Callable[[], float] = field(default=time.monotonic, compare=False, repr=False)
    options: Mapping[str, object] = field(default_factory=dict)


class Store(ABC):
    """Batches of keys and buffers.  Every method answers one bool for each key, in their order.

    Buffers are flat ``memoryview`` objects of bytes, those of ``get`` writable.  Nothing raises
    for a key that is absent, damaged or locked: that is a False.  Only where the place itself
    fails, `StoreUnavailableError` may be raised: once it works again, so does the store.
    """

    claims: StoreClaims

    @abstractmethod
    def exists(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Whether a get would find each key."""

    @abstractmethod
    def put(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Keep the bytes of each buffer under its key; True where a get finds these bytes now."""

    @abstractmethod
    def get(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """Fill each buffer with its key's bytes; where False, what is in the buffer means nothing.

        A buffer of another size than the object is a False, but for ``partial_reads``.
        """

    @abstractmethod
    def delete(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Forget each key; True where it was there and is gone."""

    def object_file(self, key: bytes) -> Path | None:
        """The file that holds the bytes of ``key``, None if there is none."""
        del key
        return None

    def close(self) -> None:
        """Release what is held; what is persistent stays."""


StoreFactory = Callable[[StoreSetting], Store]
"""Opens one store.  Raises `kvconform.ports.KvconformError` if it cannot, with what to do.

It may have a method ``session()`` that returns a context manager, entered once in each test
process before any case: it starts the servers that the store needs, and ends them.  A
`KvconformError` of its ends the run with its message.  So does one of the first opening, and a
store whose place fails before the first case.
"""


class StoreProvider(Protocol):
    """An entry point of ``kvconform.stores``: turns NAME:ARG into a store factory."""

    def factory(self, argument: str) -> StoreFactory:
        """The factory for ``argument`` (empty if none was given); LookupError for an unknown one."""

    def names(self) -> Sequence[str]:
        """Arguments that this provider knows, for listings and suggestions."""

    def describe(self, argument: str) -> Mapping[str, str]:
        """At least ``version``."""
