"""An engine with a connector that does not hit is the engine without it."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity

CLAUSES = (
    Clause(
        id="NEU-1",
        text="As long as a connector does not hit, requests compute the same tokens in the same steps as without one.",
        severity=Severity.BENEFIT,
        safe=True,
        reason="A connector that delays, reorders or preempts what it has nothing for makes every request pay, with and without a hit.",
        source="vllm-project/vllm#53505",
    ),
)

CHECKS = (
    Check(
        name="neutral-without-hits",
        clause="NEU-1",
        witness="a step computed tokens before the first hit",
    ),
)
