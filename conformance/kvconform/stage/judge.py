"""Judgements: events on one side, the oracle on the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kvconform.contract.oracle import Oracle, Supply, retained_blocks
from kvconform.engine.events import Answered, Broke, Copied, Ended, Event, Loaded, Read, Submitted
from kvconform.ports import Capability, Direction, GroupKind
from kvconform.stage.scene import Judged
from kvconform.stage.states import judge_end, judge_state
from kvconform.stage.tally import Tally
from kvconform.stage.writes import judge_jobs, judge_writes

Blocks = dict[str, list[int]]
"""Block indices by group name, sorted."""


def say(boundary: int | None) -> str:
    """A verdict in words."""
    if boundary is None:
        return "later"
    return f"a hit of {boundary} tokens" if boundary else "a miss"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Judges one case; ``oracle`` has the layout, the chunk sizes and the claims."""

    oracle: Oracle
    tally: Tally
    judged: list[Judged] = field(default_factory=list)
    """Each verdict that was judged by what was there, in that order."""

    def answer(
        self,
        answer: Answered,
        supply: Supply | None,
        *,
        at_least: bool = False,
        at_most: bool = False,
        load_cap: int | None = None,
    ) -> None:
        """One verdict: legal, covered, best, asynchronous.

        Without ``supply`` (traffic whose chunk states nobody knows for certain) only its form is
        judged.  With ``at_least`` more than the best of ``supply`` is right too: the connector
        may have stored more.  With ``at_most`` less is: not all of ``supply`` may be ready yet.
        ``load_cap`` are the tokens that the request lets itself be loaded.
        """
        boundary = answer.boundary
        self.tally.open("hit-is-covered", "load-is-async", "state-at-boundary")
        if boundary != 0 and boundary is not None:
            self._hit(answer, boundary, supply, at_least=at_least)
        if supply is None:
            return
        best = self.oracle.best_verdict(
            answer.num_tokens, supply, local_tokens=answer.local, load_cap=load_cap
        )
        self.judged.append(Judged(answer=answer, supply=supply, best=best))
        if at_most:
            return
        self.tally.saw("hit-is-best")
        worth = self.worth(answer)
        enough = at_least and worth is not None and best is not None and worth >= best
        if worth != best and not enough:
            self.tally.wrong("hit-is-best", say(best), say(boundary), event=answer)

    def worth(self, answer: Answered) -> int | None:
        """The verdict, where a hit of all tokens counts as one of all but the last."""
        boundary = answer.boundary
        return None if boundary is None else self.oracle.useful(boundary, answer.num_tokens)

    def _hit(self, answer: Answered, boundary: int, supply: Supply | None, *, at_least: bool) -> None:
        self.tally.saw("hit-is-covered")
        self.tally.saw("load-is-async")
        judge_end(self.tally, self.oracle.layout, answer)
        if not answer.is_async:
            self.tally.wrong("load-is-async", "an asynchronous hit", "a synchronous hit", event=answer)
        if not self.oracle.is_legal(boundary, answer.num_tokens):
            step = self.oracle.layout.hash_block
            self.tally.wrong(
                "hit-is-covered",
                f"a boundary that is a multiple of {step}, or all but the last token, "
                f"of {answer.num_tokens} tokens",
                say(boundary),
                event=answer,
            )
            return
        if supply is None or at_least:
            return
        local = answer.local
        covered = self.oracle.covered(boundary, answer.num_tokens, supply, local_tokens=local)
        if not covered:
            best = self.oracle.best_verdict(answer.num_tokens, supply, local_tokens=local)
            lacking = self._lacking(boundary, supply)
            self.tally.wrong("hit-is-covered", say(best), say(boundary), lacking, event=answer)
        if any(group.eagle for group in self.oracle.layout.groups):
            self.tally.saw("draft-tail-dropped")
            with_tail = self.oracle.covered(
                boundary, answer.num_tokens, supply, local_tokens=local, draft=True
            )
            # Where the hit itself is not covered, the tail is not what is wrong.
            if covered and not with_tail:
                tail = ", ".join(self._name(chunk) for chunk in sorted(self.oracle.draft_tail(boundary)))
                self.tally.wrong(
                    "draft-tail-dropped",
                    f"a hit only if the dropped chunk is ready too: {tail}",
                    say(boundary),
                    event=answer,
                )

    def _lacking(self, boundary: int, supply: Supply) -> str:
        states = {
            chunk: supply.states.get(chunk, "missing") for chunk in self.oracle.loaded_chunks(boundary)
        }
        lacking = [
            f"{self._name(chunk)} is {state}"
            for chunk, state in sorted(states.items())
            if state in {"missing", "pending"}
        ] or [f"{self._name(chunk)} holds only part of its blocks" for chunk in sorted(supply.gone)]
        return f"a hit of {boundary} tokens needs what is not there: " + ", ".join(lacking[:6])

    def _name(self, chunk: tuple[int, int]) -> str:
        return f"chunk {chunk[1]} of group {self.oracle.layout.groups[chunk[0]].name}"

    def needed_blocks(self, boundary: int, local_tokens: int) -> Blocks:
        """Blocks that a load for a hit brings, by group name."""
        return {
            group.name: sorted(
                block
                for block in retained_blocks(group, boundary)
                if (block + 1) * group.block_size > local_tokens
            )
            for group in self.oracle.layout.groups
        }

    def load(self, events: Sequence[Event], answer: Answered) -> None:
        """What one hit's load brought: each needed block once, and no other."""
        needed = self.needed_blocks(answer.boundary or 0, answer.local)
        copies = [e for e in events if isinstance(e, Copied) and e.direction is Direction.LOAD and e.rank == 0]
        got = Counter(block for copy in copies for block in copy.blocks)
        want = Counter((name, index) for name, indices in needed.items() for index in indices)
        self.tally.saw("load-is-exact")
        if got != want:
            self.tally.wrong(
                "load-is-exact",
                _listed(want),
                _listed(got),
                f"not loaded: {_listed(want - got)}; not needed: {_listed(got - want)}",
                event=answer,
            )

    def stores(
        self,
        events: Sequence[Event],
        num_tokens: int,
        prompt_tokens: int,
        steps: Sequence[int] = (),
    ) -> None:
        """What a producer of ``num_tokens`` computed tokens, ``prompt_tokens`` of prompt, stored.

        ``steps`` are its token counts after each step.

        Everything that a lookup at a kept boundary needs must be there; chunks that only a
        longer request's boundaries need may be.
        """
        copies = [e for e in events if isinstance(e, Copied) and e.direction is Direction.STORE and e.rank == 0]
        blocks = {block for copy in copies for block in copy.blocks}
        groups = self.oracle.layout.groups
        index_of = {group.name: position for position, group in enumerate(groups)}
        got = {
            (index_of[name], self.oracle.chunk_of(index_of[name], index * groups[index_of[name]].block_size))
            for name, index in blocks
            if index >= 0
        }
        required = self.oracle.reachable_chunks(
            num_tokens, prompt_tokens=prompt_tokens, steps=steps
        )
        reach = max((g.window + g.extra_retained for g in groups if g.kind is not GroupKind.FULL), default=0)
        ahead = reach + 2 * max(self.oracle.chunk_tokens)
        allowed = self.oracle.reachable_chunks(
            num_tokens, prompt_tokens=prompt_tokens, ahead=ahead
        )
        self.tally.open("store-is-exact")
        if copies or required:
            self.tally.saw("store-is-exact")
        strays = [name for name, index in blocks if index < 0]
        missing, excess = required - got, got - allowed
        if missing or excess or strays:
            parts = [f"not stored: {self._chunks(missing)}", f"of no use: {self._chunks(excess)}"]
            if strays:
                parts.append(f"blocks that are nobody's, in group {strays[0]}")
            self.tally.wrong(
                "store-is-exact", self._chunks(required), self._chunks(got), "; ".join(parts)
            )

    def _chunks(self, chunks: Iterable[tuple[int, int]]) -> str:
        names = [(self.oracle.layout.groups[group].name, index) for group, index in chunks]
        return "chunks " + _listed(Counter(names)) if names else "nothing"

    def bytes_and_ends(self, events: Sequence[Event], dead: str, *, at_rest: bool) -> None:
        """What holds in every scenario: bytes after loads and before reads, ends, exceptions.

        ``at_rest`` says that nothing was left to do at the end.
        """
        self.tally.open("bytes-after-load", "reads-own-bytes")
        for event in events:
            if isinstance(event, Loaded) and event.slots:
                self._bytes("bytes-after-load", event, "every retained slot holds its owner's bytes")
            elif isinstance(event, Read):
                self._bytes("reads-own-bytes", event, "every slot read holds its owner's bytes")
        self.tally.saw("no-exception")
        for event in events:
            if isinstance(event, Broke):
                self.tally.wrong("no-exception", "no exception", event.text, f"in {event.method}", event=event)
        judge_writes(self.tally, events)
        judge_jobs(self.tally, events)
        self.tally.open("every-request-ends")
        if not dead:
            self._ends(events, at_rest=at_rest)

    def _bytes(self, check: str, event: Loaded | Read, expected: str) -> None:
        self.tally.saw(check)
        if event.difference is not None:
            got = f"{event.difference.slots} slot(s) of {event.request!r} do not"
            self.tally.wrong(check, expected, got, str(event.difference), event=event)
            judge_state(self.tally, self.oracle.layout, event)

    def _ends(self, events: Sequence[Event], *, at_rest: bool) -> None:
        check = "every-request-ends"
        # A name may come again, as an id does.
        submitted = Counter(event.request for event in events if isinstance(event, Submitted))
        ended = Counter(event.request for event in events if isinstance(event, Ended))
        for request, times in submitted.items():
            self.tally.saw(check)
            if ended[request] < times:
                last = next(e for e in reversed(events) if getattr(e, "request", "") == request)
                got = f"it does not; {_asked(events, request)}"
                self.tally.wrong(check, f"{request!r} ends", got, event=last)
        # While a request is alive there is something left to do: that is told already.
        if submitted <= ended and not at_rest:
            self.tally.wrong(
                check,
                "nothing is left to do once the requests have ended",
                "the connector keeps blocks, or says that it has work pending, for ever",
                event=events[-1],
            )


