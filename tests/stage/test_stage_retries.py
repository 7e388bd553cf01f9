"""A connector that offers a failed chunk again at once is right, whatever is left of the chunk."""

from __future__ import annotations

import pytest
from stage_cases import cases_of, play

from kvconform.results.record import Outcome
from kvconform_reference.mutants.base import Patched
from kvconform_reference.scheduler import Job, ReferenceScheduler


class _TriesAgain(ReferenceScheduler):
    """After a failed store the request's chunks are offered from the first on."""

    def stored(self, job: Job) -> None:
        super().stored(job)
        if job.failed and job.request_id in self._cursors:
            self._cursors[job.request_id] = [0] * len(self.demands)


class Retrying(Patched):
    """The reference, but for that."""

    scheduler_kind = _TriesAgain


@pytest.mark.parametrize("matrix", ["faults/store_fails", "faults/store_fails_on_rank"])
def test_who_tries_again_at_once_passes(matrix):
    """A retry may find that the first blocks have left the window; it counts all the same."""
    ends = {case.id: play(case, Retrying).outcome for case in cases_of(matrix)}
    assert {case for case, outcome in ends.items() if outcome is not Outcome.PASS} == set()


class _StoresAgainAfterReset(ReferenceScheduler):
    """After a reset, requests that run on offer what they still hold once more."""

    def reset_cache(self) -> None:
        super().reset_cache()
        self._cursors.clear()


class AgainAfterReset(Patched):
    """The reference, but for that."""

    scheduler_kind = _StoresAgainAfterReset


def test_who_stores_again_after_a_reset_what_is_left_of_a_window_passes():
    """Of the window's chunk only the last block is left; nobody has to store that chunk once more."""
    cases = [case for case in cases_of("resets/reset_store_in_flight") if case.layout.blocks_per_chunk > 1]
    ends = {case.id: play(case, AgainAfterReset).outcome for case in cases}
    assert ends
    assert {case for case, outcome in ends.items() if outcome is not Outcome.PASS} == set()
