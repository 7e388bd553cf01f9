"""What a connector is told about requests and steps while the engine runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from kvconform.ports.partition import PLAIN, Image, Lora, Partition

NULL_BLOCK = 0
"""Block id that stands for a block which the request does not hold."""


class RequestStatus(StrEnum):
    """Where a request is in its life."""

    WAITING = "waiting"
    LOADING = "loading"
    RUNNING = "running"
    FINISHED = "finished"
    ABORTED = "aborted"


class Request(Protocol):
    """The scheduler's view of a request; it grows while the request lives.

    ``token_ids`` are prompt and known output tokens.  ``block_hashes`` has one hash for each
    complete hash block of them, chained, so that equal hashes mean equal prefixes (salt,
    adapter, images and embeddings included).  ``num_computed_tokens`` counts tokens scheduled so far, locally cached and
    loaded ones included; drafts count until they are rejected, so that it can go back.
    """

    @property
    def request_id(self) -> str:
        """Unique while the request lives."""

    @property
    def token_ids(self) -> Sequence[int]:
        """Prompt and known output tokens."""

    @property
    def num_prompt_tokens(self) -> int:
        """Tokens of the prompt."""

    @property
    def num_computed_tokens(self) -> int:
        """Tokens scheduled so far, cached and loaded ones included."""

    @property
    def block_hashes(self) -> Sequence[bytes]:
        """One hash for each complete hash block of the known tokens."""

    @property
    def salt(self) -> str:
        """What keeps its tenant apart, empty for none."""

    @property
    def lora(self) -> Lora | None:
        """The adapter that it runs with."""

    @property
    def images(self) -> Sequence[Image]:
        """What stands behind placeholder tokens, by position."""

    @property
    def embeddings(self) -> str:
        """Digest of the prompt's embeddings, empty where it has tokens."""

    @property
    def transfer_params(self) -> Mapping[str, object]:
        """What the client asks of the connector: see `load_cap` and `store_cap`."""

    @property
    def status(self) -> RequestStatus:
        """Where it is in its life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTable:
    """Block ids of one request: for each group, by block index; 0 where it holds none."""

    blocks: tuple[tuple[int, ...], ...]
    num_local_tokens: int = 0
    num_external_tokens: int = 0

    def held(self, group: int, start_block: int, end_block: int) -> list[tuple[int, int]]:
        """Pairs (block index, block id) of the blocks held in ``[start_block, end_block)``."""
        row = self.blocks[group][start_block:end_block]
        return [(start_block + at, block) for at, block in enumerate(row) if block != NULL_BLOCK]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledRequest:
    """One request's part in a step.

    ``num_computed_tokens`` is the count before the step, ``num_scheduled_tokens`` what the step
    adds.  ``appended`` are the block ids that this step allocated, per group.  The last
    ``num_draft_tokens`` of the scheduled tokens are guesses: only what ``request.token_ids`` has is
    confirmed.  With drafts the count before the step may run ahead (drafts of a step whose result
    has not arrived count as accepted) and be lower the next time.
    """

    request: Request
    table: BlockTable
    num_computed_tokens: int
    num_scheduled_tokens: int
    appended: tuple[tuple[int, ...], ...]
    is_new: bool
    is_resumed: bool = False
    num_draft_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What the engine decided for one step, before any rank runs it."""

    number: int
    scheduled: tuple[ScheduledRequest, ...] = ()
    preempted: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    allocated: frozenset[int] = frozenset()
    """Every block id that changed its owner since the last step, loads' destinations included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """One rank's report on transfers, as the scheduler side gets it.

    ``failed_blocks`` are pool block ids whose load failed; ``worker_meta`` is whatever
    ``build_connector_worker_meta`` returned there, opaque to the suite.
    """

    rank: int
    finished_stores: frozenset[str] = frozenset()
    finished_loads: frozenset[str] = frozenset()
    failed_blocks: frozenset[int] = frozenset()
    worker_meta: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSpec:
    """A request as a scenario describes it: ``output`` is what the model will answer.

    The request ends with the last token of ``output`` (the stop token).  ``accepted`` says how many
    drafts are right in each step that has some, again from the start at its end; empty for all of
    them.
    """

    name: str
    prompt: tuple[int, ...]
    output: tuple[int, ...] = (1,)
    partition: Partition = PLAIN
    transfer_params: Mapping[str, object] = field(default_factory=dict)
    accepted: tuple[int, ...] = ()


class HasTransferParams(Protocol):
    """A request, or what describes one."""

    @property
    def transfer_params(self) -> Mapping[str, object]:
        """What the client asks of the connector."""


def load_cap(request: HasTransferParams) -> int | None:
    """Tokens beyond the local ones that may be loaded (``max_load_tokens``); None: no cap.

    What is no whole number >= 0 is no cap.
    """
    return _cap(request, "max_load_tokens")


def store_cap(request: HasTransferParams) -> int | None:
    """Tokens from the front that may be stored (``max_offload_tokens``); None: no cap."""
    return _cap(request, "max_offload_tokens")


def _cap(request: HasTransferParams, name: str) -> int | None:
    value = request.transfer_params.get(name)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and value >= 0 else None  # type: ignore[operator,return-value]
