"""What a connector may claim.  Claims are declared, never guessed.

A check that needs a capability is *not applicable* to a connector that does not claim it, and a
claim that is not kept is a failure.
"""

from __future__ import annotations

from enum import StrEnum


class Capability(StrEnum):
    """One claim each: the first group are ports, the second are policies judged as *best*."""

    CHUNK_CONTROL = "chunk_control"
    """Single chunks can be put into a state (`ChunkControl`)."""
    TRANSFER_CONTROL = "transfer_control"
    """Every copy runs through the engine's `TransferGate`."""
    EAGLE = "eagle"
    """Groups of a draft model are told apart: their trailing chunk is never served."""
    CAPACITY = "capacity"
    """The layout's budget of host memory (`Layout.host_bytes`) is kept."""
    PERSISTENT = "persistent"
    """What was stored is found by a connector of another process that has the same state folder."""
    EVENTS = "events"
    """``take_events`` tells which chunks are stored and removed."""

    LONGEST_HIT = "longest_hit"
    """A lookup finds the longest hit for which everything needed is ready."""
    LATER = "later"
    """A lookup answers *later*, not a shorter hit, while what it needs is in flight."""
    DEDUP_LOADS = "dedup_loads"
    """A chunk that is being loaded for one request is not loaded again for another."""
    ASYNC_LOAD = "async_load"
    """Loads do not stall the step."""
    EXACT_LOAD = "exact_load"
    """A load brings the blocks that the boundary needs and no others."""
    MASKED_STORE = "masked_store"
    """Of windowed groups only chunks that some lookup can reach are stored."""
    REQUEST_CAPS = "request_caps"
    """A request's ``max_load_tokens`` and ``max_offload_tokens`` are kept."""
    LRU = "lru"
    """Least recently used requests are evicted first, the tail of each before its head."""
    LINEAR_COST = "linear_cost"
    """What a request costs the connector grows no faster than its chunks and its steps."""

    @property
    def hint(self) -> str:
        """One sentence for messages, the same as the docstring in the source."""
        return _HINTS[self]


_HINTS = {
    Capability.CHUNK_CONTROL: "single chunks can be put into a state",
    Capability.TRANSFER_CONTROL: "every copy runs through the engine's gate",
    Capability.EAGLE: "the trailing chunk of draft-model groups is never served",
    Capability.CAPACITY: "the layout's budget of host memory is kept",
    Capability.PERSISTENT: "another process finds what was stored",
    Capability.EVENTS: "take_events tells which chunks are stored and removed",
    Capability.LONGEST_HIT: "a lookup finds the longest hit that is ready",
    Capability.LATER: "a lookup answers 'later' while what it needs is in flight",
    Capability.DEDUP_LOADS: "a chunk being loaded is not loaded again",
    Capability.ASYNC_LOAD: "loads do not stall the step",
    Capability.EXACT_LOAD: "a load brings what the boundary needs and no more",
    Capability.MASKED_STORE: "only chunks that some lookup can reach are stored",
    Capability.REQUEST_CAPS: "a request's caps on loaded and stored tokens are kept",
    Capability.LRU: "least recently used requests are evicted first, tails before heads",
    Capability.LINEAR_COST: "a request's cost grows no faster than its chunks and steps",
}
