"""What is drawn at random: small layouts, and traffic that makes sense on them.

Traffic is drawn as moves that name requests by number, so that any move can be left out while an
example is made smaller, and becomes events only then.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from kvconform.fuzz.example import Example
from kvconform.ports import Capability

_NAMES = "abcdefghijklmnopqrstuvwxyz"
_MOST_MOVES = 14
_MOST_HASH_BLOCKS = 20
"""Length of a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Submit:
    """A request enters.  Its prompt has ``blocks`` hash blocks and ``more`` tokens.

    It begins with ``shared`` tokens (None: all) of request number ``like``, if that is not None;
    with ``as_long`` it has ``more`` tokens more than that one's prompt.
    """

    blocks: int
    more: int
    output: int
    like: int | None
    shared: int | None
    as_long: bool
    salt: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drop:
    """A chunk of a request's prompt is dropped, so many before its last one.

    With ``asked`` that happens at rest, and a cold request follows that asks for the prompt up to
    so many chunks behind it (0: for all of it).
    """

    number: int
    group: int
    chunk: int
    asked: int | None


_Move = _Submit | _Run | _Drop | Sequence[Any]
"""The last kind are events that need no number."""


_LAST = st.integers(0, 3)
"""A request by how many came after it."""

_SUBMIT = st.builds(
    _Submit,
    blocks=st.integers(0, _MOST_HASH_BLOCKS),
    more=st.sampled_from([0, 1, 0, 2, 3, 5, 7]),
    output=st.sampled_from([1, 2, 3, 9, 20]),
    like=st.one_of(_LAST, st.none()),
    shared=st.one_of(st.none(), st.none(), st.integers(1, 120)),
    as_long=st.booleans(),
    salt=st.sampled_from([False] * 5 + [True]),
)

_DROP = st.builds(
    _Drop,
    number=_LAST,
    group=st.integers(0, 2),
    chunk=st.sampled_from([1, 0, 2, 1, 4]),
    asked=st.sampled_from([1, 0, 2, None]),
)


def examples(claims: Collection[Capability]) -> SearchStrategy[Example]:
    """Examples for a connector with these claims: what it does not claim is not asked of it."""
    return _examples(_moves(frozenset(claims)))


@st.composite
def _examples(draw: DrawFn, moves: SearchStrategy[_Move]) -> Example:
    layout = draw(_layouts())
    engine = draw(_engines())
    events = _Events(layout)
    # A length of its own: else most lists are short, and short traffic hits nothing.
    count = draw(st.integers(0, _MOST_MOVES))
    rest = draw(st.lists(moves, min_size=count, max_size=count))
    for move in (draw(_SUBMIT), *rest):
        events.add(move)
    layout["num_blocks"] = events.least_blocks + draw(
        st.sampled_from([256, 0, 1, 2, 4, 8, 16, 32])
    )
    return Example(layout=layout, engine=engine, events=events.listed, hits={})


@st.composite
def _layouts(draw: DrawFn) -> dict[str, Any]:
    hash_block = draw(st.sampled_from([4, 2, 8]))
    per_chunk, world = draw(st.sampled_from([1, 1, 2, 2, 3, 4])), draw(st.sampled_from([1, 2]))
    count = draw(st.integers(1, 3))
    groups = [draw(_groups(hash_block, per_chunk)) for _ in range(count)]
    named = [{"name": f"{group['kind']}_{at}", **group} for at, group in enumerate(groups)]
    layout: dict[str, Any] = {"hash_block": hash_block}
    if per_chunk > 1:
        layout["blocks_per_chunk"] = per_chunk
    if world > 1:
        layout["world"] = world
    if draw(st.sampled_from([False, False, False, True])):
        layout["prompt_only"] = True
    return {**layout, "groups": named}


@st.composite
def _groups(draw: DrawFn, hash_block: int, per_chunk: int) -> dict[str, Any]:
    kind = draw(st.sampled_from(["full", "sliding", "chunked_local"]))
    size = hash_block * draw(st.sampled_from([1, 1, 2, 4]))
    group: dict[str, Any] = {"kind": kind, "block_size": size}
    if kind == "sliding":
        kept = draw(st.integers(0, 7))
        # What is kept below a boundary ends near a chunk's end, or anywhere.
        near = draw(st.integers(1, 3)) * per_chunk * size + draw(st.integers(-1, 2))
        # A window of the query alone needs nothing, so that nobody could tell right from wrong.
        group["window"] = max(2, draw(st.one_of(st.just(near + 1 - kept), st.integers(2, 40))))
        if kept:
            group["extra_retained"] = kept
    if kind == "chunked_local":
        group["attention_chunk"] = size * draw(st.integers(1, 4))
    if draw(st.sampled_from([False, False, False, True])):
        group["eagle"] = True
    return group


