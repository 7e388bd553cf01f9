"""The block pool, the prefix cache over it, and what each request holds."""

from __future__ import annotations

from engine_fakes import FULL, SWA, layout_of, spec

from kvconform.engine.allocator import Allocator
from kvconform.engine.pool import BlockPool
from kvconform.engine.requests import LiveRequest
from kvconform.ports import NULL_BLOCK, Group, GroupKind

SWA_BARE = Group(name="bare", kind=GroupKind.SLIDING, block_size=4, window=8)
DRAFT = Group(name="draft", kind=GroupKind.FULL, block_size=4, eagle=True)


def test_freed_blocks_are_taken_first():
    """Last in, first out: the hardest order for whoever still reads a block."""
    pool = BlockPool(8)
    blocks = pool.allocate(4)
    pool.free([blocks[1]])
    pool.free([blocks[3]])
    assert pool.allocate(2) == [blocks[3], blocks[1]]


def test_a_freed_block_is_still_found_until_it_is_taken():
    """The prefix cache outlives the request; taking the block for another one ends it."""
    pool = BlockPool(3)
    (block,) = pool.allocate(1)
    pool.publish(block, (b"key", 0))
    pool.free([block])
    assert pool.find((b"key", 0)) == block
    pool.allocate(2)
    assert pool.find((b"key", 0)) is None


def test_a_pinned_block_is_not_taken():
    """A cached block that a request shares is not free, and needs as many frees as pins."""
    pool = BlockPool(3)
    (block,) = pool.allocate(1)
    pool.publish(block, (b"key", 0))
    pool.free([block])
    pool.pin([block])
    pool.pin([block])
    assert pool.num_free == 1
    pool.free([block])
    assert not pool.at_rest()
    pool.free([block])
    assert pool.at_rest()


def test_the_first_block_of_a_key_stays():
    """A second block with the same content is not published over the first."""
    pool = BlockPool(4)
    first, second = pool.allocate(2)
    pool.publish(first, (b"key", 0))
    pool.publish(second, (b"key", 0))
    assert pool.find((b"key", 0)) == first


def allocator_of(*groups: Group, num_blocks: int = 64) -> Allocator:
    """An allocator over a pool of its own."""
    layout = layout_of(*groups, num_blocks=num_blocks)
    return Allocator(layout, BlockPool(num_blocks))


def fill(allocator: Allocator, request: LiveRequest, tokens: int) -> None:
    """Compute and publish ``tokens`` tokens, then give all blocks up."""
    groups = [[] for _ in allocator.layout.groups]
    assert allocator.admit(request.request_id, 0, groups, 0, tokens)
    allocator.publish(request.request_id, request.block_hashes, tokens)
    allocator.free(request.request_id)


def test_the_longest_cached_prefix_is_found():
    """Boundaries are common multiples of all block sizes; the tail that fills no block is left."""
    allocator = allocator_of(FULL, SWA)
    request = LiveRequest(spec("a", 30), 4)
    fill(allocator, request, 30)
    boundary, rows = allocator.find_local(request.block_hashes, 29)
    assert boundary == 24
    assert len(rows[0]) == 3
    first_kept = (24 - 8 + 1 - 3) // 4
    assert rows[1][:first_kept] == [NULL_BLOCK] * first_kept
    assert NULL_BLOCK not in rows[1][first_kept:]


def test_a_draft_group_needs_the_next_block_and_gives_it_up():
    """With EAGLE the local hit ends one block earlier than what is cached."""
    allocator = allocator_of(DRAFT)
    request = LiveRequest(spec("a", 17), 4)
    fill(allocator, request, 16)
    boundary, rows = allocator.find_local(request.block_hashes, 16)
    assert (boundary, len(rows[0])) == (12, 3)


def test_blocks_that_left_the_window_are_freed():
    """Sliding on frees exactly the blocks below the retained interval, and full groups none."""
    allocator = allocator_of(FULL, SWA, SWA_BARE)
    assert allocator.admit("a", 0, [[], [], []], 0, 32)
    free = allocator.pool.num_free
    allocator.slide("a", 32)
    full, swa, bare = allocator.holding("a").rows
    assert NULL_BLOCK not in full
    assert [i for i, block in enumerate(swa) if block == NULL_BLOCK] == [0, 1, 2, 3, 4]
    assert [i for i, block in enumerate(bare) if block == NULL_BLOCK] == [0, 1, 2, 3, 4, 5]
    assert allocator.pool.num_free == free + 11


def test_a_hit_makes_room_for_the_retained_interval_only():
    """Below the retained interval rows are null; above it every block is new."""
    allocator = allocator_of(SWA)
    assert allocator.admit("a", 32, [[]], 0, 36)
    (row,) = allocator.holding("a").rows
    assert [block == NULL_BLOCK for block in row] == [True] * 5 + [False] * 4
    assert allocator.taken == set(row) - {NULL_BLOCK}


def test_a_pool_that_is_too_small_changes_nothing():
    """Refused, a request holds nothing and no cached block is lost or kept pinned."""
    allocator = allocator_of(FULL, num_blocks=6)
    request = LiveRequest(spec("a", 33), 4)
    fill(allocator, request, 24)
    boundary, rows = allocator.find_local(request.block_hashes, 32)
    assert boundary == 24
    free = allocator.pool.num_free
    assert not allocator.admit("a", boundary, rows, boundary, 56)
    assert allocator.pool.num_free == free
    assert allocator.find_local(request.block_hashes, 32) == (boundary, rows)
    assert allocator.grow("b", 48) is None
