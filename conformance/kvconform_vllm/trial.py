"""Tries a connector class under the user's settings once, before any case."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

from kvconform.engine.calls import ConnectorBrokeError, shown
from kvconform.ports import Group, GroupKind, KvconformError, Layout, UnsupportedLayoutError
from kvconform_vllm.bench import VllmBench
from kvconform_vllm.claims import CLAIMS_OPTION
from kvconform_vllm.connectors import ConnectorClass
from kvconform_vllm.releases import Release

_BLOCK = 16
_SECONDS = 240
"""A class that waits for what is not there, say a server, is given up after so long."""


class UnusableClassError(KvconformError):
    """No connector can be made of a class under these settings: says which, and what was said."""


class _TooLongError(Exception):
    """Raised in the middle of what a connector does."""


def _layout(*groups: Group) -> Layout:
    block = groups[0].block_size
    return Layout(groups=groups, hash_block=block, num_blocks=64)


LAYOUTS = (
    _layout(Group(name="full", kind=GroupKind.FULL, block_size=_BLOCK)),
    _layout(Group(name="full", kind=GroupKind.FULL, block_size=_BLOCK // 4)),
    _layout(
        Group(name="full", kind=GroupKind.FULL, block_size=_BLOCK),
        Group(name="sliding", kind=GroupKind.SLIDING, block_size=_BLOCK, window=4 * _BLOCK),
    ),
)
"""Small and plain: what can be made on none of them can be made on no layout of a matrix."""


def try_class(
    name: str, kind: ConnectorClass, release: Release, options: Mapping[str, object]
) -> None:
    """Make both sides of a connector, and take them down again.

    Raises `UnusableClassError` if that fails on every layout that is not refused by name.  What
    fails on some of them only is the cases' to judge.
    """
    said = []
    for layout in LAYOUTS:
        try:
            with _limited():
                VllmBench(layout, kind, release, "cpu", options).close()
        except UnsupportedLayoutError:
            continue
        except ConnectorBrokeError as error:
            said.append(error)
            if isinstance(error.__cause__, _TooLongError):
                break
            continue
        return
    if said:
        settings = {key: value for key, value in options.items() if key != CLAIMS_OPTION}
        given = ", ".join(f"{key}={shown(value)}" for key, value in settings.items())
        text = " ".join(said[0].text.split())
        raise UnusableClassError(
            f"no connector vllm:{name} can be made{f' with {given}' if given else ''}: "
            f"{said[0].method}: {text}"
        )


@contextmanager
def _limited() -> Iterator[None]:
    """Raise `_TooLongError` once the time is up; Python handles signals in the main thread only."""
    if current_thread() is not main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise _TooLongError(f"it is not done after {_SECONDS} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
