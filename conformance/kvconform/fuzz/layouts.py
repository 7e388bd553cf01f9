"""Small layouts and engines that are drawn at random: only such as an engine could have."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from kvconform.ports import Capability, GroupKind


@st.composite
def layouts(draw: DrawFn) -> dict[str, Any]:
    """One to three groups; the number of blocks is left to whoever knows the requests."""
    hash_block = draw(st.sampled_from([4, 2, 8]))
    per_chunk, world = draw(st.sampled_from([1, 1, 2, 2, 3, 4])), draw(st.sampled_from([1, 2]))
    count = draw(st.integers(1, 3))
    groups = [draw(_groups(hash_block, per_chunk)) for _ in range(count)]
    named = [{"name": f"{group['kind']}_{at}", **group} for at, group in enumerate(groups)]
    layout: dict[str, Any] = {"hash_block": hash_block}
    if per_chunk > 1:
        layout["blocks_per_chunk"] = per_chunk
    if world > 1:
        layout["world"] = world
    if draw(st.sampled_from([False, False, False, True])):
        layout["prompt_only"] = True
    return {**layout, "groups": named}


@st.composite
def _groups(draw: DrawFn, hash_block: int, per_chunk: int) -> dict[str, Any]:
    kinds = [GroupKind.FULL, GroupKind.SLIDING, GroupKind.CHUNKED_LOCAL] * 3
    kind = str(draw(st.sampled_from([*kinds, GroupKind.RECURRENT])))
    size = hash_block * draw(st.sampled_from([1, 1, 2, 4]))
    group: dict[str, Any] = {"kind": kind, "block_size": size}
    if kind == "sliding":
        kept = draw(st.integers(0, 7))
        # What is kept below a boundary ends near a chunk's end, or anywhere.
        near = draw(st.integers(1, 3)) * per_chunk * size + draw(st.integers(-1, 2))
        # A window of the query alone needs nothing, so that nobody could tell right from wrong.
        group["window"] = max(2, draw(st.one_of(st.just(near + 1 - kept), st.integers(2, 40))))
        if kept:
            group["extra_retained"] = kept
    if kind == "chunked_local":
        group["attention_chunk"] = size * draw(st.integers(1, 4))
    if kind != "recurrent" and draw(st.sampled_from([False, False, False, True])):
        group["eagle"] = True
    return group


def has_states(layout: dict[str, Any]) -> bool:
    """Whether some group is recurrent."""
    return any(group["kind"] == "recurrent" for group in layout["groups"])


@st.composite
def engines(
    draw: DrawFn, layout: dict[str, Any], claims: Collection[Capability]
) -> dict[str, Any]:
    """An engine for a layout: no drafts beside states, and steps that reach a state."""
    engine: dict[str, Any] = {}
    if draw(st.booleans()):
        engine["scheduling"] = "async"
    budget = draw(st.sampled_from([0, 0, 7, 12, 16, 20, 33, 64]))
    if budget:
        sizes = [group["block_size"] for group in layout["groups"] if group["kind"] == "recurrent"]
        engine["max_batched_tokens"] = max([budget, *sizes])
    interval = draw(st.sampled_from([None, None, None, 0, 16, 24, 64]))
    if interval is not None:
        engine["retention_interval"] = interval
    drafts = draw(st.sampled_from([0, 0, 0, 1, 2, 5]))
    if drafts and not has_states(layout):
        engine["spec_tokens"] = drafts
    room = draw(st.sampled_from([None, None, None, None, 6, 12, 24, 40]))
    if room is not None and Capability.CAPACITY in claims:
        engine["host_chunks"] = room
    return engine
