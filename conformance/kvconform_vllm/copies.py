"""What a copy that a rank's gate performs moves, in blocks of requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvconform.engine.events import Copied, Event, Strayed
from kvconform.engine.faults import CopyDue, CopyFaults, Place
from kvconform.engine.memory import RankMemory
from kvconform.engine.watch import WriteWatch, check_ids
from kvconform.ports import Direction, Layout, TransferJob
from kvconform_vllm.observation import Observer, rows_of


class CopyWatch:
    """Records each copy as an event: a store by its bytes, a load by whose block it fills."""

    def __init__(
        self, layout: Layout, scheduler: Any, observer: Observer, record: Callable[[Event], None]
    ) -> None:
        self._layout = layout
        self._scheduler = scheduler
        self._observer = observer
        self._record = record

    def of_rank(
        self, rank: int, memory: RankMemory, watch: WriteWatch
    ) -> Callable[[TransferJob], None]:
        """What a rank's gate tells its copies to; loads are watched while they write."""

        def observe(job: TransferJob) -> None:
            store = job.direction is Direction.STORE
            check_ids(job, self._layout)
            if not store:
                watch.begin()
            places = [self._place(memory, job.direction, *block) for block in job.blocks]
            blocks = tuple((self._layout.groups[place.group].name, place.index) for place in places)
            contents = tuple(place.content for place in places) if store else ()
            requests = () if store else tuple(place.request for place in places)
            strays: list[str] = []
            if store and self._layout.spec_tokens:
                strays = [
                    memory.stray(self._layout.index(group), block)
                    for (group, _), (_, block) in zip(blocks, job.blocks, strict=True)
                ]
            self._record(
                Copied(
                    step=self._observer.number,
                    direction=job.direction,
                    rank=rank,
                    job=job.job_id,
                    blocks=blocks,
                    contents=contents,
                    requests=requests,
                    strays=tuple(filter(None, strays)),
                    block_ids=job.blocks,
                )
            )

        return observe

    def failer_of_rank(
        self, memory: RankMemory, faults: CopyFaults
    ) -> Callable[[TransferJob, Callable[[], None]], bool]:
        """What has a rank's copies fail, those that are to."""

        def fails(job: TransferJob, perform: Callable[[], None]) -> bool:
            if not faults.armed:
                return False
            return faults.fail(
                CopyDue(
                    job=job,
                    perform=perform,
                    memory=memory,
                    places=[self._place(memory, job.direction, *block) for block in job.blocks],
                    step=self._observer.number,
                )
            )

        return fails

    def _place(self, memory: RankMemory, direction: Direction, group: int, block: int) -> Place:
        if direction is Direction.STORE:
            name, index = self._source(memory, group, block)
            position = self._layout.index(name)
            return Place(group=position, index=index, content=memory.content(position, block))
        request, position, index = self._filled(group, block)
        return Place(group=position, index=index, request=request)

    def watch(self, memory: RankMemory) -> WriteWatch:
        """What tells of writes to one rank's memory that no load is for."""

        def tell(where: str) -> None:
            self._record(Strayed(step=self._observer.number, where=where))

        return WriteWatch(memory, tell)

    def _source(self, memory: RankMemory, group: int, block: int) -> tuple[str, int]:
        """The block index that a block's bytes name; group -1 asks them for their group too."""
        if group < 0:
            group = max(0, memory.group_of(block))
        return self._layout.groups[group].name, memory.block_index(group, block)

    def _filled(self, group: int, block: int) -> tuple[str, int, int]:
        """(request, group, block index) of the living request with a pool block; index -1 for none."""
        for name in list(self._scheduler.requests):
            for position, row in enumerate(rows_of(self._scheduler, name)):
                if group in {position, -1} and block in row:
                    return name, position, row.index(block)
        return "", max(0, group), -1
