"""What failures have in common: their answers without what differs from one run to the next."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from kvconform.results.record import CheckResult

_NUMBER = r"\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_WORD_START, _WORD_END = r"(?<![0-9A-Za-z])", r"(?![0-9A-Za-z])"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_HEX = r"(?=[a-f]*\d)[0-9a-f]{8,}"
_BYTES = r"""b(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""


def cause(check: CheckResult) -> str:
    """A check's answer, so that equal causes can be counted."""
    lines = (check.got or check.detail).strip().splitlines()
    return generalized(lines[0]) if lines else "no detail"


def generalized(text: str) -> str:
    """``text`` without its numbers, addresses, hashes and paths of temporary files."""
    folders = {tempfile.gettempdir(), str(Path(tempfile.gettempdir()).resolve())}
    folders |= {"/tmp", "/var/tmp"}  # noqa: S108 - looked for, not used
    one_of_them = "|".join(sorted(map(re.escape, folders), key=len, reverse=True))
    text = re.sub(rf"(?<![\w.-])(?:{one_of_them})/[^\s'\"`:,;()\[\]<>]+", "(temporary file)", text)
    text = re.sub(rf"{_WORD_START}{_BYTES}", "b#", text)
    text = re.sub(r"0x[0-9a-f]+", "0x#", text, flags=re.IGNORECASE)
    for pattern in (_UUID, _HEX):
        text = re.sub(f"{_WORD_START}{pattern}{_WORD_END}", "#", text, flags=re.IGNORECASE)
    return re.sub(_NUMBER, "#", text, flags=re.IGNORECASE)
