"""Requests that end early or begin again, ranks that lag behind, sharers that wait for each other."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity
from kvconform.ports import Capability

CLAUSES = (
    Clause(
        id="LIF-2",
        text="Each rank reports the end of a load or of kept stores exactly once, and only where it was asked for.",
        severity=Severity.DEATH,
        safe=True,
        reason="The engine frees blocks by these reports: one too many frees another request's, or ends the engine.",
        source="vllm-project/vllm#56104",
    ),
    Clause(
        id="LIF-3",
        text="Once every request has ended, by itself or not, nothing is left: no block, no job, no report.",
        severity=Severity.DEATH,
        safe=True,
        reason="What each aborted request leaves behind adds up until the pool is empty.",
        source="vllm-project/vllm#45823",
    ),
    Clause(
        id="LIF-4",
        text="What a finished request leaves stored does not depend on how steps cut it, nor on what interrupted it.",
        severity=Severity.BENEFIT,
        safe=False,
        reason="A store cursor that is lost, stale or past a refused chunk leaves a hole that ends every later hit.",
        source="vllm-project/vllm#27697",
    ),
    Clause(
        id="RNK-1",
        text="A hit is told only once every rank holds its part of every chunk of it.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="A rank that is late loads what was never written, and one shard of the model reads noise.",
        source="vllm-project/vllm#38736",
    ),
    Clause(
        id="TRM-2",
        text="Requests that wait for one load or store go on together once it is there.",
        severity=Severity.BENEFIT,
        safe=False,
        reason="Sharers that are served one after another wait longer than if they had computed the prefix.",
        source="vllm-project/vllm#45387",
    ),
)

CHECKS = (
    Check(name="reported-as-asked", clause="LIF-2", witness="a rank reported that something ended"),
    Check(name="nothing-left", clause="LIF-3", witness="every request ended"),
    Check(
        name="stored-however-cut",
        clause="LIF-4",
        needs=(Capability.TRANSFER_CONTROL, Capability.MASKED_STORE),
        witness="a request finished after it had computed a whole chunk",
    ),
    Check(
        name="hit-on-every-rank",
        clause="RNK-1",
        needs=(Capability.TRANSFER_CONTROL,),
        witness="a hit was reported on several ranks",
    ),
    Check(
        name="sharers-go-on",
        clause="TRM-2",
        needs=(Capability.LATER,),
        witness="sharers came",
    ),
)
