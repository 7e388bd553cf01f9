"""Loads and their reports: checked byte by byte, held, skewed over ranks, failed, synchronous."""
# ruff: noqa: ARG002, D102 - the port names and explains what fakes override

from __future__ import annotations

import pytest
from engine_fakes import (
    FULL,
    SWA,
    QuietScheduler,
    QuietWorker,
    at_rest,
    damages,
    differences,
    engine_of,
    layout_of,
    of,
    patched,
    quiet,
    run,
    settle,
    spec,
)

from kvconform.engine.events import Admitted, Broke, Computed, Ended, Loaded, LoadFailed, Read
from kvconform.engine.transfers import Gate, ReportQueue
from kvconform.ports import Direction, Scheduling, TransferJob
from kvconform_reference.mutants import MUTANTS
from kvconform_reference.worker import ReferenceWorker

BOUNDARY = 32
"""Of a prompt of 33 tokens: 4 full blocks of 8, and 3 sliding ones of 4 from block 5 on."""


def consumed(engine):
    """A producer, a wiped pool, and a cold consumer on ``engine``."""
    run(engine, spec("producer", 33))
    engine.reset_prefix_cache()
    return run(engine, spec("consumer", 33))


@pytest.mark.parametrize(
    ("layer", "block", "byte", "token"),
    [
        ("full.0", 0, 0, 0),
        ("full.0", 3, 127, 31),
        ("swa.0", 0, 16, 21),
        ("swa.0", 1, 3, 24),
        ("swa.0", 2, 63, 31),
    ],
)
def test_one_stray_byte_anywhere_in_the_retained_interval_is_seen(layer, block, byte, token):
    """The load's check covers every held block, not only what attention will read."""
    engine = consumed(engine_of(factory=damages(layer, block, byte)))
    (loaded,) = of(engine, Loaded)
    assert loaded.difference is not None
    assert (loaded.difference.token, loaded.difference.byte) == (token, byte % 16)


def test_a_stray_byte_below_the_attended_window_is_never_read():
    """Token 21 is retained for replay but not attended: only the load's check can see it."""
    engine = consumed(engine_of(factory=damages("swa.0", 0, 16)))
    assert [e.difference for e in of(engine, Read, "consumer")] == [None]
    assert len(differences(engine)) == 1


def test_right_loads_are_complete_before_the_request_runs():
    """Every retained slot of both groups is compared, in the step before the first compute."""
    engine = consumed(engine_of())
    (loaded,) = of(engine, Loaded)
    assert loaded.slots == 32 + 12
    assert of(engine, Computed, "consumer")[0].step == loaded.step + 1


def test_a_synchronous_load_is_checked_in_its_own_step():
    """What is in place when ``start_load_kv`` returns is compared before the forward pass."""
    engine = consumed(engine_of(factory=MUTANTS["synchronous-load"].factory))
    (loaded,) = of(engine, Loaded)
    assert loaded.difference is None
    assert loaded.step == of(engine, Admitted)[0].step == of(engine, Computed, "consumer")[0].step
    assert at_rest(engine)


class PromisesSynchronously(QuietScheduler):
    """Says of all but the last hash block of a prompt that it is loaded at once."""

    def get_num_new_matched_tokens(self, request, num_computed_tokens):
        boundary = (len(request.token_ids) - 1) // 4 * 4
        return boundary - num_computed_tokens, False


def test_a_synchronous_load_that_moves_nothing_is_seen():
    """The blocks are poison, and whose token is missing is told."""
    engine = run(engine_of(factory=quiet(PromisesSynchronously)), spec("a", 33))
    (loaded,) = of(engine, Loaded)
    assert loaded.difference is not None
    assert "poison" in loaded.difference.found
    assert engine.ended("a")


class PromisesTheWholePrompt(QuietScheduler):
    """Hits the whole prompt, the last token too, which is computed again."""

    def get_num_new_matched_tokens(self, request, num_computed_tokens):
        return len(request.token_ids) - num_computed_tokens, self.is_async

    is_async = True


class ReportsWhatItIsAsked(QuietWorker):
    """Reports every load at once."""

    def get_finished(self, finished_request_ids):
        return set(), {"a"}


