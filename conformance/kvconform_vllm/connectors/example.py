"""vLLM's ExampleConnector: files in a folder, loads within the step, one full-attention group."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from kvconform.ports import Layout
from kvconform_vllm.connectors.base import ConnectorClass


class Example(ConnectorClass):
    """Claims nothing; it needs a forward context that names every layer's memory."""

    def __init__(self, cls: type, *, module_path: str = "") -> None:
        super().__init__(cls, module_path=module_path)
        self._folders: list[str] = []

    def defaults(self, layout: Layout) -> Mapping[str, object]:
        """An empty folder for each case."""
        del layout
        self._folders.append(tempfile.mkdtemp(prefix="kvconform-"))
        return {"shared_storage_path": self._folders[-1]}

    def prepare_worker(self, worker: Any, rank: Any) -> Any:
        """The forward context of vLLM, as far as the connector reads it."""
        del worker
        return SimpleNamespace(
            attn_metadata=dict.fromkeys(rank.kv_caches),
            no_compile_layers={
                name: SimpleNamespace(kv_cache=cache) for name, cache in rank.kv_caches.items()
            },
        )

    def close(self) -> None:
        """Remove the folders."""
        while self._folders:
            shutil.rmtree(self._folders.pop(), ignore_errors=True)
