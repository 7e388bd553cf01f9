"""Any `KVConnectorBase_V1` class: nothing is known of it but its interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvconform.ports import Capability, GroupKind, Layout, UnsupportedLayoutError
from kvconform_vllm.claims import CLAIMS_OPTION, overridden
from kvconform_vllm.config import Transfer


class ConnectorClass:
    """One connector class.  A subclass says what differs for a class that the suite knows.

    An unknown class claims nothing but what shows from outside: then only *safe* clauses bind it.
    """

    claims: frozenset[Capability] = frozenset()

    def __init__(self, cls: type, *, module_path: str = "") -> None:
        self.cls = cls
        self.module_path = module_path

    def refuse(self, layout: Layout) -> None:
        """Raise `UnsupportedLayoutError` for a layout on which vLLM would not start with it."""
        from vllm.distributed.kv_transfer.kv_connector.v1 import (  # noqa: PLC0415
            supports_hma,
        )

        windowed = any(group.kind is not GroupKind.FULL for group in layout.groups)
        if (len(layout.groups) > 1 or windowed) and not supports_hma(self.cls):
            raise UnsupportedLayoutError(
                f"{self.cls.__name__} does not support hybrid KV cache groups (SupportsHMA)"
            )

    @staticmethod
    def config_options(options: Mapping[str, object]) -> Mapping[str, object]:
        """The user's settings that belong into ``kv_connector_extra_config``."""
        return {key: value for key, value in options.items() if key != CLAIMS_OPTION}

    def capabilities(
        self, layout: Layout, options: Mapping[str, object]
    ) -> frozenset[Capability]:
        """What the class claims, with the user's file of claims applied."""
        return overridden(self.claims_with(layout, options), options.get(CLAIMS_OPTION))

    def claims_with(self, layout: Layout, options: Mapping[str, object]) -> frozenset[Capability]:
        """What the class claims for this layout under these settings."""
        del layout, options
        return self.claims

    def transfer(self, layout: Layout, options: Mapping[str, object]) -> Transfer:
        """The connector part of the engine's configuration."""
        from vllm.distributed.kv_transfer.kv_connector.v1 import (  # noqa: PLC0415
            supports_hma,
        )

        return Transfer(
            class_name=self.cls.__name__,
            module_path=self.module_path,
            extra_config={**self.defaults(layout), **options},
            hybrid=supports_hma(self.cls),
        )

    def defaults(self, layout: Layout) -> Mapping[str, object]:
        """Extra config that the user need not give."""
        del layout
        return {}

    def chunk_tokens(self, layout: Layout, options: Mapping[str, object], group: int) -> int:
        """Tokens of one chunk of ``group``: a block, where nothing else is known."""
        del options
        return layout.groups[group].block_size

    def prepare_worker(self, worker: Any, rank: Any) -> Any:
        """What the worker side needs before memory is registered; returns its forward context."""
        del worker, rank

    def chunk_control(self, connector: Any, ranks: Sequence[Any], release: Any) -> Any:
        """Control of single chunks, None if there is none."""
        del connector, ranks, release

    def close(self) -> None:
        """Give up what was made for one case."""
