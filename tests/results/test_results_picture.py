"""A failed lookup drawn in characters, and a case told event by event."""

from __future__ import annotations

import pytest

from kvconform.results.picture import draw
from kvconform.results.record import CaseRecord, CheckResult, Outcome
from kvconform.results.scene import GroupShape, Moment, Picture, Scene, Spot, Track, merged, without
from kvconform.results.timeline import timeline

FULL = GroupShape(name="full", kind="full", block_tokens=8, chunk_tokens=16)
SWA = GroupShape(
    name="swa", kind="sliding", block_tokens=4, chunk_tokens=8, window=8, extra_retained=3
)


def picture(*tracks: Track, **more: object) -> Picture:
    """A lookup that answered a hit of 32 tokens where a miss was right."""
    fields = {
        "answer": 0,
        "request": "consumer",
        "num_tokens": 40,
        "local_tokens": 0,
        "expected": 0,
        "got": 32,
    }
    return Picture(tracks=tracks, **{**fields, **more})


def drawn(one: Picture) -> list[str]:
    """The lines of a picture in a scene of both groups."""
    return draw(Scene(groups=(FULL, SWA)), one)


WHOLE = Track(group="full", needed=((0, 32),), verified=((0, 32),), stored=((0, 32),), loaded=((0, 32),))


def test_what_is_not_there_is_marked_below_its_group() -> None:
    """In the scale of the ruler, one character a token; the group that is right has one line."""
    swa = Track(group="swa", needed=((20, 32),), verified=((16, 32),), stored=((24, 32),))
    assert drawn(picture(WHOLE, swa)) == [
        "lookup of consumer with 40 tokens, 0 of them in the pool",
        "          one character is 1 token: # all of it, + a part",
        "  tokens    0               16              32",
        "  expected  a miss",
        "  got                                      ] 32",
        "swa: sliding, window 8, extra retained 3; blocks of 4, chunks of 8 tokens",
        "  chunks    |0      |1      |2      |3      |4",
        "  blocks    |0  |1  |2  |3  |4  |5  |6  |7  |8  |9",
        "  needed    ....................############........",
        "  verified  ................################........",
        "  stored    ........................########........",
        "  loaded    nothing",
        "                            ^ token 16: not there",
        "full:     32 tokens needed, all there, 32 loaded",
    ]


def test_a_wrong_byte_is_marked_with_whose_it_was() -> None:
    """Also where all that was needed was there and came."""
    found = Spot(rank=0, group="full", layer=0, token=9, byte=3, found="token 1 of stranger")
    lines = drawn(picture(WHOLE, expected=32, difference=found))
    assert lines[-1] == f"{'':12}{'':9}^ token 9: holds token 1 of stranger"


@pytest.mark.parametrize(
    ("loaded", "mark"),
    [
        (((0, 16),), "^ token 16: not loaded"),
        (((0, 40),), "^ token 32: loaded and not needed"),
    ],
)
def test_a_load_that_brings_other_blocks_is_marked(loaded: tuple[tuple[int, int]], mark: str) -> None:
    """Too few or too many."""
    track = Track(group="full", needed=((0, 32),), verified=((0, 32),), stored=((0, 40),), loaded=loaded)
    assert drawn(picture(track, expected=32))[-1].strip() == mark


def test_a_long_prompt_is_cut_around_what_is_wrong() -> None:
    """No line is longer than 64 characters of tokens, and the mark is among them."""
    track = Track(
        group="full", needed=((0, 8000),), verified=((0, 8000),), stored=((0, 4000), (4016, 8000))
    )
    lines = drawn(picture(track, num_tokens=8001, got=8000))
    needed, stored, mark = (
        next(line for line in lines if word in line) for word in ("needed ", "stored ", "^ token 4000")
    )
    assert len(needed) == len("  needed    ") + 64
    assert stored[mark.index("^")] == "."


def test_unknown_memory_is_said_to_be_unknown() -> None:
    """Where nobody knows what was there nothing is drawn as missing."""
    lines = drawn(picture(Track(group="full", needed=((0, 32),), verified=((0, 32),)), expected=None))
    assert "  expected  unknown" in lines
    assert "  stored    not known" in lines
    assert not any("^" in line for line in lines)


def test_spans() -> None:
    """Merged, and one without the other."""
    assert merged([(4, 8), (0, 2), (8, 9), (1, 3), (5, 5)]) == ((0, 3), (4, 9))
    assert without(((0, 10),), ((2, 4), (6, 12))) == ((0, 2), (4, 6))
    assert without(((0, 10),), ()) == ((0, 10),)
    assert without(((0, 10), (20, 30)), ((4, 6), (18, 22), (29, 40))) == ((0, 4), (6, 10), (22, 29))


def test_a_timeline_has_every_event_with_its_tokens() -> None:
    """The number where a step begins, the clause at the event that broke it, a bar for each group."""
    record = CaseRecord(
        case="m[a]",
        matrix="m",
        source="m.yaml:1",
        outcome=Outcome.FAIL,
        checks=(CheckResult(check="hit-is-covered", clause="COV-2", outcome=Outcome.FAIL, event=1),),
        trace=("step 0: consumer submitted", "step 1: consumer asked", "step 1: load job 0"),
        scene=Scene(
            groups=(FULL, SWA),
            moments=(
                Moment(step=0, kind="submitted", request="consumer"),
                Moment(step=1, kind="answered", request="consumer", spans=((-1, 0, 32),)),
                Moment(step=1, kind="load copied", spans=((0, 0, 32), (1, 20, 32))),
            ),
        ),
    )
    assert timeline(record) == [
        "          tokens    0               16",
        "          full      |0              |1                chunks of 16 tokens",
        "          swa       |0      |1      |2      |3        chunks of 8 tokens",
        "     0  consumer submitted",
        "     1  consumer asked  <- COV-2",
        "          all       ################################",
        "        load job 0",
        "          full      ################################",
        "          swa       ....................############",
    ]
