"""Connectors with one defect of behaviour each, made of the reference connector."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

from kvconform.ports import Connector, Layout, Setting, UnsupportedLayoutError
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


class UnreadableError(Exception):
    """Whoever asks for its text gets another one."""

    def __str__(self) -> str:
        raise UnreadableError

    __repr__ = __str__


def raises_unreadable(layout: Layout, setting: Setting) -> Connector:
    """What its lookup raises cannot be put into words."""

    def lookup(*_: object) -> None:
        raise UnreadableError

    return _with_lookup(layout, setting, lookup)


def answers_unreadable(layout: Layout, setting: Setting) -> Connector:
    """What its lookup answers cannot be put into words."""
    return _with_lookup(layout, setting, lambda *_: UnreadableError())


def _raising(error: type[BaseException]) -> Any:
    def factory(layout: Layout, setting: Setting) -> Connector:
        def lookup(*_: object) -> None:
            raise error

        return _with_lookup(layout, setting, lookup)

    return factory


raises_interrupt = _raising(KeyboardInterrupt)
raises_exit = _raising(SystemExit)
raises_generator_exit = _raising(GeneratorExit)
raises_refusal = _raising(UnsupportedLayoutError)


def swallows_interrupts(layout: Layout, setting: Setting) -> Connector:
    """Its lookup takes long, and goes on whatever happens."""

    def lookup(*_: object) -> tuple[int, bool]:
        Path("busy").touch()
        with contextlib.suppress(BaseException):
            time.sleep(600)
        return 0, False

    return _with_lookup(layout, setting, lookup)


def always_later(layout: Layout, setting: Setting) -> Connector:
    """Its lookup never says anything else."""
    return _with_lookup(layout, setting, lambda *_: (None, False))


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
