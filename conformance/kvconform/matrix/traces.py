"""What a schema cannot see of a trace: names of requests and groups, and prefixes that are shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kvconform.matrix.problems import shown, suggest
from kvconform.matrix.references import Path, substitute
from kvconform.matrix.report import Report

if TYPE_CHECKING:
    from kvconform.matrix.meaning import Rows

_Problem = tuple[Path, str, str]
"""Path, message and hint."""


def check_trace(
    given: Mapping[str, Any], groups: Sequence[str], rows: Rows, report: Report, *, world: Any = 1
) -> None:
    """Every name in the events of a trace is one that came before, in every row.

    ``world`` is the number of ranks, or names the axis that has it.
    """
    trace = {key: given[key] for key in ("events", "hits") if key in given}
    told: set[tuple[Path, str]] = set()
    for values, hint in rows.variants(trace, world) if "events" in trace else ():
        for path, message, near in _Names(groups, substitute(world, values)).problems(substitute(trace, values)):
            if (path, message) not in told:
                told.add((path, message))
                hints = "; ".join(text for text in (near, hint) if text)
                report.add(path, message, hints, key=path[1] == "hits")


class _Names:
    """Follows one trace; what the schema refuses is passed over."""

    def __init__(self, groups: Sequence[str], world: Any) -> None:
        self._groups = groups
        self._world = world if isinstance(world, int) else 1
        self._tokens: dict[str, int] = {}
        """Tokens of prompt and answer of the requests so far."""
        self._prompts: dict[str, int] = {}
        self._ended: set[str] = set()
        """Requests that have ended for certain."""
        self._found: list[_Problem] = []

    def problems(self, trace: Mapping[str, Any]) -> list[_Problem]:
        events, hits = trace["events"], trace.get("hits")
        for at, event in enumerate(events if isinstance(events, list) else ()):
            if event == "settle":
                self._ended.update(self._tokens)
            for kind, what in event.items() if isinstance(event, dict) else ():
                self._event(("given", "events", at, kind), kind, what)
        for name, least in hits.items() if isinstance(hits, dict) else ():
            self._must_be_known(("given", "hits", name), name)
            prompt = self._prompts.get(name)
            if prompt is not None and isinstance(least, int) and least >= prompt:
                message = f"{name!r} has a prompt of {prompt} tokens and cannot hit {least}"
                self._found.append((("given", "hits", name), message, f"at most {prompt - 1}"))
        return self._found

    def _event(self, path: Path, kind: str, what: Any) -> None:
        if kind in {"run", "abort", "preempt"}:
            self._must_be_known(path, what)
            if isinstance(what, str) and kind != "preempt":
                self._ended.add(what)
        elif kind in {"hold", "release"} and isinstance(what, dict):
            self._ranks(path, what.get("ranks"))
        elif kind == "sharers" and isinstance(what, dict):
            self._sharers(path, what)
        elif kind == "submit" and isinstance(what, dict):
            self._submit(path, what)
        elif kind in {"fail_load", "fail_store"} and isinstance(what, dict):
            self._of_group(path, what)
            if "index" in what and "group" not in what:
                message, hint = "index without group", "say of which group the chunks are, under group"
                self._found.append(((*path, "index"), message, hint))
        elif kind == "drop" and isinstance(what, dict):
            self._of_group(path, what)

    def _of_group(self, path: Path, what: Mapping[str, Any]) -> None:
        """The request and the group that an event names."""
        self._must_be_known((*path, "of"), what.get("of"))
        group = what.get("group")
        if isinstance(group, str) and group not in self._groups:
            message = f"no group of the layout is named {shown(group)}"
            self._found.append(((*path, "group"), message, suggest(group, self._groups)))

    def _ranks(self, path: Path, ranks: Any) -> None:
        for rank in ranks if isinstance(ranks, list) else ():
            if isinstance(rank, int) and rank >= self._world:
                message = f"there is no rank {rank}, layout.world is {self._world}"
                self._found.append(((*path, "ranks"), message, "ranks are counted from 0"))

    def _sharers(self, path: Path, what: Mapping[str, Any]) -> None:
        """Requests NAME-1 and so on, each with the prompt of an earlier one."""
        name, like, count = (what.get(key) for key in ("request", "like", "count"))
        self._must_be_known((*path, "like"), like)
        if not isinstance(count, int):
            return
        for number in range(1, count + 1):
            one = {"request": f"{name}-{number}", "prompt_tokens": self._prompts.get(str(like), 2)}
            self._submit(path, one)

    def _must_be_known(self, path: Path, name: Any) -> None:
        if isinstance(name, str) and name not in self._tokens:
            message = f"no request is named {shown(name)} before this"
            self._found.append((path, message, suggest(name, self._tokens)))

    def _reuse(self, path: Path, name: str) -> None:
        if name not in self._tokens:
            message, hint = f"no request named {shown(name)} came before", "leave reuse out"
            self._found.append((path, message, hint))
        elif name not in self._ended:
            message = f"request {shown(name)} may be alive when its id is used again"
            self._found.append((path, message, "run or abort it before, or settle"))

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
            message = f"two requests are named {shown(name)}"
            self._found.append(((*path, "request"), message, hint))
        self._ended.discard(name)
        shared = what.get("shared")
        if isinstance(shared, int):
            most = min(prompt, self._tokens.get(str(like), prompt))
            if like is None:
                message, hint = "shared without like", "say with which request, under like"
                self._found.append(((*path, "shared"), message, hint))
            elif shared > most:
                message = f"{shared} tokens cannot be shared, there are {most}"
                self._found.append(((*path, "shared"), message, ""))
        self._prompts[name] = prompt
        output = what.get("output_tokens", 1)
        self._tokens[name] = prompt + (output if isinstance(output, int) else 1)
