"""What a connector says of itself goes into the trace, where it is shown if the case fails."""

from __future__ import annotations

from collections.abc import Callable

from kvconform.engine.events import Event, Happened
from kvconform.results.excerpt import SAYS

_LONGEST = 300


def listener(events: list[Event]) -> Callable[[str], None]:
    """A function that adds a line to ``events``, in the step of the last one."""

    def tell(text: str) -> None:
        step = events[-1].step if events else 0
        said = " ".join(str(text).split())[:_LONGEST]
        events.append(Happened(step=step, request="", what=SAYS + said))

    return tell
