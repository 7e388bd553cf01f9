"""Bytes: whose they are, what poison looks like, and what a comparison tells."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from engine_fakes import FULL, SWA, layout_of

from kvconform.engine.memory import RankMemory
from kvconform.engine.pattern import Lane, Owners, prefix_of
from kvconform.ports import PLAIN, Group, GroupKind, Image, Lora, Partition

TOKENS = tuple(range(16))


def memory_of(*groups: Group, rank: int = 0) -> tuple[RankMemory, Owners]:
    """A rank's memory of eight blocks, and who it knows."""
    owners = Owners()
    owners.add("alice", prefix_of(TOKENS))
    owners.add("bob", prefix_of(tuple(range(100, 116))))
    return RankMemory(layout_of(*groups, num_blocks=8), rank, "cpu", owners), owners


def test_slots_differ_in_everything_they_name():
    """Another token, position, partition, group, layer or rank gives other bytes everywhere."""
    partitions = (
        PLAIN,
        Partition(salt="a"),
        Partition(embeddings="a"),
        Partition(lora=Lora(name="a")),
        Partition(lora=Lora(name="a", version=2)),
        Partition(images=(Image(digest="a", start=0, length=4),)),
        Partition(images=(Image(digest="b", start=0, length=4),)),
    )
    prefixes = [prefix_of(TOKENS, one) for one in partitions] + [prefix_of(TOKENS[1:])]
    lanes = [Lane(group=g, layer=y, rank=r) for g, y, r in itertools.product(range(2), repeat=3)]
    slots = [
        tuple(prefix.slots(lane, 3)[at])
        for prefix in prefixes
        for lane in lanes
        for at in range(len(prefix))
    ]
    firsts = [slot[0] for slot in slots]
    assert len(set(firsts)) == len(firsts)


def test_a_slot_depends_on_every_earlier_token():
    """Equal tokens at equal positions after different beginnings are different bytes."""
    lane = Lane(group=0, layer=0, rank=0)
    one, other = prefix_of((1, 2, 3, 4)).slots(lane, 2), prefix_of((9, 2, 3, 4)).slots(lane, 2)
    assert (one[:, 0] != other[:, 0]).all()


def test_an_image_changes_what_comes_after_it_alone():
    """Slots below the place of an image are those of a request without it."""
    lane = Lane(group=0, layer=0, rank=0)
    image = Image(digest="a", start=6, length=2)
    plain = prefix_of(TOKENS).slots(lane, 2)[:, 0]
    seen = prefix_of(TOKENS, Partition(images=(image,))).slots(lane, 2)[:, 0]
    assert (plain[:6] == seen[:6]).all()
    assert (plain[6:] != seen[6:]).all()


def test_a_stray_slot_names_its_owner():
    """What another request wrote is told by request, group, layer, token and rank."""
    memory, _ = memory_of()
    bob = prefix_of(tuple(range(100, 116)))
    memory.write(0, [3, 4], bob, range(16))
    slots, difference = memory.compare(0, [3, 4], prefix_of(TOKENS), range(16))
    assert slots == 16
    assert difference is not None
    assert difference.found == "request 'bob', group 0, layer 0, token 0, rank 0"
    assert (difference.token, difference.slots, difference.group) == (0, 16, "full")


def test_an_unfilled_block_is_poison():
    """Fresh memory and poisoned blocks say that nobody wrote them."""
    memory, _ = memory_of()
    alice = prefix_of(TOKENS)
    memory.write(0, [3, 4], alice, range(16))
    memory.poison([4])
    _, difference = memory.compare(0, [3, 4], alice, range(16))
    assert difference is not None
    assert difference.token == 8
    assert difference.found == "nobody's: poison of a block that was never filled"
    assert memory.compare(0, [3, 4], alice, range(8)) == (8, None), "the other block is whole"


def test_zeros_and_damage_are_told_apart():
    """A cleared slot, a slot with one bad byte and foreign bytes have their own words."""
    memory, owners = memory_of()
    alice = prefix_of(TOKENS)
    slot = alice.slots(Lane(group=0, layer=0, rank=0), 2)[5].copy()
    assert owners.name(np.zeros(2, dtype=np.uint64)) == "nobody's: zeros"
    assert owners.name(np.array([5, 6], dtype=np.uint64)).startswith("nobody's: bytes")
    assert owners.name(slot) == "request 'alice', group 0, layer 0, token 5, rank 0"
    memory.write(0, [3, 4], alice, range(16))
    memory.caches["full.0"][3, 5 * 16 + 13] ^= 1  # the descriptor's upper half: the position
    _, difference = memory.compare(0, [3, 4], alice, range(16))
    assert difference is not None
    assert (difference.token, difference.byte, difference.slots) == (5, 13, 1)


def test_an_unknown_request_is_told_as_such():
    """Bytes of the pattern that no request of this case has."""
    memory, _ = memory_of()
    memory.write(0, [3], prefix_of(tuple(range(7, 15))), range(8))
    _, difference = memory.compare(0, [3], prefix_of(TOKENS), range(8))
    assert difference is not None
    assert difference.found.startswith("a request unknown to this case")


def test_null_blocks_are_neither_written_nor_compared():
    """Slots whose block is not held do not count."""
    memory, _ = memory_of()
    alice = prefix_of(TOKENS)
    memory.write(0, [0, 4], alice, range(16))
    assert (memory.caches["full.0"][0] == 0xDB).all()
    assert memory.compare(0, [0, 4], alice, range(16)) == (8, None)


def test_every_layer_is_compared():
    """A difference in the last layer alone is found."""
    group = Group(name="deep", kind=GroupKind.FULL, block_size=4, layers=3, slot_bytes=32)
    memory, _ = memory_of(group)
    alice = prefix_of(TOKENS)
    memory.write(0, [1], alice, range(4))
    memory.caches["deep.2"][1, 127] ^= 1
    _, difference = memory.compare(0, [1], alice, range(4))
    assert difference is not None
    assert (difference.layer, difference.token, difference.byte) == (2, 3, 31)


@pytest.mark.parametrize("group", [FULL, SWA])
def test_a_block_names_its_index(group):
    """The first slot of a block tells which block of which prefix it is."""
    memory, _ = memory_of(group)
    row = [2, 5] if group is FULL else [1, 2, 3, 5]
    memory.write(0, row, prefix_of(TOKENS), range(16))
    assert memory.block_index(0, row[-1]) == len(row) - 1
    assert memory.block_index(0, 7) == -1
