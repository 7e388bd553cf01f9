"""From a name to a connector class."""

from __future__ import annotations

import difflib
import importlib
from typing import Any

from kvconform.ports import ConnectorNotFoundError
from kvconform_vllm.connectors.base import ConnectorClass
from kvconform_vllm.connectors.example import Example
from kvconform_vllm.connectors.offloading import Offloading
from kvconform_vllm.connectors.simple import SimpleCpu


def connector_class(argument: str) -> ConnectorClass:
    """The class called ``argument``: one of vLLM's own by its name, else ``package.module:Class``.

    Raises `ConnectorNotFoundError` for a name that leads nowhere or to no connector.
    """
    module_path, colon, name = argument.rpartition(":")
    cls = _from_module(argument, module_path, name) if colon else _in_tree(argument)
    return _kind_of(cls)(cls, module_path=module_path)


def _in_tree(name: str) -> type:
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory  # noqa: PLC0415

    known = sorted(KVConnectorFactory._registry)  # noqa: SLF001 - no public listing
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
        raise ConnectorNotFoundError(
            f"vLLM has no connector class {name!r}; {hint} (another one is written "
            "vllm:package.module:Class)"
        )
    try:
        return _must_be_connector(name, KVConnectorFactory.get_connector_class_by_name(name))
    except ImportError as error:
        raise ConnectorNotFoundError(f"vLLM's {name} does not import here: {error}") from error


def _from_module(argument: str, module_path: str, name: str) -> type:
    try:
        module = importlib.import_module(module_path)
    except ImportError as error:
        raise ConnectorNotFoundError(f"vllm:{argument}: {error}") from error
    found = getattr(module, name, None)
    if found is None:
        near = difflib.get_close_matches(name, dir(module), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ConnectorNotFoundError(f"vllm:{argument}: {module_path} has no {name!r}{hint}")
    return _must_be_connector(argument, found)


def _must_be_connector(argument: str, found: Any) -> type:
    from vllm.distributed.kv_transfer.kv_connector.v1.base import (  # noqa: PLC0415
        KVConnectorBase_V1,
    )

    if not (isinstance(found, type) and issubclass(found, KVConnectorBase_V1)):
        raise ConnectorNotFoundError(
            f"vllm:{argument} is {found!r:.80}, expected a class derived from KVConnectorBase_V1"
        )
    return found


def _kind_of(cls: type) -> type[ConnectorClass]:
    names = {base.__name__ for base in cls.__mro__ if base.__module__.startswith("vllm.")}
    return next((kind for name, kind in _KINDS.items() if name in names), ConnectorClass)


_KINDS: dict[str, type[ConnectorClass]] = {
    "OffloadingConnector": Offloading,
    "SimpleCPUOffloadConnector": SimpleCpu,
    "ExampleConnector": Example,
}
