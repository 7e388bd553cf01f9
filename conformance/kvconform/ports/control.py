"""Ports by which the suite puts a connector into a situation: single chunks, single copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from kvconform.ports.request import Request


class ChunkState(StrEnum):
    """State of one chunk as a lookup may find it."""

    MISSING = "missing"
    PENDING = "pending"
    """Its store is in flight."""
    READY = "ready"
    LOADING = "loading"
    """Ready, and another request's load of it is in flight."""


class ChunkControl(Protocol):
    """Puts single chunks into a state, through the connector's own store path and books."""

    def seed(
        self, request: Request, group: int, chunk: int, state: ChunkState, block_ids: Sequence[int]
    ) -> None:
        """Make chunk ``chunk`` of ``group`` of the request's prefix ``pending``, ``ready`` or ``loading``.

        ``block_ids`` are pool blocks that hold the chunk's bytes, in order; they stay as they
        are until the chunk is finished or dropped.
        """

    def finish(self, request: Request, group: int, chunk: int) -> None:
        """The store (pending) or the other request's load (loading) completes: now ``ready``."""

    def drop(self, request: Request, group: int, chunk: int) -> None:
        """The chunk is gone, as if evicted."""


class Direction(StrEnum):
    """Which way a transfer goes."""

    STORE = "store"
    LOAD = "load"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferJob:
    """One copy between the pool and the connector's memory.

    ``blocks`` are (group, pool block id): the sources of a store, the destinations of a load.
    """

    job_id: int
    direction: Direction
    blocks: tuple[tuple[int, int], ...]


class TransferGate(Protocol):
    """Decides when each copy of one rank happens, and whether it fails.  Supplied by the engine.

    A copy reads its source when it completes, not when it is submitted.
    """

    def submit(self, job: TransferJob, perform: Callable[[], None]) -> None:
        """Take a copy; ``perform`` is called once, when it completes."""

    def finished(self) -> list[tuple[int, bool]]:
        """(job id, success) of the copies that completed since the last call."""

    def wait(self, job_ids: Iterable[int]) -> None:
        """Return once these copies are complete; overrides a hold."""
