"""Speculative decoding: what a step with drafts computes, counts, writes and takes back."""
# ruff: noqa: D102 - the port names and explains what fakes override

from __future__ import annotations

from dataclasses import replace

import pytest
from engine_fakes import (
    FULL,
    SWA,
    QuietScheduler,
    at_rest,
    differences,
    engine_of,
    layout_of,
    of,
    quiet,
    run,
    spec,
)

from kvconform.engine.events import Computed, Confirmed, Drafted, Ended, Happened, Read
from kvconform.engine.pattern import Lane
from kvconform.ports import LayoutError, Scheduling, Step


def drafting(prompt: int, output: int, *accepted: int, name: str = "a"):
    """A request with a script of accepted drafts."""
    return replace(spec(name, prompt, output), accepted=accepted)


def layout(spec_tokens: int = 3, scheduling: Scheduling = Scheduling.SYNC, **settings):
    """The usual groups with drafts."""
    return layout_of(spec_tokens=spec_tokens, scheduling=scheduling, **settings)


class NotesParts(QuietScheduler):
    """Notes (known, computed, scheduled, draft tokens, width of the first row) of every part."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int, int, int, int]] = []

    def build_connector_meta(self, step: Step) -> None:
        for part in step.scheduled:
            self.seen.append(
                (
                    len(part.request.token_ids),
                    part.num_computed_tokens,
                    part.num_scheduled_tokens,
                    part.num_draft_tokens,
                    len(part.table.blocks[0]),
                )
            )


def seen_of(engine):
    """What the connector of an engine noted."""
    return engine._connector.scheduler.seen


def test_a_step_computes_the_last_token_and_its_drafts_and_goes_back_behind_the_rejected_ones():
    """Three drafts, of which two, none and all are right: the next step begins behind them."""
    engine = run(engine_of(layout(), quiet(NotesParts)), drafting(9, 12, 2, 0, 3))
    assert [(e.start, e.end) for e in of(engine, Computed)] == [(0, 9), (9, 12), (12, 13), (13, 17), (17, 20)]
    assert [(e.start, e.right, e.end) for e in of(engine, Drafted)] == [
        (10, 12, 13),
        (13, 13, 16),
        (14, 17, 17),
        (18, 20, 21),
    ]
    assert [part[:4] for part in seen_of(engine)] == [
        (9, 0, 9, 0),
        (10, 9, 4, 3),
        (13, 12, 4, 3),
        (14, 13, 4, 3),
        (18, 17, 4, 3),
    ]
    assert [e.num_tokens for e in of(engine, Ended)] == [21]
    assert at_rest(engine)


def test_with_late_results_the_count_runs_ahead_and_goes_back():
    """The scheduler takes drafts in flight for accepted; the device knows better."""
    engine = run(engine_of(layout(scheduling=Scheduling.ASYNC), quiet(NotesParts)), drafting(9, 9, 0))
    computed = [part[1] for part in seen_of(engine)]
    assert computed[:5] == [0, 9, 13, 14, 15], "each is three too high, but for the first two"
    assert [(e.start, e.end) for e in of(engine, Computed)][:4] == [(0, 9), (9, 10), (10, 11), (11, 12)]
    assert [e.num_tokens for e in of(engine, Ended)] == [18]
    assert not differences(engine)


@pytest.mark.parametrize("scheduling", Scheduling)
@pytest.mark.parametrize("spec_tokens", [1, 3, 7])
@pytest.mark.parametrize("accepted", [(), (0,), (0, 7), (3, 0, 2)])
def test_every_answer_is_the_same_and_every_read_is_right(scheduling, spec_tokens, accepted):
    """Drafts change how many steps it takes and nothing else."""
    engine = run(
        engine_of(layout(spec_tokens, scheduling), quiet()),
        drafting(9, 21, *accepted),
        drafting(17, 30, *accepted, name="b"),
    )
    assert [e.num_tokens for e in of(engine, Ended, "a")] == [30]
    assert [e.num_tokens for e in of(engine, Ended, "b")] == [47]
    assert of(engine, Read)
    assert not differences(engine)
    assert at_rest(engine)


def test_what_comes_after_a_stop_token_inside_the_drafts_is_thrown_away():
    """Seven right drafts, and the answer has three tokens left."""
    engine = run(engine_of(layout(7), quiet()), drafting(9, 4))
    assert [(e.start, e.right, e.end) for e in of(engine, Drafted)] == [(10, 13, 17)]
    assert [e.num_tokens for e in of(engine, Ended)] == [13]


def test_rejected_drafts_leave_their_own_bytes_behind_and_are_named():
    """A slot beyond the right tokens says whose rejected draft it is."""
    engine = engine_of(layout(), quiet())
    engine.prepare(drafting(9, 12, 1))
    engine.submit("a")
    engine.step()
    engine.step()
    memory, live = engine._memories[0], engine._requests["a"]
    row = engine._allocator.holding("a").rows[0]
    slots, difference = memory.compare(0, row, live.prefix, range(13))
    assert slots == 13
    assert (difference.token, difference.slots) == (11, 2)
    assert difference.found.startswith("a rejected draft of request 'a', group 0, layer 0, token 11")
    assert memory.stray(0, row[1]).startswith("block 1 of group full, slot 3: a rejected draft")
    assert not memory.stray(0, row[0])


def test_rejected_drafts_are_nobodys_tokens():
    """Their bytes occur in no request's prefix."""
    engine = engine_of(layout(), quiet())
    engine.prepare(drafting(9, 12, 1))
    live, lane = engine._requests["a"], Lane(group=0, layer=0, rank=0)
    own, wrong = live.prefix.slots(lane, 2)[:, 0], live.wrong.slots(lane, 2)[:, 0]
    assert not set(own.tolist()) & set(wrong.tolist())


