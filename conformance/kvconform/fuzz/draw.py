"""What is drawn at random: small layouts, and traffic that makes sense on them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from kvconform.contract.room import blocks_of_one
from kvconform.fuzz.example import Example
from kvconform.fuzz.layouts import engines, has_states, layouts
from kvconform.fuzz.moves import (
    SUBMIT,
    Drop,
    Fail,
    Move,
    OfOne,
    Part,
    Spice,
    Submit,
    Together,
    moves,
)
from kvconform.matrix.trace_shape import TraceShape, numbers_of
from kvconform.matrix.traces import TraceWalk
from kvconform.ports import Capability

_NAMES = "abcdefghijklmnopqrstuvwxyz"
_MOST_MOVES = 14
_MOST_SPICES = 3
_ROOMY = 256
"""Blocks beyond those that one request takes with which no request is preempted for want of room."""


def examples(claims: Collection[Capability]) -> SearchStrategy[Example]:
    """Examples for a connector with these claims: what it does not claim is not asked of it."""
    return _examples(frozenset(claims))


@st.composite
def _examples(draw: DrawFn, claims: frozenset[Capability]) -> Example:
    layout = draw(layouts())
    engine = draw(engines(layout, claims))
    spices = draw(st.lists(st.sampled_from(list(Spice)), max_size=_MOST_SPICES, unique=True))
    events = Events(layout, engine)
    # A length of its own: else most lists are short, and short traffic hits nothing.
    count = draw(st.integers(0, _MOST_MOVES))
    rest = draw(st.lists(moves(claims, frozenset(spices)), min_size=count, max_size=count))
    for move in (draw(SUBMIT), *rest):
        events.add(move)
    more = draw(st.sampled_from([_ROOMY, 0, 1, 2, 4, 8, 16, 32]))
    # Who is preempted asks again, and may wait for its own stores: that is no lack of neutrality.
    layout["num_blocks"] = events.least_blocks + (_ROOMY * 4 if "neutral" in events.listed else more)
    return Example(layout=layout, engine=engine, events=events.listed, hits={})


class Events:
    """Moves become events; those that cannot come about, or change nothing, become none."""

    def __init__(self, layout: dict[str, Any], engine: dict[str, Any]) -> None:
        self.listed: list[Any] = []
        self.least_blocks = 2
        """Blocks of a pool in which each request fits alone, the null block included."""
        self._layout = layout
        self._engine = engine
        shape = TraceShape.of(numbers_of({**layout, "num_blocks": 1 << 20}, engine))
        if shape is None:
            raise ValueError(f"a layout of which no trace can be drawn: {layout}")
        self._walk = TraceWalk(shape)
        self._prompts: dict[str, int] = {}
        self._tokens: dict[str, int] = {}
        self._rest = True
        """Whether nothing is left to do."""
        self._waits = False
        """Whether a lookup may have had something to wait for."""

    def add(self, move: Move) -> None:
        """One more move."""
        match move:
            case Submit():
                self._submit(move)
            case OfOne():
                self._of_one(move)
            case Drop():
                self._drop(move)
            case Fail():
                self._fail(move)
            case Part():
                self._part(move)
            case Together():
                self._together(move)
            case _:
                for event in move:
                    self._event(event)

    def _event(self, event: Any) -> bool:
        """List an event if it can come about and changes something; whether it did."""
        if event == "settle" and self._walk.holds:
            self._event("release")  # what is held never comes to rest
        if event == "neutral" and self._waits:
            return False
        if not self._walk.would_take(len(self.listed), event):
            return False
        self.listed.append(event)
        if event == "settle":
            self._rest = True
        elif isinstance(event, dict):
            self._rest &= event.keys() <= {"drop", "fail_load", "fail_store", "hold"}
        return True

    def _name(self, number: int) -> str:
        """The request so many before the last one."""
        names = list(self._prompts)
        return names[len(names) - 1 - number % len(names)]

    def _of_one(self, move: OfOne) -> None:
        if self._prompts:
            # A request that starts over asks while its own stores may be in flight.
            self._waits |= self._event({move.kind: self._name(move.number)}) and move.kind == "preempt"

    def _submit(self, move: Submit) -> None:
        prompt = max(2, move.blocks * self._layout["hash_block"] + move.more)
        extra: dict[str, Any] = {}
        if move.like is not None and self._prompts:
            like = extra["like"] = self._name(move.like)
            if move.as_long:
                prompt = self._prompts[like] + move.more
            if move.shared is not None and move.shared < min(prompt, self._tokens[like]):
                extra["shared"] = move.shared
        if move.salt:
            extra["salt"] = "red"
        drafts = self._engine.get("spec_tokens", 0)
        if drafts and move.accepted:
            extra["accepted"] = [min(count, drafts) for count in move.accepted]
        self._enter(prompt, move.output, extra)

    def _enter(self, prompt: int, output: int, extra: dict[str, Any]) -> None:
        unused = [name for name in _NAMES if name not in self._prompts]
        if not unused:
            return
        what: dict[str, Any] = {"request": unused[0], "prompt_tokens": prompt}
        if output > 1:
            what["output_tokens"] = output
        self._waits |= "like" in extra and not self._rest
        if self._event({"submit": {**what, **extra}}):
            self._came(unused[0], prompt, output)

    def _came(self, name: str, prompt: int, output: int) -> None:
        self._prompts[name] = prompt
        self._tokens[name] = prompt + output
        sizes = [group["block_size"] for group in self._layout["groups"]]
        need = blocks_of_one(prompt + output, sizes, self._engine.get("spec_tokens", 0))
        self.least_blocks = max(self.least_blocks, need)

    def _chunk(self, name: str, group: int, back: int) -> tuple[dict[str, Any], int, int] | None:
        """A group, a chunk of a prompt so many before its last one, and its tokens; or None."""
        found = self._layout["groups"][group % len(self._layout["groups"])]
        size = found["block_size"] * self._layout.get("blocks_per_chunk", 1)
        chunks = self._prompts[name] // size
        return (found, chunks - 1 - back % chunks, size) if chunks else None

    def _drop(self, move: Drop) -> None:
        if not self._prompts:
            return
        name = self._name(move.number)
        chosen = self._chunk(name, move.group, move.chunk)
        if chosen is None:
            return
        if move.asked is not None:
            self._event("settle")
            self._event("wipe_pool")
        group, chunk, size = chosen
        self._event({"drop": {"of": name, "group": group["name"], "index": [chunk]}})
        if move.asked is not None:
            prompt = self._prompts[name]
            end = min(prompt, (chunk + 1 + move.asked) * size) if move.asked else prompt
            self._enter(max(2, end), 1, {"like": name})

    def _fail(self, move: Fail) -> None:
        alive = [name for name in self._prompts if not self._walk.is_over(name)]
        if not alive:
            return  # no copy of theirs is to come
        name = alive[len(alive) - 1 - move.number % len(alive)]
        what: dict[str, Any] = {"of": name}
        chosen = None if move.chunk is None else self._chunk(name, move.group, move.chunk)
        if chosen is not None:
            what |= {"group": chosen[0]["name"], "index": [chosen[1]]}
        if move.part:
            what["how"] = "part"
        if move.rank is not None:
            what["rank"] = move.rank % self._layout.get("world", 1)
        what |= {key: n for key, n in (("nth", move.nth), ("times", move.times)) if n > 1}
        self._event({"fail_load" if move.load else "fail_store": what})

    def _part(self, move: Part) -> None:
        what: dict[str, Any] = {"what": move.what}
        if move.rank is not None:
            what["ranks"] = [move.rank % self._layout.get("world", 1)]
        if move.direction is not None and move.what != "reports":
            what["direction"] = move.direction
        self._event({"release" if move.release else "hold": what})

    def _together(self, move: Together) -> None:
        """They come when nothing else is there, and alone until they have ended: their bound is in steps.

        It takes a prompt to be computed in as many steps as the budget says, by each of them.
        """
        if not self._prompts or "max_batched_tokens" in self._engine or has_states(self._layout):
            return
        name = self._name(move.number)
        self._event("settle")
        if move.held is not None:
            self._event({"hold": move.held})
        first = f"{name}{len(self.listed)}"
        what = {"request": first, "like": name, "count": move.count}
        if move.output > 1:
            what["output_tokens"] = move.output
        self._event({"sharers": what})
        self._waits = True
        sizes = [group["block_size"] for group in self._layout["groups"]]
        tokens = self._prompts[name] + move.output
        need = blocks_of_one(tokens, sizes, self._engine.get("spec_tokens", 0))
        self.least_blocks = max(self.least_blocks, need)
        if move.held is not None:
            self._event({"step": move.steps})
        self._event("settle")
