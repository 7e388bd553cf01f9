"""What a connector does when its memory is too small for everything."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity
from kvconform.ports import Capability

CLAUSES = (
    Clause(
        id="CPC-1",
        text="The chunks in a rank's host memory never take more bytes than the layout allows.",
        severity=Severity.DEATH,
        safe=False,
        reason="Memory beyond the budget is somebody else's: the process is killed, or ids run past the end of a region.",
        source="vllm-project/vllm#39617",
        unseen=(
            "bytes are counted only where a load brings them back. A worker that frees no memory of chunks "
            "that are evicted by the books keeps more than its budget, and no load ever asks for that; "
            "measure the memory of its process."
        ),
    ),
    Clause(
        id="CPC-2",
        text="A chunk is refused only if what is free and what may be evicted is not enough for it.",
        severity=Severity.BENEFIT,
        safe=False,
        reason="A store that is refused although there is room, or for ever because it once was, is a hit that never comes.",
        source="vllm-project/vllm#55461",
    ),
    Clause(
        id="CPC-3",
        text="Requests that were used longest ago are evicted first, the tail of each before its head, and no more than is needed.",
        severity=Severity.BENEFIT,
        safe=False,
        reason="A prefix without its first chunk is of no use, whatever is left of it.",
        source="vllm-project/vllm#51787",
    ),
)

CHECKS = (
    Check(
        name="budget-kept",
        clause="CPC-1",
        needs=(Capability.CAPACITY, Capability.TRANSFER_CONTROL),
        witness="bytes that were stored came back by a load",
    ),
    Check(
        name="stored-if-room",
        clause="CPC-2",
        needs=(Capability.CAPACITY, Capability.TRANSFER_CONTROL, Capability.LRU),
        witness="a request that fits came alone and completed a chunk that was never stored before",
    ),
    Check(
        name="recent-stays",
        clause="CPC-3",
        needs=(Capability.CAPACITY, Capability.TRANSFER_CONTROL, Capability.LRU, Capability.LONGEST_HIT),
        witness="a request asked, with nothing in flight, for a prefix that must still be there",
    ),
)
