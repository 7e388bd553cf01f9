"""A slot that is read holds its owner's bytes."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity

CLAUSES = (
    Clause(
        id="INT-1",
        text="No step reads a slot that does not hold its owner's bytes.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="Attention over another request's, stale or unwritten memory answers wrongly without an error.",
        source="vllm-project/vllm#46951",
    ),
)

CHECKS = (
    Check(name="reads-own-bytes", clause="INT-1", witness="a step read at least one slot"),
)
