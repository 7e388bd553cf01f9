"""Servers that a store needs: started on loopback ports, ended with the run whatever ends it."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import IO

from kvconform.ports import KvconformError

LOOPBACK = "127.0.0.1"
_LIMIT_S = 30.0
_GRACE_S = 5.0
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


class ServerError(KvconformError):
    """A server does not come up: says which, and its last words."""


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens on, all different."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((LOOPBACK, 0))
        return [one.getsockname()[1] for one in sockets]


@contextmanager
def running(name: str, command: Sequence[str], port: int) -> Iterator[None]:
    """``command`` runs and listens on ``port``; it ends with the context, or with this process."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(  # noqa: S603 - the store's own program
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # a Ctrl-C reaches us first, and we end it in order
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - nothing else survives a SIGKILL of ours
        )
        try:
            _until_it_listens(name, process, port, log)
            yield
        finally:
            _end(process)


def listens(host: str, port: int, limit_s: float = 1.0) -> bool:
    """Whether somebody accepts connections there."""
    try:
        socket.create_connection((host, port), limit_s).close()
    except OSError:
        return False
    return True


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _until_it_listens(
    name: str, process: subprocess.Popen[bytes], port: int, log: IO[bytes]
) -> None:
    until = time.monotonic() + _LIMIT_S
    while not listens(LOOPBACK, port):
        status = process.poll()
        if status is not None:
            raise ServerError(f"{name} ended with status {status} as it started: {_last_line(log)}")
        if time.monotonic() > until:
            raise ServerError(f"{name} does not listen after {_LIMIT_S:.0f} s: {_last_line(log)}")
        time.sleep(0.02)


def _last_line(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "(it said nothing)")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the server and what it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
