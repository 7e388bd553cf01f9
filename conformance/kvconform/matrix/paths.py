"""Finds matrix files and says how messages call them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kvconform import resources
from kvconform.matrix.problems import MatrixNotFoundError, nearest

LAYOUTS = "layouts"
"""Folder beside matrices that holds layouts and no matrices."""


def display(path: Path) -> str:
    """A file's name in messages: relative to the working folder, else to the shipped matrices."""
    path = Path(path)
    try:
        whole = path.resolve()
        bases = (Path.cwd(), resources.matrix_dir().resolve(), resources.root().resolve())
    except (OSError, ValueError, RuntimeError):
        return ascii(str(path))[1:-1]
    for base in bases:
        if whole.is_relative_to(base):
            return whole.relative_to(base).as_posix()
    return path.as_posix()


def find_matrices(names: Iterable[str | Path] = ()) -> list[Path]:
    """Matrix files that ``names`` mean, each once, in the order of the names.

    A name is a file, a folder (searched with its subfolders) or the bare name of a shipped
    matrix or folder, such as ``coverage/unaligned_hit``; an existing path wins.  Without names,
    all shipped matrices.  Raises `MatrixNotFoundError` with the nearest names.
    """
    names = list(names)
    if not names:
        return _inside(resources.matrix_dir(), "the shipped matrices")
    found: dict[Path, Path] = {}
    for name in names:
        for path in _find(name):
            found.setdefault(path.resolve(), path)
    return list(found.values())


def find_layouts(names: Iterable[str | Path] = ()) -> list[Path]:
    """Layout files in the folders among ``names``; without names, the shipped ones."""
    folders = [Path(name) for name in names] or [resources.matrix_dir()]
    found = (path for folder in folders if folder.is_dir() for path in folder.rglob("*.yaml"))
    return sorted(path for path in found if path.absolute().parent.name == LAYOUTS)


def shipped_names() -> list[str]:
    """Bare names of the shipped matrices, sorted."""
    base = resources.matrix_dir()
    return [path.relative_to(base).with_suffix("").as_posix() for path in _files(base)]


def _find(name: str | Path) -> list[Path]:
    text = str(name)
    try:
        path = Path(name)
        if text and path.is_dir():
            return _inside(path, text)
        if text and path.exists():
            return [path]
    except (OSError, ValueError):
        pass  # a name that no file can have is looked up as a bare one, and not found
    base = resources.matrix_dir()
    bare = text.strip("/").removesuffix(".yaml")
    shipped = shipped_names()
    if bare in shipped:
        return [base / f"{bare}.yaml"]
    within = [one for one in shipped if bare and one.startswith(f"{bare}/")]
    if within:
        return [base / f"{one}.yaml" for one in within]
    raise _not_found(text, bare, shipped)


def _not_found(text: str, bare: str, shipped: list[str]) -> MatrixNotFoundError:
    folders = sorted({one.rpartition("/")[0] for one in shipped} - {""})
    wanted = bare.replace("-", "_")
    alike = [one for one in shipped if one.rpartition("/")[2] == wanted]
    alike += nearest(wanted, [*shipped, *folders], 3)
    alike += [
        one
        for one in shipped
        if one.rpartition("/")[2] in nearest(wanted, [s.rpartition("/")[2] for s in shipped], 3)
    ]
    alike = list(dict.fromkeys(alike))[:3]
    hint = (
        f"did you mean {' or '.join(map(repr, alike))}?"
        if alike
        else f"shipped: {', '.join(shipped) or 'none'}"
    )
    return MatrixNotFoundError(
        text, f"no file, folder or shipped matrix is named {text!r} ({hint})", alike
    )


def _inside(folder: Path, name: str) -> list[Path]:
    found = _files(folder)
    if not found:
        raise MatrixNotFoundError(
            name, f"the folder {name!r} holds no matrix (*.yaml, files in {LAYOUTS}/ not counted)"
        )
    return found


def _files(folder: Path) -> list[Path]:
    def is_matrix(path: Path) -> bool:
        above = (folder.resolve().name, *path.relative_to(folder).parts[:-1])
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        return LAYOUTS not in above and not hidden and path.is_file()

    return sorted(path for path in folder.rglob("*.yaml") if is_matrix(path))
