"""One search in this process: the corpus is replayed, then examples are drawn, then it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from kvconform.connector_config import read_settings
from kvconform.contract.clauses import CHECKS
from kvconform.fuzz.corpus import Corpus, Entry, read
from kvconform.fuzz.play import Played, Target, play
from kvconform.fuzz.request import FuzzRequest
from kvconform.fuzz.search import Found, Search
from kvconform.ports import KvconformError
from kvconform.registry import resolve_connector

Say = Callable[[str], None]

NOTHING_FOUND, FOUND, BAD_FILE, SUITE_BROKE, NO_HIT = 0, 1, 2, 3, 5
"""Exit codes, as those of ``kvconform run``."""


class NoDeviceError(KvconformError):
    """The device that was asked for is not there."""


def search(request: FuzzRequest, say: Say) -> int:
    """Replay, search, tell; returns the exit code."""
    import torch  # noqa: PLC0415 - what does not search need not load it

    torch.set_num_threads(1)
    if request.device == "cuda" and not torch.cuda.is_available():
        raise NoDeviceError("--device cuda: torch finds no CUDA device here")
    return _Session(request, say).run()


class _Session:
    def __init__(self, request: FuzzRequest, say: Say) -> None:
        self._request = request
        self._say = say
        candidate = resolve_connector(request.connector)
        options = read_settings(request.connector_config)
        check_options = getattr(candidate.factory, "check_options", None)
        if check_options is not None:
            check_options(options)
        self._target = Target(factory=candidate.factory, device=request.device, options=options)
        self._corpus = Corpus(request.corpus)
        version = f" {candidate.version}" if candidate.version else ""
        engine = getattr(candidate.factory, "engine_name", "built-in")
        say(
            f"connector {request.connector}{version}, engine {engine}, device {request.device}, "
            f"seed {request.seed}"
        )

    def run(self) -> int:
        failed, unusable = self._replay()
        if failed:
            self._say(f"kvconform: {failed} of the corpus fail; no search before these are gone")
            return FOUND
        searching = Search(
            self._target, self._corpus, self._request.seed, self._request.limits
        )
        found = searching.run()
        if found is not None:
            self._tell(found)
            self._say(f"kvconform: found in {searching.seen}")
            return SUITE_BROKE if found.played.broke else FOUND
        self._say(f"kvconform: nothing found in {searching.seen}")
        if not searching.seen.hits:
            self._say("kvconform: no request ever hit, so that nothing was measured")
            return NO_HIT
        return BAD_FILE if unusable else NOTHING_FOUND

    def _replay(self) -> tuple[int, int]:
        """Play what the folder holds: how many examples fail, and how many files are of no use."""
        replayed = failed = unusable = 0
        for kept in self._corpus.kept():
            if kept.problem:
                unusable += 1
                self._say(f"corpus: {kept.path} is left out: {kept.problem}")
            for case, example in kept.examples.items():
                self._corpus.write_current(example)
                played = play(example, self._target)
                self._corpus.clear_current()
                replayed += 1
                if played.kind:
                    failed += 1
                    self._say(f"corpus: {case} fails")
                    self._say_lines(played)
                    self._say_reproduce(str(kept.path))
        if replayed or unusable:
            self._say(
                f"corpus {self._corpus.folder}: {replayed} replayed, {failed} failed, "
                f"{unusable} file(s) left out"
            )
        return failed, unusable

    def _tell(self, found: Found) -> None:
        """Write the file, say what is in it, and see that it shows the same."""
        played = found.played
        left = f"{len(played.example.events)} of {found.from_events} events are left"
        path = self._corpus.add(self._entry(found, left))
        self._say(f"found after {found.after} examples, {left}:")
        self._say_lines(played)
        if played.broke:
            self._say(played.broke)
        self._say(f"  written    {path}")
        self._say_reproduce(str(path))
        again = [play(example, self._target).kind for example in read(path).examples.values()]
        if not found.steady or again != [played.kind]:
            self._say("  it does not fail each time: the connector remembers, or time matters")

    def _entry(self, found: Found, left: str) -> Entry:
        played = found.played
        # A fault of the suite is no clause's; every trace ends, or should.
        clauses = sorted({result.clause for result in played.bad}) or ["TRM-1"]
        what = "The suite breaks" if played.broke else f"{played.kind} fails"
        hits = {name: tokens for name, tokens in played.hits.items() if tokens}
        story = f"Found on {self._request.connector} after {found.after} examples; {left}."
        return Entry(
            example=replace(played.example, hits=hits),
            clause="suite" if played.broke else CHECKS[played.kind].clause,
            clauses=clauses,
            title=f"{what} (found by kvconform fuzz)",
            source=self._request.source,
            comment="\n".join([story, *_lines(played)]),
        )

    def _say_lines(self, played: Played) -> None:
        for line in _lines(played):
            self._say(f"  {line}")

    def _say_reproduce(self, path: str) -> None:
        self._say(f"  reproduce  kvconform run {path} --connector {self._request.connector}")


def _lines(played: Played) -> Iterator[str]:
    """What is wrong, for people: what names the finding in full, the rest by name."""
    if played.broke:
        yield f"the suite broke: {played.broke.strip().splitlines()[-1]}"
    for result in played.bad[:1]:
        yield f"{result.clause} {result.check}: {result.outcome}"
        yield f"  expected: {result.expected}"
        yield f"  got:      {result.got}"
        if result.detail:
            yield f"  {result.detail}"
    if played.bad[1:]:
        others = ", ".join(f"{result.clause} {result.check}" for result in played.bad[1:])
        yield f"fails too: {others}"
