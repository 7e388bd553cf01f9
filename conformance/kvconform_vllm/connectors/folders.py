"""Folders in which a connector keeps what it stores: one for each case."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

FOLDER_OPTION = "shared_storage_path"
"""The setting of vLLM's ExampleConnector, and of those made after it, that names the folder."""


class Folders:
    """Makes folders and removes them all at the end of a case."""

    def __init__(self) -> None:
        self._made: list[str] = []

    def new(self, parent: str | None = None) -> str:
        """An empty folder, inside ``parent`` if there is one to be."""
        if parent is not None:
            Path(parent).mkdir(parents=True, exist_ok=True)
        self._made.append(tempfile.mkdtemp(prefix="kvconform-", dir=parent))
        return self._made[-1]

    def in_place_of(self, settings: Any) -> Any:
        """``settings`` with a new folder inside each that they name, at whatever depth."""
        if isinstance(settings, dict):
            return {
                key: self.new(str(value)) if key == FOLDER_OPTION else self.in_place_of(value)
                for key, value in settings.items()
            }
        if isinstance(settings, list):
            return [self.in_place_of(value) for value in settings]
        return settings

    def remove(self) -> None:
        """Remove them with what is in them."""
        while self._made:
            shutil.rmtree(self._made.pop(), ignore_errors=True)
