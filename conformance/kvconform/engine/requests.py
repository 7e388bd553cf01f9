"""A request as the engine runs it: what the scheduler knows and what the device knows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kvconform.engine.pattern import Prefix, drafts_of, prefix_of
from kvconform.ports import Image, Lora, Partition, RequestSpec, RequestStatus


def chain_hash(parent: bytes, token_ids: Sequence[int]) -> bytes:
    """Hash of one hash block, chained to all before it; the same in every process."""
    payload = ",".join(map(str, token_ids)).encode()
    return hashlib.blake2b(parent + payload, digest_size=16).digest()


@lru_cache(maxsize=64)
def prompt_hashes(
    prompt: tuple[int, ...], partition: Partition, hash_block: int
) -> tuple[bytes, ...]:
    """Hashes of the complete hash blocks of a prompt; many cases have the same one."""
    hashes: list[bytes] = []
    extend_hashes(hashes, prompt, partition, hash_block)
    return tuple(hashes)


def extend_hashes(
    hashes: list[bytes], tokens: Sequence[int], partition: Partition, hash_block: int
) -> None:
    """Append the hashes of the hash blocks that ``tokens`` complete beyond ``hashes``.

    Salt, adapter and embeddings stand before the first block, an image in each block that it
    has tokens of.
    """
    parent = hashes[-1] if hashes else _before_all(partition)
    for start in range(len(hashes) * hash_block, len(tokens) - hash_block + 1, hash_block):
        end = start + hash_block
        seen = [
            (image.digest, image.start)
            for image in partition.images
            if image.start < end and start < image.start + image.length
        ]
        parent = chain_hash(parent + repr(seen).encode() if seen else parent, tokens[start:end])
        hashes.append(parent)


def _before_all(partition: Partition) -> bytes:
    lora = partition.lora and (partition.lora.name, partition.lora.version)
    return repr((partition.salt, lora, partition.embeddings)).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one step yields: a token, and those of its ``drafts`` drafts that are ``accepted``."""

    drafts: int = 0
    accepted: int = 0

    @property
    def most(self) -> int:
        """Tokens that it yields if every draft is right."""
        return 1 + self.drafts

    @property
    def rejected(self) -> int:
        """Drafts that are wrong."""
        return self.drafts - self.accepted


class LiveRequest:
    """One request in the engine.

    ``token_ids`` and ``block_hashes`` are what the scheduler knows.  The device knows every
    token of the scripted answer as soon as it has sampled it, which under asynchronous
    scheduling is one step earlier; ``prefix`` covers them all.  ``spec_tokens`` is the number of
    drafts of a decode step; ``wrong`` is what the rejected ones leave behind, None without any.
    """

    def __init__(self, spec: RequestSpec, hash_block: int, spec_tokens: int = 0) -> None:
        self.request_id = spec.name
        self.spec = spec
        self.partition = spec.partition
        self.token_ids: list[int] = list(spec.prompt)
        self.num_prompt_tokens = len(spec.prompt)
        self.num_computed_tokens = 0
        self.status = RequestStatus.WAITING
        self.block_hashes = list(prompt_hashes(spec.prompt, spec.partition, hash_block))
        self.in_flight = 0
        """Tokens that steps whose results have not arrived yield at most."""
        self.drafts_in_flight = 0
        """Drafts of such steps."""
        self.rejected_in_flight = 0
        """Those of them that are wrong: ``num_computed_tokens`` is too high by so many."""
        self.proposes = False
        """Whether there are drafts for its next step: once it has sampled, until it is preempted."""
        self.was_scheduled = False
        self._drafted_steps = 0
        self._hash_block = hash_block
        tokens = (*spec.prompt, *spec.output)
        self.prefix = prefix_of(tokens, spec.partition)
        # Two steps can go beyond the stop token before its request ends.
        spare = 2 * (spec_tokens + 1)
        self.wrong: Prefix | None = (
            drafts_of(tokens, spec.partition, spare) if spec_tokens else None
        )

    @property
    def salt(self) -> str:
        """What keeps its tenant apart, empty for none."""
        return self.partition.salt

    @property
    def lora(self) -> Lora | None:
        """The adapter that it runs with."""
        return self.partition.lora

    @property
    def images(self) -> Sequence[Image]:
        """What stands behind placeholder tokens, by position."""
        return self.partition.images

    @property
    def embeddings(self) -> str:
        """Digest of the prompt's embeddings, empty where it has tokens."""
        return self.partition.embeddings

    @property
    def transfer_params(self) -> Mapping[str, object]:
        """What the client asks of the connector."""
        return self.spec.transfer_params

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

    @property
    def device_tokens(self) -> int:
        """Tokens from the front whose KV is right once the steps so far have run."""
        return self.num_computed_tokens - self.rejected_in_flight

    def draw(self, drafts: int) -> Sample:
        """What a step with so many drafts yields, by the request's script."""
        script = self.spec.accepted
        accepted = drafts
        if drafts and script:
            accepted = min(script[self._drafted_steps % len(script)], drafts)
        self._drafted_steps += drafts > 0
        return Sample(drafts=drafts, accepted=accepted)

    def launched(self, sample: Sample) -> None:
        """A step that yields ``sample`` is on its way."""
        self.in_flight += sample.most
        self.drafts_in_flight += sample.drafts
        self.rejected_in_flight += sample.rejected
        self.proposes = True

    def landed(self, sample: Sample) -> None:
        """Its result has arrived: rejected drafts were never computed."""
        self.in_flight -= sample.most
        self.drafts_in_flight -= sample.drafts
        self.rejected_in_flight -= sample.rejected
        self.num_computed_tokens -= sample.rejected

    def start_over(self) -> None:
        """It gives up all that it has, and what is in flight."""
        self.num_computed_tokens = 0
        self.in_flight = self.drafts_in_flight = self.rejected_in_flight = 0
        self.proposes = False

    def append_output(self) -> bool:
        """The next token of the answer arrives; True if it is the stop token."""
        self.token_ids.append(self.spec.output[self.num_output_tokens])
        extend_hashes(self.block_hashes, self.token_ids, self.partition, self._hash_block)
        return self.num_output_tokens == len(self.spec.output)
