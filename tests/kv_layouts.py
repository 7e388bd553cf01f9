"""Hypothesis strategies: groups and layouts with every awkward window."""

from __future__ import annotations

from hypothesis import strategies as st

from kvconform.ports import Group, GroupKind, Layout

HASH_BLOCK = 4


def full(name: str = "full", block_size: int = HASH_BLOCK, *, eagle: bool = False) -> Group:
    """A full-attention group."""
    return Group(name=name, kind=GroupKind.FULL, block_size=block_size, eagle=eagle)


def sliding(
    window: int,
    extra_retained: int = 0,
    block_size: int = HASH_BLOCK,
    *,
    name: str = "swa",
    eagle: bool = False,
) -> Group:
    """A sliding-window group."""
    return Group(
        name=name,
        kind=GroupKind.SLIDING,
        block_size=block_size,
        window=window,
        extra_retained=extra_retained,
        eagle=eagle,
    )


def windows(chunk: int) -> st.SearchStrategy[int]:
    """Windows around one and two chunks, of one token, and far longer than any prompt here."""
    awkward = {1, chunk - 1, chunk, chunk + 1, 2 * chunk, 2 * chunk + 1, 1000} - {0}
    return st.sampled_from(sorted(awkward)) | st.integers(1, 4 * chunk)


@st.composite
def sliding_groups(draw: st.DrawFn, chunk: int, block_size: int, name: str = "swa") -> Group:
    """A sliding group whose chunks have ``chunk`` tokens."""
    return sliding(
        draw(windows(chunk)),
        draw(st.integers(0, 7)),
        block_size,
        name=name,
        eagle=draw(st.booleans()),
    )


@st.composite
def local_groups(draw: st.DrawFn, block_size: int, name: str) -> Group:
    """A chunked-local group; its attention restarts anywhere on a hash block."""
    return Group(
        name=name,
        kind=GroupKind.CHUNKED_LOCAL,
        block_size=block_size,
        attention_chunk=HASH_BLOCK * draw(st.integers(1, 12)),
        eagle=draw(st.booleans()),
    )


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """One to four groups of unequal blocks, with chunks of one to three blocks.

    Block sizes of 1, 2, 3 and 5 hash blocks do not divide each other.
    """
    per_chunk = draw(st.integers(1, 3))
    groups = []
    for position in range(draw(st.integers(1, 4))):
        block_size = HASH_BLOCK * draw(st.sampled_from([1, 2, 3, 5]))
        kind = draw(st.sampled_from(list(GroupKind)))
        if kind is GroupKind.FULL:
            groups.append(full(f"g{position}", block_size, eagle=draw(st.booleans())))
        elif kind is GroupKind.RECURRENT:
            groups.append(Group(name=f"g{position}", kind=kind, block_size=block_size))
        elif kind is GroupKind.CHUNKED_LOCAL:
            groups.append(draw(local_groups(block_size, f"g{position}")))
        else:
            groups.append(draw(sliding_groups(block_size * per_chunk, block_size, f"g{position}")))
    return Layout(groups=tuple(groups), hash_block=HASH_BLOCK, blocks_per_chunk=per_chunk)
