"""What a schema cannot see of a trace: what its events name must be there, and change something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kvconform.matrix.problems import shown, suggest
from kvconform.matrix.references import Path, substitute
from kvconform.matrix.report import Report
from kvconform.matrix.trace_holds import Holds
from kvconform.matrix.trace_shape import TraceShape, numbers_of

if TYPE_CHECKING:
    from kvconform.matrix.meaning import Rows


def check_trace(
    given: Mapping[str, Any],
    layout: Mapping[str, Any],
    engine: Mapping[str, Any],
    rows: Rows,
    report: Report,
) -> None:
    """Every event of a trace can come about in every row, and every name is one that came before.

    An event that changes nothing is told only if that is so in every row: in some it may be what
    an axis makes of it.
    """
    if "events" not in given:
        return
    trace = {key: given[key] for key in ("events", "hits") if key in given}
    numbers = numbers_of(layout, engine)
    told: set[tuple[Path, str]] = set()
    idle: dict[Path, list[tuple[str, str]]] = {}
    variants = 0
    for values, row in rows.variants(trace, numbers):
        shape = TraceShape.of(substitute(numbers, values))
        if shape is None:
            continue  # the schema has told what is wrong
        variants += 1
        walk = TraceWalk(shape)
        walk.through(substitute(trace, values))
        for path, message, hint in walk.wrong:
            if (path, message) not in told:
                told.add((path, message))
                hints = "; ".join(text for text in (hint, row) if text)
                report.add(path, message, hints, key=path[1] == "hits")
        for path, message, hint in walk.idle:
            idle.setdefault(path, []).append((message, hint))
    for path, found in idle.items():
        if len(found) == variants:
            report.add(path, *found[-1])


def is_valid_trace(
    events: Sequence[Any], layout: Mapping[str, Any], engine: Mapping[str, Any]
) -> bool:
    """Whether a trace without axes, which obeys its schema, would be told nothing."""
    shape = TraceShape.of(numbers_of(layout, engine))
    if shape is None:
        return False
    walk = TraceWalk(shape)
    walk.through({"events": list(events)})
    return not walk.wrong and not walk.idle


_Problem = tuple[Path, str, str]
"""Path, message and hint."""


class TraceWalk:
    """Follows one trace; what the schema refuses is passed over."""

    def __init__(self, shape: TraceShape) -> None:
        self._shape = shape
        self.wrong: list[_Problem] = []
        """What cannot come about."""
        self.idle: list[_Problem] = []
        """What changes nothing, one problem for each place."""
        self._holds = Holds(shape.world)
        self._tokens: dict[str, int] = {}
        """Tokens of prompt and answer of the requests so far."""
        self._prompts: dict[str, int] = {}
        self._over: dict[str, str] = {}
        """Requests that have ended for certain, each with how."""
        self._cold: set[str] = set()
        """Requests that came after the pool was wiped: what they hit lies in the connector."""
        self._wiped = False

    def through(self, trace: Mapping[str, Any]) -> None:
        """Tell what is wrong with a trace in which axes have their values."""
        events, hits = trace["events"], trace.get("hits")
        hits = hits if isinstance(hits, dict) else {}
        for at, event in enumerate(events if isinstance(events, list) else ()):
            self.take(at, event, hits)
        for name, least in hits.items():
            self._must_hit(("given", "hits", name), name, least)

    def take(self, at: int, event: Any, hits: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Event number ``at`` comes; ``hits`` are what the trace says of who must hit."""
        path: Path = ("given", "events", at)
        if isinstance(event, str):
            self._word(path, event, hits)
        for kind, what in event.items() if isinstance(event, dict) else ():
            self._event((*path, kind), kind, what)

    def would_take(self, at: int, event: Any) -> bool:
        """Whether an event that comes next can come about and changes something; if so, take it."""
        trial = deepcopy(self)
        trial.take(at, event)
        right = not trial.wrong and not trial.idle
        if right:
            self.__dict__.update(trial.__dict__)
        return right

    @property
    def holds(self) -> bool:
        """Whether anything is held back."""
        return self._holds.any

    def is_over(self, name: str) -> bool:
        """Whether a request has ended for certain."""
        return name in self._over

    def _word(self, path: Path, word: str, hits: Mapping[str, Any]) -> None:
        if word == "settle":
            self._over.update((name, "has ended") for name in self._tokens if name not in self._over)
        elif word in {"wipe_pool", "reset"}:
            self._wiped = bool(self._tokens)
        elif word in {"release", "last_first"}:
            problem = self._holds.release_all() if word == "release" else self._holds.reverse()
            if problem is not None:
                self.idle.append((path, *problem))
        elif word == "neutral":
            first = next((name for name in self._cold if name in hits), None)
            if first is not None:
                message = f"neutral compares up to the first hit, and {shown(first)} must hit before this"
                self.idle.append((path, message, f"move it before the submit of {first}"))

    def _event(self, path: Path, kind: str, what: Any) -> None:
        if kind in {"run", "abort", "preempt"}:
            self._of_one(path, kind, what)
        elif kind in {"hold", "release"}:
            self._part(path, kind, what)
        elif kind == "sharers" and isinstance(what, dict):
            self._sharers(path, what)
        elif kind == "submit" and isinstance(what, dict):
            self._submit(path, what)
        elif kind in {"fail_load", "fail_store", "drop"} and isinstance(what, dict):
            self._chunks(path, what)
            self._rank((*path, "rank"), what.get("rank"))

    def _part(self, path: Path, kind: str, what: Any) -> None:
        """What is held or released: each rank is there, and something of it changes."""
        ranks = what.get("ranks") if isinstance(what, dict) else None
        for at, rank in enumerate(ranks if isinstance(ranks, list) else ()):
            self._rank((*path, "ranks", at), rank)
        problem = self._holds.hold(what) if kind == "hold" else self._holds.release(what)
        if problem is not None:
            self.idle.append((path, *problem))
        if isinstance(what, dict) and "direction" in what and what.get("what") == "reports":
            message = "reports have no direction: one report tells of stores and loads"
            self.idle.append(((*path, "direction"), message, "leave it out, or say what: copies"))

    def _rank(self, path: Path, rank: Any) -> None:
        if isinstance(rank, int) and rank >= self._shape.world:
            message = f"there is no rank {rank}, layout.world is {self._shape.world}"
            self._add(path, message, "ranks are counted from 0")

    def _add(self, path: Path, message: str, hint: str = "") -> None:
        self.wrong.append((path, message, hint))

    def _of_one(self, path: Path, kind: str, name: Any) -> None:
        """A request is run, aborted or preempted: one that has ended changes by none of these."""
        self._must_be_known(path, name)
        if not isinstance(name, str) or name not in self._tokens:
            return
        over = self._over.get(name)
        if over is not None and kind != "run":
            message = f"request {shown(name)} {over} before this"
            self.idle.append((path, message, f"leave this {kind} out"))
        if kind != "preempt":
            self._over[name] = "was aborted" if kind == "abort" else "has ended"

    def _chunks(self, path: Path, what: Mapping[str, Any]) -> None:
        """The request, the group and the chunks that an event names."""
        name, group, index = (what.get(key) for key in ("of", "group", "index"))
        self._must_be_known((*path, "of"), name)
        sizes = self._shape.block_sizes
        if isinstance(group, str) and group not in sizes:
            message = f"no group of the layout is named {shown(group)}"
            self._add((*path, "group"), message, suggest(group, list(sizes)))
        elif "index" in what and "group" not in what:
            message, hint = "index without group", "say of which group the chunks are, under group"
            self._add((*path, "index"), message, hint)
        elif name in self._tokens and isinstance(group, str) and isinstance(index, list):
            count = self._shape.chunks_within(group, self._tokens[name])
            for at, chunk in enumerate(index):
                if isinstance(chunk, int) and chunk >= count:
                    message = (
                        f"request {shown(name)} has {self._tokens[name]} tokens, which are {count} whole "
                        f"chunk(s) of group {shown(group)}: there is no chunk {chunk}"
                    )
                    hint = f"name one from 0 to {count - 1}" if count else "give it a longer prompt"
                    self._add((*path, "index", at), message, hint)

    def _sharers(self, path: Path, what: Mapping[str, Any]) -> None:
        """Requests NAME-1 and so on, each with the prompt of an earlier one."""
        name, like, count = (what.get(key) for key in ("request", "like", "count"))
        self._must_be_known((*path, "like"), like)
        if not isinstance(count, int):
            return
        for number in range(1, count + 1):
            one = {"request": f"{name}-{number}", "prompt_tokens": self._prompts.get(str(like), 2)}
            self._submit(path, {**one, "output_tokens": what.get("output_tokens", 1)})

    def _must_be_known(self, path: Path, name: Any) -> None:
        if isinstance(name, str) and name not in self._tokens:
            message = f"no request is named {shown(name)} before this"
            self._add(path, message, suggest(name, self._tokens))

    def _reuse(self, path: Path, name: str) -> None:
        if name not in self._tokens:
            self._add(path, f"no request named {shown(name)} came before", "leave reuse out")
        elif name not in self._over:
            message = f"request {shown(name)} may be alive when its id is used again"
            self._add(path, message, "run or abort it before, or settle")

    def _submit(self, path: Path, what: Mapping[str, Any]) -> None:
        """The problems of one request, which from here on is known."""
        name, prompt, like = (what.get(key) for key in ("request", "prompt_tokens", "like"))
        if not (isinstance(name, str) and isinstance(prompt, int)):
            return
        self._must_be_known((*path, "like"), like)
        if what.get("reuse") is True:
            self._reuse((*path, "request"), name)
        elif name in self._tokens:
            hint = "every request has a name of its own"
            self._add((*path, "request"), f"two requests are named {shown(name)}", hint)
        self._over.pop(name, None)
        shared = what.get("shared")
        if isinstance(shared, int):
            most = min(prompt, self._tokens.get(str(like), prompt))
            if like is None:
                hint = "say with which request, under like"
                self._add((*path, "shared"), "shared without like", hint)
            elif shared > most:
                self._add((*path, "shared"), f"{shared} tokens cannot be shared, there are {most}")
        output = what.get("output_tokens", 1)
        self._prompts[name] = prompt
        self._tokens[name] = prompt + (output if isinstance(output, int) else 1)
        if self._wiped:
            self._cold.add(name)
        self._room(path, name)
        self._accepted((*path, "accepted"), what.get("accepted"))

    def _room(self, path: Path, name: str) -> None:
        need, room = self._shape.blocks_for(self._tokens[name]), self._shape.num_blocks
        if need > room:
            message = (
                f"request {shown(name)} takes {need} blocks of a pool of {room}, null block included"
            )
            self._add(path, message, "give layout.num_blocks more, or the request fewer tokens")

    def _accepted(self, path: Path, accepted: Any) -> None:
        drafts = self._shape.spec_tokens
        if not isinstance(accepted, list):
            return
        if not drafts:
            message = "accepted says which drafts are right, and no step has any"
            hint = "give engine.spec_tokens, or leave accepted out"
            self.idle.append((path, message, hint))
            return
        most = max((count for count in accepted if isinstance(count, int)), default=0)
        if most > drafts:
            message = f"{most} drafts cannot be right, engine.spec_tokens gives a step {drafts}"
            self.idle.append((path, message, f"at most {drafts}"))

    def _must_hit(self, path: Path, name: str, least: Any) -> None:
        self._must_be_known(path, name)
        prompt = self._prompts.get(name)
        if prompt is None or not isinstance(least, int):
            return
        if least >= prompt:
            message = f"{shown(name)} has a prompt of {prompt} tokens and cannot hit {least}"
            self._add(path, message, f"at most {prompt - 1}")
            return
        below, above = self._shape.hits_near(least, prompt)
        if least != below:
            message = f"no hit of {shown(name)} ends after {least} tokens"
            fits = above < prompt and above != below
            either = f"{below} or {above}" if below and fits else f"{below or above}"
            self._add(path, message, f"a hit ends with a hash block, or a state: {either}")
