"""What a trace has to fit into: the numbers of a layout that its events speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import lcm
from typing import Any

from kvconform.contract.room import blocks_of_one
from kvconform.ports import GroupKind, Layout

_OF_LAYOUT = ("hash_block", "blocks_per_chunk", "num_blocks", "world")
_OF_GROUP = ("name", "kind", "block_size")
_DEFAULTS = {field.name: field.default for field in fields(Layout)}


def numbers_of(layout: Mapping[str, Any], engine: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a matrix's layout and engine that decides on events, references left in.

    The smaller it is, the fewer distinct values of axes there are to check.
    """
    numbers = {key: layout[key] for key in _OF_LAYOUT if key in layout}
    groups = [{key: group[key] for key in _OF_GROUP if key in group} for group in layout["groups"]]
    spec = {"spec_tokens": engine["spec_tokens"]} if "spec_tokens" in engine else {}
    return {**numbers, **spec, "groups": groups}


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceShape:
    """The numbers of one layout; groups by name, block sizes and the hash block in tokens."""

    hash_block: int
    blocks_per_chunk: int
    num_blocks: int
    world: int
    spec_tokens: int
    block_sizes: Mapping[str, int]
    state_tokens: int
    """Every how many tokens all recurrent groups have a state; 1 without such a group."""

    @classmethod
    def of(cls, numbers: Mapping[str, Any]) -> TraceShape | None:
        """Those of `numbers_of` with the values of one row; None where the schema refuses one."""
        read = {key: numbers.get(key, _DEFAULTS[key]) for key in (*_OF_LAYOUT, "spec_tokens")}
        sizes = {group.get("name"): group.get("block_size") for group in numbers["groups"]}
        whole = [read[key] for key in _OF_LAYOUT] + list(sizes.values())
        if not all(_is_int(one) and one >= 1 for one in whole) or not _is_int(read["spec_tokens"]):
            return None
        states = [g["block_size"] for g in numbers["groups"] if g.get("kind") == GroupKind.RECURRENT]
        return cls(**read, block_sizes=sizes, state_tokens=lcm(*states))

    def chunks_within(self, group: str, tokens: int) -> int:
        """Whole chunks of a group in so many tokens, of the size that the matrix wishes."""
        return tokens // (self.block_sizes[group] * self.blocks_per_chunk)

    def blocks_for(self, tokens: int) -> int:
        """Blocks of the pool that a request of so many tokens takes, the null block included."""
        return blocks_of_one(tokens, self.block_sizes.values(), self.spec_tokens)

    def hits_near(self, tokens: int, prompt: int) -> tuple[int, int]:
        """The longest hit of at most, and the shortest of at least, ``tokens`` of a prompt."""
        grain = lcm(self.hash_block, self.state_tokens)
        below = tokens // grain * grain
        above = -(-tokens // grain) * grain
        # A prompt that ends with a hash block may hit all but its last token.
        whole = prompt - 1 if self.state_tokens == 1 and prompt % grain == 0 else 0
        return (whole, whole) if tokens == whole else (below, min(above, whole or above))


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
