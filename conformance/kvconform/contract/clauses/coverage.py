"""What is loaded covers what is read: windows, retained history, boundaries, store policy."""

from __future__ import annotations

from kvconform.contract.clauses.model import SEED, Check, Clause, Severity
from kvconform.ports import Capability

CLAUSES = (
    Clause(
        id="COV-1",
        text="When a load completes, every retained block below the boundary holds its owner's bytes.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="The engine publishes and reads these blocks; a block that nobody filled answers from wrong memory.",
        source=SEED,
    ),
    Clause(
        id="COV-2",
        text="A reported hit is one for which every needed chunk is ready, a multiple of hash_block, and within the request.",
        severity=Severity.DEATH,
        safe=True,
        reason="The allocator makes room for what the hit promises; a chunk that lookup never verified is missing or not ready after admission.",
        source=SEED,
    ),
    Clause(
        id="COV-3",
        text="A lookup finds the longest hit for which everything needed is ready, and answers later rather than less while it is in flight.",
        severity=Severity.BENEFIT,
        safe=False,
        reason="Bytes that go out and never come back are the commonest failure in the field.",
        source="vllm-project/vllm#53951",
    ),
    Clause(
        id="COV-4",
        text="A load brings exactly the blocks that the boundary needs.",
        severity=Severity.COST,
        safe=False,
        reason="Blocks outside the retained interval cost bandwidth and are never read.",
        source=SEED,
    ),
    Clause(
        id="COV-5",
        text="Everything that a lookup at an alignment boundary needs was stored, and of windowed groups nothing else.",
        severity=Severity.COST,
        safe=False,
        reason="Store policy and lookup demand must come from one rule, or stored chunks can never be served.",
        source="vllm-project/vllm#53951",
    ),
    Clause(
        id="COV-6",
        text="A consumer that shares more of a stored prompt hits no less than one that shares less of it.",
        severity=Severity.BENEFIT,
        safe=False,
        reason="A hit that dips where a prompt ends with a block or chunk is lost for exactly the commonest prompts.",
        source="vllm-project/vllm#50235",
    ),
)

CHECKS = (
    Check(name="bytes-after-load", clause="COV-1", witness="a load of at least one block completed"),
    Check(name="hit-is-covered", clause="COV-2", witness="a hit was reported"),
    Check(
        name="hit-is-best",
        clause="COV-3",
        needs=(Capability.LONGEST_HIT,),
        witness="a lookup was answered",
    ),
    Check(
        name="hits-are-monotone",
        clause="COV-6",
        needs=(Capability.LONGEST_HIT,),
        witness="consumers that share the prompt to different lengths were answered",
    ),
    Check(
        name="load-is-exact",
        clause="COV-4",
        needs=(Capability.EXACT_LOAD, Capability.TRANSFER_CONTROL),
        witness="a load job ran",
    ),
    Check(
        name="store-is-exact",
        clause="COV-5",
        needs=(Capability.MASKED_STORE, Capability.TRANSFER_CONTROL),
        witness="a store job ran",
    ),
)
