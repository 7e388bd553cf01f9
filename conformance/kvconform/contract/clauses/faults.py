"""Copies that fail cost their own request its benefit, and nobody anything else."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity
from kvconform.ports import Capability

CLAUSES = (
    Clause(
        id="FLT-1",
        text="Every block that a failed load did not fill is reported, at the latest with the end of the load.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="The engine publishes and reads what it is not told of; a load that failed in silence is a wrong answer.",
        source="vllm-project/vllm#53298",
    ),
    Clause(
        id="FLT-2",
        text="A failed load is reported once, and for blocks of its own request alone.",
        severity=Severity.BENEFIT,
        safe=True,
        reason="A second report, or one for other blocks, has the engine throw away what is right, of whoever holds the blocks by then.",
        source="vllm-project/vllm#49947",
    ),
    Clause(
        id="FLT-3",
        text="A chunk whose store failed on any rank is never served.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="Bytes that did not arrive, or not all of them, have the right length and the wrong content.",
        source="vllm-project/vllm#54363",
    ),
    Clause(
        id="FLT-4",
        text="After copies have failed, what is stored anew is served, however many have failed.",
        severity=Severity.BENEFIT,
        safe=False,
        reason="A place, a pin or a mark that a failed copy leaves behind is lost for good.",
        source="vllm-project/vllm#49947",
    ),
)

CHECKS = (
    Check(
        name="failed-load-is-reported",
        clause="FLT-1",
        needs=(Capability.TRANSFER_CONTROL,),
        witness="a load that failed was over",
    ),
    Check(
        name="failure-is-told-once",
        clause="FLT-2",
        needs=(Capability.TRANSFER_CONTROL,),
        witness="a load failed",
    ),
    Check(
        name="bad-is-not-served",
        clause="FLT-3",
        needs=(Capability.TRANSFER_CONTROL,),
        witness="a request asked for a chunk whose store had failed",
    ),
    Check(
        name="hits-after-failure",
        clause="FLT-4",
        needs=(Capability.TRANSFER_CONTROL, Capability.LONGEST_HIT),
        witness="a request came after a copy had failed, and must hit",
    ),
)
