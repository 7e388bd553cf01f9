"""Any `KVConnectorBase_V1` class: nothing is known of it but its interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from kvconform.ports import Capability, GroupKind, Layout, UnsupportedLayoutError
from kvconform_vllm.claims import CLAIMS_OPTION, overridden
from kvconform_vllm.config import Transfer, supports_hybrid
from kvconform_vllm.connectors.folders import Folders


class ConnectorClass:
    """One connector class.  A subclass says what differs for a class that the suite knows.

    An unknown class claims nothing but what shows from outside: then only *safe* clauses bind it.
    """

    claims: frozenset[Capability] = frozenset()

    def __init__(self, cls: type, *, module_path: str = "") -> None:
        self.cls = cls
        self.module_path = module_path
        self.folders = Folders()

    def refuse(self, layout: Layout, transfer: Transfer) -> None:
        """Raise `UnsupportedLayoutError` for a layout on which vLLM would not start with it."""
        windowed = any(group.kind is not GroupKind.FULL for group in layout.groups)
        if (len(layout.groups) > 1 or windowed) and not transfer.hybrid:
            raise UnsupportedLayoutError(
                f"{self.cls.__name__}, or a connector in its settings, does not support hybrid "
                "KV cache groups (SupportsHMA)"
            )

    def config_options(self, options: Mapping[str, object]) -> dict[str, object]:
        """The user's settings that belong into ``kv_connector_extra_config``, folders made anew."""
        own = {key: value for key, value in options.items() if key != CLAIMS_OPTION}
        return dict(self.folders.in_place_of(own))

    def capabilities(
        self, layout: Layout, options: Mapping[str, object], ranks: Sequence[Any]
    ) -> frozenset[Capability]:
        """What the class claims, with the user's file of claims applied."""
        return overridden(self.claims_with(layout, ranks), options.get(CLAIMS_OPTION))

    def claims_with(self, layout: Layout, ranks: Sequence[Any]) -> frozenset[Capability]:
        """What the class claims for this layout, with the workers that the ranks have got."""
        del layout, ranks
        return self.claims

    def transfer(self, layout: Layout, options: Mapping[str, object]) -> Transfer:
        """The connector part of the engine's configuration; ``options`` are the user's settings."""
        transfer = Transfer(
            class_name=self.cls.__name__,
            module_path=self.module_path,
            extra_config=self.extra_config(layout, self.config_options(options)),
        )
        return replace(transfer, hybrid=supports_hybrid(transfer))

    def extra_config(self, layout: Layout, options: Mapping[str, object]) -> Mapping[str, object]:
        """``options``, completed by what the user need not give."""
        del layout
        return options

    def chunk_tokens(self, layout: Layout, connector: Any, group: int) -> int:
        """Tokens of one chunk of ``group``: a block, where nothing else is known."""
        del connector
        return layout.groups[group].block_size

    def prepare_worker(self, worker: Any, rank: Any) -> Any:
        """What the worker side needs before memory is registered.

        Returns the forward context, as far as connectors read it: each layer's memory by name.
        """
        del worker
        return SimpleNamespace(
            attn_metadata=dict.fromkeys(rank.kv_caches),
            no_compile_layers={
                name: SimpleNamespace(kv_cache=cache) for name, cache in rank.kv_caches.items()
            },
        )

    def chunk_control(self, connector: Any, ranks: Sequence[Any], release: Any) -> Any:
        """Control of single chunks, None if there is none."""
        del connector, ranks, release

    def close(self) -> None:
        """Give up what was made for one case."""
        self.folders.remove()
