"""Right bytes that cannot stem from the case that loads them are told from those that can."""

from __future__ import annotations

import pytest

from kvconform.engine.calls import ConnectorBrokeError
from kvconform.engine.events import Broke
from kvconform.engine.origins import Origins, tells_of_kept
from kvconform.engine.pattern import prefix_of
from kvconform.ports import PLAIN, Partition

TOKENS = tuple(range(100, 148))
SALTED = Partition(salt="a")


@pytest.fixture
def origins() -> Origins:
    """Of a case in which 32 salted tokens were computed."""
    made = Origins()
    made.computed(prefix_of(TOKENS, SALTED), range(32))
    return made


@pytest.mark.parametrize("boundary", [1, 16, 32])
def test_what_was_computed_in_the_case_may_be_loaded(origins: Origins, boundary: int) -> None:
    """By any request that has these tokens in this partition."""
    origins.check_load(prefix_of(TOKENS, SALTED), boundary)
    origins.check_load(prefix_of(TOKENS[:32], SALTED), boundary)


@pytest.mark.parametrize(
    ("tokens", "partition", "boundary"),
    [(TOKENS, PLAIN, 32), (TOKENS, SALTED, 33), ((1, *TOKENS[1:]), SALTED, 32)],
)
def test_what_nobody_computed_was_kept(
    origins: Origins, tokens: tuple[int, ...], partition: Partition, boundary: int
) -> None:
    """The same tokens in another partition, further on, or after another one."""
    with pytest.raises(ConnectorBrokeError, match=f"a hit of {boundary} tokens") as caught:
        origins.check_load(prefix_of(tokens, partition), boundary)
    told = Broke(step=1, method=caught.value.method, text=caught.value.text)
    other = Broke(step=1, method="wait_for_save", text="OSError: no room")
    assert tells_of_kept([other, told])
    assert not tells_of_kept([other])
