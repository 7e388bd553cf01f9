"""The process in which the cases run, and what can be told of its end from outside."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

PARENT = "KVCONFORM_WATCHED_BY"
"""The environment variable that tells the process who watches it (a process id)."""

_GRACE_SECONDS = 3.0
_SHOWN_LINES = 25


class Child:
    """A pytest process in a session of its own, so that all of it can be ended at once.

    Its output goes to ``log``.  If it is ``shown``, what pytest says goes to the terminal, and the
    log, in which a crash leaves its stack, is passed on by `echo`.
    """

    def __init__(self, arguments: Sequence[str], log: Path, *, shown: bool = False) -> None:
        self._log = log
        self._shown = shown
        self._log_start = self._echoed = log.stat().st_size if log.exists() else 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", "pytest", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=None if shown else output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, PARENT: str(os.getpid())},
            )

    def exit_status(self) -> int | None:
        """The exit status, negative for a signal; None while it lives."""
        return self._process.poll()

    def interrupt(self) -> None:
        """Let it end as by Ctrl-C; kill it if it does not within a few seconds."""
        self._signal(signal.SIGINT)
        deadline = time.monotonic() + _GRACE_SECONDS
        while self.exit_status() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        self.kill()

    def kill(self) -> None:
        """End it and everything that it started, now."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def describe_end(self) -> str:
        """``SIGSEGV`` or ``exit status 3``: of what it died."""
        status = self._process.returncode
        if status is None:
            return "still alive"
        if status >= 0:
            return f"exit status {status}"
        try:
            return signal.Signals(-status).name
        except ValueError:
            return f"signal {-status}"

    def output(self) -> str:
        """What it wrote into its log."""
        return self._log_from(self._log_start).decode("utf-8", errors="replace")

    def echo(self) -> None:
        """Pass on what came into the log since the last call, if it is shown."""
        if self._shown:
            data = self._log_from(self._echoed)
            self._echoed += len(data)
            sys.stderr.write(self._decoder.decode(data))

    def _log_from(self, start: int) -> bytes:
        with self._log.open("rb") as stream:
            stream.seek(start)
            return stream.read()

    def complaint(self) -> str:
        """The part of its output that says why it could not start, unless the user has seen it."""
        if self._shown:
            return ""
        text = self.output()
        for pattern in (r"^.*: error: (.*)$", r"^ERROR: (.*)$"):
            told = re.findall(pattern, text, flags=re.MULTILINE)
            if told:
                return "\n".join(told)
        return "\n".join(text.strip().splitlines()[-_SHOWN_LINES:])

    def stack(self) -> tuple[str, ...]:
        """Where its main thread was when it crashed or hung, innermost call first.

        From the text that ``faulthandler`` writes; empty if there is none.
        """
        dumps = re.split(r"(?=Fatal Python error|Timeout \(\d)", self.output())[1:]
        if not dumps:
            return ()
        # A crash tells which thread is the current one; a time-out tells the main thread last.
        sections = re.split(r"^(Current thread|Thread) .*$", dumps[-1], flags=re.MULTILINE)
        threads = list(zip(sections[1::2], sections[2::2], strict=True))
        current = [text for title, text in threads if title == "Current thread"]
        text = current[0] if current else threads[-1][1] if threads else ""
        inside: list[str] = []
        for file, line, function in re.findall(
            r'^ +File "(.*)", line (\d+) in (.*)$', text, re.MULTILINE
        ):
            if f"{os.sep}_pytest{os.sep}" in file:
                break
            inside.append(f"{file}:{line} in {function}")
        return tuple(inside)
