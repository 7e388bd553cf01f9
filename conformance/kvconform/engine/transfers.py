"""The engine's hold on copies and on reports, in virtual time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from kvconform.engine.effort import METER
from kvconform.ports import Direction, TransferJob

Fails = Callable[[TransferJob, Callable[[], None]], bool]
"""Has a copy fail, or says that it does not."""


@dataclass(slots=True)
class _Copy:
    job: TransferJob
    perform: Callable[[], None]


class Gate:
    """The transfer gate of one rank: a copy completes at the clock tick after its submission.

    A held direction completes when it is released, or when the worker waits for it.
    ``on_copy`` is called just before a copy is performed, while its source is what it reads, and
    ``after_copy`` just after it.  ``fails`` is asked before, with the job and what performs it; True
    says that it has failed, and has done as much as it was to.
    """

    def __init__(
        self,
        on_copy: Callable[[TransferJob], None],
        fails: Fails | None = None,
        after_copy: Callable[[TransferJob], None] = lambda _: None,
    ) -> None:
        self._on_copy = on_copy
        self._fails = fails
        self._after_copy = after_copy
        self._waiting: list[_Copy] = []
        self._done: list[tuple[int, bool]] = []
        self.held: set[Direction] = set()
        self.performed = 0
        """Copies completed so far, failed ones too."""
        self.last_first = False
        """Whether copies that are due together complete in the reverse order of submission."""
        self.asked: set[Direction] = set()
        """Directions in which a copy was ever submitted."""

    @property
    def busy(self) -> bool:
        """Whether a copy has not completed."""
        return bool(self._waiting)

    @property
    def waiting(self) -> tuple[int, ...]:
        """Ids of the jobs that have not completed."""
        return tuple(copy.job.job_id for copy in self._waiting)

    def submit(self, job: TransferJob, perform: Callable[[], None]) -> None:
        """Take a copy."""
        self.asked.add(job.direction)
        self._waiting.append(_Copy(job, perform))

    def finished(self) -> list[tuple[int, bool]]:
        """(job id, success) of the copies that completed since the last call."""
        done, self._done = self._done, []
        return done

    def wait(self, job_ids: Iterable[int]) -> None:
        """Complete these copies now."""
        ids = set(job_ids)
        self._complete(lambda copy: copy.job.job_id in ids)

    def tick(self) -> None:
        """The clock: complete what is not held."""
        self._complete(lambda copy: copy.job.direction not in self.held)

    def _complete(self, due: Callable[[_Copy], bool]) -> None:
        ready = [copy for copy in self._waiting if due(copy)]
        self._waiting = [copy for copy in self._waiting if not due(copy)]
        for copy in reversed(ready) if self.last_first else ready:
            failed = self._fails is not None and self._fails(copy.job, copy.perform)
            if not failed:
                with METER.pause():
                    self._on_copy(copy.job)
                copy.perform()
                with METER.pause():
                    self._after_copy(copy.job)
            self.performed += 1
            self._done.append((copy.job.job_id, not failed))


Report = TypeVar("Report")


class ReportQueue(Generic[Report]):
    """Reports of one rank on their way to the scheduler side.

    At most one that has news arrives a step.  Empty ones before and after it arrive with it, or
    a hold would leave a rank late for ever, as every step adds a report.
    """

    def __init__(self) -> None:
        self._queue: deque[tuple[Report, bool]] = deque()
        self.held = False

    @property
    def busy(self) -> bool:
        """Whether a report has not arrived."""
        return bool(self._queue)

    def send(self, result: Report, *, news: bool = True) -> None:
        """A rank reports; without ``news`` nothing has happened on it since the last report."""
        self._queue.append((result, news))

    def arrive(self) -> list[Report]:
        """The reports that arrive now, in the order of sending."""
        arrived: list[Report] = []
        told = False
        while self._queue and not self.held and not (told and self._queue[0][1]):
            result, news = self._queue.popleft()
            arrived.append(result)
            told = told or news
        return arrived
