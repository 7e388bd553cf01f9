"""The scenario interface of an engine: what a stage needs to put a connector through its paces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kvconform.engine.events import Event
from kvconform.engine.faults import CopyFault
from kvconform.ports import Capability, ChunkState, RequestSpec


class Bench(Protocol):
    """One engine with one connector, for one case.

    A connector that raises makes the engine ``dead``: a `Broke` event is recorded and every
    further call does nothing.
    """

    events: list[Event]
    dead: bool
    capabilities: frozenset[Capability]
    name: str
    """The engine and its version, for records."""

    def chunk_tokens(self, group: int) -> int:
        """Tokens of one chunk of ``group``."""

    def prepare(self, spec: RequestSpec) -> None:
        """Make a request known, so that chunks of its prefix can be seeded."""

    def submit(self, request: str, *, stay_on_miss: bool = False) -> None:
        """Queue a prepared request; with ``stay_on_miss`` a miss leaves it waiting."""

    def allow_miss(self, request: str) -> None:
        """From now on a miss is admitted."""

    def step(self) -> None:
        """One engine step."""

    def ended(self, request: str) -> bool:
        """Whether the request has ended."""

    def idle(self) -> bool:
        """Whether nothing is left to do: no request, report, copy or pending work."""

    def reset_prefix_cache(self) -> None:
        """Forget every cached block of the pool."""

    def reset_cache(self) -> None:
        """Forget every cached block of the pool and have the connector reset its cache."""

    def fail_copies(self, fault: CopyFault) -> None:
        """From now on copies fail as ``fault`` says."""

    def hold(self, *, copies: bool) -> None:
        """Hold reports of every rank, and with ``copies`` the copies of its gate too."""

    def hold_copies(self) -> None:
        """Hold the copies of every rank's gate and let reports pass: whoever reports now lies."""

    def release(self) -> None:
        """End every hold."""

    def seed_chunk(self, request: str, group: int, chunk: int, state: ChunkState) -> None:
        """Put one chunk of the request's prefix into a state, with its own bytes."""

    def finish_chunk(self, request: str, group: int, chunk: int) -> None:
        """Complete the store or the other load of a seeded chunk."""

    def drop_chunk(self, request: str, group: int, chunk: int) -> None:
        """Take one chunk of the request's prefix away, as an eviction would."""

    def token_steps(self, request: str) -> Sequence[int]:
        """Computed tokens of the request after each of its steps."""

    def close(self) -> None:
        """Release what the connector holds."""
