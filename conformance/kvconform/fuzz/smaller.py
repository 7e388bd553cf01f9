"""What can be left out of an example, piece by piece: events, groups and settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kvconform.fuzz.example import Example

_OF_LAYOUT = (("world",), ("blocks_per_chunk",), ("prompt_only",), ("num_blocks",))
_OF_GROUP = (("eagle",), ("extra_retained",))
_OF_SUBMIT = (("output_tokens",), ("salt",), ("shared",), ("like", "shared"))


def smaller(example: Example) -> Iterator[Example]:
    """The example with one thing left out, in each way that leaves it valid; the last event first."""
    for at in reversed(range(len(example.events))):
        events = [*example.events[:at], *example.events[at + 1 :]]
        if events and _names_known(events):
            yield replace(example, events=events)
    for at, event in enumerate(example.events):
        for what in _without(_submit_of(event), _OF_SUBMIT):
            events = [*example.events[:at], {"submit": what}, *example.events[at + 1 :]]
            yield replace(example, events=events)
    for engine in _without(example.engine, [(key,) for key in example.engine]):
        yield replace(example, engine=engine)
    for layout in _without(example.layout, _OF_LAYOUT):
        yield replace(example, layout=layout)
    yield from _fewer_groups(example)


def _fewer_groups(example: Example) -> Iterator[Example]:
    groups = example.layout["groups"]
    dropped = {e["drop"]["group"] for e in example.events if isinstance(e, dict) and "drop" in e}
    for at, group in enumerate(groups):
        before, after = groups[:at], groups[at + 1 :]
        if len(groups) > 1 and group["name"] not in dropped:
            yield replace(example, layout={**example.layout, "groups": [*before, *after]})
        for plain in _without(group, _OF_GROUP):
            yield replace(example, layout={**example.layout, "groups": [*before, plain, *after]})


def _without(
    data: Mapping[str, Any], together: Iterable[Sequence[str]]
) -> Iterator[dict[str, Any]]:
    """The mapping without these keys, those of one entry at a time, where it has the first."""
    for keys in together:
        if keys[0] in data:
            yield {name: value for name, value in data.items() if name not in keys}


def _submit_of(event: Any) -> Mapping[str, Any]:
    return event.get("submit", {}) if isinstance(event, dict) else {}


def _names_known(events: list[Any]) -> bool:
    """Whether every event names requests that came before it."""
    known: set[str] = set()
    for event in events:
        submit = _submit_of(event)
        named = {submit["like"]} if "like" in submit else set()
        if isinstance(event, dict):
            named |= {event["run"]} if "run" in event else set()
            named |= {event["drop"]["of"]} if "drop" in event else set()
        if not named <= known:
            return False
        known |= {submit["request"]} if submit else set()
    return bool(known)
