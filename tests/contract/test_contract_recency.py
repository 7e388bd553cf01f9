"""What must still be there follows from certain and possible uses alone."""

from __future__ import annotations

from kvconform.contract.recency import Recency


def kept(recency: Recency, chunks: range) -> list[int]:
    """Those of the chunks that must be there."""
    return [chunk for chunk in chunks if recency.must_be_there(chunk)]


def alone(recency: Recency, chunks: range) -> None:
    """A request of its own used these, the first of them at its head."""
    recency.used_alone([[chunk] for chunk in chunks], set(chunks))


def test_the_tail_of_the_older_request_gives_way():
    """Six chunks of room: of four older ones two stay, those at the head."""
    recency = Recency(room=6)
    alone(recency, range(4))
    alone(recency, range(10, 14))
    assert kept(recency, range(20)) == [0, 1, 10, 11, 12, 13]


def test_a_use_makes_recent():
    """The older request comes again, so that the other one gives way."""
    recency = Recency(room=6)
    alone(recency, range(4))
    alone(recency, range(10, 14))
    alone(recency, range(4))
    assert kept(recency, range(20)) == [0, 1, 2, 3, 10, 11]


def test_what_was_used_together_has_no_order():
    """All of it stays or none of it need."""
    recency = Recency(room=3)
    recency.used_together(range(3), set(range(3)))
    assert kept(recency, range(3)) == [0, 1, 2]
    recency.used_together(range(3, 5), {3, 4})
    assert kept(recency, range(5)) == [3, 4]


def test_a_use_that_is_only_possible_counts_against_others():
    """It may have made room for itself, and need not be there."""
    recency = Recency(room=2)
    alone(recency, range(2))
    recency.used_together([7], set())
    assert kept(recency, range(10)) == [0]
    recency.gone([7])
    assert kept(recency, range(10)) == [0, 1]
    recency.clear()
    assert kept(recency, range(10)) == []
