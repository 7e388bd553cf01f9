"""Chunks that nobody can be asked to have stored: they had left their window when they were known."""

from __future__ import annotations

from collections.abc import Sequence

from kvconform.contract.oracle import Chunk, Oracle, oldest_retained
from kvconform.engine.events import Confirmed
from kvconform.ports import RequestSpec, Scheduling


def had_left(oracle: Oracle, chunk: Chunk, steps: Sequence[Confirmed]) -> bool:
    """Whether the chunk had wholly left its window when its last token was confirmed."""
    last = oracle.tokens_of(chunk)[-1]
    kept_at = next((step.kept_at for step in steps if step.tokens > last), 0)
    return last < oldest_retained(oracle.layout.groups[chunk[0]], kept_at)


def came_late(oracle: Oracle, chunk: Chunk, spec: RequestSpec) -> bool:
    """Whether the chunk had wholly left its window when its last token was known, without drafts.

    With late results an output token is known in the step after the one that computed it, and
    attention that restarts behind it gives its block up there.
    """
    last = oracle.tokens_of(chunk)[-1]
    late = oracle.layout.scheduling is Scheduling.ASYNC and last >= len(spec.prompt)
    return late and last < oldest_retained(oracle.layout.groups[chunk[0]], last + 1)
