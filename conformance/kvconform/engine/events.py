"""What happened in a case, in order: the only thing that checks look at."""

from __future__ import annotations

from collections.abc import Collection
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

    Of a store, ``contents`` tell whose bytes these blocks hold: see `RankMemory.content`; of a load,
    ``requests`` are the holders of these blocks, empty where nobody waits for one.  In a case with drafts ``strays`` names slots that a store read and that hold no request's own tokens.
    ``block_ids`` are the job's pool blocks, as (group, block id), in the same order.
    """

    direction: Direction
    rank: int
    job: int
    blocks: tuple[tuple[str, int], ...]
    contents: tuple[int, ...] = ()
    requests: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    block_ids: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        listed = ", ".join(f"({group}, {index})" for group, index in self.blocks[:12])
        more = f" and {len(self.blocks) - 12} more" if len(self.blocks) > 12 else ""  # noqa: PLR2004
        return f"step {self.step}: {self.direction} job {self.job} on rank {self.rank}: {listed}{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyFailed(Event):
    """A copy failed, as the case wanted.  ``blocks`` are (group name, block index).

    ``ids`` are pool blocks, ``lost`` the positions of those that were not moved.  Of a store
    ``contents`` tell whose bytes were to be read, of a load ``requests`` whose blocks these are.
    """

    direction: Direction
    rank: int
    job: int
    blocks: tuple[tuple[str, int], ...]
    ids: tuple[int, ...]
    lost: tuple[int, ...]
    contents: tuple[int, ...]
    requests: tuple[str, ...]
    how: str
    fault: int
    """Which of the case's faults it was, in the order in which they were said."""

    def __str__(self) -> str:
        listed = ", ".join(f"({group}, {index})" for group, index in (self.blocks[at] for at in self.lost[:12]))
        more = f" and {len(self.lost) - 12} more" if len(self.lost) > 12 else ""  # noqa: PLR2004
        return (
            f"step {self.step}: {self.direction} job {self.job} on rank {self.rank} FAILS, "
            f"not moved: {listed}{more}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadErrors(Event):
    """A rank said of pool blocks ``ids`` that their load failed; ``holders`` are the requests with each of them."""

    rank: int
    ids: tuple[int, ...]
    holders: tuple[frozenset[str], ...]

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.ids[:12])) + (" ..." if len(self.ids) > 12 else "")  # noqa: PLR2004
        return f"step {self.step}: rank {self.rank} reports load errors in pool blocks {listed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFailed(Event):
    """The load for a hit of ``boundary`` tokens is over, and some of its blocks were said to have failed.

    ``difference`` is the first in a block that was not.  The request goes on from ``valid`` tokens.
    """

    request: str
    boundary: int
    valid: int
    difference: Difference | None

    def __str__(self) -> str:
        found = f"; in another block: {self.difference}" if self.difference else ""
        return (
            f"step {self.step}: load of {self.request} up to {self.boundary} failed, "
            f"it goes on from {self.valid}{found}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset(Event):
    """The engine forgot its cached blocks and had the connector reset its cache.

    ``in_flight`` are (rank, job id) of the copies that were submitted before and are not complete.
    ``at_rest`` says that nothing was left to do.
    """

    in_flight: tuple[tuple[int, int], ...]
    at_rest: bool

    def __str__(self) -> str:
        flying = f", {len(self.in_flight)} copies in flight" if self.in_flight else ""
        return f"step {self.step}: the cache is reset{flying}"


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
class Told(Event):
    """The connector told that chunks are ``stored``, ``removed``, or all ``cleared``.

    ``chunks`` are (group, a request that has the chunk, chunk index, what its last block holds on
    each rank, as `RankMemory.content` tells it); of a key that no request has, the request is empty.
    """

    kind: str
    chunks: tuple[tuple[int, str, int, tuple[int, ...]], ...] = ()

    def __str__(self) -> str:
        if self.kind == "cleared":
            return f"step {self.step}: tells that all chunks are cleared"
        names = [
            f"chunk {chunk} of {request} in group {group}" if request else f"an unknown key of group {group}"
            for group, request, chunk, _ in self.chunks
        ]
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""  # noqa: PLR2004
        return f"step {self.step}: tells that {', '.join(names[:6])}{more}: {self.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted(Event):
    """A step computed drafts at positions ``[start, end)`` of a request: up to ``right`` they are right.

    Slots from ``right`` on hold a wrong token's KV until they are computed again.
    """

    request: str
    start: int
    right: int
    end: int

    def __str__(self) -> str:
        said = f"accepts {self.right - self.start}" if self.right > self.start else "accepts none"
        return f"step {self.step}: {self.request} drafts tokens {self.start}..{self.end - 1}, {said}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed(Event):
    """After this step ``tokens`` tokens of a request are both computed and known to the scheduler.

    ``kept_at`` is the count of computed tokens by which the allocator decided what it still keeps.
    Recorded with speculative decoding only: without, it is what `Computed` says.
    """

    request: str
    tokens: int
    kept_at: int

    def __str__(self) -> str:
        return f"step {self.step}: {self.request} has {self.tokens} confirmed tokens computed"


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
class Reported(Event):
    """A rank's report named a request whose load or stores ended on it.

    ``fault`` says why the report is none that the engine waits for; it is empty if it is.
    """

    rank: int
    request: str
    what: str
    fault: str = ""

    def __str__(self) -> str:
        told = f"step {self.step}: rank {self.rank} reports the end of the {self.what} of {self.request!r}"
        return f"{told} {self.fault}" if self.fault else told


@dataclass(frozen=True, slots=True, kw_only=True)
class Broke(Event):
    """A method of the connector raised, or returned what the port does not allow."""

    method: str
    text: str

    def __str__(self) -> str:
        return f"step {self.step}: {self.method}: {self.text}"


def skew(
    what: str, ranks: Collection[int], copies: Collection[Direction], *, reports: bool
) -> str:
    """What is held or released on which ranks, in words."""
    parts = [f"copies of the direction {direction}" for direction in sorted(copies)]
    parts += ["reports"] if reports else []
    listed = ", ".join(map(str, ranks))
    return f"{' and '.join(parts)} of rank {listed} {what}"
