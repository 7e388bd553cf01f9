"""A request as both vLLM and the device know it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import get_request_block_hasher
from vllm.v1.request import Request

from kvconform.engine.pattern import Prefix, drafts_of, prefix_of
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
    wrong: Prefix | None = None
    """What rejected drafts leave behind; None without drafts."""
    drafted_steps: int = 0
    rejected_in_flight: int = 0
    """Wrong drafts of steps whose results the scheduler has not: its count is too high by so many."""

    @classmethod
    def of(cls, spec: RequestSpec, hash_block: int, spec_tokens: int = 0) -> Live:
        """A request that nobody has seen yet."""
        tokens = (*spec.prompt, *spec.output)
        spare = 3 * (spec_tokens + 1)
        return cls(
            spec=spec,
            request=_request(spec, hash_block, spare if spec_tokens else 0),
            prefix=prefix_of(tokens, spec.partition),
            known=len(spec.prompt),
            wrong=drafts_of(tokens, spec.partition, spare) if spec_tokens else None,
        )

    def sample(self, end: int) -> list[int]:
        """Tokens that a step yields which computes right KV up to position ``end``."""
        if end < self.known:
            return []
        answer, first = self.spec.output, self.known - len(self.spec.prompt)
        self.known = end + 1
        # Past the stop token whatever comes is thrown away.
        last = self.known - len(self.spec.prompt)
        return [answer[min(at, len(answer) - 1)] for at in range(first, last)]


def _request(spec: RequestSpec, hash_block: int, drafts: int) -> Request:
    stop = spec.output[-1]
    alone = stop not in spec.output[:-1]
    sampling = SamplingParams(
        max_tokens=len(spec.output) + (_SPARE_TOKENS + drafts if alone else 0),
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
