"""A request as both vLLM and the device know it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import get_request_block_hasher
from vllm.v1.request import Request

from kvconform.engine.pattern import Prefix, prefix_of
from kvconform.ports import RequestSpec
from kvconform_vllm.partition import request_arguments

_SPARE_TOKENS = 8
"""More tokens than the answer has, so that its stop token ends the request and no count."""


@dataclass(slots=True, kw_only=True)
class Live:
    """One request: ``request`` is vLLM's object, ``known`` the tokens that the device has.

    The device knows a token as soon as it has sampled it, which under asynchronous scheduling is
    one step before the scheduler does.
    """

    spec: RequestSpec
    request: Any
    prefix: Prefix
    known: int
    ended: bool = False

    @classmethod
    def of(cls, spec: RequestSpec, hash_block: int) -> Live:
        """A request that nobody has seen yet."""
        return cls(
            spec=spec,
            request=_request(spec, hash_block),
            prefix=prefix_of((*spec.prompt, *spec.output), spec.partition),
            known=len(spec.prompt),
        )

    def sample(self, end: int) -> list[int]:
        """Tokens that a step yields which computes up to position ``end``."""
        if end < self.known:
            return []
        at = self.known - len(self.spec.prompt)
        self.known += 1
        # Past the stop token whatever comes is thrown away.
        return [self.spec.output[min(at, len(self.spec.output) - 1)]]


def _request(spec: RequestSpec, hash_block: int) -> Request:
    stop = spec.output[-1]
    alone = stop not in spec.output[:-1]
    sampling = SamplingParams(
        max_tokens=len(spec.output) + (_SPARE_TOKENS if alone else 0),
        stop_token_ids=[stop] if alone else None,
        ignore_eos=True,
        temperature=0.0,
        extra_args={"kv_transfer_params": dict(spec.transfer_params)},
    )
    return Request(
        request_id=spec.name,
        sampling_params=sampling,
        pooling_params=None,
        block_hasher=get_request_block_hasher(hash_block, sha256),
        **request_arguments(spec.partition, spec.prompt),
    )
