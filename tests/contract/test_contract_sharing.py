"""How much two requests with equal tokens share, and the engine's hashes and bytes on it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kvconform.contract.sharing import shared_tokens
from kvconform.engine.pattern import Lane, prefix_of
from kvconform.engine.requests import prompt_hashes
from kvconform.ports import PLAIN, Image, Lora, Partition

TOKENS = tuple(range(24))
LANE = Lane(group=0, layer=0, rank=0)

LENGTHS = {"a": 2, "b": 5}
images = st.builds(
    lambda digest, start: Image(digest=digest, start=start, length=LENGTHS[digest]),
    st.sampled_from("ab"),
    st.integers(0, 19),
)
partitions = st.builds(
    Partition,
    salt=st.sampled_from(["", "a"]),
    lora=st.sampled_from([None, Lora(name="a"), Lora(name="a", version=2)]),
    images=st.lists(images, max_size=2, unique_by=lambda one: one.start).map(tuple),
    embeddings=st.sampled_from(["", "a"]),
)


def test_what_decides_for_all_tokens():
    """Another salt, adapter, version or embeddings: nothing is shared; the same: everything."""
    strangers = [
        Partition(salt="a"),
        Partition(lora=Lora(name="a")),
        Partition(lora=Lora(name="a", version=2)),
        Partition(embeddings="a"),
    ]
    for at, one in enumerate(strangers):
        assert shared_tokens(one, one, 24) == 24
        assert shared_tokens(one, PLAIN, 24) == 0
        assert [shared_tokens(one, other, 24) for other in strangers[at + 1 :]] == [0] * (3 - at)


def test_an_image_decides_from_its_start_on():
    """What comes before it is shared, also with a request that has it elsewhere."""
    one = Partition(images=(Image(digest="a", start=8, length=4),))
    later = Partition(images=(Image(digest="a", start=9, length=4),))
    assert shared_tokens(one, PLAIN, 24) == 8
    assert shared_tokens(one, later, 24) == 8


@given(one=partitions, other=partitions)
def test_bytes_and_hashes_agree_with_the_contract(one, other):
    """Slots are equal just where tokens are shared; no hash block is equal beyond.

    A hash block names an image that it holds tokens of, so it may differ where a block does not.
    """
    shared = shared_tokens(one, other, len(TOKENS))
    same = (
        prefix_of(TOKENS, one).slots(LANE, 2)[:, 0] == prefix_of(TOKENS, other).slots(LANE, 2)[:, 0]
    )
    assert same.tolist() == [token < shared for token in range(len(TOKENS))]
    pairs = zip(prompt_hashes(TOKENS, one, 4), prompt_hashes(TOKENS, other, 4), strict=True)
    equal = sum(a == b for a, b in pairs)
    assert equal == shared // 4
