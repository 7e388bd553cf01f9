"""A request that only has tokens, and books filled with given chunk states."""

from __future__ import annotations

from kvconform.contract.oracle import Oracle, Supply
from kvconform.engine.requests import LiveRequest
from kvconform.ports import Capability, ChunkState, Layout, RequestSpec
from kvconform_reference.demand import demands_of
from kvconform_reference.lookup import Lookup
from kvconform_reference.manager import ChunkManager


def request_of(num_tokens: int, hash_block: int) -> LiveRequest:
    """A waiting request with a prompt of ``num_tokens``."""
    return LiveRequest(RequestSpec(name="r", prompt=tuple(range(num_tokens))), hash_block)


def oracle_of(layout: Layout, claims: frozenset[Capability] = frozenset(Capability)) -> Oracle:
    """The oracle for a connector that meets the layout's wish for chunks."""
    sizes = tuple(layout.chunk_tokens(group) for group in range(len(layout.groups)))
    return Oracle(layout=layout, chunk_tokens=sizes, claims=claims)


def lookup_over(
    layout: Layout, request: LiveRequest, supply: Supply, *, seed_bound: bool = False
) -> Lookup:
    """The reference's lookup over books in which the request's chunks are as in ``supply``.

    Chunks that the request has no key for are left out.
    """
    manager = ChunkManager(4096)
    demands = demands_of(layout, layout.blocks_per_chunk, seed_bound=seed_bound)
    lookup = Lookup(demands=demands, hash_block=layout.hash_block, manager=manager)
    for (group, chunk), state in sorted(supply.states.items()):
        key = lookup.key(request, group, chunk)
        if key is None or state is ChunkState.MISSING:
            continue
        gone = supply.gone.get((group, chunk), frozenset())
        first_block = len(gone) // layout.groups[group].block_size
        (taken,) = manager.prepare_store([(key, first_block)])
        if state is not ChunkState.PENDING:
            manager.complete_store(taken)
        if state is ChunkState.LOADING:
            manager.prepare_load([key])
    return lookup
