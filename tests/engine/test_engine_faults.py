"""Copies that fail: what is moved, what the request goes on from, and whom else it concerns."""

from __future__ import annotations

import pytest
from engine_fakes import (
    FULL,
    SWA,
    at_rest,
    differences,
    engine_of,
    layout_of,
    of,
    run,
    settle,
    spec,
)

from kvconform.engine.events import Computed, Copied, CopyFailed, Loaded, LoadErrors, LoadFailed
from kvconform.engine.faults import CopyFault, How
from kvconform.ports import Direction, Scheduling
from kvconform_reference import make_connector

SYNC = {"sync_loads": "true"}


def produced(layout=None, **options):
    """An engine whose connector has stored a prompt of 33 tokens, with an empty pool."""
    engine = engine_of(layout or layout_of(FULL), make_connector, **options)
    run(engine, spec("producer", 33))
    engine.reset_prefix_cache()
    return engine


def consume(engine, *specs, **fault):
    """Submit requests, of which loads of the first one fail, and run to the end."""
    for one in specs:
        engine.prepare(one)
        engine.submit(one.name)
    engine.fail_copies(CopyFault(direction=Direction.LOAD, request=specs[0].name, **fault))
    settle(engine)
    return engine


@pytest.mark.parametrize("options", [{}, SYNC], ids=["asynchronous", "synchronous"])
@pytest.mark.parametrize("scheduling", list(Scheduling))
@pytest.mark.parametrize("how", list(How))
def test_a_request_ends_on_its_own_bytes_after_a_failed_load(scheduling, how, options):
    """It computes what did not come; nothing wrong is read, and no block is lost."""
    engine = produced(layout_of(FULL, SWA, scheduling=scheduling), **options)
    consume(engine, spec("consumer", 41, 3), how=how)
    assert len(of(engine, CopyFailed)) == 1
    assert len(of(engine, LoadErrors)) == 1
    assert len(of(engine, LoadFailed, "consumer")) == 1
    assert engine.ended("consumer")
    assert not differences(engine)
    assert at_rest(engine)


def told_exactly(engine):
    """Have the reference's worker report only the blocks that were lost."""
    worker = engine._connector.workers[0]

    def lost():
        told = type(worker).get_block_ids_with_load_errors(worker)
        failed = [event for event in engine.events if isinstance(event, CopyFailed)]
        return told & {failed[-1].ids[at] for at in failed[-1].lost} if told else told

    worker.get_block_ids_with_load_errors = lost
    return engine


@pytest.mark.parametrize("options", [{}, SYNC], ids=["asynchronous", "synchronous"])
def test_the_longest_valid_prefix_is_kept(options):
    """Of four blocks the last two were lost: 16 tokens stay and the rest is computed."""
    engine = told_exactly(produced(**options))
    consume(engine, spec("consumer", 41, 2), how=How.PART)
    (failed,) = of(engine, LoadFailed, "consumer")
    assert (failed.boundary, failed.valid) == (32, 16)
    assert any(e.start == 16 for e in of(engine, Computed, "consumer"))
    assert not differences(engine)
    assert at_rest(engine)


def test_a_window_that_was_lost_leaves_nothing_valid():
    """Below the boundary the sliding group holds no other window, so the request starts over."""
    engine = told_exactly(produced(layout_of(SWA, FULL)))
    consume(engine, spec("consumer", 41), group=0, how=How.PART)
    (failed,) = of(engine, LoadFailed, "consumer")
    assert failed.valid == 0
    assert not differences(engine)


def test_others_keep_their_hit():
    """Only the load of the named request fails."""
    engine = produced()
    run(engine, spec("other-producer", 33, branch=1))
    engine.reset_prefix_cache()
    consume(engine, spec("unlucky", 41), spec("lucky", 41, branch=1))
    assert [e.request for e in of(engine, LoadFailed)] == ["unlucky"]
    assert [e.boundary for e in of(engine, Loaded, "lucky")] == [32]


def test_a_failed_store_moves_nothing_and_spares_the_pool():
    """The named chunk arrives as nobody's bytes; the pool's own blocks are as before."""
    engine = engine_of(layout_of(FULL))
    engine.prepare(spec("producer", 33, 3))
    engine.submit("producer")
    fault = CopyFault(direction=Direction.STORE, request="producer", blocks=frozenset({1}), how=How.PART)
    engine.fail_copies(fault)
    settle(engine)
    (failed,) = of(engine, CopyFailed)
    assert [failed.blocks[at] for at in failed.lost] == [("full", 1)]
    assert not differences(engine)
    run(engine, spec("again", 33))
    assert not differences(engine)


def test_the_nth_copies_fail_and_the_others_do_not():
    """The second and third store fail on rank 1; each rank counts for itself."""
    engine = engine_of(layout_of(FULL, world=2, max_batched_tokens=8))
    engine.prepare(spec("producer", 41))
    engine.submit("producer")
    engine.fail_copies(CopyFault(direction=Direction.STORE, request="producer", rank=1, nth=2, times=2))
    settle(engine)
    assert [e.rank for e in of(engine, CopyFailed)] == [1, 1]
    stored = [e.rank for e in of(engine, Copied)]
    assert (stored.count(0), stored.count(1)) == (5, 3)


def test_load_errors_are_handled_at_once_whatever_is_held():
    """A request must not end on bad bytes because its rank's report is late."""
    engine = produced(**SYNC)
    engine.hold(copies=False)
    engine.prepare(spec("consumer", 41, 2))
    engine.submit("consumer")
    engine.fail_copies(CopyFault(direction=Direction.LOAD, request="consumer"))
    engine.step()
    assert of(engine, LoadFailed, "consumer")
    engine.release()
    settle(engine)
    assert not differences(engine)
