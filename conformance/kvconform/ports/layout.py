"""What a connector is told about the KV cache before the first request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import lcm
from types import MappingProxyType

from kvconform.ports.errors import LayoutError


class GroupKind(StrEnum):
    """How far back the layers of a group look."""

    FULL = "full"
    SLIDING = "sliding"
    CHUNKED_LOCAL = "chunked_local"
    """Attention restarts at every multiple of ``attention_chunk`` tokens."""
    RECURRENT = "recurrent"
    """A block holds one state, that of all tokens up to its end: Mamba, gated delta nets."""


class Storage(StrEnum):
    """How the pages of a layer lie in memory; each layer is registered as a tensor of its own."""

    SEPARATE = "separate"
    """One page behind the other: a contiguous tensor."""
    STRIDED = "strided"
    """With bytes of others between the pages: the tensor's first stride exceeds its page."""
    PACKED = "packed"
    """A block's pages of all layers of its group lie together, then those of the next block."""


class Scheduling(StrEnum):
    """When the engine learns what a step produced."""

    SYNC = "sync"
    """Before it schedules the next step."""
    ASYNC = "async"
    """While the next step is already scheduled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A KV cache group: layers that share one block table.

    ``block_size`` is in tokens.  ``window`` (tokens, the query's own position included) and
    ``extra_retained`` (tokens kept below the window for multi-token prediction) are 0 for a
    full-attention group.  ``attention_chunk`` (tokens) belongs to chunked-local attention alone
    and has nothing to do with chunks of offloading.  ``slot_bytes`` is the size of one token in one layer.

    Every rank has ``layers`` layers of its own shard, under the same names, unless
    ``layers_by_rank`` says how many whole layers each one has (pipeline parallel): then names are
    counted on from rank to rank, and ``layers`` is their sum.

    A block of a recurrent group is one state, a page of bytes without slots of tokens.  It is
    worth keeping once it stands at the block's end.

    A page (one block in one layer) has the slots of its tokens, then ``scale_bytes`` for each
    token, which belong to it as its slot does, then ``page_padding`` bytes that nobody reads.
    ``layer_slot_bytes`` gives each layer a slot size of its own, in place of ``slot_bytes``.
    """

    name: str
    kind: GroupKind
    block_size: int
    window: int = 0
    extra_retained: int = 0
    attention_chunk: int = 0
    eagle: bool = False
    layers: int = 1
    slot_bytes: int = 16
    layers_by_rank: tuple[int, ...] = ()
    layer_slot_bytes: tuple[int, ...] = ()
    scale_bytes: int = 0
    page_padding: int = 0

    def __post_init__(self) -> None:
        if self.block_size < 1:
            raise LayoutError(f"group {self.name!r}: block_size is {self.block_size}, must be >= 1 token")
        if self.layers_by_rank:
            self._check_ranks()
        if self.layers < 1:
            raise LayoutError(f"group {self.name!r}: layers is {self.layers}, must be >= 1")
        self._check_bytes()
        if self.kind is not GroupKind.SLIDING and (self.window or self.extra_retained):
            raise LayoutError(f"group {self.name!r}: a {self.kind} group has no window or extra_retained")
        if (self.kind is GroupKind.CHUNKED_LOCAL) != (self.attention_chunk > 0):
            raise LayoutError(
                f"group {self.name!r}: attention_chunk is {self.attention_chunk}; a chunked_local group "
                "needs it to be >= 1 token, and no other kind has it"
            )
        if self.kind is GroupKind.SLIDING and self.window < 1:
            raise LayoutError(f"group {self.name!r}: a sliding group needs window >= 1 token, not {self.window}")
        if self.extra_retained < 0:
            raise LayoutError(f"group {self.name!r}: extra_retained is {self.extra_retained}, must be >= 0 tokens")

    def _check_ranks(self) -> None:
        object.__setattr__(self, "layers_by_rank", tuple(self.layers_by_rank))
        if min(self.layers_by_rank) < 1:
            raise LayoutError(
                f"group {self.name!r}: layers_by_rank is {list(self.layers_by_rank)}, "
                "every rank must have >= 1 layer"
            )
        if self.layers not in {1, sum(self.layers_by_rank)}:
            raise LayoutError(
                f"group {self.name!r}: layers is {self.layers}, layers_by_rank has "
                f"{sum(self.layers_by_rank)} in all: leave layers out"
            )
        object.__setattr__(self, "layers", sum(self.layers_by_rank))

    def _check_bytes(self) -> None:
        for size in (self.slot_bytes, *self.layer_slot_bytes):
            if size < 16:  # noqa: PLR2004 - two words of the pattern
                raise LayoutError(f"group {self.name!r}: slot_bytes is {size}, must be >= 16")
        for what in ("scale_bytes", "page_padding"):
            if getattr(self, what) < 0:
                raise LayoutError(f"group {self.name!r}: {what} is {getattr(self, what)}, must be >= 0")
        if self.layer_slot_bytes and len(self.layer_slot_bytes) != self.layers:
            raise LayoutError(
                f"group {self.name!r}: layer_slot_bytes has {len(self.layer_slot_bytes)} sizes, must have "
                f"one for each of the {self.layers} layers"
            )

    def slot_bytes_of(self, layer: int) -> int:
        """Bytes of one token's slot in a layer, its scale not included."""
        return self.layer_slot_bytes[layer] if self.layer_slot_bytes else self.slot_bytes

    def page_bytes_of(self, layer: int) -> int:
        """Bytes of one block in a layer, padding included."""
        return self.block_size * (self.slot_bytes_of(layer) + self.scale_bytes) + self.page_padding

    @property
    def page_bytes(self) -> int:
        """Bytes of one block in the layer that needs most."""
        return max(self.page_bytes_of(layer) for layer in range(self.layers))

    def layer_names(self, rank: int | None = None) -> tuple[str, ...]:
        """Names of the group's layers, as keys of the registered KV caches; or those of one rank."""
        layers = range(self.layers) if rank is None else self.layers_of(rank)
        return tuple(f"{self.name}.{layer}" for layer in layers)

    def layers_of(self, rank: int) -> range:
        """Numbers of the layers that a rank has."""
        if not self.layers_by_rank:
            return range(self.layers)
        first = sum(self.layers_by_rank[:rank])
        return range(first, first + self.layers_by_rank[rank])


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """All groups of a model and the engine policies that decide what is kept and offloaded.

    ``hash_block`` (tokens) is the granularity of block hashes and of every hit.
    ``blocks_per_chunk`` is a wish: a connector with chunks of another size says so.
    ``num_blocks`` is the number of blocks in the engine's pool, the null block 0 included.
    A request's blocks of all groups come from this one pool.  Every layer's KV cache is a
    ``uint8`` tensor of shape ``(num_blocks, page_bytes)`` of its own page size; ``storage`` says
    how it lies in memory, and whether its rows are contiguous.

    ``retention_interval`` (tokens) says at which boundaries windowed groups are kept for later
    requests: None at every one, else at its multiples (0: at none) and at the longest one that
    the same prompt can hit again.

    ``host_chunks`` is the room for chunks in host memory: so many of the largest group's, of
    the wished size, on each rank; None leaves it to the connector.  `host_bytes` says it in bytes.

    ``spec_tokens`` is the number of draft tokens that a decode step computes beyond the last
    sampled one; 0 without speculative decoding.  Tables may be longer than the known tokens by
    the blocks that drafts take.
    """

    groups: tuple[Group, ...]
    hash_block: int
    blocks_per_chunk: int = 1
    num_blocks: int = 512
    max_batched_tokens: int = 8192
    scheduling: Scheduling = Scheduling.SYNC
    world: int = 1
    model: str = "model"
    prompt_only: bool = False
    retention_interval: int | None = None
    host_chunks: int | None = None
    spec_tokens: int = 0
    storage: Storage = Storage.SEPARATE
    options: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        self._check_numbers()
        self._check_drafts()
        if not self.groups:
            raise LayoutError("a layout needs at least one group")
        self._check_states()
        names = [group.name for group in self.groups]
        for name in names:
            if names.count(name) > 1:
                raise LayoutError(f"two groups are named {name!r}")
        for group in self.groups:
            if group.layers_by_rank and len(group.layers_by_rank) != self.world:
                raise LayoutError(
                    f"group {group.name!r}: layers_by_rank is about {len(group.layers_by_rank)} ranks, "
                    f"and world is {self.world}"
                )
            if group.block_size % self.hash_block:
                raise LayoutError(
                    f"group {group.name!r}: block_size {group.block_size} is not a multiple of "
                    f"hash_block {self.hash_block}"
                )
            if group.attention_chunk % self.hash_block:
                raise LayoutError(
                    f"group {group.name!r}: attention_chunk {group.attention_chunk} is not a multiple of "
                    f"hash_block {self.hash_block}"
                )

    def _check_drafts(self) -> None:
        if self.spec_tokens and self.has_states:
            raise LayoutError(
                f"spec_tokens is {self.spec_tokens}: rejected drafts in the state of a recurrent group are not "
                "simulated; leave spec_tokens or the recurrent group out"
            )

    def _check_numbers(self) -> None:
        for what in ("hash_block", "blocks_per_chunk", "max_batched_tokens", "world"):
            if getattr(self, what) < 1:
                raise LayoutError(f"{what} is {getattr(self, what)}, must be >= 1")
        if self.spec_tokens < 0:
            raise LayoutError(f"spec_tokens is {self.spec_tokens}, must be >= 0 draft tokens a step")
        if self.retention_interval is not None and self.retention_interval < 0:
            raise LayoutError(
                f"retention_interval is {self.retention_interval}, must be >= 0 tokens, or none"
            )
        if self.host_chunks is not None and self.host_chunks < 1:
            raise LayoutError(f"host_chunks is {self.host_chunks}, must be >= 1 chunk, or none")
        if self.num_blocks < 2:  # noqa: PLR2004 - the null block and one more
            raise LayoutError(f"num_blocks is {self.num_blocks}, must be >= 2 (block 0 is the null block)")

    def _check_states(self) -> None:
        for group in self.groups:
            if group.kind is GroupKind.RECURRENT and group.eagle:
                raise LayoutError(f"group {group.name!r}: a recurrent group has no draft tail, so it cannot be eagle")
        if self.max_batched_tokens < self.state_tokens:
            raise LayoutError(
                f"max_batched_tokens is {self.max_batched_tokens}, must be >= {self.state_tokens}, the tokens "
                "after which all recurrent groups have a state: no step would reach one"
            )

    @property
    def has_states(self) -> bool:
        """Whether some group is recurrent."""
        return any(group.kind is GroupKind.RECURRENT for group in self.groups)

    @property
    def state_tokens(self) -> int:
        """Every how many tokens all recurrent groups have a state; 1 where there is no such group.

        A hit ends on a multiple of it, before the request's last token.
        """
        return lcm(*(group.block_size for group in self.groups if group.kind is GroupKind.RECURRENT))

    def index(self, name: str) -> int:
        """Position of the group called ``name``; raises `LayoutError` for an unknown name."""
        for position, group in enumerate(self.groups):
            if group.name == name:
                return position
        known = ", ".join(group.name for group in self.groups)
        raise LayoutError(f"no group is named {name!r}; the groups are {known}")

    def chunk_tokens(self, group: int) -> int:
        """Tokens of one chunk of ``group`` if the wish for ``blocks_per_chunk`` is met."""
        return self.groups[group].block_size * self.blocks_per_chunk

    def chunk_bytes(self, group: int) -> int:
        """Bytes of one chunk of ``group`` on one rank if the wish is met."""
        return self.groups[group].layers * self.groups[group].page_bytes * self.blocks_per_chunk

    @property
    def host_bytes(self) -> int | None:
        """Bytes of host memory that a rank may use for chunks; None: as many as it likes."""
        if self.host_chunks is None:
            return None
        return self.host_chunks * max(map(self.chunk_bytes, range(len(self.groups))))
