"""Comparison of what an engine computes with a connector and without one."""

from __future__ import annotations

from collections.abc import Sequence

from kvconform.engine.events import Admitted, Answered, Computed, Event, Happened, Submitted
from kvconform.stage.tally import Tally

_CHECK = "neutral-without-hits"

Doing = tuple[str, int, str]
"""(request, steps since it was submitted, what happened)."""


def judge_neutrality(
    tally: Tally, events: Sequence[Event], alone: Sequence[Event], *, may_wait: bool
) -> None:
    """Up to the first hit, requests do the same as in ``alone``, the events without a connector.

    Steps count from each request's submission: a connector may need steps in which no request
    is alive.  One that ``may_wait`` looks up what it has over several steps, and is compared up to
    the first time that it says so.
    """
    waits = next((e.step for e in events if isinstance(e, Answered) and e.tokens is None), None)
    hit = next((e.step for e in events if isinstance(e, Admitted)), None)
    if may_wait and waits is not None:
        hit = waits if hit is None else min(hit, waits)
    own, other = _doings(events), _doings(alone)
    tally.open(_CHECK)
    for (doing, event), (expected, _) in zip(own, other, strict=False):
        if hit is not None and event.step >= hit:
            break
        tally.saw(_CHECK)
        if doing != expected:
            tally.wrong(_CHECK, _said(expected), _said(doing), event=event)
            return
    if not tally.has_seen(_CHECK) and may_wait and waits is not None:
        tally.drop(_CHECK)
    if hit is None and len(own) != len(other):
        longer = max(own, other, key=len)[min(len(own), len(other))][0]
        more = ("nothing further", _said(longer))
        expected_text, got = more if len(own) > len(other) else more[::-1]
        tally.wrong(_CHECK, expected_text, got, "compared with a run without a connector")


def _doings(events: Sequence[Event]) -> list[tuple[Doing, Event]]:
    since: dict[str, int] = {}
    found: list[tuple[Doing, Event]] = []
    for event in events:
        if isinstance(event, Submitted):
            since[event.request] = event.step
        elif isinstance(event, Computed):
            what = f"computes tokens {event.start}..{event.end - 1}"
            found.append(((event.request, event.step - since[event.request], what), event))
        elif isinstance(event, Happened) and event.request in since:
            found.append(((event.request, event.step - since[event.request], event.what), event))
    return found


def _said(doing: Doing) -> str:
    request, steps, what = doing
    return f"{request} {what}, {steps} step(s) after it came"