@pytest.mark.parametrize("is_async", [True, False])
def test_a_hit_of_the_whole_prompt_breaks_where_the_last_token_has_a_window(is_async):
    """It is computed again and reads one token more than such a hit keeps: told, with what is right."""
    bare = type(SWA)(name="bare", kind=SWA.kind, block_size=4, window=5)
    scheduler = type("Whole", (PromisesTheWholePrompt,), {"is_async": is_async})
    engine = engine_of(layout_of(FULL, bare), quiet(scheduler, ReportsWhatItIsAsked))
    run(engine, spec("a", 32))
    assert engine.dead
    (broke,) = [event for event in engine.events if isinstance(event, Broke)]
    assert broke.method == "get_num_new_matched_tokens"
    assert "reads token 27 of group bare" in broke.text
    assert broke.text.endswith("expected a hit of 31")


@pytest.mark.parametrize("is_async", [True, False])
def test_a_hit_of_the_whole_prompt_computes_the_last_token_again(is_async):
    """Legal by the port where every token is kept."""
    scheduler = type("Whole", (PromisesTheWholePrompt,), {"is_async": is_async})
    engine = engine_of(layout_of(FULL), quiet(scheduler, ReportsWhatItIsAsked))
    run(engine, spec("a", 32))
    assert [(e.start, e.end) for e in of(engine, Computed, "a")] == [(31, 32)]
    assert engine.ended("a")
    assert at_rest(engine)


def test_reports_that_are_held_arrive_one_a_step():
    """A load complete on the device is unknown to the scheduler side until its report arrives.

    The producer's last report and the load's are in the queue, and empty ones that cost no step.
    """
    engine = engine_of()
    run(engine, spec("producer", 33))
    engine.reset_prefix_cache()
    engine.prepare(spec("consumer", 33))
    engine.hold(copies=False)
    engine.submit("consumer")
    for _ in range(5):
        engine.step()
    assert not of(engine, Loaded)
    engine.release()
    settle(engine)
    (loaded,) = of(engine, Loaded)
    assert loaded.step == of(engine, Admitted)[0].step + 5
    assert not differences(engine)


def test_a_report_queue_gives_one_report_a_step_and_none_while_held():
    """Order of sending, at most one with news at a time; empty ones do not delay it."""
    queue = ReportQueue()
    for result, news in (("empty", False), ("first", True), ("second", True), ("last", False)):
        queue.send(result, news=news)
    queue.held = True
    assert queue.arrive() == []
    queue.held = False
    assert queue.arrive() == ["empty", "first"]
    assert queue.arrive() == ["second", "last"]
    assert queue.arrive() == []
    assert not queue.busy


def job(number: int, direction: Direction = Direction.STORE) -> TransferJob:
    """A copy of one block."""
    return TransferJob(job_id=number, direction=direction, blocks=((0, number),))


def test_a_copy_reads_its_source_when_it_completes():
    """Submitted, it has not run; the clock completes it; a hold keeps it; a flush overrides that."""
    done: list[int] = []
    gate = Gate(lambda _: None)
    gate.submit(job(1), lambda: done.append(1))
    assert not done
    gate.tick()
    assert done == [1]
    gate.held = {Direction.STORE}
    gate.submit(job(2), lambda: done.append(2))
    gate.submit(job(3), lambda: done.append(3))
    gate.submit(job(4, Direction.LOAD), lambda: done.append(4))
    gate.tick()
    assert done == [1, 4]
    gate.wait([3])
    assert done == [1, 4, 3]
    assert [number for number, _ in gate.finished()] == [1, 4, 3]
    assert gate.busy
    gate.held = set()
    gate.tick()
    assert done == [1, 4, 3, 2]
    assert not gate.busy


def test_a_flush_saves_a_held_store_from_the_next_owner():
    """Stores held, blocks re-used at once: the fence completes them, and a consumer reads right."""
    engine = engine_of(layout_of(num_blocks=24))
    engine.hold(copies=True)
    run_held(engine, spec("producer", 33), 3)
    run_held(engine, spec("other", 49, branch=1), 4)
    engine.release()
    settle(engine)
    engine.reset_prefix_cache()
    run(engine, spec("consumer", 33))
    assert of(engine, Loaded, "consumer")
    assert not differences(engine)


