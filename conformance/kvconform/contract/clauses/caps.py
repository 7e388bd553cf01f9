"""Limits that a request sets for itself."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity
from kvconform.ports import Capability

CLAUSES = (
    Clause(
        id="CAP-1",
        text="Of a request no more tokens are loaded, and none further from the front are stored, than it allows.",
        severity=Severity.COST,
        safe=False,
        reason="A cap bounds what a request may cost others; one that is taken for none, or 0 for no cap, is silently ignored.",
        source="vllm-project/vllm#57216",
    ),
)

CHECKS = (
    Check(
        name="load-cap-kept",
        clause="CAP-1",
        needs=(Capability.REQUEST_CAPS,),
        witness="a request with a cap on loads asked",
    ),
    Check(
        name="store-cap-kept",
        clause="CAP-1",
        needs=(Capability.REQUEST_CAPS,),
        witness="a request with a cap on stores was computed",
    ),
)
