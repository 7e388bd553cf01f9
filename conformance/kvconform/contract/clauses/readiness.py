"""Chunks in flight, and hits that come back once they are there."""

from __future__ import annotations

from kvconform.contract.clauses.model import SEED, Check, Clause, Severity
from kvconform.ports import Capability

CLAUSES = (
    Clause(
        id="RDY-1",
        text="After what was missing, pending or loading is repaired, the same waiting request hits.",
        severity=Severity.BENEFIT,
        safe=False,
        reason="A deferral or miss that outlives its cause is silent non-use.",
        source="vllm-project/vllm#56486",
    ),
    Clause(
        id="RDY-2",
        text="Loads are asynchronous: they do not stall the step in which they start.",
        severity=Severity.COST,
        safe=False,
        reason="Other requests would wait for the transfer.",
        source=SEED,
    ),
)

CHECKS = (
    Check(
        name="repaired-then-hits",
        clause="RDY-1",
        needs=(Capability.LONGEST_HIT,),
        witness="the first verdict was not the hit",
    ),
    Check(
        name="load-is-async",
        clause="RDY-2",
        needs=(Capability.ASYNC_LOAD,),
        witness="a hit was reported",
    ),
)
