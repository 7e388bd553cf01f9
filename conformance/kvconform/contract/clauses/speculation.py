"""Draft models and the tokens that they guess."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity
from kvconform.ports import Capability

CLAUSES = (
    Clause(
        id="SPC-1",
        text="A hit of a draft-model group is followed by a verified chunk that is dropped.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="The trailing chunk of a draft group is volatile while decoding.",
        source="vllm-project/vllm#52735",
    ),
)

CHECKS = (
    Check(
        name="draft-tail-dropped",
        clause="SPC-1",
        needs=(Capability.EAGLE,),
        witness="a hit was reported for a layout with a draft-model group",
    ),
)
