"""What is worth storing, and what a producer leaves behind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kv_layouts import full, layouts, sliding
from kvconform.contract.oracle import Oracle, Supply
from kvconform.ports import Capability, ChunkState, GroupKind, Layout

ALL = frozenset(Capability)
READY, MISSING, PENDING, LOADING = (
    ChunkState.READY,
    ChunkState.MISSING,
    ChunkState.PENDING,
    ChunkState.LOADING,
)


def oracle_of(*groups, hash_block=4, per_chunk=1, claims=ALL):
    """The oracle of a layout whose wish for chunks is met."""
    layout = Layout(groups=groups, hash_block=hash_block, blocks_per_chunk=per_chunk)
    sizes = tuple(layout.chunk_tokens(group) for group in range(len(groups)))
    return Oracle(layout=layout, chunk_tokens=sizes, claims=claims)


@pytest.mark.parametrize(
    ("extra", "stored", "loaded"),
    [
        (0, {2, 3, 6, 7}, {6, 7}),
        (1, {2, 3, 6, 7}, {6, 7}),
        (3, {1, 2, 3, 5, 6, 7}, {5, 6, 7}),
    ],
)
def test_seed_b_exact_sets(extra, stored, loaded):
    """Seed B: what a producer of 33 tokens stores, and what a cold consumer of 32 loads."""
    oracle = oracle_of(full(block_size=16), sliding(8, extra))
    whole = {(0, 0), (0, 1)}
    assert oracle.reachable_chunks(33) == whole | {(1, block) for block in stored}
    assert oracle.loaded_chunks(32) == whole | {(1, block) for block in loaded}


def test_seed_worked_example_mask():
    """SWA block 16, full block 64, window 32: the bare mask at 64 is [F, F, T, T]; extra 3 adds one."""
    bare = oracle_of(full(block_size=64), sliding(32, 0, 16), hash_block=16)
    fixed = oracle_of(full(block_size=64), sliding(32, 3, 16), hash_block=16)
    assert {c for g, c in bare.reachable_chunks(64) if g == 1} == {2, 3}
    assert {c for g, c in fixed.reachable_chunks(64) if g == 1} == {1, 2, 3}


@given(layout=layouts(), num_tokens=st.integers(0, 200))
def test_what_is_reachable_serves_every_alignment_boundary(layout, num_tokens):
    """A store of the reachable chunks alone answers a hit at each boundary that has its tail."""
    oracle = Oracle(
        layout=layout,
        chunk_tokens=tuple(layout.chunk_tokens(g) for g in range(len(layout.groups))),
        claims=ALL,
    )
    supply = oracle.supply(num_tokens)
    complete = oracle.complete_chunks(num_tokens)
    for boundary in oracle.alignment_boundaries(num_tokens):
        # The last token is computed from the state before it: of use to longer requests alone.
        if layout.has_states and boundary == num_tokens:
            continue
        if oracle.verified_chunks(boundary) <= complete:
            assert oracle.covered(boundary, num_tokens, supply, draft=True)


@given(layout=layouts(), num_tokens=st.integers(0, 150), ahead=st.integers(0, 60))
def test_looking_ahead_only_adds_complete_chunks(layout, num_tokens, ahead):
    """With boundaries of longer requests more chunks are of use, all of them complete."""
    oracle = Oracle(
        layout=layout,
        chunk_tokens=tuple(layout.chunk_tokens(g) for g in range(len(layout.groups))),
        claims=ALL,
    )
    near, far = oracle.reachable_chunks(num_tokens), oracle.reachable_chunks(num_tokens, ahead=ahead)
    assert near <= far <= oracle.complete_chunks(num_tokens)


@given(layout=layouts(), num_tokens=st.integers(1, 150))
def test_alignment_boundaries_by_their_definition(layout, num_tokens):
    """They are where a shared prefix ends once every full group gave up its incomplete chunk."""
    sizes = [
        layout.chunk_tokens(g) for g, group in enumerate(layout.groups) if group.kind is GroupKind.FULL
    ]
    oracle = Oracle(
        layout=layout,
        chunk_tokens=tuple(layout.chunk_tokens(g) for g in range(len(layout.groups))),
    )
    boundaries = oracle.alignment_boundaries(num_tokens)
    assert list(boundaries) == sorted(set(boundaries))
    assert all(0 < b <= num_tokens and b % layout.hash_block == 0 for b in boundaries)
    assert all(b % layout.state_tokens == 0 for b in boundaries)
    if len(sizes) == 1 and not layout.has_states:
        assert boundaries == list(range(sizes[0], num_tokens + 1, sizes[0]))


def test_a_chunk_completed_after_its_head_left_the_window_is_stored_in_part():
    """Steps of 8 tokens, window 8: of a 16-token chunk the first block is gone when it is whole."""
    oracle = oracle_of(full(block_size=16), sliding(4), per_chunk=4)
    supply = oracle.supply(64, steps=(8, 16, 24, 32, 40, 48, 56, 64))
    assert supply.gone[1, 3] == frozenset(range(48, 52))
    assert not any(group == 0 for group, _ in supply.gone)


def test_a_chunk_completed_in_one_step_is_whole():
    """A step that computes a chunk at once stores all of its blocks, in the window or not."""
    oracle = oracle_of(full(block_size=16), sliding(4), per_chunk=4)
    assert not oracle.supply(64, steps=(64,)).gone


@pytest.mark.parametrize(
    ("state", "claims", "verdict"),
    [
        (READY, ALL, 32),
        (MISSING, ALL, 16),
        (PENDING, ALL, None),
        (PENDING, ALL - {Capability.LATER}, 16),
        (LOADING, ALL, None),
        (LOADING, ALL - {Capability.DEDUP_LOADS}, 32),
    ],
)
def test_best_verdict_by_the_claims(state, claims, verdict):
    """A chunk in flight means *later* to who claims it, and a shorter or redundant hit to others."""
    oracle = oracle_of(full(block_size=16), claims=claims)
    supply = Supply(states={(0, 0): READY, (0, 1): state})
    assert oracle.best_verdict(33, supply) == verdict


@pytest.mark.parametrize(("tail", "verdict"), [(READY, 32), (MISSING, 16), (PENDING, None)])
def test_best_verdict_with_a_draft_tail(tail, verdict):
    """A draft group must have the chunk beyond the boundary; without it the hit ends a chunk earlier."""
    oracle = oracle_of(full(block_size=16, eagle=True))
    supply = Supply(states={(0, 0): READY, (0, 1): READY, (0, 2): tail})
    assert oracle.best_verdict(49, supply) == verdict


def test_the_last_token_of_a_prompt_is_left_to_compute():
    """32 tokens hit 31, also where a hash block is longer; what ends inside a chunk has no key."""
    oracle = oracle_of(full(block_size=16))
    supply = Supply(states={(0, 0): READY, (0, 1): READY})
    assert oracle.best_verdict(32, supply) == 31
    assert oracle.best_verdict(33, supply) == 32
    assert oracle.best_verdict(30, supply) == 16
    assert oracle.useful(32, 32) == oracle.useful(31, 32) == 31


def test_local_tokens_need_nothing():
    """What is in the pool already is not asked of the connector, and a hit must reach beyond it."""
    oracle = oracle_of(full(block_size=16))
    supply = Supply(states={(0, 1): READY})
    assert oracle.best_verdict(33, supply) == 0
    assert oracle.best_verdict(33, supply, local_tokens=16) == 32
    assert oracle.best_verdict(33, supply, local_tokens=32) == 0


@pytest.mark.parametrize(
    ("boundary", "legal"),
    [(-4, False), (0, True), (6, False), (32, True), (34, False), (35, True), (36, True), (40, False)],
)
def test_legal_boundaries(boundary, legal):
    """A hit ends on a hash block, or a token before the last one of a request that ends on one."""
    oracle = oracle_of(full(block_size=16))
    assert oracle.is_legal(boundary, 36) is legal
    assert not oracle.is_legal(34, 35)
    if not legal:
        assert not oracle.covered(boundary, 36, Supply(states={}))