def _asked(events: Sequence[Event], request: str) -> str:
    """How often a request was asked about, and what was answered in the end."""
    answers = [e for e in events if isinstance(e, Answered) and e.request == request]
    if not answers:
        return "it was never asked about"
    said = say(answers[-1].boundary)
    other = next((n for n, e in enumerate(reversed(answers)) if say(e.boundary) != said), 0)
    if len(answers) == 1:
        return f"asked once: {said}"
    last = f"the last {other} times {said}" if other else f"always {said}"
    return f"asked {len(answers)} times, {last}"


def claims_everything(claims: frozenset[Capability]) -> bool:
    """Whether a connector claims every policy, so that pinned figures apply to it."""
    policies = {
        Capability.LONGEST_HIT,
        Capability.LATER,
        Capability.DEDUP_LOADS,
        Capability.MASKED_STORE,
    }
    return policies <= claims


def _listed(blocks: Counter[tuple[str, int]]) -> str:
    """Indices by group, runs shortened: ``full 0-3; swa 5,7``."""
    if not blocks:
        return "nothing"
    by_group: dict[str, list[int]] = {}
    for name, index in sorted(blocks.elements()):
        by_group.setdefault(name, []).append(index)
    return "; ".join(f"{name} {_runs(indices)}" for name, indices in by_group.items())


def _runs(indices: list[int]) -> str:
    parts: list[list[int]] = []
    for index in indices:
        if parts and index == parts[-1][-1] + 1:
            parts[-1].append(index)
        else:
            parts.append([index])
    return ",".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)
