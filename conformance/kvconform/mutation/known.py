"""What is known of the changes of a connector's code: which are left out, which survive, and why."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kvconform.mutation.operators import Change
from kvconform.ports import KvconformError

_REASONS = ("excluded", "survivors")
_ALSO = "also"


class KnownError(KvconformError):
    """The file of known survivors cannot be used: names it and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Reasons: of code that is ``excluded`` by ``file`` or ``file:function``, of ``survivors`` by their key.

    ``also`` are settings of the connector under which some cases are played once more, for code
    that runs under no others.
    """

    excluded: Mapping[str, str] = field(default_factory=dict)
    survivors: Mapping[str, str] = field(default_factory=dict)
    also: Sequence[Mapping[str, object]] = ()

    @classmethod
    def read(cls, path: Path) -> Known:
        """Read a file; raises `KnownError`."""
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise KnownError(f"{path}: cannot be read: {error}") from error
        strange = sorted(set(data) - {*_REASONS, _ALSO})
        if strange:
            raise KnownError(f"{path}: unknown table {strange[0]!r}; there are {', '.join([*_REASONS, _ALSO])}")
        for section in _REASONS:
            for key, reason in data.get(section, {}).items():
                if not isinstance(reason, str) or not reason.strip():
                    raise KnownError(f"{path}: {section}: {key!r} needs a reason, a text")
        also = data.get(_ALSO, [])
        if not isinstance(also, list) or not all(isinstance(one, dict) for one in also):
            raise KnownError(f"{path}: {_ALSO} must be tables of settings: [[{_ALSO}]]")
        return cls(
            excluded=data.get("excluded", {}), survivors=data.get("survivors", {}), also=also
        )

    def leaves_out(self, change: Change) -> str:
        """The entry that leaves the change out; empty if none does."""
        here = f"{change.file}:{change.function}"
        return next(
            (one for one in self.excluded if here == one or here.startswith((f"{one}.", f"{one}:"))),
            "",
        )
