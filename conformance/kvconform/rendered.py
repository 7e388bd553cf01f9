"""What a rendered folder says about itself: which file holds the cases of which matrix."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path

from kvconform.case import Case
from kvconform.matrix import RowsFile
from kvconform.matrix.tuples import Held

MARKER = "kvconform-render.json"
"""Name of the file by which a rendered folder is known as such."""

_FORMAT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Everything that a render wrote: ``modules`` maps file names to matrix names.

    ``files`` are all names, those of the modules included; ``templates`` are the folders of
    templates that were given beside the shipped ones, ``cases`` the numbers of cases of the
    matrices.  ``partial`` are matrices of which other or fewer rows were rendered than their
    files ask for, ``smoke`` those whose cases come first, ``tuples`` what the rendered rows hold, where that was counted.
    """

    modules: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    cases: Mapping[str, int] = field(default_factory=dict)
    partial: tuple[str, ...] = ()
    smoke: tuple[str, ...] = ()
    tuples: tuple[Held, ...] = ()

    def write(self, folder: Path) -> None:
        """Mark ``folder`` as rendered."""
        data = {
            "format": _FORMAT,
            "modules": dict(self.modules),
            "files": list(self.files),
            "templates": list(self.templates),
            "cases": dict(self.cases),
            "partial": list(self.partial),
            "smoke": list(self.smoke),
            "tuples": [asdict(one) for one in self.tuples],
        }
        (folder / MARKER).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Manifest | None:
        """The manifest of ``folder``; None if there is none that this version wrote."""
        try:
            data = json.loads((folder / MARKER).read_text(encoding="utf-8"))
            if data["format"] != _FORMAT:
                return None
            return cls(
                modules={str(file): str(name) for file, name in data["modules"].items()},
                files=tuple(str(name) for name in data["files"]),
                templates=tuple(str(name) for name in data["templates"]),
                cases={str(name): int(count) for name, count in data["cases"].items()},
                partial=tuple(str(name) for name in data["partial"]),
                smoke=tuple(str(name) for name in data["smoke"]),
                tuples=tuple(Held(**one) for one in data["tuples"]),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None


@lru_cache
def manifest_of(folder: Path) -> Manifest | None:
    """`Manifest.read`, once for each folder of a process."""
    return Manifest.read(folder)


def case_id(module: Path, row: str) -> str | None:
    """Id of the case that ``module`` runs for the row of that id; None if it is no rendered module."""
    manifest = manifest_of(module.parent)
    matrix = manifest.modules.get(module.name) if manifest is not None else None
    return None if matrix is None else f"{matrix}[{row}]"


def case_of_node(root: Path, node_id: str) -> str | None:
    """Id of the case of a pytest node, whose file is relative to ``root``."""
    file, row = _split(node_id)
    return case_id(root / file, row) if row else None


def rendered_case(root: Path, node_id: str) -> Case | None:
    """The case of a pytest node, built from the rows beside its module."""
    file, row = _split(node_id)
    if not row or case_id(root / file, row) is None:
        return None
    rows = _rows((root / file).with_suffix(".json"))
    return rows.case(rows.ids.index(row)) if row in rows.ids else None


def partial_matrices(folders: Iterable[Path]) -> frozenset[str]:
    """Names of the matrices of which not all rows were rendered into ``folders``."""
    manifests = (manifest_of(folder) for folder in dict.fromkeys(folders))
    return frozenset(name for found in manifests if found is not None for name in found.partial)


def is_smoke(module: Path) -> bool:
    """Whether ``module`` holds cases that are to be run before all others."""
    manifest = manifest_of(module.parent)
    return manifest is not None and manifest.modules.get(module.name) in manifest.smoke


def row_ids(folders: Iterable[Path]) -> dict[str, list[str]]:
    """Ids of all rows that were rendered into ``folders``, by the name of their matrix."""
    found: dict[str, list[str]] = {}
    for folder in dict.fromkeys(folders):
        manifest = manifest_of(folder)
        for module, matrix in manifest.modules.items() if manifest is not None else ():
            found.setdefault(matrix, []).extend(_rows((folder / module).with_suffix(".json")).ids)
    return found


@lru_cache
def _rows(path: Path) -> RowsFile:
    return RowsFile.read(path)


def _split(node_id: str) -> tuple[str, str]:
    """File and row id of ``file.py::test[row]``; no row for other nodes."""
    file, _, test = node_id.partition("::")
    _, bracket, row = test.partition("[")
    return file, row.removesuffix("]") if bracket else ""
