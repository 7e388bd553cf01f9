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
    Clause(
        id="SPC-2",
        text="No store reads a slot that holds anything but a token of its request: no rejected draft, nothing beyond.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="A step computes drafts before they are confirmed; a chunk stored with a rejected one is served under the key of the right tokens.",
        source="vllm-project/vllm#51358",
    ),
    Clause(
        id="SPC-3",
        text="What is stored of an answer does not depend on how many of its tokens were guessed first.",
        severity=Severity.BENEFIT,
        safe=False,
        reason="A cursor that counts rejected drafts passes chunks that are never offered again, and the next turn finds nothing.",
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
    Check(
        name="drafts-not-stored",
        clause="SPC-2",
        needs=(Capability.TRANSFER_CONTROL,),
        witness="a store was copied while requests have drafts",
    ),
    Check(
        name="answers-are-stored",
        clause="SPC-3",
        needs=(Capability.MASKED_STORE, Capability.TRANSFER_CONTROL),
        witness="a request with drafts has a complete chunk that a lookup can use",
    ),
)
