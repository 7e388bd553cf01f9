"""What is retained: the oracle's enumeration, the engine's allocator, the seed's closed formulas."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kv_layouts import full, layouts, sliding, sliding_groups, windows
from kvconform.contract.oracle import (
    Oracle,
    oldest_read,
    oldest_retained,
    retained_blocks,
    retained_tokens,
)
from kvconform.engine.allocator import num_skipped_tokens
from kvconform.ports import Group, GroupKind, Layout


def cdiv(a: int, b: int) -> int:
    """Division rounded up."""
    return -(-a // b)


def sole(group: Group, per_chunk: int = 1) -> Oracle:
    """The oracle of a layout with one group."""
    layout = Layout(
        groups=(group,), hash_block=1 if group.block_size < 4 else group.block_size, blocks_per_chunk=per_chunk
    )
    return Oracle(layout=layout, chunk_tokens=(layout.chunk_tokens(0),))


def num_chunks(group: Group, chunk: int, boundary: int) -> int:
    """Chunks that the oracle needs for a hit of ``boundary`` tokens."""
    return len({token // chunk for token in retained_tokens(group, boundary)})


def test_every_kind_is_tied_to_the_allocator_below():
    """A new kind of group must be added to the property that ties engine and contract."""
    tied = {GroupKind.FULL, GroupKind.SLIDING, GroupKind.CHUNKED_LOCAL, GroupKind.RECURRENT}
    assert set(GroupKind) == tied


@given(layout=layouts(), computed=st.integers(0, 5000))
def test_allocator_keeps_exactly_what_the_contract_retains(layout, computed):
    """The engine's rule for what it frees and the oracle's for what it needs are one rule."""
    for group in layout.groups:
        skipped = num_skipped_tokens(group, computed)
        assert min(skipped, computed) == min(oldest_retained(group, computed), computed)
        first = min(skipped, computed) // group.block_size
        kept = retained_blocks(group, computed)
        assert kept == frozenset() or min(kept) == first


@given(group=sliding_groups(16, 4), boundary=st.integers(1, 300), later=st.integers(0, 50))
def test_retained_tokens_serve_every_later_query(group, boundary, later):
    """No query from the first replayed one on reads below the retained interval."""
    query = max(0, boundary - group.extra_retained) + later
    assert oldest_read(group, query) >= oldest_retained(group, boundary)


@given(group=sliding_groups(16, 4), boundary=st.integers(1, 300))
def test_retained_tokens_hold_no_token_too_many(group, boundary):
    """The first retained token is read by the first replayed query, or is no token of the prefix."""
    first_query = max(0, boundary - group.extra_retained)
    assert oldest_retained(group, boundary) == oldest_read(group, first_query) or (
        oldest_retained(group, boundary) == 0
    )


@given(
    chunk=st.integers(1, 40), data=st.data(), extra=st.integers(0, 7), index=st.integers(1, 60)
)
def test_seed_lookup_bound_is_never_below_the_oracle(chunk, data, extra, index):
    """At a chunk's end the seed's bound suffices, and exceeds the oracle in one place only.

    That place is ``(window - 1) % chunk == 0`` with nothing retained, where it asks for one
    chunk more.  Boundaries are far enough from 0 for the interval to be whole.
    """
    window = data.draw(windows(chunk))
    group = sliding(window, extra, 1)
    boundary = chunk * (index + cdiv(window + extra, chunk))
    bound = max(cdiv(window, chunk), cdiv(window - 1 + extra, chunk))
    needed = num_chunks(group, chunk, boundary)
    excess = 1 if (window - 1) % chunk == 0 and extra == 0 else 0
    assert bound == needed + excess


@given(
    chunk=st.integers(1, 40), data=st.data(), extra=st.integers(0, 7), boundary=st.integers(1, 4000)
)
def test_seed_load_window_is_the_oracle_at_every_boundary(chunk, data, extra, boundary):
    """The seed's load window, cut off at token 0, spans just the chunks that the oracle needs.

    It is at least 1 in the seed; the oracle needs none for a window of one token, which reads
    only the query's own position.
    """
    window = data.draw(windows(chunk))
    padding = -boundary % chunk
    end = cdiv(boundary, chunk)
    formula = max(1, cdiv(window - 1 + extra + padding, chunk))
    needed = num_chunks(sliding(window, extra, 1), chunk, boundary)
    nothing_read = window == 1 and extra == 0
    assert min(formula, end) == (1 if nothing_read else needed)
    assert needed == 0 or not nothing_read


@given(per_chunk=st.integers(1, 4), data=st.data(), boundary=st.integers(1, 600))
def test_seed_first_retained_block_tells_whether_the_left_chunk_is_needed(per_chunk, data, boundary):
    """Seed A: the left chunk is needed iff the first retained block lies in it or before it."""
    block = 4
    window = data.draw(windows(block * per_chunk).filter(lambda w: w > 1))
    extra = data.draw(st.integers(0, 7))
    oracle = sole(sliding(window, extra, block), per_chunk)
    end = cdiv(boundary, block * per_chunk)
    first_retained_block = max(0, boundary - window + 1 - extra) // block
    left = end - 2
    needed = left >= 0 and first_retained_block // per_chunk < end - 1
    assert ((0, left) in oracle.loaded_chunks(boundary)) == needed


@pytest.mark.parametrize(
    ("window", "extra", "boundary", "needed"),
    [
        (128, 0, 3840, False), (128, 0, 3904, True), (128, 0, 3968, False),
        (128, 3, 3840, False), (128, 3, 3904, True), (128, 3, 3968, True),
        (256, 1, 3840, False), (256, 1, 3904, True), (256, 1, 3968, True),
        (256, 3, 3840, True), (256, 3, 3904, True), (256, 3, 3968, True),
    ],
)  # fmt: skip
def test_seed_a_left_chunk(window, extra, boundary, needed):
    """The twelve situations of seed A, figure by figure."""
    oracle = sole(sliding(window, extra, 64), 4)
    end = cdiv(boundary, 256)
    assert ((0, end - 2) in oracle.loaded_chunks(boundary)) is needed
    assert (0, end - 1) in oracle.loaded_chunks(boundary)


def test_seed_worked_example():
    """SWA block 16, window 32, extra 3, hit of 64: chunks 1 to 3 are restored, not 2 and 3."""
    assert retained_blocks(sliding(32, 3, 16), 64) == {1, 2, 3}
    assert retained_blocks(sliding(32, 0, 16), 64) == {2, 3}
    assert retained_blocks(sliding(32, 1, 16), 64) == {2, 3}, "one extra token costs no chunk"


@given(boundary=st.integers(0, 200), block=st.integers(1, 16))
def test_full_attention_retains_everything(boundary, block):
    """A full-attention group needs every block of a hit."""
    blocks = retained_blocks(full(block_size=block), boundary)
    assert blocks == set(range(cdiv(boundary, block)))
