"""Finds connectors and stores by name: the one place where anything outside the suite is imported.

``NAME[:ARG]`` is looked up among the entry points of the group ``kvconform.connectors`` (or
``kvconform.stores``), and their names win.  Everything else is read as ``package.module:factory``.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import cast

from kvconform.ports import (
    ConnectorFactory,
    ConnectorNotFoundError,
    KvconformError,
    Provider,
    StoreFactory,
)
from kvconform.versions import version_of

GROUP = "kvconform.connectors"
"""The entry point group in which packages announce their connectors."""

STORE_GROUP = "kvconform.stores"
"""The entry point group in which packages announce their stores."""

STORE_PROVIDER = "store"
"""Name of the provider of connectors that keep their chunks in a store."""

MUTANT_PROVIDER = "mutant"
"""Name of the provider of faulty connectors, which listings of connectors leave out."""


class ConnectorImportError(KvconformError, ImportError):
    """A connector's module or provider does not import: names it and the cause in one line."""


class ConnectorAmbiguousError(KvconformError):
    """Two installed packages provide a connector of the same name."""


class InvalidProviderError(KvconformError, TypeError):
    """What a name leads to is no factory or no provider: says what was found instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A connector that can be put to the test.

    ``name`` is what the user asked for, spelt as its provider spells it; ``describe`` is what the
    provider says about it: at least ``version``; mutants add ``fault`` and ``clause``.
    """

    name: str
    factory: ConnectorFactory
    version: str = ""
    describe: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCandidate:
    """A store that can be put to the test; ``factory`` opens it."""

    name: str
    factory: StoreFactory
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A name for listings, with what its provider says about it, or why it cannot be used."""

    name: str
    describe: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""


def resolve_connector(name: str) -> Candidate:
    """The connector called ``name``: a registered ``NAME[:ARG]``, else ``package.module:factory``.

    Raises `ConnectorNotFoundError`, `ConnectorImportError`, `ConnectorAmbiguousError` or
    `InvalidProviderError`; each says in one line what to do.
    """
    return _CONNECTORS.resolve(name)


def resolve_store(name: str) -> StoreCandidate:
    """The store called ``name``, found and refused as a connector is."""
    found = _STORES.resolve(name)
    return StoreCandidate(
        name=found.name, factory=cast("StoreFactory", found.factory), version=found.version
    )


def list_connectors() -> list[Listed]:
    """Every registered connector, mutants left out, sorted by name."""
    return [
        listed
        for provider in sorted(_CONNECTORS.points())
        if provider != MUTANT_PROVIDER
        for listed in _CONNECTORS.listed(provider)
    ]


def list_stores() -> list[Listed]:
    """Every registered store, sorted by name."""
    return [listed for name in sorted(_STORES.points()) for listed in _STORES.listed(name)]


def list_mutants() -> list[Listed]:
    """The faulty connectors (``mutant:NAME``), in their provider's order."""
    known = MUTANT_PROVIDER in _CONNECTORS.points()
    return list(_CONNECTORS.listed(MUTANT_PROVIDER)) if known else []


