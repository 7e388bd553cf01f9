"""A request as the engine runs it: what the scheduler knows and what the device knows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

from kvconform.engine.pattern import prefix_of
from kvconform.ports import RequestSpec, RequestStatus


def chain_hash(parent: bytes, token_ids: Sequence[int]) -> bytes:
    """Hash of one hash block, chained to all before it; the same in every process."""
    payload = ",".join(map(str, token_ids)).encode()
    return hashlib.blake2b(parent + payload, digest_size=16).digest()


@lru_cache(maxsize=64)
def prompt_hashes(prompt: tuple[int, ...], salt: str, hash_block: int) -> tuple[bytes, ...]:
    """Hashes of the complete hash blocks of a prompt; many cases have the same one."""
    hashes: list[bytes] = []
    extend_hashes(hashes, prompt, salt, hash_block)
    return tuple(hashes)


def extend_hashes(hashes: list[bytes], tokens: Sequence[int], salt: str, hash_block: int) -> None:
    """Append the hashes of the hash blocks that ``tokens`` complete beyond ``hashes``."""
    parent = hashes[-1] if hashes else salt.encode()
    for start in range(len(hashes) * hash_block, len(tokens) - hash_block + 1, hash_block):
        parent = chain_hash(parent, tokens[start : start + hash_block])
        hashes.append(parent)


class LiveRequest:
    """One request in the engine.

    ``token_ids`` and ``block_hashes`` are what the scheduler knows.  The device knows every
    token of the scripted answer as soon as it has sampled it, which under asynchronous
    scheduling is one step earlier; ``prefix`` covers them all.
    """

    def __init__(self, spec: RequestSpec, hash_block: int) -> None:
        self.request_id = spec.name
        self.spec = spec
        self.salt = spec.salt
        self.token_ids: list[int] = list(spec.prompt)
        self.num_prompt_tokens = len(spec.prompt)
        self.num_computed_tokens = 0
        self.status = RequestStatus.WAITING
        self.block_hashes = list(prompt_hashes(spec.prompt, spec.salt, hash_block))
        self.in_flight = 0
        """Tokens sampled by steps whose results have not arrived."""
        self.was_scheduled = False
        self._hash_block = hash_block
        self.prefix = prefix_of((*spec.prompt, *spec.output), spec.salt)

    @property
    def num_tokens(self) -> int:
        """Tokens known to the scheduler."""
        return len(self.token_ids)

    @property
    def num_output_tokens(self) -> int:
        """Output tokens known to the scheduler."""
        return self.num_tokens - self.num_prompt_tokens

    @property
    def ended(self) -> bool:
        """Whether the request has ended, either way."""
        return self.status in {RequestStatus.FINISHED, RequestStatus.ABORTED}

    def append_output(self) -> bool:
        """The next token of the answer arrives; True if it is the stop token."""
        self.token_ids.append(self.spec.output[self.num_output_tokens])
        extend_hashes(self.block_hashes, self.token_ids, self.salt, self._hash_block)
        return self.num_output_tokens == len(self.spec.output)
