"""Plain YAML scalars that every reader understands alike; the others are refused.

YAML 1.1 and 1.2 disagree on ``on``, ``017`` or ``1:30``.  A matrix that means one thing to its
author and another to the loader tests nothing, so such a word must be quoted or rewritten.
"""

from __future__ import annotations

import re

Scalar = str | int | float | bool | None

_INT = re.compile(r"-?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")
_MAX_DIGITS = 18  # fits a signed 64-bit integer, as other readers of the rows need

_LONGEST_NUMBER = 64

_OTHER_BOOLEANS = frozenset(
    spelling
    for word in ("yes", "no", "on", "off", "true", "false", "y", "n")
    for spelling in (word, word.capitalize(), word.upper())
) - {"true", "false"}
_OTHER_NULLS = frozenset({"Null", "NULL"})
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?")

_REFUSED = (
    (re.compile(r"[-+]?0[xX][0-9a-fA-F_]+"), "hexadecimal number"),
    (re.compile(r"[-+]?0[oO]?[0-9_]+"), "octal number"),
    (re.compile(r"[-+]?0[bB][01_]+"), "binary number"),
    (re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"), "sexagesimal number"),
    (re.compile(r"[-+]?[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?"), "number with underscores"),
    (re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"), "number that is not finite"),
    (re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"), "number in an unusual form"),
)


class ScalarError(ValueError):
    """A plain scalar that readers of YAML disagree on; ``hint`` says what to write instead."""

    def __init__(self, message: str, hint: str) -> None:
        self.hint = hint
        super().__init__(message)


def read_plain(text: str) -> Scalar:
    """The value of an unquoted scalar; raises `ScalarError` if its meaning is in doubt."""
    if text in {"", "~", "null"}:
        return None
    if text == "true":
        return True
    if text == "false":
        return False
    if _INT.fullmatch(text) and text != "-0":
        if len(text.lstrip("-")) > _MAX_DIGITS:
            raise ScalarError(
                f"the number {text[:12]}... has {len(text.lstrip('-'))} digits",
                f"at most {_MAX_DIGITS} digits; quote it if it is text",
            )
        return int(text)
    if _FLOAT.fullmatch(text) and len(text) <= _MAX_DIGITS:
        return float(text)
    _refuse(text)
    return text


def _refuse(text: str) -> None:
    if text in _OTHER_BOOLEANS:
        raise ScalarError(
            f"{text!r} is a boolean to some readers of YAML and text to others",
            f'write true or false, or quote it: "{text}"',
        )
    if text in _OTHER_NULLS:
        raise ScalarError(
            f"{text!r} is another way to write null", f'write null, or quote it: "{text}"'
        )
    if not (text[0] in "-+." or text[0].isdigit()) or len(text) > _LONGEST_NUMBER:
        return
    if _TIMESTAMP.fullmatch(text):
        raise ScalarError(f"{text[:40]!r} is a date", f'quote it: "{text[:40]}"')
    for pattern, what in _REFUSED:
        if pattern.fullmatch(text):
            raise ScalarError(
                f"{text[:40]!r} is a {what}"
                if what[0] not in "aeiou"
                else f"{text[:40]!r} is an {what}",
                f'write a decimal number, or quote it: "{text[:40]}"',
            )
