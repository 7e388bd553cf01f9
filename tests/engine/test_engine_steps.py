"""Whole requests through the engine: budgets, late results, frees, preemption, local hits."""
# ruff: noqa: D102 - the port names and explains what fakes override

from __future__ import annotations

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
    settle,
    spec,
)

from kvconform.engine.events import Admitted, Answered, Computed, Ended, Happened, Read
from kvconform.ports import NULL_BLOCK, Group, GroupKind, Scheduling, Step


def ranges(engine, request):
    """(step, start, end) of what each step computed."""
    return [(e.step, e.start, e.end) for e in of(engine, Computed, request)]


def test_a_prompt_is_computed_in_pieces_of_the_budget():
    """Chunked prefill: each step takes what the token budget leaves."""
    engine = run(engine_of(layout_of(max_batched_tokens=12), quiet()), spec("a", 33, 2))
    assert ranges(engine, "a") == [(1, 0, 12), (2, 12, 24), (3, 24, 33), (4, 33, 34)]


def test_the_budget_is_shared_by_all_requests_of_a_step():
    """Running requests come first, waiting ones get the rest."""
    engine = run(
        engine_of(layout_of(max_batched_tokens=20), quiet()), spec("a", 17, 3), spec("b", 17, 1, branch=1)
    )
    assert ranges(engine, "a") == [(1, 0, 17), (2, 17, 18), (3, 18, 19)]
    assert ranges(engine, "b") == [(1, 0, 3), (2, 3, 17)]


def test_synchronous_scheduling_stops_at_the_stop_token():
    """Three tokens of answer: prefill and two decode steps, the end known at once."""
    engine = run(engine_of(layout_of(), quiet()), spec("a", 9, 3))
    assert ranges(engine, "a") == [(1, 0, 9), (2, 9, 10), (3, 10, 11)]
    assert [e.step for e in of(engine, Ended)] == [3]


def test_asynchronous_scheduling_learns_of_the_stop_one_step_late():
    """Results arrive while the next step is scheduled, so one step is run for nothing."""
    engine = run(engine_of(layout_of(scheduling=Scheduling.ASYNC), quiet()), spec("a", 9, 3))
    assert ranges(engine, "a") == [(1, 0, 9), (2, 9, 10), (3, 10, 11), (4, 11, 12)]
    assert [(e.step, e.num_tokens) for e in of(engine, Ended)] == [(4, 12)]
    assert at_rest(engine)


class NotesTokens(QuietScheduler):
    """Notes how many tokens of each request are known when a step is decided."""

    seen: list[tuple[int, int]] = []  # noqa: RUF012 - read by one test

    def build_connector_meta(self, step: Step) -> None:
        for part in step.scheduled:
            self.seen.append((len(part.request.token_ids), part.num_computed_tokens))


def test_the_connector_knows_fewer_tokens_than_the_device():
    """Under asynchronous scheduling a step computes a token whose id has not arrived."""
    NotesTokens.seen.clear()
    engine = engine_of(layout_of(scheduling=Scheduling.ASYNC), quiet(NotesTokens))
    run(engine, spec("a", 9, 3))
    assert NotesTokens.seen == [(9, 0), (9, 9), (10, 10), (11, 11)]


def test_every_read_is_right_and_reads_the_window_only():
    """Without a connector's help: each decode step reads all of the full group, 7 of the window."""
    engine = run(engine_of(layout_of(), quiet()), spec("a", 33, 3))
    assert [read.slots for read in of(engine, Read)] == [33 + 7, 34 + 7]
    assert not differences(engine)


def test_local_blocks_serve_the_next_request():
    """A second request with the prefix computes its tail only, and the connector is told so."""
    engine = run(engine_of(layout_of(), quiet()), spec("a", 33))
    run(engine, spec("b", 33))
    assert [answer.local for answer in of(engine, Answered)] == [0, 32]
    assert [(start, end) for _, start, end in ranges(engine, "b")] == [(32, 33)]
    assert not differences(engine)


def test_a_draft_group_takes_one_block_less_of_the_local_cache():
    """With EAGLE the last cached block is computed again."""
    draft = Group(name="draft", kind=GroupKind.FULL, block_size=8, eagle=True)
    engine = run(engine_of(layout_of(draft, SWA), quiet()), spec("a", 33))
    run(engine, spec("b", 33))
    assert [answer.local for answer in of(engine, Answered)] == [0, 24]


