"""Copies that fail: which ones, and what they leave behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kvconform.engine.events import CopyFailed, Event
from kvconform.engine.memory import RankMemory
from kvconform.ports import Direction, TransferJob


class How(StrEnum):
    """What a copy that fails has done by then."""

    NOTHING = "nothing"
    """No byte was moved."""
    PART = "part"
    """Some blocks were moved, the others hold nobody's bytes where they went."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyFault:
    """Which copies fail, and how.

    Of the jobs in ``direction`` that move a block of ``request`` (in group number ``group`` and
    among block indices ``blocks``, None: any) the ``nth`` one and ``times - 1`` after it fail on
    ``rank`` (None: on every rank, each counted by itself).
    """

    direction: Direction
    request: str
    how: How = How.NOTHING
    group: int | None = None
    blocks: frozenset[int] | None = None
    rank: int | None = None
    nth: int = 1
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One block of a job: group number and block index (-1: nobody's).

    Of a load, ``request`` is the one whose block is filled, empty if there is none.  Of a store,
    ``content`` tells whose bytes are read: see `RankMemory.content`.
    """

    group: int
    index: int
    request: str = ""
    content: int = 0


Owns = Callable[[str, int, Place], bool]
"""Whether the block of a store holds bytes of this request, on this rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyDue:
    """A copy that is about to happen; ``places`` go with ``job.blocks``."""

    job: TransferJob
    perform: Callable[[], None]
    memory: RankMemory
    places: Sequence[Place]
    step: int


@dataclass(slots=True)
class _Armed:
    fault: CopyFault
    number: int
    """Faults that were armed before it."""
    seen: dict[int, int] = field(default_factory=dict)
    """Jobs that the fault is about, so far, by rank."""

    def strikes(self, rank: int) -> bool:
        """Count one job that the fault is about; whether it fails."""
        count = self.seen[rank] = self.seen.get(rank, 0) + 1
        return self.fault.nth <= count < self.fault.nth + self.fault.times


class CopyFaults:
    """The faults of one case, and the copies that they make fail."""

    def __init__(self, owns: Owns, record: Callable[[Event], None]) -> None:
        self._owns = owns
        self._record = record
        self._armed: list[_Armed] = []

    @property
    def armed(self) -> bool:
        """Whether any copy is to fail."""
        return bool(self._armed)

    def arm(self, fault: CopyFault) -> None:
        """From now on these copies fail."""
        self._armed.append(_Armed(fault, len(self._armed)))

    def fail(self, copy: CopyDue) -> bool:
        """Have the copy fail, if it is one that is to; False leaves it alone."""
        for armed in self._armed:
            meant = self._meant(armed.fault, copy)
            if meant and armed.strikes(copy.memory.rank):
                self._fail(armed, copy, meant)
                return True
        return False

    def _meant(self, fault: CopyFault, copy: CopyDue) -> list[int]:
        """Positions in the job of the blocks that the fault is about."""
        rank, direction = copy.memory.rank, copy.job.direction
        if fault.direction is not direction or fault.rank not in {None, rank}:
            return []
        load = direction is Direction.LOAD
        return [
            at
            for at, place in enumerate(copy.places)
            if place.index >= 0
            and fault.group in {None, place.group}
            and (fault.blocks is None or place.index in fault.blocks)
            and (place.request == fault.request if load else self._owns(fault.request, rank, place))
        ]

    def _fail(self, armed: _Armed, copy: CopyDue, meant: Sequence[int]) -> None:
        how, job, memory, places = armed.fault.how, copy.job, copy.memory, copy.places
        lost = list(range(len(places)))
        if how is How.PART:
            # Where no block is named, the copy ends short: what comes last was not moved.
            whole = len(meant) == len(places)
            lost = list(meant[len(meant) // 2 :] if whole else meant)
        layout = memory.layout
        names = [(layout.groups[place.group].name, place.index) for place in places]
        self._record(
            CopyFailed(
                step=copy.step,
                direction=job.direction,
                rank=memory.rank,
                job=job.job_id,
                blocks=tuple(names),
                ids=tuple(block for _, block in job.blocks),
                lost=tuple(lost),
                contents=tuple(place.content for place in places),
                requests=tuple(place.request for place in places),
                how=how,
                fault=armed.number,
            )
        )
        if how is How.NOTHING:
            return
        spoiled = [job.blocks[at][1] for at in lost]
        if job.direction is Direction.LOAD:
            copy.perform()
            memory.poison(spoiled)
            return
        # The bytes are spoiled on their way: the pool's own are as before once the copy is over.
        kept = memory.take_out(spoiled)
        memory.poison(spoiled)
        try:
            copy.perform()
        finally:
            memory.put_back(spoiled, kept)
