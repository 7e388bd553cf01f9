"""Texts of records as a page may show them: nothing invisible, nothing without end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NAME_CHARS = 400
"""A name, an id or a value of an axis is shown up to so many characters."""

TEXT_CHARS = 40_000
"""A text is shown up to so many characters; the records file has all of it."""

_KEPT = "\n\t"


def visible(text: str, most: int = TEXT_CHARS) -> str:
    r"""``text`` with at most ``most`` characters of it, what has no shape of its own written out.

    Control characters, lone surrogates, marks that turn the direction of writing and the like
    become escapes (``\x1b``, ``\u202e``), so that they neither act nor hide.
    """
    cut = text[:most]
    left_out = len(text) - len(cut)
    if not cut.replace("\n", "").replace("\t", "").isprintable():
        cut = "".join(
            char if char.isprintable() or char in _KEPT else _escape(char)
            for char in cut.replace("\r\n", "\n")
        )
    return f"{cut} (and {left_out:,} more characters)" if left_out else cut


def name(text: str) -> str:
    """A name, an id or a value: short, and on one line."""
    return visible(text, NAME_CHARS).replace("\n", "\\n").replace("\t", "\\t")


def all_visible(data: Any) -> Any:
    """Plain data with every text in it as `visible` shows it."""
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, Mapping):
        return {visible(key): all_visible(value) for key, value in data.items()}
    if isinstance(data, Sequence):
        return [all_visible(value) for value in data]
    return data


def _escape(char: str) -> str:
    if char.isspace() and char not in "\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029":
        return char  # a wide or narrow space is only that
    code = ord(char)
    if code < 0x100:  # noqa: PLR2004 - the last code of two digits
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 - of four digits
