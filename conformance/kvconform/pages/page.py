"""Writing a page, comparing it with what stands there, and the Markdown that pages share."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from kvconform.ports import KvconformError

_SHOWN = 12
"""Lines of difference that are shown."""


class PageError(KvconformError):
    """A page that cannot be read or written: names it and why."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; what a cell says cannot end it."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def code(text: str) -> str:
    """Text as it stands."""
    return f"`{text}`"


def codes(texts: Sequence[str], none: str = "-") -> str:
    """Names, one after another."""
    return ", ".join(map(code, texts)) or none


def write_page(path: Path, text: str) -> None:
    """Write the page; raises `PageError`."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PageError(f"{path}: cannot be written: {error.strerror}") from error


def differences(path: Path, text: str) -> list[str]:
    """Lines that tell how the page differs from ``text``; none if it is up to date."""
    try:
        found = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return [f"{path} is missing"]
    except (OSError, UnicodeDecodeError) as error:
        raise PageError(f"{path}: cannot be read: {error}") from error
    if found == text:
        return []
    lines = difflib.unified_diff(found.splitlines(), text.splitlines(), "committed", "now", n=0, lineterm="")
    changed = [line for line in lines if line[:1] in "+-" and line[:3] not in {"+++", "---"}]
    more = [f"and {len(changed) - _SHOWN} more lines"] * (len(changed) > _SHOWN)
    return [f"{path} is not up to date:", *changed[:_SHOWN], *more]


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")
