"""How much memory a call takes at its most, as the kernel counts it for this process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")
_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"


def weighed(function: Callable[[], _T]) -> tuple[_T, int | None]:
    """What ``function`` returns, and by how many bytes the process was larger meanwhile.

    None where the kernel does not tell.
    """
    _give_back()
    try:
        _CLEAR.write_text(_RESET_PEAK)
        before = _status_bytes("VmRSS")
    except (OSError, ValueError):
        return function(), None
    answer = function()
    return answer, max(0, _status_bytes("VmHWM") - before)


def _give_back() -> None:
    """Memory that is free is given back to the kernel, where a copy would find room unseen."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(0)


def _status_bytes(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        field, _, value = line.partition(":")
        if field == name:
            return int(value.split()[0]) * 1024
    raise ValueError(name)
