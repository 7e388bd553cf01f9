"""What the place where chunks live keeps, whatever connector uses it."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity

_SOURCE = "vllm-project/vllm#54363"

CLAUSES = (
    Clause(
        id="STO-1",
        text="A get that succeeds fills its buffer with the bytes that were put under its key, and touches nothing beside it.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="Another object's bytes, halves swapped or left over from an earlier get, are another prompt's KV.",
        source=_SOURCE,
    ),
    Clause(
        id="STO-2",
        text="A put that answers True is found until it is deleted, makes way or expires.",
        severity=Severity.BENEFIT,
        safe=True,
        reason="A store that forgets makes every prompt be computed again, and nobody notices.",
        source=_SOURCE,
    ),
    Clause(
        id="STO-3",
        text="A batch of which a key is absent answers for the others as the store declares.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="Who takes a prefix answer for one by key, or the other way round, loads what is not there or nothing.",
        source=_SOURCE,
    ),
    Clause(
        id="STO-4",
        text="A put under a key that is there does what the store declares, and says so.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="A put that reports success and is ignored leaves old bytes under a key that means new ones.",
        source=_SOURCE,
    ),
    Clause(
        id="STO-5",
        text="An object that is cut, flipped, swapped, deleted or locked becomes a miss, never other bytes and never an exception.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="Disks lie; right-length wrong bytes are an answer from wrong memory.",
        source="LMCache/LMCache#3292",
    ),
    Clause(
        id="STO-6",
        text="Exists and get agree about every key.",
        severity=Severity.BENEFIT,
        safe=True,
        reason="A hit that exists promised and get cannot bring fails a load that was admitted.",
        source=_SOURCE,
    ),
    Clause(
        id="STO-7",
        text="The methods of a store raise nothing but that their place fails, and answer as the port says: one bool for each key.",
        severity=Severity.DEATH,
        safe=True,
        reason="An exception takes the whole batch down, and with it the engine.",
        source=_SOURCE,
    ),
    Clause(
        id="STO-8",
        text="A put that did not end, or that another process made at the same time, leaves one whole object or none.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="Writers are killed; a torn object under a good key is served for ever.",
        source=_SOURCE,
    ),
    Clause(
        id="STO-9",
        text="The capacity in bytes is kept, and a put is refused or older objects make way as the store declares.",
        severity=Severity.COST,
        safe=True,
        reason="A store that grows without end fills the disk that others need.",
        source=_SOURCE,
    ),
    Clause(
        id="STO-10",
        text="Keys of different namespaces never meet.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="Another dtype, layout, model or rank gives equal tokens other bytes.",
        source=_SOURCE,
    ),
    Clause(
        id="STO-11",
        text="Where the disk is full or access is denied, a put answers False and a get is a miss, or StoreUnavailableError says why; what was there before is found when the trouble is over, and new objects are taken.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="Disks fill up in mid-run: half an object under a good key is a wrong answer, and a store that never recovers is lost benefit until somebody restarts the engine.",
        source=_SOURCE,
    ),
    Clause(
        id="STO-12",
        text="Where a time to live is set, an object is found until it is over since its put, and not after.",
        severity=Severity.BENEFIT,
        safe=True,
        reason="What expires too soon is computed again; what never expires is kept beyond what its owner was promised.",
        source=_SOURCE,
    ),
    Clause(
        id="STO-13",
        text="What an exists or a get found neither makes way nor is deleted while the setting's lease lasts, and is free afterwards.",
        severity=Severity.BENEFIT,
        safe=True,
        reason="A load is admitted by a lookup: what goes between the two fails the load; what never goes fills the store.",
        source=_SOURCE,
    ),
    Clause(
        id="STO-14",
        text="A store that claims zero copy brings an object into the caller's buffer without a second copy in the process.",
        severity=Severity.COST,
        safe=True,
        reason="Who sizes host memory by the claim runs out of it when many chunks are loaded at once.",
        source=_SOURCE,
    ),
)

CHECKS = (
    Check(name="own-bytes", clause="STO-1", witness="a get succeeded"),
    Check(name="put-is-found", clause="STO-2", witness="a key that is there was asked for"),
    Check(name="batch-as-declared", clause="STO-3", witness="a batch had a key that is absent"),
    Check(name="overwrite-as-declared", clause="STO-4", witness="a put under a key that is there was answered"),
    Check(name="damage-is-a-miss", clause="STO-5", witness="a damaged object was asked for"),
    Check(name="exists-agrees-with-get", clause="STO-6", witness="exists and get were asked for the same keys"),
    Check(name="store-answers", clause="STO-7", witness="a method was called"),
    Check(name="whole-or-nothing", clause="STO-8", witness="a key whose put was not alone or did not end was asked for"),
    Check(name="capacity-kept", clause="STO-9", witness="more was put than there is room for"),
    Check(name="namespaces-apart", clause="STO-10", witness="a key of another namespace was asked for"),
    Check(name="outlives-trouble", clause="STO-11", witness="a method was called while the place was in trouble"),
    Check(name="expires-as-set", clause="STO-12", witness="a key was asked for after time had passed"),
    Check(name="lease-holds", clause="STO-13", witness="a key was asked for that a lease keeps or kept"),
    Check(name="no-second-copy", clause="STO-14", witness="the memory that a get takes was measured"),
)
