"""Connectors with one defect of behaviour each, made of the reference connector."""

from __future__ import annotations

import os
import time
from typing import Any

from kvconform.ports import Connector, Layout, Setting
from kvconform_reference.provider import Reference


def _with_lookup(layout: Layout, setting: Setting, lookup: Any) -> Connector:
    connector = Reference().factory("")(layout, setting)
    connector.scheduler.get_num_new_matched_tokens = lookup  # type: ignore[method-assign]
    return connector


def raises(layout: Layout, setting: Setting) -> Connector:
    """Its lookup raises."""

    def lookup(*_: object) -> None:
        raise KeyError("chunk 7")

    return _with_lookup(layout, setting, lookup)


def exits(layout: Layout, setting: Setting) -> Connector:
    """Its lookup ends the process."""
    return _with_lookup(layout, setting, lambda *_: os._exit(9))


def hangs(layout: Layout, setting: Setting) -> Connector:
    """Its lookup never returns."""
    return _with_lookup(layout, setting, lambda *_: time.sleep(600))


def answers_text(layout: Layout, setting: Setting) -> Connector:
    """Its lookup answers nonsense."""
    return _with_lookup(layout, setting, lambda *_: "many")


def fails_to_start(layout: Layout, setting: Setting) -> Connector:  # noqa: ARG001 - the port
    """Its factory raises."""
    raise OSError("no server")


def is_nothing(layout: Layout, setting: Setting) -> Connector:  # noqa: ARG001 - the port
    """Its factory returns no connector."""
    return None  # type: ignore[return-value]
