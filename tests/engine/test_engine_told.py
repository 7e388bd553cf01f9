"""Keys that a connector tells become chunks of requests."""

from __future__ import annotations

import pytest

from kvconform.engine.calls import ConnectorBrokeError
from kvconform.engine.told import ChunkNames
from kvconform.ports import ChunkRemoved, ChunksCleared, ChunkStored


class Hashed:
    """A request with so many hashes."""

    def __init__(self, count: int) -> None:
        self.block_hashes = [bytes([at]) for at in range(count)]


def test_runs_of_one_kind_are_one_event():
    """A chunk of two hash blocks is named by the second of them; an unknown key by nobody."""
    names = ChunkNames({"a": Hashed(5)}, (1, 2))
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
        (7, "stored", ((0, "a", 2), (1, "a", 1))),
        (7, "removed", ((1, "", -1),)),
        (7, "cleared", ()),
    ]


@pytest.mark.parametrize("nonsense", [None, 5, ["stored"], [ChunkStored]])
def test_what_is_no_event_breaks_the_connector(nonsense):
    """It is told which method returned it."""
    with pytest.raises(ConnectorBrokeError, match="take_events"):
        list(ChunkNames({}, (1,)).told(nonsense, 1))