def run_held(engine, one, steps):
    """Run a request that ends although nothing is reported."""
    engine.prepare(one)
    engine.submit(one.name)
    for _ in range(steps):
        engine.step()
    assert engine.ended(one.name)


def test_without_the_fence_the_next_owner_is_stored():
    """The same with the fence left out: the consumer gets what was in the blocks later."""
    engine = engine_of(layout_of(num_blocks=24), MUTANTS["no-fence"].factory)
    engine.hold(copies=True)
    run_held(engine, spec("producer", 33), 3)
    run_held(engine, spec("other", 49, branch=1), 4)
    engine.release()
    settle(engine)
    engine.reset_prefix_cache()
    run(engine, spec("consumer", 33))
    assert differences(engine)


@pytest.mark.parametrize("scheduling", list(Scheduling))
def test_two_ranks_with_skew_wait_for_each_other(scheduling):
    """Rank 1's reports arrive late: the load counts as complete when both have said so."""
    engine = engine_of(layout_of(world=2, scheduling=scheduling))
    run(engine, spec("producer", 33))
    engine.reset_prefix_cache()
    engine._reports[1].held = True
    engine.prepare(spec("consumer", 33))
    engine.submit("consumer")
    for _ in range(6):
        engine.step()
    assert not of(engine, Loaded)
    engine._reports[1].held = False
    settle(engine)
    (loaded,) = of(engine, Loaded)
    assert loaded.slots == 2 * 44
    assert not differences(engine)
    assert at_rest(engine)


@pytest.mark.parametrize("scheduling", list(Scheduling))
def test_loads_that_fill_the_pool_do_not_lock_it(scheduling):
    """Three loads take every block, none can compute its last token: one gives way, all end."""
    engine = engine_of(layout_of(FULL, num_blocks=22, scheduling=scheduling))
    for branch in range(3):
        run(engine, spec(f"producer-{branch}", 57, branch=branch + 1))
        engine.reset_prefix_cache()
    run(engine, *(spec(f"consumer-{branch}", 57, branch=branch + 1) for branch in range(3)))
    assert len(of(engine, Loaded)) >= 3
    assert all(engine.ended(f"consumer-{branch}") for branch in range(3))
    assert not differences(engine)
    assert at_rest(engine)


class FailsItsFirstLoad(ReferenceWorker):
    """The first load moves nothing, without any gate that has it fail."""

    failed = False

    def submit(self, transfer):
        if transfer.direction is Direction.LOAD and not self.failed:
            self.failed = True
            self._over.append((transfer.job_id, False))
            return
        super().submit(transfer)


def test_a_failed_load_is_computed_instead():
    """The request starts over and ends, on right bytes; the load's blocks were told as failed."""
    engine = engine_of(factory=patched(FailsItsFirstLoad))
    run(engine, spec("producer", 33))
    engine.reset_prefix_cache()
    engine.prepare(spec("consumer", 33))
    engine.submit("consumer")
    for _ in range(6):
        engine.step()
    (failed,) = of(engine, LoadFailed, "consumer")
    assert (failed.boundary, failed.valid, failed.difference) == (32, 0, None)
    assert [(e.start, e.end) for e in of(engine, Computed, "consumer")] == [(0, 33)]
    assert engine.ended("consumer")
    assert not differences(engine)
    assert at_rest(engine)


class KeepsBlocks(QuietScheduler):
    """Asks for a request's blocks to stay after its end."""

    def request_finished(self, request, blocks):
        return True, None


class ReleasesLater(QuietWorker):
    """Reports the stores of an ended request two steps later."""

    def __init__(self):
        self.told: list[set[str]] = [set(), set()]

    def get_finished(self, finished_request_ids):
        self.told.append(set(finished_request_ids))
        return self.told.pop(0), set()


def test_kept_blocks_stay_until_every_rank_has_stored_them():
    """A request has ended, its blocks are not free before the report."""
    engine = engine_of(layout_of(world=2), quiet(KeepsBlocks, ReleasesLater))
    engine.prepare(spec("a", 9))
    engine.submit("a")
    engine.step()
    assert [e.request for e in of(engine, Ended)] == ["a"]
    assert not at_rest(engine)
    engine.step()
    assert not at_rest(engine)
    settle(engine)
    assert at_rest(engine)
    assert not of(engine, Broke)
