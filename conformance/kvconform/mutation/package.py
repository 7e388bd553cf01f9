"""A connector's package with some of its modules changed, imported afresh."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

from kvconform.mutation.operators import Change, changed, changes
from kvconform.ports import KvconformError
from kvconform.registry import resolve_connector


class NoSourceError(KvconformError):
    """A connector whose code cannot be changed: says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The modules beside the one that has the connector's factory; folders below are not its code."""

    name: str
    folder: Path
    files: tuple[str, ...]

    @classmethod
    def of(cls, connector: str) -> Package:
        """The package of a connector that is named as for ``kvconform run``; raises `NoSourceError`."""
        name = getattr(resolve_connector(connector).factory, "__module__", "")
        file = getattr(sys.modules.get(name), "__file__", None)
        if not file or not file.endswith(".py") or "." not in name:
            raise NoSourceError(
                f"connector {connector!r}: its factory does not come from a package with Python "
                "source, so there is nothing to change"
            )
        folder = Path(file).parent
        return cls(
            name=name.rpartition(".")[0],
            folder=folder,
            files=tuple(sorted(path.name for path in folder.glob("*.py"))),
        )

    def changes(self, files: Sequence[str]) -> list[Change]:
        """Every change of these files."""
        return [one for file in files for one in changes(self.source(file), file)]

    def changed(self, change: Change) -> ast.Module:
        """The tree of a change's file with the change made."""
        return changed(self.source(change.file), change.number)

    def import_with(self, trees: Mapping[str, ast.Module]) -> None:
        """Have the package imported anew, with these trees in place of what its files say.

        For a process of its own: the package stays as it is then.
        """
        own = f"{self.name}."
        for name in [n for n in sys.modules if n == self.name or n.startswith(own)]:
            del sys.modules[name]
        for file, tree in trees.items():
            sys.meta_path.insert(0, _Finder(self.name, self.folder / file, tree))

    def source(self, file: str) -> str:
        """The text of one file."""
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
