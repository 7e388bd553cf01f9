"""Wrong connectors, each with one named defect: the reference with one thing put in its place."""
# ruff: noqa: D103 - a fake's name says what is wrong with it

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kvconform.ports import Capability, Connector, ConnectorFactory, Layout, Setting
from kvconform_reference import make_connector
from kvconform_reference.mutants import MUTANTS

SIDES = {
    "get_num_new_matched_tokens": "scheduler",
    "update_state_after_alloc": "scheduler",
    "build_connector_meta": "scheduler",
    "request_finished": "scheduler",
    "on_new_request": "scheduler",
    "update_connector_output": "scheduler",
    "has_pending_work": "scheduler",
    "register_kv_caches": "worker",
    "start_load_kv": "worker",
    "wait_for_save": "worker",
    "get_finished": "worker",
    "handle_preemptions": "worker",
    "bind_connector_metadata": "worker",
    "clear_connector_metadata": "worker",
    "build_connector_worker_meta": "worker",
    "get_block_ids_with_load_errors": "worker",
    "shutdown": "worker",
}
"""Every method that the built-in engine calls, with its side."""


def with_method(
    name: str, method: Callable[..., Any], base: ConnectorFactory = make_connector
) -> ConnectorFactory:
    """A connector of which one method is replaced."""

    def factory(layout: Layout, setting: Setting) -> Connector:
        connector = base(layout, setting)
        scheduler = SIDES.get(name, "connector") == "scheduler"
        sides = [connector.scheduler] if scheduler else list(connector.workers)
        for side in sides if name in SIDES else [connector]:
            setattr(side, name, method)
        return connector

    return factory


def with_attribute(name: str, value: object, base: ConnectorFactory = make_connector) -> ConnectorFactory:
    """A connector of which one attribute is replaced."""

    def factory(layout: Layout, setting: Setting) -> Connector:
        connector = base(layout, setting)
        setattr(connector, name, value)
        return connector

    return factory


def returning(value: object) -> Callable[..., Any]:
    def method(*_: object) -> object:
        return value

    return method


def raising(error: BaseException) -> Callable[..., Any]:
    def method(*_: object) -> object:
        raise error

    return method


def exits(*_: object) -> Connector:
    raise SystemExit(3)


def skips(*_: object) -> Connector:
    pytest.skip("nothing to see here")


def returns_none(*_: object) -> None:
    return None


def takes_no_argument() -> Connector:
    raise AssertionError("never called")


class Claimless:
    """A connector that claims nothing, around another one."""

    chunk_control = None
    capabilities: frozenset[Capability] = frozenset()

    def __init__(self, inner: Connector) -> None:
        self.scheduler = inner.scheduler
        self.workers = inner.workers
        self.chunk_tokens = inner.chunk_tokens


def claimless(layout: Layout, setting: Setting) -> Connector:
    return Claimless(make_connector(layout, setting))


def claimless_null(layout: Layout, setting: Setting) -> Connector:
    return Claimless(MUTANTS["null"].factory(layout, setting))


def claimless_lying(layout: Layout, setting: Setting) -> Connector:
    return Claimless(MUTANTS["lying"].factory(layout, setting))
