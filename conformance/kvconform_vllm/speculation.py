"""Drafts on vLLM: what its scheduler is told of a draft model, and which drafts turn out right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from vllm.v1.outputs import DraftTokenIds

from kvconform.ports import Layout
from kvconform_vllm.requests import Live

_ANY_TOKEN = 0
"""What the drafts are is told to the scheduler and read by nobody: only how many were right."""


def speculative_config(layout: Layout) -> SimpleNamespace | None:
    """What scheduler and connectors read of a speculative configuration; None without drafts.

    Drafts of a layout with a draft-model group come from an EAGLE model, others from a look-up of
    earlier tokens, which has no KV.  Anything else that is read raises AttributeError.
    """
    if not layout.spec_tokens:
        return None
    eagle = any(group.eagle for group in layout.groups)
    return SimpleNamespace(
        method="eagle" if eagle else "ngram",
        num_speculative_tokens=layout.spec_tokens,
        num_speculative_tokens_per_batch_size=None,
        max_num_new_slots_for_drafting=0,
        parallel_drafting=False,
        enable_adaptive_verification=False,
        draft_lm_head_quantization=None,
        draft_model_config=None,
        is_xpress=lambda: False,
        disable_eagle_block_drop=False,
        disable_lookahead_block_hashes=False,
        use_eagle=lambda: eagle,
        use_eagle_block_drop=lambda: eagle,
        needs_eagle_block_drop=lambda: eagle,
        use_dspark=lambda: False,
        use_dflash=lambda: False,
        uses_draft_model=lambda: False,
        use_multi_module_mtp=lambda: False,
        uses_dynamic_speculative_decoding=lambda: False,
    )


class Drafts:
    """The drafts of one engine: how many a step has, and which of them its requests accept."""

    def __init__(self, layout: Layout, *, ahead: bool) -> None:
        self._spec_tokens = layout.spec_tokens
        self._ahead = ahead

    def propose(self, scheduler: Any, sampled: Mapping[str, Sequence[int]]) -> None:
        """Hand drafts to a scheduler for whoever has sampled; one that runs ahead has placeholders."""
        names = [name for name, tokens in sampled.items() if tokens]
        if self._spec_tokens and names and not self._ahead:
            drafts = [[_ANY_TOKEN] * self._spec_tokens for _ in names]
            scheduler.update_draft_token_ids(DraftTokenIds(names, drafts))

    @staticmethod
    def rejected(live: Live, drafts: int) -> int:
        """How many of a step's drafts are wrong, by the request's script."""
        script = live.spec.accepted
        if not (drafts and script):
            return 0
        accepted = min(script[live.drafted_steps % len(script)], drafts)
        live.drafted_steps += 1
        return drafts - accepted
