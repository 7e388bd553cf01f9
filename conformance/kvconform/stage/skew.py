"""Which ranks lag behind, in what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvconform.ports import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Skew:
    """Reports, or copies of some directions, of some ranks."""

    ranks: tuple[int, ...]
    reports: bool
    copies: frozenset[Direction]

    @classmethod
    def of(cls, what: Mapping[str, Any], world: int) -> Skew:
        """What an event says of ``world`` ranks: all of them and both directions unless it names some."""
        directions = [Direction(what["direction"])] if "direction" in what else list(Direction)
        return cls(
            ranks=tuple(what.get("ranks", range(world))),
            reports=what["what"] in {"reports", "both"},
            copies=frozenset(directions if what["what"] in {"copies", "both"} else ()),
        )
