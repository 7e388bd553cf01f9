"""Requests that must not share."""

from __future__ import annotations

from kvconform.contract.clauses.model import Check, Clause, Severity

CLAUSES = (
    Clause(
        id="ISO-1",
        text="Requests that differ in what partitions the cache never share KV, however equal their tokens.",
        severity=Severity.CORRUPTION,
        safe=True,
        reason="A salt keeps tenants apart, and adapters, images and embeddings give equal tokens other KV; a key made of tokens alone serves one request's KV to another.",
        source="vllm-project/vllm#53495",
    ),
)

CHECKS = (
    Check(
        name="never-shared",
        clause="ISO-1",
        witness="a request with the producer's tokens and another partition asked",
    ),
)
