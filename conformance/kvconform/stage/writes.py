"""Judgements on what jobs name and what a connector writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kvconform.engine.events import Copied, Event, Loaded, Strayed
from kvconform.ports import NULL_BLOCK
from kvconform.stage.tally import Tally


def judge_writes(tally: Tally, events: Sequence[Event]) -> None:
    """No byte changes outside of what loads are for."""
    check = "writes-only-loads"
    tally.open(check)
    for event in events:
        if isinstance(event, Loaded) and event.slots:
            tally.saw(check)
        elif isinstance(event, Strayed):
            tally.wrong(
                check, "writes to the blocks of loads alone", f"a write to {event.where}", event=event
            )


def judge_jobs(tally: Tally, events: Sequence[Event]) -> None:
    """Each job names a block once, and never the null block."""
    check = "job-blocks"
    tally.open(check)
    for event in events:
        if not isinstance(event, Copied):
            continue
        tally.saw(check)
        ids = Counter(block for _, block in event.block_ids)
        twice = [block for block, count in ids.items() if count > 1 and block != NULL_BLOCK]
        if NULL_BLOCK in ids:
            tally.wrong(check, "blocks that the request holds", "the null block", event=event)
        elif twice:
            tally.wrong(check, "each block once", f"block {twice[0]} twice", event=event)
