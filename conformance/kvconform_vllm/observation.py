"""What is seen of vLLM's scheduler and of a connector while they run, and how misses are kept.

Methods are wrapped on the instances; the classes stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any

from kvconform.engine.calls import ConnectorBrokeError, call
from kvconform.engine.events import Admitted, Answered, Event
from kvconform.ports import NULL_BLOCK
from kvconform_vllm.returns import problem_with

Rows = tuple[tuple[int, ...], ...]
"""Block ids by group and block index; 0 where none is held."""

SCHEDULER_HOOKS = (
    "bind_gpu_block_pool",
    "bind_kv_cache_manager",
    "build_connector_meta",
    "get_external_cache_hit_sources",
    "get_loaded_kv_cache_group_ids",
    "get_num_new_matched_tokens",
    "has_pending_block_frees",
    "has_pending_push_work",
    "on_new_request",
    "register_finished_partial_tail",
    "request_finished",
    "request_finished_all_groups",
    "reset_cache",
    "take_events",
    "update_connector_output",
    "update_state_after_alloc",
)
WORKER_HOOKS = (
    "bind_connector_metadata",
    "build_connector_worker_meta",
    "clear_connector_metadata",
    "get_block_ids_with_load_errors",
    "get_finished",
    "get_transfer_results",
    "handle_preemptions",
    "register_kv_caches",
    "save_kv_layer",
    "shutdown",
    "start_load_kv",
    "wait_for_layer_load",
    "wait_for_save",
)


def guard(side: Any, hooks: Iterable[str]) -> None:
    """Name the hook in whatever a method of the connector raises, or wrongly returns."""
    for name in hooks:
        method = getattr(side, name, None)
        if method is not None:
            setattr(side, name, _guarded(name, method))


def _guarded(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        value = call(name, partial(method, *args, **kwargs))
        problem = problem_with(name, value)
        if problem:
            raise ConnectorBrokeError(name, problem)
        return value

    return guarded


class Observer:
    """Watches one scheduler.

    ``taken`` are blocks that changed their owner since the engine last looked.  ``refused`` are
    requests that stay waiting after a miss.  ``synchronous`` has the boundary of each hit whose
    load must be complete when its first step runs.
    """

    def __init__(self, scheduler: Any, record: Callable[[Event], None]) -> None:
        self.number = 0
        self.taken: set[int] = set()
        self.refused: set[str] = set()
        self.synchronous: dict[str, int] = {}
        self._record = record
        self._answers: dict[str, Answered] = {}
        manager, connector = scheduler.kv_cache_manager, scheduler.connector
        self._watch_pool(manager.block_pool)
        self._watch_room(manager)
        guard(connector, SCHEDULER_HOOKS)
        self._watch_lookups(connector)
        self._watch_admissions(connector)

    def _watch_pool(self, pool: Any) -> None:
        get_new_blocks = pool.get_new_blocks

        def watched(num_blocks: int, *args: Any, **kwargs: Any) -> Any:
            blocks = get_new_blocks(num_blocks, *args, **kwargs)
            self.taken.update(block.block_id for block in blocks)
            return blocks

        pool.get_new_blocks = watched

    def _watch_room(self, manager: Any) -> None:
        """Refuse room to a request that missed: the scheduler leaves it at the head of its queue.

        None is what a full pool answers.  A request that waited for a load has computed tokens
        and is let through, whatever it is called.
        """
        allocate = manager.allocate_slots

        def watched(request: Any, *args: Any, **kwargs: Any) -> Any:
            missed = not (request.num_computed_tokens or kwargs.get("num_external_computed_tokens"))
            if missed and request.request_id in self.refused:
                return None
            return allocate(request, *args, **kwargs)

        manager.allocate_slots = watched

    def _watch_lookups(self, connector: Any) -> None:
        lookup = connector.get_num_new_matched_tokens

        def watched(request: Any, num_computed_tokens: int, *args: Any, **kwargs: Any) -> Any:
            answer = lookup(request, num_computed_tokens, *args, **kwargs)
            tokens, is_async = answer
            event = Answered(
                step=self.number,
                request=request.request_id,
                num_tokens=request.num_tokens,
                local=num_computed_tokens,
                tokens=tokens,
                is_async=bool(is_async),
            )
            self._answers[request.request_id] = event
            self._record(event)
            return answer

        connector.get_num_new_matched_tokens = watched

    def _watch_admissions(self, connector: Any) -> None:
        after_alloc = connector.update_state_after_alloc

        def watched(request: Any, blocks: Any, num_external_tokens: int, *args: Any) -> Any:
            answer = self._answers.get(request.request_id)
            if num_external_tokens and answer is not None:
                boundary = answer.local + num_external_tokens
                if not answer.is_async:
                    self.synchronous[request.request_id] = boundary
                self._record(
                    Admitted(
                        step=self.number,
                        request=request.request_id,
                        boundary=boundary,
                        held=tuple(_held(group) for group in blocks.blocks),
                    )
                )
            return after_alloc(request, blocks, num_external_tokens, *args)

        connector.update_state_after_alloc = watched


def rows_of(scheduler: Any, request: str) -> Rows:
    """A request's blocks by group, as the KV cache manager has them now."""
    return tuple(map(tuple, scheduler.kv_cache_manager.get_block_ids(request)))


def _held(blocks: Iterable[Any]) -> tuple[int, int]:
    indices = [i for i, block in enumerate(blocks) if block.block_id != NULL_BLOCK]
    return (indices[0] if indices else 0, len(indices))
