"""Steps that count what requests of growing size cost the connector."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvconform.engine.effort import METER, Effort
from kvconform.ports import RequestSpec
from kvconform.stage.base import StageBase, answer_tokens, prompt_tokens

_SIZES = (1, 2, 4)
"""Each measurement is made at so many times the size that the case gives."""

_GROWTH = 2.5
"""From the second size to the third twice as much is added as from the first to the second.

Sorting adds less than 2.4 times, a quadratic cost 4 times.
"""

_FLAT = 1.25
"""What may not depend on the size at all may be so much more at the third than at the first."""

_SLACK = 64
"""Calls and lines, or bytes, that are no growth: a longer number, a table that is made anew."""


@dataclass(slots=True)
class _Series:
    """One thing that was measured at each size; ``flat`` says that it may not grow."""

    what: str
    flat: bool
    work: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)


class EffortSteps(StageBase):
    """The same is done at three sizes, each time by a request of its own, and counted."""

    def measure(self) -> None:
        """Run the case's measurement at every size."""
        self._owe("judge_effort")
        self._series: dict[str, _Series] = {}
        grow = self.given["grow"]
        self._live("warm-up", self.given["prompt_tokens"], 1)
        self._live("warm-up", self.given["prompt_tokens"], 1, again=True)
        self._fill()
        for size in _SIZES:
            {"prompt": self._prompt, "answer": self._answer, "waiting": self._waiting, "history": self._history}[grow](size)

    def _fill(self) -> None:
        """Where memory has a budget it is full before anything is counted, so that all sizes evict."""
        tokens = (self.layout.host_chunks or 0) * max(self.oracle.chunk_tokens)
        while tokens > 0:
            self._live(f"fill-{len(self._requests)}", self.given["prompt_tokens"], 1)
            tokens -= self.given["prompt_tokens"]

    def _prompt(self, size: int) -> None:
        """A prompt of so many times the tokens is stored and loaded."""
        for again, what in ((False, "storing a prompt"), (True, "loading a prompt")):
            with METER.count() as effort:
                self._live(f"prompt-{size}", self.given["prompt_tokens"] * size + 1, 1, again=again)
            self._note(what, effort)

    def _answer(self, size: int) -> None:
        """An answer of so many times the tokens."""
        with METER.count() as effort:
            self._live(f"answer-{size}", self.given["prompt_tokens"], 8 * size)
        self._note("answering", effort)

    def _history(self, size: int) -> None:
        """The same prompt after so many times the requests."""
        while len(self._requests) < 2 * _BEFORE * size:
            self._live(f"before-{len(self._requests)}", self.given["prompt_tokens"], 1)
        for again, what in ((False, "storing a prompt"), (True, "loading a prompt")):
            with METER.count() as effort:
                self._live(f"after-{size}", self.given["prompt_tokens"], 1, again=again)
            self._note(what, effort, flat=True)

    def _waiting(self, size: int) -> None:
        """So many times the requests wait while the prompt that they share is loaded."""
        tokens, name = self.given["prompt_tokens"], f"waited-{size}"
        self._live(name, tokens, 1)
        if self.dead:
            return
        self.bench.reset_prefix_cache()
        self.bench.hold(copies=False)
        for sharer in range(1 + _SHARERS * size):
            self._enter(f"{name}-{sharer}", self._requests[name].prompt, 1)
        self._steps(3)
        with METER.count() as effort:
            self._steps(1)
        self._note("a step with requests waiting", effort)
        if not self.dead:
            self.bench.release()
        self.settle()

    def _steps(self, count: int) -> None:
        for _ in range(count):
            if not self.dead:
                self.bench.step()

    def _note(self, what: str, effort: Effort, *, flat: bool = False) -> None:
        series = self._series.setdefault(what, _Series(what, flat))
        series.work.append(effort.work)
        series.sent.append(effort.sent)

    def _live(self, name: str, tokens: int, output: int, *, again: bool = False) -> None:
        """A request comes alone, with a cold pool, and all of it comes to rest."""
        prompt = self._requests[name].prompt if again else prompt_tokens(tokens, branch=len(self._requests) + 1)
        if not self.dead:
            self.bench.reset_prefix_cache()
        self._enter(f"{name}-again" if again else name, prompt, output)
        self.settle()

    def _enter(self, name: str, prompt: tuple[int, ...], output: int) -> None:
        self._introduce(RequestSpec(name=name, prompt=prompt, output=answer_tokens(output)))
        self.submit(name, stay_on_miss=False)

    def judge_effort(self) -> None:
        """Judge how what was counted grows."""
        self._paid("judge_effort")
        self.tally.open("effort-is-linear", "metadata-is-linear")
        if self.dead:
            return
        for series in self._series.values():
            self._grows("effort-is-linear", series, series.work, "calls and lines")
            self._grows("metadata-is-linear", series, series.sent, "bytes of metadata")

    def _grows(self, check: str, series: _Series, counted: list[int], unit: str) -> None:
        if not any(counted):
            return
        self.tally.saw(check)
        first, second, third = counted
        if series.flat:
            most = int(first * _FLAT) + _SLACK
        else:
            most = second + int(_GROWTH * max(0, second - first)) + _SLACK
        if third > most:
            self.tally.wrong(
                check,
                f"at most {most} {unit} for {series.what} at four times the size",
                f"{third}; {first} at the size itself, {second} at twice",
                f"grows with {self.given['grow']}",
            )


_BEFORE = 3
"""Requests that came before, at the first size."""

_SHARERS = 3
"""Requests that wait, at the first size."""
