"""Hypothesis draws examples until one fails, and makes it as small as it can."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.errors import Flaky

from kvconform.fuzz.corpus import Corpus
from kvconform.fuzz.draw import examples
from kvconform.fuzz.example import Example
from kvconform.fuzz.play import Played, Seen, Target, claims_of, play
from kvconform.fuzz.request import Limits
from kvconform.fuzz.smaller import smaller

_ROUND = 200
"""Examples that Hypothesis draws in one go; after each go it begins afresh."""

_SHRINKS = 400
"""Examples that are played to make a finding smaller; after these the smallest so far is kept."""

_SPREAD = 1_000_003
"""Keeps the seeds of rounds apart from those of neighbouring searches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The smallest example that was found to fail.

    ``after`` examples the first one failed, whose events were ``from_events``; ``steady`` says
    whether it failed each time.
    """

    played: Played
    after: int
    from_events: int
    steady: bool = True


class _FoundError(Exception):
    """An example fails; there is a class of it for each kind, so that none shrinks into another."""


@cache
def _error_kind(kind: str) -> type[_FoundError]:
    return type(f"Found {kind}", (_FoundError,), {})


class Search:
    """One search: the same seed, connector and limit in examples give the same examples."""

    def __init__(self, target: Target, corpus: Corpus, seed: int, limits: Limits) -> None:
        self.seen = Seen()
        self._target = target
        self._corpus = corpus
        self._seed = seed
        self._limits = limits
        self._strategy = examples(claims_of(target))
        self._started = time.monotonic()
        self._failed: Played | None = None
        self._first: tuple[int, int] = (0, 0)
        self._known: dict[str, Played] = {}
        """The examples that failed, by digest."""
        self._shrinks = 0

    def run(self) -> Found | None:
        """Search; None if nothing was found within the limits."""
        round_number = 0
        with tempfile.TemporaryDirectory(prefix="kvconform-fuzz-") as home:
            set_hypothesis_home_dir(home)
            while not self._over():
                found = self._round(self._seed * _SPREAD + round_number)
                if found is not None:
                    return found
                round_number += 1
        return None

    def _over(self) -> bool:
        limits, seconds = self._limits, time.monotonic() - self._started
        many = limits.examples is not None and self.seen.examples >= limits.examples
        return many or (limits.seconds is not None and seconds >= limits.seconds)

    def _round(self, seed: int) -> Found | None:
        left = _ROUND
        if self._limits.examples is not None:
            left = min(left, self._limits.examples - self.seen.examples)
        settings = hypothesis.settings(
            max_examples=left,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
        )
        body: Callable[[], None] = hypothesis.seed(seed)(
            settings(hypothesis.given(self._strategy)(self._try))
        )
        steady = True
        try:
            body()
        except _FoundError:
            pass
        except Flaky:
            steady = False
        if self._failed is None:
            return None
        after, events = self._first
        played = self._reduce(self._failed)
        return Found(played=played, after=after, from_events=events, steady=steady)

    def _reduce(self, found: Played) -> Played:
        """Leave out what can be, whatever Hypothesis drew together: the same check must fail."""
        fewer: Played | None = found
        while fewer is not None:
            found = fewer
            tries = (self._play(example) for example in smaller(found.example))
            fewer = next((one for one in tries if one.kind == found.kind), None)
        return found

    def _try(self, example: Example) -> None:
        """Play an example for Hypothesis, which takes an error for a failure."""
        if self._failed is None:
            if self._over():
                return
            played = self._play(example)
            self.seen.take(played)
            self._first = self.seen.examples, len(example.events)
        elif self._shrinks < _SHRINKS:
            self._shrinks += 1
            played = self._play(example)
        elif example.digest in self._known:
            played = self._known[example.digest]
        else:
            return
        if played.kind:
            # What fails last is the smallest: Hypothesis plays it once more at the end.
            self._failed = self._known[example.digest] = played
            raise _error_kind(played.kind)

    def _play(self, example: Example) -> Played:
        self._corpus.write_current(example)
        played = play(example, self._target)
        self._corpus.clear_current()
        return played
