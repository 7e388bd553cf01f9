"""What happened to a store in a case, in order."""

from __future__ import annotations

from dataclasses import dataclass

from kvconform.engine.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreEvent(Event):
    """One operation and what came of it; ``step`` counts them."""

    text: str

    def __str__(self) -> str:
        return f"step {self.step}: {self.text}"
