"""What a connector tells of its chunks is what it has."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity
from kvconform.ports import Capability

CLAUSES = (
    Clause(
        id="EVT-1",
        text="Folding the events of stored, removed and cleared chunks gives exactly what a lookup finds.",
        severity=Severity.BENEFIT,
        safe=False,
        reason="A router sends requests to where the events say that their prefix is.",
        source="vllm-project/vllm#57159",
    ),
    Clause(
        id="EVT-2",
        text="A chunk is told stored after its bytes are there on every rank, once, and told removed only if it was told stored.",
        severity=Severity.BENEFIT,
        safe=False,
        reason="Whoever folds events out of order ends with another set, and cannot tell.",
        source="vllm-project/vllm#49413",
    ),
)

CHECKS = (
    Check(
        name="events-give-residence",
        clause="EVT-1",
        needs=(Capability.EVENTS, Capability.LONGEST_HIT, Capability.TRANSFER_CONTROL),
        witness="a lookup was answered while nothing was in flight",
    ),
    Check(
        name="events-in-order",
        clause="EVT-2",
        needs=(Capability.EVENTS, Capability.TRANSFER_CONTROL),
        witness="a chunk was told stored",
    ),
)
