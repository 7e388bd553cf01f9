"""The scenario interface of an engine: what a stage needs to put a connector through its paces."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from kvconform.engine.events import Event
from kvconform.engine.faults import CopyFault
from kvconform.ports import Capability, ChunkState, Direction, RequestSpec


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

    @property
    def max_running(self) -> int | None:
        """Requests that run at once at most; None for no limit but the pool."""

    def chunk_tokens(self, group: int) -> int:
        """Tokens of one chunk of ``group``."""

    def prepare(self, spec: RequestSpec) -> None:
        """Make a request known, so that chunks of its prefix can be seeded."""

    def computed_elsewhere(self, request: str) -> None:
        """A prepared request was computed in another process."""

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

    def abort(self, request: str) -> None:
        """The client no longer wants a request: it ends, in whatever phase it is."""

    def preempt(self, request: str) -> None:
        """Preempt a request in the next step; one that is not running goes on."""

    def gone(self, request: str) -> bool:
        """Whether a request has ended and none of its blocks is kept: its id may come again."""

    def hold_ranks(
        self, ranks: Collection[int], *, reports: bool, copies: Collection[Direction]
    ) -> None:
        """Hold reports of some ranks, and their copies of some directions."""

    def release_ranks(
        self, ranks: Collection[int], *, reports: bool, copies: Collection[Direction]
    ) -> None:
        """End such holds."""

    def last_first(self) -> None:
        """From now on what is due together comes in reverse: copies of a rank, reports of ranks."""

    def left_over(self) -> Sequence[str]:
        """What is not as it was before the first request, in words; asked once all is at rest."""

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
