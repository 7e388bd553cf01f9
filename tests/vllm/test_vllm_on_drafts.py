"""Speculative decoding on the installed vLLM: drafts run, and a clamp of its connector undone is told."""

from __future__ import annotations

import contextlib

import pytest
from stage_cases import case_named, cases_of, play

from kvconform.results.record import Outcome
from kvconform_vllm.environment import load_vllm
from kvconform_vllm.releases import installed_release

needs_drafts = pytest.mark.skipif(
    not installed_release().takes_drafts, reason="this release is not driven with drafts"
)


@contextlib.contextmanager
def final_token_stored():
    """The last token of a request that has ended counts as computed, although no step did."""
    load_vllm()
    from vllm.distributed.kv_transfer.kv_connector.v1.offloading import scheduler  # noqa: PLC0415 - vLLM loads when a test runs

    side = scheduler.OffloadingConnectorScheduler
    clamped = side._calc_num_offloadable_tokens

    def unclamped(self, req_status, num_computed_tokens):
        if req_status.req.is_finished():
            num_computed_tokens = req_status.req.num_tokens
        return clamped(self, req_status, num_computed_tokens)

    side._calc_num_offloadable_tokens = unclamped
    try:
        yield
    finally:
        side._calc_num_offloadable_tokens = clamped


@needs_drafts
@pytest.mark.parametrize("scheduling", ["sync", "async"])
def test_drafts_run_through_the_real_scheduler(offloading, scheduling):
    """It schedules them, takes rejections back, and the next turn hits."""
    name = f"drafts[spec.3-accept.none-efull.off-eswa.off-keep.0-chunk.1-sched.{scheduling}]"
    ended = play(case_named(name), offloading)
    assert ended.outcome is Outcome.PASS
    assert any("drafts tokens" in line and "accepts none" in line for line in ended.stage.trace)


@needs_drafts
def test_a_final_token_that_no_step_computed_is_told(offloading):
    """Where an answer ends with a chunk, its last slot holds a rejected draft or nothing."""
    cases = [
        case
        for case in cases_of("speculation/rejected_then_consumed")
        if case.axes["answer"] == 13 and case.axes["blocks_per_chunk"] == 1
    ]
    with final_token_stored():
        failed = [play(case, offloading).failed for case in cases]
    assert any({"drafts-not-stored", "bytes-after-load"} <= checks for checks in failed)


@pytest.mark.skipif(installed_release().takes_drafts, reason="this release is driven with drafts")
def test_releases_before_are_not_applicable(offloading):
    """With the reason, not as a failure of theirs."""
    name = "drafts[spec.3-accept.none-efull.off-eswa.off-keep.0-chunk.1-sched.sync]"
    ended = play(case_named(name), offloading)
    assert ended.outcome is Outcome.NOT_APPLICABLE
    assert "is not driven with speculative decoding" in ended.text
