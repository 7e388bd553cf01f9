"""Keys that a connector tells become chunks of requests."""

from __future__ import annotations

import pytest

from kvconform.engine.calls import ConnectorBrokeError
from kvconform.engine.pattern import Lane, prefix_of
from kvconform.engine.told import ChunkNames
from kvconform.ports import (
    PLAIN,
    ChunkRemoved,
    ChunksCleared,
    ChunkStored,
    Group,
    GroupKind,
    Layout,
)

LAYOUT = Layout(
    hash_block=2,
    groups=tuple(Group(name=name, kind=GroupKind.FULL, block_size=2) for name in ("one", "two")),
)
TOKENS = tuple(range(10))


class Hashed:
    """A request with so many hashes."""

    def __init__(self, count: int) -> None:
        self.block_hashes = [bytes([at]) for at in range(count)]
        self.prefix = prefix_of(TOKENS, PLAIN)


def content(group: int, token: int) -> int:
    """What a block that ends with this token holds."""
    return prefix_of(TOKENS, PLAIN).content(Lane(group=group, layer=0, rank=0), token)


def test_runs_of_one_kind_are_one_event():
    """A chunk of two hash blocks is named by the second of them; an unknown key by nobody."""
    names = ChunkNames({"a": Hashed(5)}, LAYOUT, (2, 4))
    told = list(
        names.told(
            [
                ChunkStored(group=0, key=b"\x02"),
                ChunkStored(group=1, key=b"\x03"),
                ChunkRemoved(group=1, key=b"\x02"),
                ChunksCleared(),
            ],
            7,
        )
    )
    assert [(event.step, event.kind, event.chunks) for event in told] == [
        (7, "stored", ((0, "a", 2, (content(0, 5),)), (1, "a", 1, (content(1, 7),)))),
        (7, "removed", ((1, "", -1, ()),)),
        (7, "cleared", ()),
    ]


@pytest.mark.parametrize("nonsense", [None, 5, ["stored"], [ChunkStored]])
def test_what_is_no_event_breaks_the_connector(nonsense):
    """It is told which method returned it."""
    with pytest.raises(ConnectorBrokeError, match="take_events"):
        list(ChunkNames({}, LAYOUT, (2, 4)).told(nonsense, 1))
