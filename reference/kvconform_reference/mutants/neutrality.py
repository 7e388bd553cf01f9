"""Faults of connectors that have nothing to give and are in the way, and of refusals that come late."""

from __future__ import annotations

from typing import Any

from kvconform.ports import GroupKind, Request, Step
from kvconform_reference.mutants.base import Mutant, Patched
from kvconform_reference.scheduler import ReferenceScheduler
from kvconform_reference.worker import StepMetadata


class _Hesitant(ReferenceScheduler):
    """Has each request asked once more before it says that there is nothing."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._seen: set[str] = set()

    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        answer = super().get_num_new_matched_tokens(request, num_computed_tokens)
        if request.request_id in self._seen or answer[0]:
            return answer
        self._seen.add(request.request_id)
        return None, False


class _DelaysMisses(Patched):
    scheduler_kind = _Hesitant


class _OneAtATime(ReferenceScheduler):
    """Lets a request wait while another one is computed, so that their stores do not mix."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._busy = False

    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        answer = super().get_num_new_matched_tokens(request, num_computed_tokens)
        return (None, False) if self._busy and not answer[0] else answer

    def build_connector_meta(self, step: Step) -> StepMetadata:
        self._busy = bool(step.scheduled)
        return super().build_connector_meta(step)


class _SerialisesMisses(Patched):
    scheduler_kind = _OneAtATime


class _Asserting(ReferenceScheduler):
    """Takes it for granted that blocks of all groups are of one size, and finds out when it stores."""

    def build_connector_meta(self, step: Step) -> StepMetadata:
        sizes = {group.block_size for group in self.layout.groups}
        if step.scheduled and len(sizes) > 1:
            raise AssertionError(f"blocks of {sorted(sizes)} tokens")
        return super().build_connector_meta(step)


class _AssertsLater(Patched):
    scheduler_kind = _Asserting


class _FullFirst(ReferenceScheduler):
    """Takes the first group for one of full attention."""

    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        if self.layout.groups[0].kind is not GroupKind.FULL:
            raise AssertionError("the first group is not of full attention")
        return super().get_num_new_matched_tokens(request, num_computed_tokens)


class _OddGroupFirst(Patched):
    scheduler_kind = _FullFirst


NEUTRALITY = (
    Mutant(
        name="delays-misses",
        fault="A request for which there is nothing waits a step before it is told so.",
        clauses=("NEU-1",),
        factory=_DelaysMisses,
        seed_cases=None,
        classes=("C6",),
    ),
    Mutant(
        name="serialises-misses",
        fault="A request for which there is nothing waits while others are computed.",
        clauses=("NEU-1",),
        factory=_SerialisesMisses,
        seed_cases=None,
        classes=("C6",),
    ),
    Mutant(
        name="asserts-later",
        fault="A layout with blocks of several sizes is accepted, and breaks an assertion in the first step.",
        clauses=("LIF-1",),
        factory=_AssertsLater,
        seed_cases=None,
        classes=("C13",),
    ),
    Mutant(
        name="odd-group-first",
        fault="A layout whose first group is not of full attention is accepted, and breaks an assertion in the first lookup.",
        clauses=("LIF-1",),
        factory=_OddGroupFirst,
        seed_cases=None,
        classes=("C13",),
    ),
)
