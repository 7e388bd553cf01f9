"""How much of an engine's pool one request takes."""

from __future__ import annotations

from collections.abc import Iterable


def blocks_of_one(tokens: int, block_sizes: Iterable[int], spec_tokens: int = 0) -> int:
    """Blocks of a pool in which a request of so many tokens fits alone, the null block included.

    ``tokens`` are those of prompt and answer; ``block_sizes`` those of the groups, in tokens.
    Drafts take room beyond the answer: of two steps that end after it, and of the next one.
    """
    most = tokens + 3 * spec_tokens
    return 1 + sum(-(-most // size) for size in block_sizes)
