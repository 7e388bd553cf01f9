"""Faults of the life cycle: reports made twice, work that never ends, tokens counted twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvconform.ports import BlockTable, Request
from kvconform_reference.mutants.base import Mutant, Patched
from kvconform_reference.scheduler import ReferenceScheduler
from kvconform_reference.worker import ReferenceWorker


class _TwiceWorker(ReferenceWorker):
    """Reports each load again in the next step."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._again: set[str] = set()

    def get_finished(self, finished_request_ids: set[str]) -> tuple[set[str], set[str]]:
        stores, loads = super().get_finished(finished_request_ids)
        again, self._again = self._again, set(loads)
        return stores, loads | again


class _ReportedTwice(Patched):
    worker_kind = _TwiceWorker


class _BusyScheduler(ReferenceScheduler):
    def has_pending_work(self) -> bool:
        return True


class _NeverAtRest(Patched):
    scheduler_kind = _BusyScheduler


class _KeepingScheduler(ReferenceScheduler):
    def request_finished(
        self, request: Request, blocks: BlockTable
    ) -> tuple[bool, Mapping[str, object] | None]:
        super().request_finished(request, blocks)
        return True, None


class _BlocksKept(Patched):
    scheduler_kind = _KeepingScheduler


class _DoubleScheduler(ReferenceScheduler):
    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        tokens, is_async = super().get_num_new_matched_tokens(request, num_computed_tokens)
        return tokens and tokens + num_computed_tokens, is_async


class _LocalCountedTwice(Patched):
    scheduler_kind = _DoubleScheduler


LIFECYCLE = (
    Mutant(
        name="reported-twice",
        fault="The end of each load is reported in two steps.",
        clauses=("LIF-1",),
        factory=_ReportedTwice,
        seed_cases=102,
        classes=("C12",),
    ),
    Mutant(
        name="never-at-rest",
        fault="There is always work pending, with nothing to do.",
        clauses=("TRM-1",),
        factory=_NeverAtRest,
        seed_cases=102,
        classes=("C10",),
    ),
    Mutant(
        name="blocks-kept",
        fault="The blocks of ended requests are kept and never given back.",
        clauses=("TRM-1",),
        factory=_BlocksKept,
        seed_cases=102,
        classes=("C10",),
    ),
    Mutant(
        name="local-counted-twice",
        fault="A hit is told with the tokens that are in the pool already.",
        clauses=("COV-2",),
        factory=_LocalCountedTwice,
        seed_cases=0,
        classes=("C7",),
    ),
)
