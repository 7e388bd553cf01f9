"""What a connector costs the scheduler of the engine."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity
from kvconform.ports import Capability

CLAUSES = (
    Clause(
        id="CST-1",
        text="What a connector does for a request grows no faster than its chunks, its steps and those who wait, and not with those before it.",
        severity=Severity.COST,
        safe=False,
        reason="The scheduler waits for it: what is quadratic stalls every request of the engine as prompts grow.",
        source="vllm-project/vllm#50992",
    ),
    Clause(
        id="CST-2",
        text="Metadata of a step speaks of what is new in it, not of all that was before.",
        severity=Severity.COST,
        safe=False,
        reason="It is sent to every rank in every step.",
        source="vllm-project/vllm#46216",
    ),
)

CHECKS = (
    Check(
        name="effort-is-linear",
        clause="CST-1",
        needs=(Capability.LINEAR_COST,),
        witness="requests of three sizes were run",
    ),
    Check(
        name="metadata-is-linear",
        clause="CST-2",
        needs=(Capability.LINEAR_COST,),
        witness="metadata of three sizes of requests was sent",
    ),
)
