"""What partitions a request's KV, in vLLM's own terms."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from vllm.lora.request import LoRARequest
from vllm.multimodal.inputs import MultiModalFeatureSpec, PlaceholderRange

from kvconform.ports import Lora, Partition

ENCODER_TOKENS = 1 << 12
"""Room for images that no encoder computes: placeholders are tokens like others here."""

def request_arguments(partition: Partition, prompt: Sequence[int]) -> Mapping[str, Any]:
    """Arguments of vLLM's ``Request`` for a prompt under ``partition``, the tokens included.

    Embeddings stand instead of tokens, as vLLM has it.  Another version of an adapter is another
    path and id under the same name, as after an update in place.
    """
    arguments: dict[str, Any] = {
        "prompt_token_ids": list(prompt),
        "cache_salt": partition.salt or None,
    }
    if partition.lora is not None:
        arguments["lora_request"] = _adapter(partition.lora)
    if partition.images:
        arguments["mm_features"] = [
            MultiModalFeatureSpec(
                data=None,
                modality="image",
                identifier=image.digest,
                mm_position=PlaceholderRange(offset=image.start, length=image.length),
            )
            for image in partition.images
        ]
    if partition.embeddings:
        arguments["prompt_token_ids"] = None
        arguments["prompt_embeds"] = _embeddings(partition.embeddings, prompt)
    return arguments


def _adapter(lora: Lora) -> LoRARequest:
    name = f"{lora.name}/{lora.version}"
    return LoRARequest(
        lora_name=lora.name,
        lora_int_id=zlib.crc32(name.encode()) % (1 << 30) + 1,
        lora_path=name,
    )


def _embeddings(digest: str, prompt: Sequence[int]) -> torch.Tensor:
    """Shape (tokens, 3), float32: other digests and other tokens have other values."""
    seed = zlib.crc32(digest.encode())
    rows = [[float(seed), float(token), float(at)] for at, token in enumerate(prompt)]
    return torch.tensor(rows, dtype=torch.float32)
