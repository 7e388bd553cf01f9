"""Every request ends."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity

CLAUSES = (
    Clause(
        id="TRM-1",
        text="Every request ends within a bounded number of steps.",
        severity=Severity.DEATH,
        safe=True,
        reason="A request that is asked again for ever hangs its client.",
        source="vllm-project/vllm#49829",
    ),
)

CHECKS = (
    Check(name="every-request-ends", clause="TRM-1", witness="a request was submitted"),
)