def test_a_table_has_room_for_the_drafts_of_the_next_step():
    """Of this step's and the next one's drafts: 9 + 1 + 7 + 7 tokens lie in blocks of 8."""
    engine = run(engine_of(layout(7), quiet(NotesParts)), drafting(9, 3))
    assert [part[4] for part in seen_of(engine)] == [2, 3]


def test_confirmed_are_tokens_that_are_computed_and_known():
    """The last token is known and not computed; rejected drafts are neither."""
    engine = run(engine_of(layout(), quiet()), drafting(9, 12, 2, 0))
    assert [e.tokens for e in of(engine, Confirmed)] == [9, 10, 13, 14, 17, 18]


def test_a_small_budget_cuts_drafts():
    """Two tokens a step: the last one and one draft."""
    engine = run(engine_of(layout(max_batched_tokens=2), quiet()), drafting(3, 6))
    assert next(e.end - e.start for e in of(engine, Drafted)) == 1
    assert not differences(engine)


@pytest.mark.parametrize("scheduling", Scheduling)
def test_a_preempted_request_computes_its_tokens_again_without_drafts(scheduling):
    """What was in flight is dropped with its drafts; then it goes on as before."""
    settings = {"num_blocks": 24, "scheduling": scheduling}
    engine = run(
        engine_of(layout(3, **settings), quiet()),
        drafting(17, 40, 0, name="a"),
        replace(spec("b", 17, 40, branch=1), accepted=(1, 0)),
    )
    assert any(e.what == "is preempted" for e in of(engine, Happened))
    assert {e.num_tokens for e in of(engine, Ended)} == {57}
    assert not differences(engine)
    assert at_rest(engine)


def test_a_layout_without_drafts_records_nothing_about_them():
    """Existing traces stay as they are."""
    engine = run(engine_of(layout_of(FULL, SWA), quiet()), drafting(9, 5, 0))
    assert not of(engine, Drafted)
    assert not of(engine, Confirmed)


def test_a_negative_number_of_drafts_is_refused():
    """The message says what it counts."""
    with pytest.raises(LayoutError, match=r"spec_tokens is -1, must be >= 0 draft tokens a step"):
        layout(-1)
