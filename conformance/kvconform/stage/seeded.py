"""Steps about chunks that are put into given states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvconform.contract.oracle import Chunk, Supply
from kvconform.ports import ChunkState
from kvconform.stage.base import StageBase
from kvconform.stage.judge import say

_CONTROL = "repaired-then-hits"
"""The check of the positive control."""


class SeededSteps(StageBase):
    """A request asks for chunks whose states the case lists."""

    def seed_chunks(self, name: str = "consumer") -> None:
        """Put every chunk that the case lists into its state, and those alone."""
        self._need_chunks_as_wished()
        if _CONTROL in self.declared:
            self._owe("repair")
        states = self._listed_states()
        self._prepare(name, self.given["prompt_tokens"])
        self._supply = Supply(states=states)
        for (group, chunk), state in sorted(states.items()):
            if state is not ChunkState.MISSING and not self.dead:
                self.bench.seed_chunk(name, group, chunk, state)

    def _arises(self, check: str) -> bool:
        """A hit that is there from the start needs no repair as a control."""
        if check == _CONTROL and self._chunks_are_as_wished():
            supply = Supply(states=self._listed_states())
            return not self.oracle.best_verdict(self.given["prompt_tokens"], supply)
        return super()._arises(check)

    def _listed_states(self) -> dict[Chunk, ChunkState]:
        """The states of the chunks that the case lists; a later entry holds."""
        states: dict[Chunk, ChunkState] = {}
        for entry in self.given["chunks"]:
            state = ChunkState(str(entry["state"]).replace("present", "ready"))
            states |= dict.fromkeys(self._chunks_of(entry), state)
        return states

    def _chunks_of(self, entry: Mapping[str, Any]) -> set[Chunk]:
        name = entry.get("group")
        groups = [self.layout.index(name)] if name else range(len(self.layout.groups))
        if "index" in entry:
            return {(group, index) for group in groups for index in entry["index"]}
        if "needed_at" in entry:
            return {c for c in self.oracle.verified_chunks(entry["needed_at"]) if c[0] in groups}
        last = entry["left_of"] - 1
        return {(g, c) for g in groups if (c := self.oracle.chunk_of(g, last) - 1) >= 0}

    def repair(self, name: str = "consumer") -> None:
        """Positive control: all listed chunks become ready, and the waiting request must hit.

        Only a miss or *later* needs it; a hit shows by itself that the connector works.
        """
        self._paid("repair")
        num_tokens = len(self._requests[name].prompt)
        if self.oracle.best_verdict(num_tokens, self._supply):
            return
        self.tally.open(_CONTROL)
        whole = self._supply.with_states(self._supply.states, ChunkState.READY)
        if self.dead or self._was_admitted(name):
            return
        for (group, chunk), state in sorted(self._supply.states.items()):
            if state is ChunkState.MISSING:
                self.bench.seed_chunk(name, group, chunk, ChunkState.READY)
            elif state is not ChunkState.READY:
                self.bench.finish_chunk(name, group, chunk)
        self._supply = whole
        self._mark(name)
        answer = self.ask(name)
        if answer is None:
            return
        self.judge.answer(answer, whole)
        target = self.oracle.best_verdict(num_tokens, whole)
        self.tally.saw(_CONTROL)
        if self.judge.worth(answer) != target:
            self.tally.wrong(_CONTROL, say(target), say(answer.boundary), event=answer)

    def judge_verdict(self, name: str = "consumer") -> None:
        """Judge the request's verdict against what the seeded states allow."""
        self.tally.open("hit-is-covered", "hit-is-best", "load-is-async", "draft-tail-dropped")
        answers = self._answers(name)
        if not answers:
            return
        self.judge.answer(answers[-1], self._supply)
        best = self.oracle.best_verdict(answers[-1].num_tokens, self._supply)
        self._compare_pin("verdict", "later" if best is None else best)
