"""The search for the longest hit that all groups can serve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kvconform.ports import ChunkState, Request, load_cap
from kvconform_reference.demand import GroupDemand
from kvconform_reference.manager import ChunkManager, OffloadKey

LATER = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """Lookups over one manager's books.

    Each group lowers the limit to the longest boundary that it can serve by itself; the search
    ends when no group lowers it any more.  Chunks in flight count as there, and a hit that needs
    one of them becomes *later*.
    """

    demands: tuple[GroupDemand, ...]
    hash_block: int
    manager: ChunkManager

    def key(self, request: Request, group: int, chunk: int) -> OffloadKey | None:
        """The key of a chunk of the request's prefix; None if its tokens are not all known."""
        last = (chunk + 1) * self.demands[group].chunk // self.hash_block - 1
        return (request.block_hashes[last], group) if last < len(request.block_hashes) else None

    def longest(self, request: Request, local_tokens: int) -> int | None:
        """The boundary of the longest hit, 0 for a miss, or `LATER`."""
        boundary = self._converge(request, self.limit(request, local_tokens), local_tokens)
        if not boundary:
            return 0
        if any(self._in_flight(request, group, boundary, local_tokens) for group in range(len(self.demands))):
            return LATER
        return boundary

    def limit(self, request: Request, local_tokens: int) -> int:
        """The longest boundary that the request itself allows.

        The last token is left to compute.  Where it ends a hash block, all before it may be hit;
        else the last incomplete hash block has no key.  A cap counts beyond the local tokens.
        """
        num_tokens, cap = len(request.token_ids), load_cap(request)
        whole = self._whole(num_tokens)
        longest = num_tokens - 1 if whole == num_tokens else whole
        if cap is None or local_tokens + cap >= longest:
            return longest
        return self._whole(local_tokens + cap)

    def _whole(self, num_tokens: int) -> int:
        """So many tokens as end the last whole hash block."""
        return num_tokens // self.hash_block * self.hash_block

    def _converge(self, request: Request, limit: int, local_tokens: int) -> int:
        """Lower the limit until every group can serve it.

        Fine groups move a boundary least, so they are asked before coarse ones.  A group is not
        asked again about a boundary that it found itself.
        """
        order = sorted(range(len(self.demands)), key=self._coarseness)
        served: dict[int, int] = {}
        while any(served.get(group) != limit for group in order):
            for group in order:
                if served.get(group) == limit:
                    continue
                limit = self._server(group)(request, group, limit, local_tokens)
                if limit <= local_tokens:
                    return 0
                served[group] = limit
        return limit

    def _server(self, group: int) -> Callable[[Request, int, int, int], int]:
        """What finds the longest boundary up to a limit that one group can serve."""
        if self.demands[group].is_recurrent:
            return self._recurrent
        return self._full if self.demands[group].is_full else self._windowed

    def _recurrent(self, request: Request, group: int, limit: int, local_tokens: int) -> int:
        """The last state up to the limit; each is one block of a chunk."""
        demand = self.demands[group]
        boundary = demand.last_end(limit)
        while boundary > local_tokens:
            (chunk,) = demand.needed(boundary)
            block = (boundary - chunk * demand.chunk) // demand.group.block_size - 1
            if self._usable(request, group, chunk, block):
                return boundary
            boundary = demand.last_end(boundary - 1)
        return 0

    def _coarseness(self, group: int) -> tuple[bool, int]:
        return not self.demands[group].is_full, self.demands[group].chunk

    def _full(self, request: Request, group: int, limit: int, local_tokens: int) -> int:
        """Longest prefix of chunks; a draft group gives up the last one."""
        demand = self.demands[group]
        tail = 1 if demand.group.eagle else 0
        wanted = demand.needed(limit).stop + tail
        ready = local_tokens // demand.chunk
        while ready < wanted and self._usable(request, group, ready, 0):
            ready += 1
        return min(limit, max(0, ready - tail) * demand.chunk)

    def _windowed(self, request: Request, group: int, limit: int, local_tokens: int) -> int:
        """Last run of enough usable chunks: each broken chunk moves the boundary below it.

        Only the limit can lie inside a chunk; every boundary below a broken chunk is a chunk's
        end and needs a run of the same length.
        """
        demand = self.demands[group]
        boundary, needed = limit, demand.needed(limit)
        while boundary > local_tokens:
            below = self._broken(request, group, boundary, needed, local_tokens)
            if below is None:
                return boundary
            boundary, needed = below, demand.needed_at_end(below)
        return 0

    def _broken(
        self, request: Request, group: int, boundary: int, needed: range, local_tokens: int
    ) -> int | None:
        """The next boundary to try, below a broken chunk; None if none is broken."""
        demand = self.demands[group]
        tail = demand.tail(boundary)
        if tail is not None and not self._usable(request, group, tail, 0):
            return (tail - 1) * demand.chunk
        oldest = max(demand.first_token(boundary), local_tokens)
        for chunk in reversed(self._beyond_local(demand, needed, local_tokens)):
            first_block = max(0, oldest - chunk * demand.chunk) // demand.group.block_size
            if not self._usable(request, group, chunk, first_block):
                return demand.below(boundary, chunk)
        return None

    @staticmethod
    def _beyond_local(demand: GroupDemand, needed: range, local_tokens: int) -> range:
        return range(max(needed.start, local_tokens // demand.chunk), needed.stop)

    def _usable(self, request: Request, group: int, chunk: int, first_block: int) -> bool:
        """Whether a chunk is there or coming, with every block from ``first_block`` on."""
        key = self.key(request, group, chunk)
        found = self.manager.get(key) if key is not None else None
        return found is not None and found.first_block <= first_block not in found.lacking

    def _in_flight(self, request: Request, group: int, boundary: int, local_tokens: int) -> bool:
        demand = self.demands[group]
        flying = {ChunkState.PENDING, ChunkState.LOADING}
        loaded = self._beyond_local(demand, demand.needed(boundary), local_tokens)
        if any(self._state(request, group, chunk) in flying for chunk in loaded):
            return True
        # The tail is dropped, so that another request loads it is no reason to wait.
        tail = demand.tail(boundary)
        return tail is not None and self._state(request, group, tail) is ChunkState.PENDING

    def _state(self, request: Request, group: int, chunk: int) -> ChunkState | None:
        key = self.key(request, group, chunk)
        return self.manager.state(key) if key is not None else None