@dataclass(frozen=True, slots=True, kw_only=True)
class _Registry:
    """One entry point group; ``what`` is what its factories make, ``takes`` what they are given."""

    group: str
    what: str
    takes: str

    def resolve(self, name: str) -> Candidate:
        """What is called ``name``; raises what `resolve_connector` raises."""
        head, colon, argument = name.partition(":")
        points = self.points()
        if head in points:
            return self._from_provider(name, head, argument, points)
        if colon and head and argument:
            return self._from_module(name, head, argument)
        raise self._not_found(name, points)

    def points(self) -> dict[str, list[importlib.metadata.EntryPoint]]:
        """Entry points by name; more than one only if they lead to different objects."""
        found: dict[str, list[importlib.metadata.EntryPoint]] = {}
        for point in importlib.metadata.entry_points(group=self.group):
            same = found.setdefault(point.name, [])
            if point.value not in [other.value for other in same]:
                same.append(point)
        return found

    def _provider(self, head: str, points: Mapping[str, Sequence[importlib.metadata.EntryPoint]]) -> Provider:
        choices = points[head]
        if len(choices) > 1:
            values = " and ".join(sorted(point.value for point in choices))
            raise ConnectorAmbiguousError(
                f"two packages provide a {self.what} named {head!r} ({values}); uninstall one of them"
            )
        point = choices[0]
        try:
            loaded = point.load()
            provider = loaded() if isinstance(loaded, type) else loaded
        except (Exception, SystemExit) as error:
            raise ConnectorImportError(
                f"{self.what} {head!r}: loading its provider {point.value} failed: {_one_line(error)}"
            ) from error
        missing = [
            m for m in ("factory", "names", "describe") if not callable(getattr(provider, m, None))
        ]
        if missing:
            raise InvalidProviderError(
                f"{self.what} {head!r}: its provider {point.value} lacks {', '.join(missing)}()"
            )
        return cast("Provider", provider)

    def _from_provider(
        self, name: str,
        head: str,
        argument: str,
        points: Mapping[str, Sequence[importlib.metadata.EntryPoint]],
    ) -> Candidate:
        provider = self._provider(head, points)
        try:
            argument = getattr(provider, "canonical", str)(argument)
            factory = provider.factory(argument)
            describe = {str(key): str(value) for key, value in provider.describe(argument).items()}
        except KvconformError:
            raise
        except LookupError as error:
            known = [_joined(head, other) for other in provider.names()]
            raise ConnectorNotFoundError(
                f"no {self.what} is named {name!r}{_did_you_mean(name, known)}"
            ) from error
        except (Exception, SystemExit) as error:
            raise ConnectorImportError(
                f"{self.what} {name!r} cannot be made: {_one_line(error)}"
            ) from error
        self._must_be_callable(name, factory)
        return Candidate(
            name=_joined(head, argument),
            factory=factory,
            version=describe.get("version", ""),
            describe=describe,
        )

    def _from_module(self, name: str, module_name: str, attribute: str) -> Candidate:
        module = self._import(name, module_name)
        found: object = module
        path: list[str] = []
        for part in attribute.split("."):
            try:
                found = getattr(found, part)
            except AttributeError as error:
                owner = ".".join([module_name, *path])
                others = {one: getattr(found, one, None) for one in dir(found) if one[0] != "_"}
                names = [one for one, what in others.items() if not isinstance(what, ModuleType)]
                raise ConnectorNotFoundError(
                    f"{self.what} {name!r}: {owner} has no {part!r}{_did_you_mean(part, names)}"
                ) from error
            path.append(part)
        self._must_be_callable(name, found)
        self._must_need_no_provider(name, found)
        version = version_of(module_name)
        return Candidate(
            name=name,
            factory=cast("ConnectorFactory", found),
            version=version,
            describe={"version": version},
        )

    def _import(self, name: str, module_name: str) -> ModuleType:
        """Import as ``python -m`` would from here: the current folder counts."""
        here = str(Path.cwd())
        if here not in sys.path and "" not in sys.path:
            sys.path.insert(0, here)
        try:
            return importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
                known = sorted(self.points())
                raise ConnectorNotFoundError(
                    f"no {self.what} is named {name!r}: there is no module {error.name!r} here or among "
                    f"the installed packages{_did_you_mean(name.partition(':')[0], known)}"
                ) from error
            raise ConnectorImportError(self._import_failure(name, module_name, error)) from error
        except (Exception, SystemExit) as error:
            raise ConnectorImportError(self._import_failure(name, module_name, error)) from error

    def _import_failure(self, name: str, module_name: str, error: BaseException) -> str:
        return f"{self.what} {name!r}: importing {module_name} failed: {_one_line(error)}{_where(error)}"

    def _must_be_callable(self, name: str, found: object) -> None:
        if not callable(found):
            raise InvalidProviderError(
                f"{self.what} {name!r} is {type(found).__name__} {found!r:.80}, "
                f"but must be a factory: a callable that takes {self.takes}"
            )

    def _must_need_no_provider(self, name: str, found: object) -> None:
        """What only a provider can make a connector of is no factory, though it may be called."""
        points = self.points()
        for head in sorted(points):
            if self._recognizes(head, points, found):
                raise ConnectorNotFoundError(
                    f"{self.what} {name!r} is no factory that takes {self.takes}; "
                    f"write {_joined(head, name)}"
                )

    def _recognizes(
        self, head: str, points: Mapping[str, Sequence[importlib.metadata.EntryPoint]], found: object
    ) -> bool:
        try:
            recognizes = getattr(self._provider(head, points), "recognizes", None)
            return recognizes is not None and bool(recognizes(found))
        except Exception:  # noqa: BLE001 - a provider that is not asked for may be as broken as it likes
            return False

    def listed(self, head: str) -> Iterator[Listed]:
        """Every argument of one provider, or why it has none."""
        points = self.points()
        try:
            provider = self._provider(head, points)
            arguments = [str(argument) for argument in provider.names()] or [""]
        except (ConnectorImportError, ConnectorAmbiguousError, InvalidProviderError) as error:
            yield Listed(name=head, problem=str(error))
            return
        described = [_described(provider.describe, argument) for argument in arguments]
        problems = {one.get("problem", "") for one in described}
        if len(problems) == 1 and problems != {""}:
            yield Listed(name=head, problem=problems.pop())
            return
        for argument, one in zip(arguments, described, strict=True):
            yield Listed(name=_joined(head, argument), describe=one)

    def _not_found(
        self, name: str, points: Mapping[str, Sequence[importlib.metadata.EntryPoint]]
    ) -> ConnectorNotFoundError:
        if not points:
            return ConnectorNotFoundError(
                f"no {self.what} is named {name!r}: no package provides any; "
                "is the distribution kvconform installed (pip install)?"
            )
        known = sorted(points)
        hint = _did_you_mean(name, known) or f"; registered are {', '.join(known)}"
        return ConnectorNotFoundError(
            f"no {self.what} is named {name!r}{hint} (another one is written package.module:factory)"
        )


def _where(error: BaseException) -> str:
    """`` (file:line)`` of the statement that raised, the import machinery left out."""
    frame = error.__traceback__
    place = ""
    while frame is not None:
        file = frame.tb_frame.f_code.co_filename
        if not file.startswith("<frozen") and Path(file).name != "registry.py":
            place = f" ({file}:{frame.tb_lineno})"
        frame = frame.tb_next
    return "" if "importlib" in place else place


def _joined(head: str, argument: str) -> str:
    return f"{head}:{argument}" if argument else head


def _described(describe: Callable[[str], Mapping[str, str]], argument: str) -> dict[str, str]:
    try:
        return {str(key): str(value) for key, value in describe(argument).items()}
    except KvconformError as error:
        return {"version": "", "problem": str(error)}
    except Exception as error:  # noqa: BLE001 - a listing goes on with the next one
        return {"version": "", "problem": _one_line(error)}


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""


def _one_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


_CONNECTORS = _Registry(group=GROUP, what="connector", takes="(layout, setting)")
_STORES = _Registry(group=STORE_GROUP, what="store", takes="a setting")
