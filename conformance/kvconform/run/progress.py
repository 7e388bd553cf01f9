"""Shows how far a run is: one line that changes on a terminal, few lines elsewhere."""

from __future__ import annotations

import shutil
import time
from typing import TextIO

from kvconform.results.journal import Journal
from kvconform.results.record import Outcome

_REDRAW_SECONDS = 0.1
_LINE_SECONDS = 30.0


class Progress:
    """Prints to ``stream`` as records arrive; prints nothing if ``quiet``."""

    def __init__(self, stream: TextIO, *, quiet: bool = False, label: str = "") -> None:
        self._stream = stream
        self._quiet = quiet
        self._label = f"{label}: " if label else ""
        self._terminal = stream.isatty()
        self._last = time.monotonic()
        self._drawn = False
        self._shown = ""

    def update(self, journal: Journal) -> None:
        """Show what ``journal`` says by now, if it is time to."""
        if self._quiet or not journal.selected:
            return
        now = time.monotonic()
        if now - self._last < (_REDRAW_SECONDS if self._terminal else _LINE_SECONDS):
            return
        self._last = now
        text = self._text(journal)
        if text == self._shown and self._terminal:
            return
        self._shown = text
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write("\r\x1b[K" + text[:width])
            self._drawn = True
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def _text(self, journal: Journal) -> str:
        done, total = len(journal.records), len(journal.selected)
        bad = sum(record.outcome.is_bad for record in journal.records.values())
        skipped = sum(
            record.outcome is Outcome.NOT_APPLICABLE for record in journal.records.values()
        )
        told = [f"{self._label}{done} of {total} cases ({100 * done // max(total, 1)} %)"]
        told += [f"{bad} failed"] * bool(bad) + [f"{skipped} n/a"] * bool(skipped)
        told += [next(iter(journal.running))] if self._terminal and journal.running else []
        return ", ".join(told)

    def note(self, text: str) -> None:
        """A line that stays."""
        if not self._quiet:
            self.clear()
            self._stream.write(f"{self._label}{text}\n")
            self._stream.flush()

    def clear(self) -> None:
        """Take the changing line away."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False
            self._shown = ""
