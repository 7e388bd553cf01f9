"""The comparison with a run without a connector, on events made by hand."""

from __future__ import annotations

import pytest

from kvconform.engine.events import Admitted, Answered, Computed, Submitted
from kvconform.results.record import Outcome
from kvconform.stage.neutrality import judge_neutrality
from kvconform.stage.tally import Tally

CHECK = "neutral-without-hits"


def came(step, name="a"):
    """A request was submitted."""
    return Submitted(step=step, request=name, num_tokens=20)


def computes(step, start, end, name="a"):
    """A step computed tokens."""
    return Computed(step=step, request=name, start=start, end=end)


def hits(step):
    """A hit was admitted."""
    return Admitted(step=step, request="a", boundary=8, held=())


def later(step):
    """A lookup answered later."""
    return Answered(step=step, request="a", num_tokens=20, local=0, tokens=None, is_async=False)


ALONE = [came(0), computes(1, 0, 16), computes(2, 16, 20)]


@pytest.mark.parametrize(
    ("events", "may_wait", "outcome"),
    [
        ([came(0), computes(1, 0, 16), computes(2, 16, 20)], False, Outcome.PASS),
        # More steps at rest before a request came: no matter.
        ([came(7), computes(8, 0, 16), computes(9, 16, 20)], False, Outcome.PASS),
        ([came(0), computes(2, 0, 16), computes(3, 16, 20)], False, Outcome.FAIL),
        ([came(0), computes(1, 0, 8), computes(2, 8, 20)], False, Outcome.FAIL),
        ([came(0), computes(1, 0, 16)], False, Outcome.FAIL),
        ([*ALONE, computes(3, 20, 21)], False, Outcome.FAIL),
        # From the first hit on everything may differ.
        ([came(0), computes(1, 0, 16), hits(2), computes(2, 18, 20)], False, Outcome.PASS),
        ([came(0), later(1), computes(2, 0, 16)], False, Outcome.FAIL),
        ([came(0), computes(1, 0, 16), later(2), computes(3, 16, 20)], True, Outcome.PASS),
    ],
)
def test_what_is_neutral(events, may_wait, outcome):
    """The same tokens in the same steps after each request came, as long as there is no hit."""
    tally = Tally([CHECK], frozenset())
    judge_neutrality(tally, events, ALONE, may_wait=may_wait)
    assert [result.outcome for result in tally.results("", events)] == [outcome]


def test_one_that_may_wait_and_does_at_once_is_not_judged():
    """Nothing can be said of a connector whose lookups take steps."""
    tally = Tally([CHECK], frozenset())
    judge_neutrality(tally, [came(0), later(1), computes(2, 0, 16)], ALONE, may_wait=True)
    assert tally.results("", []) == ()
