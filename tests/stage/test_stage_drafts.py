"""Judgements on speculative decoding: what is told, and of which cases nothing is."""

from __future__ import annotations

import pytest
from stage_cases import case_named, cases_of, mutant, play

from kvconform.results.record import Outcome
from kvconform.stage.drafts import OF_DRAFTS

MATRICES = ("drafts", "rejected_then_consumed", "resumed_with_drafts", "eagle_short_prefix")


@pytest.mark.parametrize("matrix", MATRICES)
def test_a_connector_that_does_nothing_fails(matrix: str):
    """Each case says who must hit."""
    assert play(cases_of(f"speculation/{matrix}")[0], mutant("null")).outcome is Outcome.FAIL


@pytest.mark.parametrize("matrix", MATRICES)
def test_checks_of_drafts_arise_with_drafts_alone(matrix: str):
    """Without spec tokens there is nothing for them to look at."""
    for case in cases_of(f"speculation/{matrix}")[::8]:
        ended = play(case)
        assert ended.stage is not None
        checks = {result.check for result in ended.stage.results}
        assert bool(checks & OF_DRAFTS) == bool(case.layout.spec_tokens)


def test_a_stored_draft_is_named_with_its_owner():
    """The report says where the slot lies and whose rejected draft it holds."""
    case = case_named("drafts[spec.3-accept.none-efull.off-eswa.off-keep.0-chunk.1-sched.sync]")
    text = play(case, mutant("stores-drafts")).text
    assert "SPC-2 drafts-not-stored: fail" in text
    assert "a rejected draft of request 'one', group" in text


def test_what_a_later_turn_stores_does_not_hide_what_the_first_one_lost():
    """The answer of `one` is judged before `two` computes it again."""
    case = case_named("drafts[spec.3-accept.all-efull.off-eswa.off-keep.0-chunk.1-sched.sync]")
    ended = play(case, mutant("cursor-counts-drafts"))
    assert "confirmed tokens of 'one' that a lookup can use" in ended.text


def test_nearly_every_case_of_resuming_preempts_somebody():
    """Or the matrix would be about nothing."""
    cases = cases_of("speculation/resumed_with_drafts")
    played = [play(case) for case in cases]
    calm = [one for one in played if one.stage and not any("is preempted" in line for line in one.stage.trace)]
    assert len(calm) <= 1


def test_a_prefix_of_one_chunk_is_a_miss_with_a_draft_group_and_a_hit_without():
    """The one case in which giving up a chunk leaves nothing."""
    short = "eagle-short-prefix[prompt.8-longer.10-chunk.1-efull.{}-eswa.off-finds.{}-spec.3]"
    for eagle, finds, verdict in (("on", "h0.88", "miss"), ("off", "h8.96", "asynchronous hit of 8")):
        ended = play(case_named(short.format(eagle, finds)))
        assert ended.outcome is Outcome.PASS
        assert ended.stage is not None
        assert any(line.endswith(f"asks asked with 0 local tokens: {verdict}") or verdict in line
                   for line in ended.stage.trace if ": asks asked" in line)
