"""What happened in a case, in order: the only thing that checks look at."""

from __future__ import annotations

from dataclasses import dataclass

from kvconform.engine.memory import Difference
from kvconform.ports import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened in engine step ``step``."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted(Event):
    """A request entered the queue with ``num_tokens`` prompt tokens."""

    request: str
    num_tokens: int

    def __str__(self) -> str:
        return f"step {self.step}: {self.request} submitted, prompt of {self.num_tokens} tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Event):
    """A lookup's verdict: ``tokens`` beyond the ``local`` ones, None for later."""

    request: str
    num_tokens: int
    local: int
    tokens: int | None
    is_async: bool

    @property
    def boundary(self) -> int | None:
        """Total tokens of the hit (0: a miss, None: later)."""
        if self.tokens is None:
            return None
        return self.local + self.tokens if self.tokens else 0

    def __str__(self) -> str:
        if self.tokens is None:
            said = "later"
        else:
            how = "asynchronous" if self.is_async else "synchronous"
            said = f"{how} hit of {self.tokens} tokens" if self.tokens else "miss"
        return f"step {self.step}: {self.request} asked with {self.local} local tokens: {said}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted(Event):
    """Room was made for a hit: the blocks held, per group as (first index, count)."""

    request: str
    boundary: int
    held: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        parts = ", ".join(f"{count} from block {first}" for first, count in self.held)
        return f"step {self.step}: {self.request} admitted at boundary {self.boundary}; holds {parts}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied(Event):
    """A copy completed.  ``blocks`` are (group name, block index).

    Of a store, ``contents`` tell whose bytes these blocks hold: see `RankMemory.content`.
    ``block_ids`` are the job's pool blocks, as (group, block id), in the same order.
    """

    direction: Direction
    rank: int
    job: int
    blocks: tuple[tuple[str, int], ...]
    contents: tuple[int, ...] = ()
    block_ids: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        listed = ", ".join(f"({group}, {index})" for group, index in self.blocks[:12])
        more = f" and {len(self.blocks) - 12} more" if len(self.blocks) > 12 else ""  # noqa: PLR2004
        return f"step {self.step}: {self.direction} job {self.job} on rank {self.rank}: {listed}{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded(Event):
    """A load was reported complete on every rank; ``slots`` were compared."""

    request: str
    boundary: int
    slots: int
    difference: Difference | None

    def __str__(self) -> str:
        found = str(self.difference) if self.difference else f"{self.slots} slots right"
        return f"step {self.step}: load of {self.request} up to {self.boundary} complete: {found}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read(Event):
    """A step read ``slots`` slots of a request."""

    request: str
    slots: int
    difference: Difference | None

    def __str__(self) -> str:
        found = str(self.difference) if self.difference else "right"
        return f"step {self.step}: {self.request} reads {self.slots} slots: {found}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Strayed(Event):
    """Bytes were found changed ``where`` no load was for."""

    where: str

    def __str__(self) -> str:
        return f"step {self.step}: the connector writes outside of its loads: {self.where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed(Event):
    """A step computed token positions ``[start, end)`` of a request."""

    request: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"step {self.step}: {self.request} computes tokens {self.start}..{self.end - 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened(Event):
    """Anything else worth a line: a preemption, a hold, a reset, a failed load."""

    request: str
    what: str

    def __str__(self) -> str:
        return f"step {self.step}: {self.request + ' ' if self.request else ''}{self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(Event):
    """A request ended with ``num_tokens`` tokens."""

    request: str
    num_tokens: int

    def __str__(self) -> str:
        return f"step {self.step}: {self.request} ended with {self.num_tokens} tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Broke(Event):
    """A method of the connector raised, or returned what the port does not allow."""

    method: str
    text: str

    def __str__(self) -> str:
        return f"step {self.step}: {self.method}: {self.text}"
