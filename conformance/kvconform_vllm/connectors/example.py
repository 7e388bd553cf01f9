"""vLLM's ExampleConnector: files in a folder, loads within the step, one full-attention group."""

from __future__ import annotations

from collections.abc import Mapping

from kvconform.ports import Layout
from kvconform_vllm.connectors.base import ConnectorClass
from kvconform_vllm.connectors.folders import FOLDER_OPTION


class Example(ConnectorClass):
    """Claims nothing; where no folder is given, it gets one of the machine's temporary ones."""

    def extra_config(self, layout: Layout, options: Mapping[str, object]) -> Mapping[str, object]:
        """A folder for each case."""
        del layout
        if FOLDER_OPTION in options:
            return options
        return {**options, FOLDER_OPTION: self.folders.new()}
