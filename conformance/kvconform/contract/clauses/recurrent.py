"""States of recurrent groups: each stands for all tokens up to one place, and for no other."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity

CLAUSES = (
    Clause(
        id="HYB-1",
        text="A hit ends where every recurrent group has a state, before the last token, and brings just the state of that place.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="A state cannot be cut back: one of a place before or behind the boundary answers wrongly without an error.",
        source="vllm-project/vllm#44599",
    ),
)

CHECKS = (
    Check(
        name="state-at-boundary",
        clause="HYB-1",
        witness="a hit was reported for a layout with a recurrent group",
    ),
)
