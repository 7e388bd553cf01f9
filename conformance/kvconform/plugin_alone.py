"""What is put to the test: as the command line says, or as a file says that stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest

from kvconform.connector_config import read_settings

_DEFAULT = "reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A connector by name, with its settings."""

    connector: str = _DEFAULT
    options: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, config: pytest.Config, items: Sequence[pytest.Item]) -> Self:
        """The one of ``--connector``, else that of the modules of ``items`` (``CONNECTOR``).

        Raises `pytest.UsageError` if they name several, as a session has one.
        """
        options = read_settings(config.getoption("connector_config"))
        asked = config.getoption("connector")
        if asked:
            return cls(connector=asked, options=options)
        modules: dict[Path, Any] = {item.path: getattr(item, "module", None) for item in items}
        own = [module for module in modules.values() if isinstance(getattr(module, "CONNECTOR", None), str)]
        if not own:
            return cls(options=options)
        settings = [(one.CONNECTOR, getattr(one, "CONNECTOR_CONFIG", {})) for one in own]
        if any(other != settings[0] for other in settings):
            names = ", ".join(sorted({name for name, _ in settings}))
            raise pytest.UsageError(
                f"these files were written for several connectors or settings ({names}): run them "
                "one by one, or name one connector: pytest -p kvconform.plugin ... --connector NAME"
            )
        return cls(connector=settings[0][0], options={**settings[0][1], **options})
