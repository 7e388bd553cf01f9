"""What can be left out of an example, piece by piece: events, groups and settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kvconform.fuzz.example import Example
from kvconform.matrix.model import build_layout
from kvconform.matrix.traces import is_valid_trace
from kvconform.ports import LayoutError

_OF_LAYOUT = (("world",), ("blocks_per_chunk",), ("prompt_only",), ("num_blocks",))
_OF_GROUP = (("eagle",), ("extra_retained",))
_OF_FAILURE = (("index",), ("group", "index"), ("how",), ("rank",), ("nth",), ("times",))
_OF_PART = (("ranks",), ("direction",))
_OF_EVENT = {
    "submit": (("output_tokens",), ("salt",), ("shared",), ("like", "shared"), ("accepted",)),
    "sharers": (("output_tokens",),),
    "fail_load": _OF_FAILURE,
    "fail_store": _OF_FAILURE,
    "hold": _OF_PART,
    "release": _OF_PART,
}
"""What an event of a kind can do without, keys that go together."""


def smaller(example: Example) -> Iterator[Example]:
    """The example with one thing left out, in each way that leaves it valid; the last event first."""
    return (one for one in _with_less(example) if one.events and _is_valid(one))


def _is_valid(example: Example) -> bool:
    if not any(_submit_of(event) for event in example.events):
        return False
    try:
        build_layout(example.layout, example.engine)
    except LayoutError:
        return False
    return is_valid_trace(example.events, example.layout, example.engine)


def _with_less(example: Example) -> Iterator[Example]:
    for at in reversed(range(len(example.events))):
        yield replace(example, events=[*example.events[:at], *example.events[at + 1 :]])
    for at, event in enumerate(example.events):
        for kind, what in event.items() if isinstance(event, dict) else ():
            for less in _without(what, _OF_EVENT.get(kind, ())) if isinstance(what, dict) else ():
                events = [*example.events[:at], {kind: less}, *example.events[at + 1 :]]
                yield replace(example, events=events)
    for engine in _without(example.engine, [(key,) for key in example.engine]):
        yield replace(example, engine=engine)
    for layout in _without(example.layout, _OF_LAYOUT):
        yield replace(example, layout=layout)
    yield from _fewer_groups(example)


def _fewer_groups(example: Example) -> Iterator[Example]:
    groups = example.layout["groups"]
    named = {what.get("group") for e in example.events if isinstance(e, dict)
             for what in e.values() if isinstance(what, dict)}
    for at, group in enumerate(groups):
        before, after = groups[:at], groups[at + 1 :]
        if len(groups) > 1 and group["name"] not in named:
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