def test_a_reset_forgets_local_blocks():
    """After a reset of the prefix cache nothing is local."""
    engine = run(engine_of(layout_of(), quiet()), spec("a", 33))
    engine.reset_prefix_cache()
    run(engine, spec("b", 33))
    assert [answer.local for answer in of(engine, Answered)] == [0, 0]


def test_windows_free_blocks_while_a_request_runs():
    """A long prompt in small steps holds no more of a sliding group than its interval and a step."""
    engine = engine_of(layout_of(SWA, max_batched_tokens=4), quiet())
    engine.prepare(spec("a", 81))
    engine.submit("a")
    most = 0
    for _ in range(20):
        engine.step()
        (row,) = engine._allocator.holding("a").rows
        most = max(most, sum(block != NULL_BLOCK for block in row))
    assert most == 4, "ten retained tokens lie in up to three blocks, and a step adds one"
    settle(engine)
    assert at_rest(engine)


@pytest.mark.parametrize("scheduling", list(Scheduling))
def test_preempted_requests_begin_again_and_end(scheduling):
    """Two requests that outgrow the pool: the later one gives way, both end, on right bytes."""
    layout = layout_of(FULL, num_blocks=9, scheduling=scheduling)
    engine = run(engine_of(layout, quiet()), spec("a", 25, 12), spec("b", 25, 12, branch=1))
    assert any(event.what == "is preempted" for event in of(engine, Happened, "b"))
    assert {(e.request, e.num_tokens) for e in of(engine, Ended)} == {("a", 37), ("b", 37)}
    assert not differences(engine)
    assert at_rest(engine)


def test_a_preempted_request_is_resumed_once_also_behind_a_hit():
    """Its next step says so, wherever it starts; neither the first step nor later ones do."""
    seen = []

    class Watching(QuietScheduler):
        """Notes (request, start, new, resumed) of each step."""

        def build_connector_meta(self, step):
            seen.extend(
                (s.request.request_id, s.num_computed_tokens, s.is_new, s.is_resumed)
                for s in step.scheduled
            )

    layout = layout_of(FULL, num_blocks=9)
    run(engine_of(layout, quiet(Watching)), spec("a", 25, 12), spec("b", 25, 12, branch=1))
    of_b = [entry for entry in seen if entry[0] == "b"]
    assert [new for _, _, new, _ in of_b] == [True] + [False] * (len(of_b) - 1)
    (resumed,) = [entry for entry in of_b if entry[3]]
    assert resumed[1] > 0, "what was cached before it gave way is a local hit"


@pytest.mark.parametrize("scheduling", list(Scheduling))
def test_the_same_case_twice_gives_the_same_trace(scheduling):
    """No clock, no hash order: every event of two runs is equal."""
    traces = []
    for _ in range(2):
        engine = engine_of(layout_of(num_blocks=40, scheduling=scheduling, max_batched_tokens=20))
        run(engine, spec("a", 33, 3), spec("b", 49, 3, branch=1, shared=24))
        engine.reset_prefix_cache()
        run(engine, spec("c", 41, 2))
        traces.append([str(event) for event in engine.events])
    assert traces[0] == traces[1]


def test_a_request_whose_first_lookup_misses_can_stay_waiting():
    """With ``stay_on_miss`` it is asked again each step until a miss is allowed."""
    engine = engine_of(layout_of(), quiet())
    engine.prepare(spec("a", 9))
    engine.submit("a", stay_on_miss=True)
    for _ in range(3):
        engine.step()
    assert len(of(engine, Answered)) == 3
    assert not of(engine, Computed)
    engine.allow_miss("a")
    settle(engine)
    assert engine.ended("a")


def test_a_cold_consumer_loads_what_the_producer_stored():
    """The whole way: stored, pool wiped, hit at the last boundary, one load, right bytes."""
    engine = run(engine_of(), spec("a", 33))
    engine.reset_prefix_cache()
    run(engine, spec("b", 33))
    (admitted,) = of(engine, Admitted)
    assert admitted.boundary == 32
    assert admitted.held == ((0, 4), (5, 3))
    assert not differences(engine)
    assert at_rest(engine)
