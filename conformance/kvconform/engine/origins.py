"""Whether what a connector serves can stem from the case that asks for it.

Cases reuse the same tokens.  A connector that keeps what an earlier case stored is right about
every byte and wrong about everything else: that is told for what it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from kvconform.engine.calls import ConnectorBrokeError
from kvconform.engine.events import Broke, Event
from kvconform.engine.pattern import Lane, Prefix

_KEPT = "kept from an earlier case; cases reuse the same tokens, so begin each with an empty store"
_ANY_LANE = Lane(group=0, layer=0, rank=0)


class Origins:
    """The tokens that were computed in one case, each with all before it and what partitions them."""

    def __init__(self) -> None:
        self._computed: set[int] = set()

    def computed(self, prefix: Prefix, tokens: range) -> None:
        """A step, or a seeded chunk, wrote these positions of ``prefix``."""
        self._computed.update(prefix.slots(_ANY_LANE, 2)[tokens.start : tokens.stop, 0].tolist())

    def check_load(self, prefix: Prefix, boundary: int) -> None:
        """A load up to ``boundary`` brought the right bytes: somebody must have computed them.

        Raises `ConnectorBrokeError` if nobody has.
        """
        if boundary and prefix.content(_ANY_LANE, boundary - 1) not in self._computed:
            raise ConnectorBrokeError(
                "get_num_new_matched_tokens",
                f"a hit of {boundary} tokens brought what no step of this case computed: {_KEPT}",
            )


def tells_of_kept(events: Iterable[Event]) -> bool:
    """Whether the case ended because the connector served what an earlier one had stored."""
    return any(isinstance(event, Broke) and event.text.endswith(_KEPT) for event in events)
