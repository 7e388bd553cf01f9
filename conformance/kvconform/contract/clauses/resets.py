"""What a reset of the cache ends, and what it leaves alone."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity
from kvconform.ports import Capability

CLAUSES = (
    Clause(
        id="RST-1",
        text="Nothing that was stored before a reset, or was on its way then, is served after it.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="An engine resets because its weights have changed: older KV belongs to another model.",
        source="vllm-project/vllm#42695",
    ),
    Clause(
        id="RST-2",
        text="After a reset what is stored anew is served, however many resets there were.",
        severity=Severity.BENEFIT,
        safe=False,
        reason="A chunk that stays pinned or pending over a reset takes room for ever.",
        source="vllm-project/vllm#57810",
    ),
)

CHECKS = (
    Check(
        name="old-is-not-served",
        clause="RST-1",
        witness="a request asked, after a reset, for tokens that were computed before it",
    ),
    Check(
        name="hits-after-reset",
        clause="RST-2",
        needs=(Capability.LONGEST_HIT,),
        witness="a request came after a reset, and must hit",
    ),
)
