"""How much of a prefix two requests with the same tokens may share."""

from __future__ import annotations

from kvconform.contract.oracle import Oracle, Supply
from kvconform.ports import Partition


def shared_tokens(one: Partition, other: Partition, num_tokens: int) -> int:
    """Tokens at the front of which both requests have the same KV, by asking each token.

    Salt, adapter and embeddings decide for all tokens, an image for those from its start on.
    """
    if one == other:
        return num_tokens
    for token in range(num_tokens):
        if _decides(one, token) != _decides(other, token):
            return token
    return num_tokens


def _decides(partition: Partition, token: int) -> tuple[object, ...]:
    """What the KV of the token at position ``token`` depends on beside the tokens."""
    images = {(image.digest, image.start) for image in partition.images if image.start <= token}
    return partition.salt, partition.lora, partition.embeddings, images


def shared_supply(oracle: Oracle, supply: Supply, num_tokens: int) -> Supply:
    """What is left of a supply for a request that shares its first ``num_tokens`` tokens."""
    states = {
        chunk: state
        for chunk, state in supply.states.items()
        if oracle.tokens_of(chunk)[-1] < num_tokens
    }
    return Supply(states=states, gone=supply.gone)
