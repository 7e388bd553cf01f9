"""Aborts, forced preemption, ids that come again, and ranks that lag behind."""

from __future__ import annotations

import pytest
from engine_fakes import at_rest, differences, engine_of, layout_of, of, run, settle, spec

from kvconform.engine.events import Admitted, Computed, Copied, Ended, Loaded, Reported
from kvconform.engine.transfers import Gate
from kvconform.ports import Direction, Layout, LayoutError, Scheduling, TransferJob

BOTH = [Scheduling.SYNC, Scheduling.ASYNC]


def loading(**layout):
    """An engine in which the load of a request named consumer is held."""
    engine = engine_of(layout_of(**layout))
    run(engine, spec("producer", 33))
    engine.reset_prefix_cache()
    engine.prepare(spec("consumer", 33))
    engine.hold_ranks([engine.layout.world - 1], reports=False, copies=[Direction.LOAD])
    engine.submit("consumer")
    engine.step()
    return engine


@pytest.mark.parametrize("scheduling", BOTH)
@pytest.mark.parametrize("steps", range(6))
def test_a_request_is_aborted_in_any_phase_and_leaves_nothing(scheduling, steps):
    """It ends once, its blocks are free, and the engine comes to rest."""
    engine = engine_of(layout_of(scheduling=scheduling))
    engine.prepare(spec("a", 33, 4))
    engine.submit("a")
    for _ in range(steps):
        engine.step()
    engine.abort("a")
    engine.abort("a")
    settle(engine)
    assert [e.request for e in of(engine, Ended)] == ["a"]
    assert at_rest(engine)
    assert engine.left_over() == []


@pytest.mark.parametrize("world", [1, 2])
def test_blocks_of_an_aborted_load_are_kept_until_every_rank_has_reported(world):
    """The last rank's copy is held: nobody may take the blocks that it will write into."""
    engine = loading(world=world)
    free = engine._allocator.pool.num_free
    engine.abort("consumer")
    assert engine.ended("consumer")
    for _ in range(3):
        engine.step()
        assert engine._allocator.pool.num_free == free
        assert not engine.gone("consumer")
    assert engine.left_over()
    engine.release_ranks([world - 1], reports=False, copies=[Direction.LOAD])
    settle(engine)
    assert engine.gone("consumer")
    assert engine.left_over() == []
    assert not of(engine, Loaded)
    assert [e.fault for e in of(engine, Reported)] == [""] * world


def test_an_id_comes_again_and_is_another_request():
    """The second one computes its own prompt from the beginning."""
    engine = engine_of()
    run(engine, spec("a", 33))
    run(engine, spec("a", 17))
    assert [e.num_tokens for e in of(engine, Ended)] == [34, 18]
    assert not differences(engine)


@pytest.mark.parametrize("scheduling", BOTH)
def test_a_forced_preemption_takes_a_running_request_and_no_other(scheduling):
    """It computes its tokens again; what waits is not touched."""
    engine = engine_of(layout_of(scheduling=scheduling))
    engine.prepare(spec("a", 33, 4))
    engine.submit("a")
    engine.preempt("a")
    assert "cannot be preempted" in str(engine.events[-1])
    engine.step()
    engine.preempt("a")
    engine.step()
    assert "is preempted" in [getattr(e, "what", "") for e in engine.events]
    settle(engine)
    assert [e.start for e in of(engine, Computed)].count(0) + len(of(engine, Admitted)) >= 1
    assert sum(e.end - e.start for e in of(engine, Computed)) > 36
    assert [e.num_tokens for e in of(engine, Ended)] == [37]
    assert at_rest(engine)


def test_one_direction_of_one_rank_is_held_and_the_others_go_on():
    """Stores complete on both ranks, the load on the first alone."""
    engine = loading(world=2)
    engine.step()
    copies = [(e.direction, e.rank) for e in of(engine, Copied)]
    assert (Direction.STORE, 1) in copies
    assert (Direction.LOAD, 0) in copies
    assert (Direction.LOAD, 1) not in copies
    assert len(of(engine, Admitted)) == 1
    engine.release()
    settle(engine)
    assert len(of(engine, Loaded)) == 1


def test_copies_that_are_due_together_complete_last_first():
    """The reverse of the order of submission, once that is asked for."""
    done = []
    gate = Gate(lambda job: done.append(job.job_id))
    gate.last_first = True
    for number in (1, 2, 3):
        job = TransferJob(job_id=number, direction=Direction.STORE, blocks=())
        gate.submit(job, lambda: None)
    gate.tick()
    assert done == [3, 2, 1]


def test_ranks_have_layers_of_their_own():
    """Names are counted on from rank to rank, and every rank's caches are its own."""
    plain = layout_of(world=2)
    full, *others = plain.groups
    kwargs = {"name": full.name, "kind": full.kind, "block_size": full.block_size}
    group = type(full)(**kwargs, layers_by_rank=(1, 2))
    assert group.layers == 3
    assert [group.layer_names(rank) for rank in (0, 1)] == [
        (f"{full.name}.0",),
        (f"{full.name}.1", f"{full.name}.2"),
    ]
    engine = engine_of(layout_of(group, *others, world=2))
    run(engine, spec("producer", 33))
    engine.reset_prefix_cache()
    run(engine, spec("consumer", 33))
    (loaded,) = of(engine, Loaded)
    assert loaded.difference is None
    with pytest.raises(LayoutError, match="about 2 ranks, and world is 3"):
        Layout(groups=(group,), hash_block=4, world=3)
    with pytest.raises(LayoutError, match="every rank must have >= 1 layer"):
        type(full)(**kwargs, layers_by_rank=(1, 0))
    with pytest.raises(LayoutError, match="leave layers out"):
        type(full)(**kwargs, layers=2, layers_by_rank=(1, 2))
