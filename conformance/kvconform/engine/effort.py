"""Counts what a connector does: calls and lines of Python, the same number in every run."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

_OURS = {Path(__file__).resolve().parent.parent}


@dataclass(slots=True)
class Effort:
    """What was counted: ``work`` in calls and lines, ``sent`` in bytes of metadata, by step."""

    work: int = 0
    sent: int = 0


class Meter:
    """Counts while a case asks for it; else calls go their way untouched.

    Counted are calls (of Python and of C) and lines in frames that are not the suite's own, as
    far as the connector's methods lead to them.  Garbage is not collected meanwhile: a finalizer
    of something else would count.
    """

    def __init__(self) -> None:
        self.counting: Effort | None = None

    @contextmanager
    def count(self) -> Iterator[Effort]:
        """Count all that happens within the block."""
        effort, before, collected = Effort(), self.counting, gc.isenabled()
        self.counting = effort
        gc.disable()
        try:
            yield effort
        finally:
            self.counting = before
            if collected:
                gc.enable()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Count nothing of what the suite does within the block, whoever's code it calls."""
        counting, self.counting = self.counting, None
        try:
            yield
        finally:
            self.counting = counting

    def run(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Call a method of the connector, and count."""
        if self.counting is None or sys.getprofile() == self._on_call:
            return function(*args)
        trace, profile = sys.gettrace(), sys.getprofile()
        sys.settrace(self._on_line)
        sys.setprofile(self._on_call)
        try:
            return function(*args)
        finally:
            sys.setprofile(profile)
            sys.settrace(trace)

    def sent(self, metadata: bytes) -> None:
        """Metadata goes to the ranks."""
        if self.counting is not None:
            self.counting.sent += len(metadata)

    def _on_call(self, frame: FrameType, event: str, arg: object) -> None:
        del arg
        if event in {"call", "c_call"} and self.counting is not None and not _is_ours(frame.f_code):
            self.counting.work += 1

    def _on_line(self, frame: FrameType, event: str, arg: object) -> Any:
        del arg
        if self.counting is None or _is_ours(frame.f_code):
            return None
        if event == "line":
            self.counting.work += 1
        return self._on_line


def leave_out(package: Path) -> None:
    """Code in this folder is the suite's own too: a bench on another engine."""
    _OURS.add(package)
    _is_ours.cache_clear()


@lru_cache(maxsize=4096)
def _is_ours(code: CodeType) -> bool:
    file = Path(code.co_filename)
    return any(file.is_relative_to(package) for package in _OURS)


METER = Meter()
"""The one of this process: connectors are called from many places."""
