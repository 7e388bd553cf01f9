"""The reference's closed formulas against the oracle's enumeration."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from reference_fakes import lookup_over, oracle_of, request_of

from kv_layouts import full, layouts, sliding
from kvconform.contract.oracle import Chunk, Supply
from kvconform.ports import ChunkState, GroupKind, Layout
from kvconform_reference.demand import StoreMask, demands_of

STATES = st.sampled_from([ChunkState.READY] * 7 + list(ChunkState))


@st.composite
def supplies(draw: st.DrawFn, layout: Layout, num_tokens: int) -> Supply:
    """A state for each complete chunk, most of them ready; windowed ones may lack their head."""
    oracle = oracle_of(layout)
    states: dict[Chunk, ChunkState] = {}
    gone: dict[Chunk, frozenset[int]] = {}
    for chunk in sorted(oracle.complete_chunks(num_tokens)):
        states[chunk] = draw(STATES)
        group = layout.groups[chunk[0]]
        if group.kind is GroupKind.FULL or draw(st.integers(0, 5)):
            continue
        lost = draw(st.integers(0, layout.blocks_per_chunk - 1)) * group.block_size
        if lost:
            tokens = oracle.tokens_of(chunk)
            gone[chunk] = frozenset(range(tokens.start, tokens.start + lost))
    return Supply(states=states, gone=gone)


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(layout=layouts(), num_tokens=st.integers(1, 140), data=st.data())
def test_lookup_answers_what_the_oracle_says(layout, num_tokens, data):
    """Longest hit, miss or later: the same over any states, layouts and local tokens."""
    supply = data.draw(supplies(layout, num_tokens))
    step = max(group.block_size for group in layout.groups)
    local = data.draw(st.integers(0, num_tokens // step)) * step
    request = request_of(num_tokens, layout.hash_block)
    found = lookup_over(layout, request, supply).longest(request, local)
    assert found == oracle_of(layout).best_verdict(num_tokens, supply, local_tokens=local)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(layout=layouts(), num_tokens=st.integers(1, 140), data=st.data())
def test_lookup_with_the_seed_bound_is_safe(layout, num_tokens, data):
    """The seed's bound may find less, never anything that is not covered."""
    supply = data.draw(supplies(layout, num_tokens))
    request = request_of(num_tokens, layout.hash_block)
    found = lookup_over(layout, request, supply, seed_bound=True).longest(request, 0)
    oracle = oracle_of(layout)
    if found:
        assert oracle.covered(found, num_tokens, supply, draft=True)
    best = oracle.best_verdict(num_tokens, supply)
    assert best is None or found is None or found <= best


@settings(max_examples=300, deadline=None)
@given(layout=layouts(), boundary=st.integers(1, 60))
@example(
    layout=Layout(groups=(full(), sliding(1)), hash_block=4), boundary=7
)  # a window of one token needs nothing
def test_demand_is_the_oracles(layout, boundary):
    """The chunks that a boundary needs, by formula and by enumeration."""
    boundary *= layout.hash_block
    oracle = oracle_of(layout)
    demands = demands_of(layout, layout.blocks_per_chunk)
    needed = {(g, c) for g, d in enumerate(demands) for c in d.needed(boundary)}
    tails = {(g, t) for g, d in enumerate(demands) if (t := d.tail(boundary)) is not None}
    assert needed == oracle.loaded_chunks(boundary)
    assert tails == oracle.draft_tail(boundary)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    layout=layouts(),
    num_tokens=st.integers(1, 140),
    answer_tokens=st.integers(0, 30),
    interval=st.none() | st.just(0) | st.integers(1, 80),
)
@example(
    layout=Layout(groups=(full(), sliding(1, block_size=20)), hash_block=4),
    num_tokens=60,
    answer_tokens=0,
    interval=None,
)  # a window of one token keeps nothing
@example(
    layout=Layout(groups=(sliding(1),), hash_block=4), num_tokens=16, answer_tokens=0, interval=0
)
def test_mask_keeps_what_is_reachable(layout, num_tokens, answer_tokens, interval):
    """The mask keeps every chunk that a lookup can reach, and none that no request's could.

    A producer does not know how long the requests will be that share its prefix, so the chunks of
    later boundaries, whose windows begin in it, are of use.
    """
    oracle = oracle_of(replace(layout, retention_interval=interval))
    mask = StoreMask(
        demands=demands_of(layout, layout.blocks_per_chunk),
        hash_block=layout.hash_block,
        retention_interval=interval,
    )
    prompt = max(1, num_tokens - answer_tokens)
    kept = {c for c in oracle.complete_chunks(num_tokens) if mask.wants(*c, prompt)}
    reach = max((g.window + g.extra_retained for g in layout.groups if g.window < 200), default=0)
    ahead = 200 if any(g.window >= 200 for g in layout.groups) else reach
    ahead += 2 * max(oracle.chunk_tokens)
    assert oracle.reachable_chunks(num_tokens, prompt_tokens=prompt) <= kept
    assert kept <= oracle.reachable_chunks(num_tokens, prompt_tokens=prompt, ahead=ahead)
