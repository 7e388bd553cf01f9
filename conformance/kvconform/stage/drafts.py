"""Judgements on what is stored of requests whose tokens were guessed before they were known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvconform.engine.events import Confirmed, Copied, Drafted, Event, Submitted
from kvconform.ports import Direction, RequestSpec
from kvconform.stage.judge import Judge
from kvconform.stage.late import had_left
from kvconform.stage.stored import StoredChunks

OF_DRAFTS = frozenset({"drafts-not-stored", "answers-are-stored"})
"""Checks that arise with speculative decoding alone."""


def judge_drafts(
    judge: Judge,
    requests: Mapping[str, RequestSpec],
    rests: frozenset[int],
    events: Sequence[Event],
) -> None:
    """Judge every store by the bytes that it read, and all of them by what an answer leaves behind.

    What a request leaves behind is judged at the first of ``rests`` (steps before which nothing
    was left to do) after it: a later one would compute and store what was lost.
    """
    judge.tally.open(*OF_DRAFTS)
    if not judge.oracle.layout.spec_tokens:
        return
    if not any(isinstance(event, Drafted) for event in events):
        return  # without a draft nothing is measured, and that is told
    stored = StoredChunks(oracle=judge.oracle)
    confirmed: dict[str, list[Confirmed]] = {}
    for event in events:
        if isinstance(event, Copied) and event.direction is Direction.STORE:
            stored.take(event)
            _own_tokens_only(judge, event)
        elif isinstance(event, Confirmed):
            confirmed.setdefault(event.request, []).append(event)
        elif isinstance(event, Submitted) and event.step + 1 in rests:
            for name, steps in confirmed.items():
                _all_is_stored(judge, requests[name], stored, steps)
            confirmed = {}
    for name, steps in confirmed.items():
        _all_is_stored(judge, requests[name], stored, steps)


def _own_tokens_only(judge: Judge, event: Copied) -> None:
    judge.tally.saw("drafts-not-stored")
    if event.strays:
        judge.tally.wrong(
            "drafts-not-stored",
            "every slot that a store reads holds a confirmed token of its request",
            f"{len(event.strays)} block(s) hold something else",
            event.strays[0],
            event=event,
        )


def _all_is_stored(
    judge: Judge, spec: RequestSpec, stored: StoredChunks, steps: Sequence[Confirmed]
) -> None:
    """What a lookup can use of the tokens that were confirmed in a step of the request is there.

    Tokens that the last step accepts are confirmed after it: a connector is not asked about them
    any more.
    """
    oracle = judge.oracle
    most = max((step.tokens for step in steps), default=0)
    if oracle.layout.prompt_only:
        most = min(most, len(spec.prompt))
    wanted = {
        chunk
        for chunk in oracle.reachable_chunks(most, prompt_tokens=min(most, len(spec.prompt)))
        if not had_left(oracle, chunk, steps)
    }
    if not wanted:
        return
    judge.tally.saw("answers-are-stored")
    missing = sorted(wanted - set(stored.supply(spec, most).states))
    if missing:
        listed = ", ".join(
            f"chunk {index} of group {oracle.layout.groups[group].name}" for group, index in missing[:6]
        )
        judge.tally.wrong(
            "answers-are-stored",
            f"all {len(wanted)} chunks of {most} confirmed tokens of {spec.name!r} that a lookup can use",
            f"{len(missing)} of them were never stored",
            listed,
        )
