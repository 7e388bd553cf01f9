"""A connector's package with one of its modules changed, imported afresh."""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import cast

from kvconform.mutation.operators import Change, changed, changes
from kvconform.ports import ConnectorFactory, KvconformError
from kvconform.registry import resolve_connector


class NoSourceError(KvconformError):
    """A connector whose code cannot be changed: says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The modules beside the one that has the connector's factory; folders below are not its code."""

    module: str
    attribute: str
    folder: Path
    files: tuple[str, ...]

    @classmethod
    def of(cls, connector: str) -> Package:
        """The package of a connector that is named as for ``kvconform run``; raises `NoSourceError`."""
        factory = resolve_connector(connector).factory
        name, attribute = getattr(factory, "__module__", ""), getattr(factory, "__qualname__", "")
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if not file or not file.endswith(".py") or "<" in attribute or "." not in name:
            raise NoSourceError(
                f"connector {connector!r}: its factory is no function or class of a package "
                "with Python source, so there is nothing to change"
            )
        folder = Path(file).parent
        return cls(
            module=name,
            attribute=attribute,
            folder=folder,
            files=tuple(sorted(path.name for path in folder.glob("*.py"))),
        )

    @property
    def name(self) -> str:
        """The package's own name."""
        return self.module.rpartition(".")[0]

    def loaded(self) -> dict[str, ModuleType]:
        """Its modules that are imported now, by name."""
        own = f"{self.name}."
        return {n: m for n, m in sys.modules.items() if n == self.name or n.startswith(own)}

    def changes(self, files: Sequence[str]) -> list[Change]:
        """Every change of these files."""
        return [one for file in files for one in changes(self._source(file), file)]

    def with_change(self, change: Change) -> ConnectorFactory:
        """Import the package with one change made, and return its factory.

        For a process of its own: what was imported of the package before stays changed.
        """
        for name in self.loaded():
            del sys.modules[name]
        path = self.folder / change.file
        sys.meta_path.insert(0, _Finder(self.name, path, changed(self._source(change.file), change.number)))
        found: object = importlib.import_module(self.module)
        for part in self.attribute.split("."):
            found = getattr(found, part)
        return cast("ConnectorFactory", found)

    def _source(self, file: str) -> str:
        return (self.folder / file).read_text(encoding="utf-8")


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads one tree in place of what its file says."""

    tree: ast.Module

    def get_code(self, fullname: str) -> CodeType:
        """Never from a cache of compiled files, and never into one."""
        del fullname
        return compile(self.tree, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, package: str, path: Path, tree: ast.Module) -> None:
        stem = "" if path.stem == "__init__" else f".{path.stem}"
        self._name = package + stem
        self._path = path
        self._tree = tree

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname != self._name:
            return None
        loader = _Loader(fullname, str(self._path))
        loader.tree = self._tree
        folder = [str(self._path.parent)] if self._path.stem == "__init__" else None
        spec = importlib.machinery.ModuleSpec(
            fullname, loader, origin=str(self._path), is_package=folder is not None
        )
        if folder is not None:
            spec.submodule_search_locations = folder
        return spec
