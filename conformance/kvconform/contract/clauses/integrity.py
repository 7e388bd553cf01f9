"""A slot that is read holds its owner's bytes."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity
from kvconform.ports import Capability

CLAUSES = (
    Clause(
        id="INT-1",
        text="No step reads a slot that does not hold its owner's bytes.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="Attention over another request's, stale or unwritten memory answers wrongly without an error.",
        source="vllm-project/vllm#46951",
    ),
    Clause(
        id="INT-2",
        text="A connector writes to the blocks that its loads are for, and to nothing else.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="Bytes behind a page, of another block or of the null block belong to others, who read them later.",
        source="vllm-project/vllm#48411",
    ),
    Clause(
        id="INT-3",
        text="A job names each block once, and never the null block.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="The null block stands for what a request does not hold: a key stored from it holds nobody's bytes; a block named twice is freed twice, or holds what came last.",
        source="vllm-project/vllm#42571",
    ),
)

CHECKS = (
    Check(name="reads-own-bytes", clause="INT-1", witness="a step read at least one slot"),
    Check(
        name="writes-only-loads",
        clause="INT-2",
        witness="a load of at least one block completed",
    ),
    Check(
        name="job-blocks",
        clause="INT-3",
        needs=(Capability.TRANSFER_CONTROL,),
        witness="a job ran",
    ),
)
