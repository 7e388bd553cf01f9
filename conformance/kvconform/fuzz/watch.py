"""Watches a search from outside, so that a hang or a native crash does not take its example along."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from kvconform.fuzz.corpus import Corpus, Entry
from kvconform.fuzz.request import FuzzRequest
from kvconform.fuzz.session import FOUND, SUITE_BROKE
from kvconform.run.child import PARENT

_POLL_SECONDS = 0.05
_GRACE_SECONDS = 5.0


def search_watched(request: FuzzRequest, say: Callable[[str], None]) -> int:
    """Search in a process of its own; returns its exit code, or `FOUND` if it did not come back."""
    corpus = Corpus(request.corpus)
    _keep(corpus, request, "TRM-1", "an earlier search did not come back from it", say)
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [
            *(sys.executable, "-X", "faulthandler", "-m", "kvconform"),
            *("fuzz", "--in-process", *request.arguments()),
        ],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, PARENT: str(os.getpid())},
    )
    try:
        hung = _wait(process, corpus, request.case_seconds)
    except KeyboardInterrupt:
        _end(process, signal.SIGINT)
        corpus.clear_current()
        raise
    if hung:
        _end(process, signal.SIGKILL)
        how = f"it hung: not back after {request.case_seconds:g} s"
        return FOUND if _keep(corpus, request, "TRM-1", how, say) else SUITE_BROKE
    status = process.returncode
    if status >= 0 and not corpus.current.exists():
        return status
    end = signal.Signals(-status).name if status < 0 else f"exit status {status}"
    how = f"the process ended with it: {end}"
    if _keep(corpus, request, "LIF-1", how, say):
        return FOUND
    say(f"kvconform: the search ended between two examples: {end}")
    return SUITE_BROKE


def _wait(process: subprocess.Popen[bytes], corpus: Corpus, case_seconds: float) -> bool:
    """Wait for its end; True if an example takes too long."""
    while process.poll() is None:
        time.sleep(_POLL_SECONDS)
        with contextlib.suppress(FileNotFoundError):
            if time.time() - corpus.current.stat().st_mtime > case_seconds:
                return True
    return False


def _end(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """End it and everything that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
    try:
        process.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _keep(
    corpus: Corpus, request: FuzzRequest, clause: str, how: str, say: Callable[[str], None]
) -> bool:
    """Give the example that was being played a name of its own, if there is one."""
    example = corpus.take_current()
    if example is None:
        return False
    entry = Entry(
        example=example,
        clause=clause,
        clauses=[clause],
        title="A search does not come back (found by kvconform fuzz)",
        source=request.source,
        comment=f"Found on {request.connector}: {how}.\nNothing of it could be left out yet.",
    )
    path = corpus.add(entry)
    say(f"{clause}: {how}")
    say(f"  written    {path}")
    say(f"  reproduce  kvconform run {path} --connector {request.connector}")
    return True
