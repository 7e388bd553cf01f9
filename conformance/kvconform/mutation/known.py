"""What is known of the changes of a connector's code: which are left out, which survive, and why."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kvconform.mutation.operators import Change
from kvconform.ports import KvconformError

_REASONS = ("excluded", "survivors")
_TABLES = (*_REASONS, "also", "first")


class KnownError(KvconformError):
    """The file of known survivors cannot be used: names it and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Also:
    """Some cases played once more, for code that runs no other way.

    On ``connector`` (empty: the one that is changed), with ``options`` as settings; all cases of
    ``matrices`` are among them.
    """

    connector: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    matrices: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Reasons: of code that is ``excluded`` by ``file`` or ``file:function``, of ``survivors`` by their key.

    ``first`` are the plays that have told most, or what no other one told, in the words in which
    a survey tells them.
    """

    excluded: Mapping[str, str] = field(default_factory=dict)
    survivors: Mapping[str, str] = field(default_factory=dict)
    also: Sequence[Also] = ()
    first: Sequence[str] = ()

    @classmethod
    def read(cls, path: Path) -> Known:
        """Read a file; raises `KnownError`."""
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise KnownError(f"{path}: cannot be read: {error}") from error
        strange = sorted(set(data) - set(_TABLES))
        if strange:
            raise KnownError(f"{path}: unknown table {strange[0]!r}; there are {', '.join(_TABLES)}")
        for section in _REASONS:
            for key, reason in data.get(section, {}).items():
                if not isinstance(reason, str) or not reason.strip():
                    raise KnownError(f"{path}: {section}: {key!r} needs a reason, a text")
        also, first = data.get("also", []), data.get("first", [])
        if not isinstance(also, list) or not all(_is_also(one) for one in also):
            raise KnownError(
                f"{path}: also must be tables [[also]] of connector (a name), options (a table), "
                "matrices (a list of names)"
            )
        if not isinstance(first, list) or not all(isinstance(one, str) for one in first):
            raise KnownError(f"{path}: first must be a list of cases")
        return cls(
            excluded=data.get("excluded", {}),
            survivors=data.get("survivors", {}),
            also=[Also(**one) for one in also],
            first=first,
        )

    def leaves_out(self, change: Change) -> str:
        """The entry that leaves the change out; empty if none does."""
        here = f"{change.file}:{change.function}"
        return next(
            (one for one in self.excluded if here == one or here.startswith((f"{one}.", f"{one}:"))),
            "",
        )


def _is_also(table: object) -> bool:
    kinds = {"connector": str, "options": dict, "matrices": list}
    return isinstance(table, dict) and all(
        isinstance(value, kinds.get(key, ())) for key, value in table.items()
    )
