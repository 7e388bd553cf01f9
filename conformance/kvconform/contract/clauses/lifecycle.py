"""Requests and jobs from beginning to end."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity

CLAUSES = (
    Clause(
        id="LIF-1",
        text="The connector's methods return what the port says and raise nothing.",
        severity=Severity.DEATH,
        safe=True,
        reason="An exception in the engine core ends every request, not one.",
        source="vllm-project/vllm#56701",
    ),
)

CHECKS = (
    Check(name="no-exception", clause="LIF-1", witness="a method was called"),
)
