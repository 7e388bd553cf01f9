"""What the hooks of a connector class must return: what vLLM, or the suite in its place, relies on.

Types only, and no more of them than vLLM needs: whether an answer is right the judges say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from numbers import Integral
from typing import Any, NamedTuple

from kvconform.engine.calls import shown

_LONGEST = 80


class _Answer(NamedTuple):
    holds: Callable[[Any], bool]
    expected: str


def problem_with(hook: str, value: object) -> str:
    """What is wrong with the value that ``hook`` returned, in words; empty if nothing is."""
    answer = _ANSWERS.get(hook)
    if answer is None or answer.holds(value):
        return ""
    text = shown(value)
    cut = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    return f"returned {cut}, expected {answer.expected}"


def _pair(value: Any, first: Callable[[Any], bool], second: Callable[[Any], bool]) -> bool:
    if not isinstance(value, (tuple, list)) or len(value) != 2:  # noqa: PLR2004 - a pair
        return False
    return first(value[0]) and second(value[1])


def _anything(value: Any) -> bool:
    del value
    return True


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _tokens(value: Any) -> bool:
    return value is None or _whole(value)


def _params(value: Any) -> bool:
    return value is None or isinstance(value, Mapping)


def _ids(value: Any) -> bool:
    listed = isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping))
    return listed and all(isinstance(one, str) for one in value)


def _ids_or_none(value: Any) -> bool:
    return value is None or _ids(value)


def _numbers(value: Any) -> bool:
    listed = isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping))
    return listed and all(_whole(one) for one in value)


def _results(value: Any) -> bool:
    parts = ("finished_sending", "finished_recving", "failed_recving")
    return all(_ids(getattr(value, part, None)) for part in parts)


_KEEP = _Answer(
    lambda value: _pair(value, _anything, _params),
    "a pair (whether to keep the blocks, a dict of parameters or None)",
)
_ANSWERS = {
    "build_connector_meta": _Answer(
        lambda value: value is not None, "the step's metadata, a KVConnectorMetadata"
    ),
    "build_connector_worker_meta": _Answer(
        lambda value: value is None or callable(getattr(value, "aggregate", None)),
        "a KVConnectorWorkerMetadata, which has a method 'aggregate', or None",
    ),
    "get_block_ids_with_load_errors": _Answer(
        lambda value: value is None or _numbers(value), "a set of block ids"
    ),
    "get_external_cache_hit_sources": _Answer(
        lambda value: isinstance(value, Mapping), "a dict from cache tier to tokens"
    ),
    "get_finished": _Answer(
        lambda value: _pair(value, _ids_or_none, _ids_or_none),
        "a pair (request ids whose stores ended, request ids whose loads ended), each a set or None",
    ),
    "get_loaded_kv_cache_group_ids": _Answer(_numbers, "a tuple of group ids"),
    "get_num_new_matched_tokens": _Answer(
        lambda value: _pair(value, _tokens, _anything),
        "a pair (number of tokens or None, whether the load is asynchronous)",
    ),
    "get_transfer_results": _Answer(
        _results, "a KVConnectorTransferResults, whose three fields are sets of request ids"
    ),
    "request_finished": _KEEP,
    "request_finished_all_groups": _KEEP,
    "take_events": _Answer(
        lambda value: value is None or isinstance(value, Iterable), "an iterable of events"
    ),
}
