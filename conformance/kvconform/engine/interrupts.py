"""The user's Ctrl-C while a connector's code runs, told from a `KeyboardInterrupt` that it raises."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Any


class Interrupts:
    """Counts the ``KeyboardInterrupt`` exceptions that a SIGINT brought about.

    Whoever runs foreign code compares ``count`` from before with that from after it.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: Callable[[int, FrameType | None], Any] = signal.default_int_handler

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Count while it lasts; a SIGINT is handled as it would be without."""
        before = signal.getsignal(signal.SIGINT)
        if not self._in_reach() or not callable(before) or before == self._note:
            yield
            return
        self._before = before
        signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            if signal.getsignal(signal.SIGINT) == self._note:
                signal.signal(signal.SIGINT, before)

    @property
    def certain(self) -> bool:
        """Whether an interrupt of the user's would have been counted here and now."""
        handler = signal.getsignal(signal.SIGINT)
        return not self._in_reach() or not callable(handler) or handler == self._note

    def _note(self, number: int, frame: FrameType | None) -> None:
        try:
            self._before(number, frame)
        except KeyboardInterrupt:
            self.count += 1
            raise

    @staticmethod
    def _in_reach() -> bool:
        """Python runs handlers of signals in the main thread, and nowhere else."""
        return current_thread() is main_thread()


INTERRUPTS = Interrupts()
"""Those of this process."""
