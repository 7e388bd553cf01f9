"""The clauses and the checks that cite them: one place for docs, reports and the registry gate."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kvconform.ports import Capability


class Severity(StrEnum):
    """What a breach does to the users of the engine."""

    CORRUPTION = "silent corruption"
    DEATH = "engine death"
    BENEFIT = "lost benefit"
    COST = "cost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One sentence that a connector keeps.

    ``safe`` clauses bind every connector; the others bind those that claim the policies which
    their checks name.
    """

    id: str
    text: str
    severity: Severity
    safe: bool
    reason: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One judgement inside a case.

    ``needs`` are the capabilities without which it does not apply.  ``witness`` says what must
    have happened for the check to have measured anything.
    """

    name: str
    clause: str
    needs: tuple[Capability, ...] = ()
    witness: str = ""


_SEED = "vllm-project/vllm#56709"

CLAUSES: dict[str, Clause] = {
    clause.id: clause
    for clause in (
        Clause(
            id="COV-1",
            text="When a load completes, every retained block below the boundary holds its owner's bytes.",
            severity=Severity.CORRUPTION,
            safe=True,
            reason="The engine publishes and reads these blocks; a block that nobody filled answers from wrong memory.",
            source=_SEED,
        ),
        Clause(
            id="COV-2",
            text="A reported hit is one for which every needed chunk is ready, a multiple of hash_block, and within the request.",
            severity=Severity.DEATH,
            safe=True,
            reason="The allocator makes room for what the hit promises; a chunk that lookup never verified is missing or not ready after admission.",
            source=_SEED,
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
            source=_SEED,
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
            source=_SEED,
        ),
        Clause(
            id="INT-1",
            text="No step reads a slot that does not hold its owner's bytes.",
            severity=Severity.CORRUPTION,
            safe=True,
            reason="Attention over another request's, stale or unwritten memory answers wrongly without an error.",
            source="vllm-project/vllm#46951",
        ),
        Clause(
            id="LIF-1",
            text="The connector's methods return what the port says and raise nothing.",
            severity=Severity.DEATH,
            safe=True,
            reason="An exception in the engine core ends every request, not one.",
            source="vllm-project/vllm#56701",
        ),
        Clause(
            id="TRM-1",
            text="Every request ends within a bounded number of steps.",
            severity=Severity.DEATH,
            safe=True,
            reason="A request that is asked again for ever hangs its client.",
            source="vllm-project/vllm#49829",
        ),
        Clause(
            id="ISO-1",
            text="Requests that differ in what partitions the cache never share KV, however equal their tokens.",
            severity=Severity.CORRUPTION,
            safe=True,
            reason="A salt keeps tenants apart, and adapters, images and embeddings give equal tokens other KV; a key made of tokens alone serves one request's KV to another.",
            source="vllm-project/vllm#53495",
        ),
        Clause(
            id="CAP-1",
            text="Of a request no more tokens are loaded, and none further from the front are stored, than it allows.",
            severity=Severity.COST,
            safe=False,
            reason="A cap bounds what a request may cost others; one that is taken for none, or 0 for no cap, is silently ignored.",
            source="vllm-project/vllm#57216",
        ),
        Clause(
            id="SPC-1",
            text="A hit of a draft-model group is followed by a verified chunk that is dropped.",
            severity=Severity.CORRUPTION,
            safe=True,
            reason="The trailing chunk of a draft group is volatile while decoding.",
            source="vllm-project/vllm#52735",
        ),
    )
}

CHECKS: dict[str, Check] = {
    check.name: check
    for check in (
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
            name="draft-tail-dropped",
            clause="SPC-1",
            needs=(Capability.EAGLE,),
            witness="a hit was reported for a layout with a draft-model group",
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
        Check(
            name="never-shared",
            clause="ISO-1",
            witness="a request with the producer's tokens and another partition asked",
        ),
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
        Check(name="reads-own-bytes", clause="INT-1", witness="a step read at least one slot"),
        Check(name="no-exception", clause="LIF-1", witness="a method was called"),
        Check(name="every-request-ends", clause="TRM-1", witness="a request was submitted"),
    )
}
