"""Pages: widths, scales, padding, strides, and what is told of writes to none of them."""

from __future__ import annotations

import itertools

import pytest
from engine_fakes import layout_of

from kvconform.engine.calls import ConnectorBrokeError
from kvconform.engine.memory import RankMemory
from kvconform.engine.pages import GUARD_BYTES
from kvconform.engine.pattern import Owners, prefix_of
from kvconform.engine.watch import WriteWatch, check_ids
from kvconform.ports import Direction, Group, GroupKind, LayoutError, Storage, TransferJob

PREFIX = prefix_of(tuple(range(32)))
SHAPES = [
    {"slot_bytes": 16},
    {"slot_bytes": 17},
    {"slot_bytes": 36, "scale_bytes": 4},
    {"slot_bytes": 24, "scale_bytes": 5, "page_padding": 7},
    {"layer_slot_bytes": (33, 72), "page_padding": 1},
]


def group_of(kind: GroupKind = GroupKind.FULL, **bytes_of: object) -> Group:
    """A group of two layers."""
    return Group(name="g", kind=kind, block_size=8, layers=2, **bytes_of)


def memory_of(group: Group, storage: Storage) -> RankMemory:
    """Six blocks."""
    return RankMemory(layout_of(group, num_blocks=6, storage=storage), 0, "cpu", Owners())


@pytest.mark.parametrize("kind", [GroupKind.FULL, GroupKind.RECURRENT])
@pytest.mark.parametrize(
    ("shape", "storage"), list(itertools.product(SHAPES, Storage))
)
def test_every_byte_that_counts_is_compared(kind, shape, storage):
    """Any byte of a slot or scale that changes is found, any byte of padding is not."""
    group = group_of(kind, **shape)
    memory = memory_of(group, storage)
    memory.write(0, [2, 3, 4, 5], PREFIX, range(16))
    for layer, name in enumerate(group.layer_names()):
        cache = memory.caches[name]
        assert tuple(cache.shape) == (6, group.page_bytes_of(layer))
        for byte in range(0, cache.shape[1], 5):
            cache[3, byte] ^= 1
            _, difference = memory.compare(0, [2, 3], PREFIX, range(8, 16))
            counts = byte < cache.shape[1] - group.page_padding
            assert (difference is not None) == counts
            cache[3, byte] ^= 1
    assert memory.compare(0, [2, 3], PREFIX, range(8, 16))[1] is None


@pytest.mark.parametrize("storage", Storage)
def test_a_page_written_elsewhere_keeps_its_bytes(storage):
    """A page copied as a whole is right at its new place, however pages lie."""
    group = group_of(slot_bytes=17, scale_bytes=3)
    memory = memory_of(group, storage)
    memory.write(0, [2], PREFIX, range(8))
    for cache in memory.caches.values():
        cache[4] = cache[2].clone()
    assert memory.compare(0, [4], PREFIX, range(8)) == (8, None)


def watched(memory: RankMemory) -> tuple[WriteWatch, list[str]]:
    """A watch, and what it says."""
    said: list[str] = []
    return WriteWatch(memory, said.append), said


def test_a_write_to_what_a_load_is_for_is_no_news():
    """Blocks of the load, padding included."""
    memory = memory_of(group_of(page_padding=8), Storage.STRIDED)
    watch, said = watched(memory)
    watch.begin()
    memory.caches["g.0"][3] = 7
    watch.end({(0, 3)})
    watch.at_end()
    assert said == []


@pytest.mark.parametrize("storage", [Storage.STRIDED, Storage.PACKED])
def test_a_write_behind_a_page_is_told(storage):
    """One byte past the last page of a block, seen around a load and at the end."""
    memory = memory_of(group_of(), storage)
    watch, said = watched(memory)
    cache = memory.caches["g.1"]
    everything = cache.as_strided((cache.untyped_storage().nbytes(),), (1,), 0)
    watch.begin()
    everything[cache.storage_offset() + 3 * cache.stride(0) + cache.shape[1]] = 7
    watch.end({(0, 3)})
    watch.at_end()
    page = cache.stride(0) - GUARD_BYTES
    assert said == [f"bytes behind the page of block 3 of group g, from byte {page} on rank 0"] * 2


def test_a_write_to_another_block_or_the_null_block_is_told():
    """Another block while a load runs; the null block at any time."""
    memory = memory_of(group_of(), Storage.SEPARATE)
    watch, said = watched(memory)
    watch.begin()
    memory.caches["g.0"][4, 9] = 7
    watch.end({(0, 3)})
    memory.caches["g.1"][0, 2] = 7
    watch.at_end()
    assert said == [
        "block 4 of group g, from byte 9 on rank 0",
        "the null block of group g, from byte 2 on rank 0",
    ]


@pytest.mark.parametrize(("group", "block"), [(0, 6), (0, -1), (1, 2)])
def test_a_job_about_no_block_breaks_the_connector(group, block):
    """Not an IndexError of ours: who names it is told."""
    job = TransferJob(job_id=1, direction=Direction.LOAD, blocks=((group, block),))
    with pytest.raises(ConnectorBrokeError, match=f"names block {block} of group {group}"):
        check_ids(job, layout_of(group_of(), num_blocks=6))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"slot_bytes": 15}, "slot_bytes is 15"),
        ({"scale_bytes": -1}, "scale_bytes is -1"),
        ({"page_padding": -8}, "page_padding is -8"),
        ({"layer_slot_bytes": (16,)}, "one for each of the 2 layers"),
    ],
)
def test_pages_that_cannot_be(wrong, text):
    """The group, the value and what was expected."""
    with pytest.raises(LayoutError, match=text):
        group_of(**wrong)
