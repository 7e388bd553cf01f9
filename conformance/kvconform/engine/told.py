"""What a connector tells of its chunks, with its keys turned into chunks of requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from kvconform.engine.calls import ConnectorBrokeError, call, shown
from kvconform.engine.events import Told
from kvconform.engine.pattern import Lane, Prefix
from kvconform.ports import ChunkEvent, ChunkRemoved, ChunksCleared, ChunkStored, Layout

_KINDS: Mapping[type, str] = {
    ChunkStored: "stored",
    ChunkRemoved: "removed",
    ChunksCleared: "cleared",
}


class HasHashes(Protocol):
    """A request, as far as keys are concerned."""

    prefix: Prefix

    @property
    def block_hashes(self) -> Sequence[bytes]:
        """One hash for each complete hash block."""


class ChunkNames:
    """Finds the chunk that a key stands for, by the block hashes of all requests.

    ``chunk_tokens`` are the tokens of one chunk, for each group.
    """

    def __init__(
        self, requests: Mapping[str, HasHashes], layout: Layout, chunk_tokens: Sequence[int]
    ) -> None:
        self._requests = requests
        self._layout = layout
        self._chunk_tokens = tuple(chunk_tokens)
        self._names: dict[tuple[int, bytes], tuple[str, int, tuple[int, ...]]] = {}
        self._known: dict[str, tuple[HasHashes, int]] = {}
        """Hashes of each request that were taken in; an id may come again for another one."""

    def told(self, events: Any, step: int) -> Iterator[Told]:
        """What ``take_events`` returned, runs of one kind as one event of the engine.

        Raises `ConnectorBrokeError` for anything that is no event of the port.
        """
        listed: list[ChunkEvent] = call("take_events", list, events) if isinstance(events, Iterable) else [events]
        for request, live in self._requests.items():
            self._learn(request, live)
        kind = ""
        chunks: list[tuple[int, str, int, tuple[int, ...]]] = []
        for event in listed:
            if type(event) not in _KINDS:
                raise ConnectorBrokeError(
                    "take_events", f"returned {shown(event)}, expected ChunkStored, ChunkRemoved or ChunksCleared"
                )
            if _KINDS[type(event)] != kind:
                if kind:
                    yield Told(step=step, kind=kind, chunks=tuple(chunks))
                kind, chunks = _KINDS[type(event)], []
            if not isinstance(event, ChunksCleared):
                chunks.append((event.group, *self._names.get((event.group, event.key), ("", -1, ()))))
        if kind:
            yield Told(step=step, kind=kind, chunks=tuple(chunks))

    def _learn(self, request: str, live: HasHashes) -> None:
        hashes, (known, before) = live.block_hashes, self._known.get(request, (live, 0))
        before = before if known is live else 0
        if before == len(hashes) and known is live:
            return
        self._known[request] = live, len(hashes)
        for group, size in enumerate(self._chunk_tokens):
            count = size // self._layout.hash_block
            for chunk in range(before // count, len(hashes) // count):
                key = bytes(hashes[(chunk + 1) * count - 1])
                lanes = [Lane(group=group, layer=0, rank=rank) for rank in range(self._layout.world)]
                last = (chunk + 1) * size - 1
                contents = tuple(live.prefix.content(lane, last) for lane in lanes)
                self._names.setdefault((group, key), (request, chunk, contents))
