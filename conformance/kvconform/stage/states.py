"""Judgements on hits of layouts with recurrent groups: where they end, and whose state they bring."""

from __future__ import annotations

from kvconform.engine.events import Answered, Loaded, Read
from kvconform.ports import GroupKind, Layout
from kvconform.stage.tally import Tally

_CHECK = "state-at-boundary"


def judge_end(tally: Tally, layout: Layout, answer: Answered) -> None:
    """A hit ends where every recurrent group has a state, before the request's last token."""
    boundary = answer.boundary
    if not layout.has_states or not boundary:
        return
    tally.saw(_CHECK)
    odd = [group for group in _recurrent(layout) if boundary % layout.groups[group].block_size]
    if odd:
        group = layout.groups[odd[0]]
        tally.wrong(
            _CHECK,
            f"a boundary where a block of group {group.name} ends, a multiple of {group.block_size} tokens",
            f"a hit of {boundary} tokens",
            event=answer,
        )
    if boundary >= answer.num_tokens:
        tally.wrong(
            _CHECK,
            f"a boundary before the last of {answer.num_tokens} tokens, which is computed from the state before it",
            f"a hit of {boundary} tokens",
            event=answer,
        )


def judge_state(tally: Tally, layout: Layout, event: Loaded | Read) -> None:
    """What a load brought, or a step read, of a recurrent group is the state of just that place."""
    found = event.difference
    names = [layout.groups[group].name for group in _recurrent(layout)]
    if found is None or found.group not in names:
        return
    tally.wrong(
        _CHECK,
        f"the state of group {found.group} after {found.token + 1} tokens",
        found.found,
        str(found),
        event=event,
    )


def _recurrent(layout: Layout) -> list[int]:
    return [at for at, group in enumerate(layout.groups) if group.kind is GroupKind.RECURRENT]
