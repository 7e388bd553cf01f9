"""A second process that has a store open: another worker of the same fleet, or one that is killed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any, Self

from kvconform.ports import StoreSetting

OPENING, CALL, CLOSING = "open", "call", "close"
"""What the process can be asked: to open a setting, to call a method, to close."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of it: the answer, what the buffers held then, or an exception in words."""

    answer: Any = None
    found: tuple[bytes, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One method of the store with its keys; ``datas`` are put, ``sizes`` (bytes) are got.

    With ``die_after`` the process kills itself at that many calls of functions inside the method
    (0: as soon as it begins), or when the method is through, whichever comes first.
    """

    method: str
    keys: tuple[bytes, ...]
    datas: tuple[bytes, ...] = ()
    sizes: tuple[int, ...] = ()
    die_after: int | None = None


class SecondProcess:
    """A process that resolves the same connector name and opens its store by itself."""

    def __init__(self, connector: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", "kvconform.store.worker", connector, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()

    def open(self, setting: StoreSetting) -> Reply:
        """Open the store there."""
        self.send(OPENING, setting)
        return self.receive()

    def call(self, asked: Asked) -> Reply:
        """Call a method there."""
        self.send(CALL, asked)
        return self.receive()

    def close(self) -> Reply:
        """Close the store there; the process waits for another one."""
        self.send(CLOSING, None)
        return self.receive()

    def send(self, what: str, argument: Any) -> None:
        """Ask, without waiting for the reply."""
        assert self._process.stdin is not None  # noqa: S101 - made so above
        try:
            write(self._process.stdin, (what, argument))
        except (BrokenPipeError, OSError):
            return  # it has died, which `receive` tells

    def receive(self) -> Reply:
        """The reply to what was asked last."""
        assert self._process.stdout is not None  # noqa: S101 - made so above
        reply = read(self._process.stdout)
        if isinstance(reply, Reply):
            return reply
        self._process.wait()
        return Reply(error=f"the process ended with status {self._process.returncode}")

    def end(self) -> None:
        """End it, whatever it is at."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


def write(stream: IO[bytes], message: object) -> None:
    """One message, with its length in front."""
    data = pickle.dumps(message)
    stream.write(len(data).to_bytes(8, "little") + data)
    stream.flush()


def read(stream: IO[bytes]) -> Any:
    """The next message; None at the end of the stream."""
    head = stream.read(8)
    if len(head) < 8:  # noqa: PLR2004 - the length in front
        return None
    data = stream.read(int.from_bytes(head, "little"))
    return pickle.loads(data)  # noqa: S301 - from our own process


def guarded(sizes: Sequence[int]) -> list[bytearray]:
    """Room for buffers of these sizes with a margin on either side that must stay as it is."""
    return [bytearray(_MARGIN + bytes([_FILL]) * size + _MARGIN) for size in sizes]


def inner(room: bytearray) -> memoryview:
    """The buffer inside its margins."""
    return memoryview(room)[len(_MARGIN) : len(room) - len(_MARGIN)]


def margins_hold(found: bytes) -> bool:
    """Whether nothing was written beside the buffer."""
    return found.startswith(_MARGIN) and found.endswith(_MARGIN)


def within(found: bytes) -> bytes:
    """The buffer's bytes, margins left out."""
    return found[len(_MARGIN) : len(found) - len(_MARGIN)]


_MARGIN = bytes(range(0x31, 0x31 + 64))
_FILL = 0xEE