@st.composite
def _engines(draw: DrawFn) -> dict[str, Any]:
    engine: dict[str, Any] = {}
    if draw(st.booleans()):
        engine["scheduling"] = "async"
    budget = draw(st.sampled_from([0, 0, 7, 12, 16, 20, 33, 64]))
    if budget:
        engine["max_batched_tokens"] = budget
    interval = draw(st.sampled_from([None, None, None, 0, 16, 24, 64]))
    if interval is not None:
        engine["retention_interval"] = interval
    return engine


def _moves(claims: frozenset[Capability]) -> SearchStrategy[_Move]:
    """Half of the moves are requests, and before many of these the pool is made cold."""
    held = ["reports"]
    if Capability.TRANSFER_CONTROL in claims:
        held += ["copies", "both"]
    plain: list[_Move] = [("settle",), ("wipe_pool",), ("release",)]
    plain += [({"hold": what},) for what in held]
    plain += [({"step": count},) for count in range(1, 13)]
    kinds: list[SearchStrategy[_Move]] = [
        *[_SUBMIT] * 8,
        *[st.just(("settle", "wipe_pool"))] * 4,
        *[st.sampled_from(plain)] * 3,
        st.builds(_Run, number=_LAST),
    ]
    if Capability.CHUNK_CONTROL in claims:
        kinds += [_DROP] * 3
    return st.sampled_from(kinds).flatmap(lambda kind: kind)


class _Events:
    """Moves become events; those that name a request before there is one become none."""

    def __init__(self, layout: dict[str, Any]) -> None:
        self.listed: list[Any] = []
        self.least_blocks = 2
        """Blocks of a pool in which each request fits alone, the null block included."""
        self._layout = layout
        self._held = False
        self._prompts: list[int] = []
        self._tokens: list[int] = []

    def add(self, move: _Move) -> None:
        """One more move."""
        if isinstance(move, _Submit):
            self._submit(move)
        elif isinstance(move, _Run):
            if self._prompts:
                self.listed.append({"run": self._name(move.number)})
        elif isinstance(move, _Drop):
            self._drop(move)
        else:
            for event in move:
                self._plain(event)

    def _plain(self, event: Any) -> None:
        """What is held never comes to rest: it is released before."""
        if self._held and event == "settle":
            self.listed.append("release")
        if isinstance(event, dict):
            self._held |= "hold" in event
        elif event in {"settle", "release"}:
            self._held = False
        self.listed.append(event)

    def _name(self, number: int) -> str:
        """The request so many before the last one."""
        return _NAMES[len(self._prompts) - 1 - number % len(self._prompts)]

    def _submit(self, move: _Submit) -> None:
        prompt = max(2, move.blocks * self._layout["hash_block"] + move.more)
        extra: dict[str, Any] = {}
        if move.like is not None and self._prompts:
            extra["like"] = self._name(move.like)
            at = _NAMES.index(extra["like"])
            if move.as_long:
                prompt = self._prompts[at] + move.more
            if move.shared is not None and move.shared < min(prompt, self._tokens[at]):
                extra["shared"] = move.shared
        if move.salt:
            extra["salt"] = "red"
        self._enter(prompt, move.output, extra)

    def _enter(self, prompt: int, output: int, extra: dict[str, Any]) -> None:
        if len(self._prompts) == len(_NAMES):
            return
        what: dict[str, Any] = {"request": _NAMES[len(self._prompts)], "prompt_tokens": prompt}
        if output > 1:
            what["output_tokens"] = output
        self.listed.append({"submit": {**what, **extra}})
        self._prompts.append(prompt)
        self._tokens.append(prompt + output)
        blocks = sum(-(-self._tokens[-1] // group["block_size"]) for group in self._layout["groups"])
        self.least_blocks = max(self.least_blocks, 1 + blocks)

    def _drop(self, move: _Drop) -> None:
        if not self._prompts:
            return
        group = self._layout["groups"][move.group % len(self._layout["groups"])]
        size = group["block_size"] * self._layout.get("blocks_per_chunk", 1)
        name = self._name(move.number)
        prompt = self._prompts[_NAMES.index(name)]
        chunks = prompt // size
        if not chunks:
            return
        if move.asked is not None:
            self._plain("settle")
            self._plain("wipe_pool")
        chunk = chunks - 1 - move.chunk % chunks
        self.listed.append({"drop": {"of": name, "group": group["name"], "index": [chunk]}})
        if move.asked is not None:
            end = min(prompt, (chunk + 1 + move.asked) * size) if move.asked else prompt
            self._enter(max(2, end), 1, {"like": name})
