"""What a trace holds back at each moment, followed from its events alone."""

from __future__ import annotations

from itertools import product
from typing import Any

_Part = tuple[str, int, str]
"""``reports`` or ``copies``, the rank, and the direction of copies (empty of reports)."""

_Problem = tuple[str, str]
"""What is wrong, and what to do."""

_DIRECTIONS = ("store", "load")
_WHATS = {"reports": ("reports",), "copies": ("copies",), "both": ("reports", "copies")}


class Holds:
    """The parts that are held; what the schema refuses holds nothing."""

    def __init__(self, world: int) -> None:
        self._world = world
        self._held: set[_Part] = set()
        self._last_first = False

    @property
    def any(self) -> bool:
        """Whether some part is held."""
        return bool(self._held)

    def hold(self, what: Any) -> _Problem | None:
        """Hold more; a problem if all of it is held already."""
        parts = self._parts(what)
        again = bool(parts) and parts <= self._held
        self._held |= parts
        return ("all of this is held already", "release before, or leave this hold out") if again else None

    def release(self, what: Any) -> _Problem | None:
        """Release some of it; a problem if none of that is held."""
        parts = self._parts(what) if isinstance(what, dict) else set()
        vain = bool(parts) and not parts & self._held
        self._held -= parts
        return ("nothing of this is held here", "hold it before, or leave this release out") if vain else None

    def release_all(self) -> _Problem | None:
        """Release everything; a problem if nothing is held."""
        held, self._held = self._held, set()
        return None if held else ("nothing is held here", "hold something before, or leave this release out")

    def reverse(self) -> _Problem | None:
        """From now on what is due together comes in reverse; that can be said once."""
        before, self._last_first = self._last_first, True
        return ("what is due together comes in reverse already", "leave it out") if before else None

    def _parts(self, what: Any) -> set[_Part]:
        """The parts that an event means."""
        said = {"what": what} if isinstance(what, str) else what
        if not isinstance(said, dict) or said.get("what") not in _WHATS:
            return set()
        ranks = said.get("ranks")
        ranks = ranks if isinstance(ranks, list) else range(self._world)
        directions = [said["direction"]] if "direction" in said else _DIRECTIONS
        kinds = _WHATS[said["what"]]
        copies = set(product(["copies"], ranks, directions)) if "copies" in kinds else set()
        return copies | {("reports", rank, "") for rank in ranks if "reports" in kinds}
