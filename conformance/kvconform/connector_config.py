"""Settings of a connector as the command line writes them: ``KEY=VALUE``, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from kvconform.ports import KvconformError


class ConnectorConfigError(KvconformError, ValueError):
    """A setting that is none, or is given twice."""


def read_settings(pairs: Iterable[str]) -> dict[str, object]:
    """``KEY=VALUE`` pairs; values are JSON where they are JSON, else text."""
    settings: dict[str, object] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise ConnectorConfigError(f"--connector-config {pair!r}: must be KEY=VALUE")
        if key in settings:
            raise ConnectorConfigError(f"--connector-config: {key!r} is given twice")
        settings[key] = _read(text)
    return settings


def written(settings: Mapping[str, object]) -> list[str]:
    """The pairs from which `read_settings` reads the same values."""
    return [f"{key}={_write(value)}" for key, value in settings.items()]


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _write(value: object) -> str:
    """Text that reads back as itself stands as it is; what would not stay on one line does not."""
    if isinstance(value, str) and value.isprintable() and _read(value) == value:
        return value
    return json.dumps(value)
