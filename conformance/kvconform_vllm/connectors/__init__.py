"""Connector classes: what each needs of the engine, and what it claims."""

from kvconform_vllm.connectors.base import ConnectorClass
from kvconform_vllm.connectors.find import connector_class

__all__ = ["ConnectorClass", "connector_class"]
