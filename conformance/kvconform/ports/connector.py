"""The connector port: what an implementer provides.

Method names and their order in a step are those of vLLM's ``KVConnectorBase_V1``.  In one step
the engine calls, on the scheduler side, ``get_num_new_matched_tokens`` and
``update_state_after_alloc`` for waiting requests and then ``build_connector_meta``; on each rank
``handle_preemptions``, ``bind_connector_metadata``, ``start_load_kv``, (the forward pass),
``wait_for_save``, ``get_finished``, ``get_block_ids_with_load_errors``,
``build_connector_worker_meta``, ``clear_connector_metadata``; and on the scheduler side
``update_connector_output`` with what each rank reported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kvconform.ports.capabilities import Capability
from kvconform.ports.control import ChunkControl, TransferGate
from kvconform.ports.events import ChunkEvent
from kvconform.ports.layout import Layout
from kvconform.ports.request import BlockTable, Request, Step, StepResult

if TYPE_CHECKING:
    import torch


class SchedulerSide(ABC):
    """The half that decides: lookups, store policy, bookkeeping.  Runs once."""

    @abstractmethod
    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        """Tokens beyond the ``num_computed_tokens`` local ones that can be loaded.

        Returns ``(n, is_async)``: n tokens (0 is a miss), or None to be asked again later.
        ``num_computed_tokens + n`` must be a multiple of ``hash_block`` and no longer than the
        request.  ``is_async`` says that the load spans steps and its end is reported; it is
        False where n is 0.
        """

    @abstractmethod
    def update_state_after_alloc(
        self, request: Request, blocks: BlockTable, num_external_tokens: int
    ) -> None:
        """The engine made room for a hit (or for none: 0 external tokens)."""

    @abstractmethod
    def build_connector_meta(self, step: Step) -> Any:
        """Metadata for the ranks' step; pickled on the way."""

    @abstractmethod
    def request_finished(
        self, request: Request, blocks: BlockTable
    ) -> tuple[bool, Mapping[str, object] | None]:
        """The request ended.  True keeps its blocks until a rank reports it in ``finished_stores``."""

    def on_new_request(self, request: Request) -> None:
        """A request entered the queue."""

    def update_connector_output(self, result: StepResult) -> None:
        """One rank's report arrived, perhaps steps after it was sent."""

    def reset_cache(self) -> None:
        """Nothing stored before this call may be served after it."""

    def take_events(self) -> Sequence[ChunkEvent]:
        """Stored and removed chunks since the last call, in order; asked once a step."""
        return ()

    def has_pending_work(self) -> bool:
        """True while steps without requests are needed, say to submit a deferred store."""
        return False


class WorkerSide(ABC):
    """The half that moves bytes.  One for each rank."""

    metadata: Any = None

    @abstractmethod
    def register_kv_caches(self, kv_caches: Mapping[str, torch.Tensor]) -> None:
        """The rank's KV memory: layer name to a uint8 tensor of (num_blocks, page_bytes)."""

    @abstractmethod
    def start_load_kv(self) -> None:
        """Start the loads of the bound metadata; synchronous ones are complete on return."""

    @abstractmethod
    def wait_for_save(self) -> None:
        """The forward pass is over: what it wrote may be read from now on."""

    @abstractmethod
    def get_finished(self, finished_request_ids: set[str]) -> tuple[set[str], set[str]]:
        """Ids of requests whose stores, and of those whose asynchronous loads, are complete.

        ``finished_request_ids`` are the requests that ended since the last call.  An id whose
        load is reported must have all its bytes in place on this rank.
        """

    def handle_preemptions(self, metadata: Any) -> None:
        """Blocks that changed their owner are overwritten after this call returns."""

    def bind_connector_metadata(self, metadata: Any) -> None:
        """The step's metadata arrives."""
        self.metadata = metadata

    def clear_connector_metadata(self) -> None:
        """The step is over."""
        self.metadata = None

    def build_connector_worker_meta(self) -> Any:
        """Anything that this rank's scheduler side must know; opaque to the suite."""
        return None

    def get_block_ids_with_load_errors(self) -> set[int]:
        """Pool block ids whose load failed since the last call, each told once.

        Of an asynchronous load at the latest in the step in which `get_finished` names the request,
        which it does for a load that failed too; of a synchronous one in its own step.
        """
        return set()

    def shutdown(self) -> None:
        """Release what the rank holds."""


def say_nothing(text: str) -> None:
    """Where nobody listens."""
    del text


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the engine hands to a factory beside the layout.

    ``gates`` has one transfer gate a rank; a worker that claims ``transfer_control`` runs every
    copy through its rank's gate.  ``state_dir`` is a folder that outlives the engine, None where
    none does: what a ``persistent`` connector keeps there, one that gets the same folder finds.
    ``device`` is a torch device string.  ``options`` are the user's own (``--connector-config``).
    ``tell`` puts a line into the trace of the case, say why a copy failed: it judges nothing, and is
    shown where the case fails.
    """

    device: str = "cpu"
    state_dir: Path | None = None
    gates: tuple[TransferGate, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    tell: Callable[[str], None] = field(default=say_nothing, compare=False)


class Connector(Protocol):
    """What a factory returns: both sides and what they claim.

    ``chunk_tokens(group)`` is the size of the connector's chunks of one group.
    ``chunk_control`` is None unless the capability of that name is claimed.
    """

    @property
    def scheduler(self) -> SchedulerSide:
        """The half that decides."""

    @property
    def workers(self) -> Sequence[WorkerSide]:
        """One worker a rank."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the connector claims."""

    @property
    def chunk_control(self) -> ChunkControl | None:
        """Seeding of single chunks, if claimed."""

    def chunk_tokens(self, group: int) -> int:
        """Tokens of one chunk of ``group``."""


ConnectorFactory = Callable[[Layout, Setting], Connector]
"""Makes one connector for one case; called anew for each case, with positional arguments.

Raises `UnsupportedLayoutError` to refuse a layout by name.  It may have a method
``check_options(options)``, called once before any case: a `KvconformError` that it raises ends
the run with its message.
"""


class Provider(Protocol):
    """An entry point of ``kvconform.connectors``: turns NAME:ARG into a factory.

    It may have a method ``canonical(argument)``, which spells an argument as records are to have
    it, and a method ``recognizes(found)``, True for an object that only ``NAME:module:object``
    makes a connector of: who names it without NAME is told.
    """

    def factory(self, argument: str) -> ConnectorFactory:
        """The factory for ``argument`` (empty if none was given)."""

    def names(self) -> Sequence[str]:
        """Arguments that this provider knows, for listings and suggestions."""

    def describe(self, argument: str) -> Mapping[str, str]:
        """At least ``version``; mutants add ``fault``, ``clause``."""
