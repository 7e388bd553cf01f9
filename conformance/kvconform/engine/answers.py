"""What a lookup may answer: its form first, then the boundary that it names."""

from __future__ import annotations

from typing import Any

from kvconform.engine.calls import ConnectorBrokeError, shown
from kvconform.ports import Layout

LOOKUP = "get_num_new_matched_tokens"
"""The method that answers."""


def read_answer(answer: Any) -> tuple[int | None, bool]:
    """Tokens (None for later) and whether the load spans steps.

    Raises `ConnectorBrokeError` for what is no such pair, and for a load without a hit, which
    engines assert before they make room.
    """
    if not (isinstance(answer, tuple) and len(answer) == 2):  # noqa: PLR2004 - a pair
        raise ConnectorBrokeError(LOOKUP, f"returned {shown(answer)}, expected (tokens or None, is_async)")
    tokens, is_async = answer
    whole = isinstance(tokens, int) and not isinstance(tokens, bool)
    if tokens is not None and not whole:
        raise ConnectorBrokeError(LOOKUP, f"returned {shown(tokens)} tokens, expected a whole number or None")
    if tokens == 0 and is_async:
        raise ConnectorBrokeError(LOOKUP, "returned (0, True), expected that no load is announced without a hit")
    return tokens, bool(is_async)


def check_boundary(layout: Layout, tokens: int, local: int, num_tokens: int) -> None:
    """A hit of ``tokens`` beyond ``local`` ones ends where a request of ``num_tokens`` can go on.

    Raises `ConnectorBrokeError` if it does not.
    """
    boundary, last = local + tokens, num_tokens - 1
    step = layout.hash_block
    ends = boundary % step == 0 or (boundary == last and num_tokens % step == 0)
    if boundary % layout.state_tokens or (layout.has_states and boundary > last):
        raise ConnectorBrokeError(
            LOOKUP,
            f"returned {tokens} tokens beyond {local} local ones, expected a boundary that is a "
            f"multiple of {layout.state_tokens}, where every recurrent group has a state, and "
            f"leaves at least the last of the request's {num_tokens} tokens",
        )
    if tokens < 0 or boundary > num_tokens or not ends:
        raise ConnectorBrokeError(
            LOOKUP,
            f"returned {tokens} tokens beyond {local} local ones, expected a boundary that is a "
            f"multiple of {step}, or all but the last token, of the request's {num_tokens} tokens",
        )
