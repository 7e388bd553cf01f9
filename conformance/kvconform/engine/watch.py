"""Watches what a connector writes: the blocks that a load is for, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kvconform.engine.calls import ConnectorBrokeError
from kvconform.engine.memory import RankMemory
from kvconform.engine.pages import Bytes
from kvconform.ports import Direction, Layout, TransferJob


def check_ids(job: TransferJob, layout: Layout) -> None:
    """Raises `ConnectorBrokeError` for a job about blocks that the pool does not have."""
    for group, block in job.blocks:
        if not 0 <= block < layout.num_blocks or not -1 <= group < len(layout.groups):
            raise ConnectorBrokeError(
                "TransferGate.submit",
                f"{job.direction} job {job.job_id} names block {block} of group {group}; the pool has "
                f"blocks 0 to {layout.num_blocks - 1}, the layout groups 0 to {len(layout.groups) - 1}",
            )


class WriteWatch:
    """Compares one rank's whole memory before and after a connector may write to it.

    Nothing else writes in between.  ``tell`` gets the first place of each finding, in words.
    """

    def __init__(self, memory: RankMemory, tell: Callable[[str], None]) -> None:
        self._memory = memory
        self._tell = tell
        self._before: list[list[Bytes]] = []

    def begin(self) -> None:
        """From now on writes are watched; watches may be nested."""
        self._before.append(self._memory.snapshot())

    def end(self, allowed: Collection[tuple[int, int]]) -> None:
        """Tell of what was written outside these blocks, as (group, block id); group -1 is any."""
        if self._before:
            self._say(self._memory.strays(self._before.pop(), allowed))

    def after_copy(self, job: TransferJob) -> None:
        """A job was performed; of a load `begin` was called just before it."""
        if job.direction is Direction.LOAD:
            self.end(job.blocks)

    def at_end(self) -> None:
        """Tell of what lies where nobody writes: in the null block and between pages."""
        self._say(self._memory.damage())

    def _say(self, found: str) -> None:
        if found:
            self._tell(found)
