"""Working starts for people's own files: a matrix, or a connector with its settings."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from pathlib import Path

from kvconform import resources
from kvconform.ports import KvconformError

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_FIRST_LINE = "# ruff: noqa"


class ScaffoldNameError(KvconformError, ValueError):
    """A name that a matrix or a connector cannot have: says which ones it can."""


class ScaffoldExistsError(KvconformError, FileExistsError):
    """Files to be written are there and may hold somebody's work: names them; nothing is written."""


class ScaffoldNotWrittenError(KvconformError):
    """A file cannot be written: names it and why."""


def new_matrix(name: str, folder: Path) -> list[Path]:
    """Write a valid matrix called ``name`` into ``folder``; returns its path."""
    module = _module(name)
    text = _start("matrix.yaml").replace("NAME", name)
    return _write(folder, {f"{module}.yaml": text})


def new_connector(name: str, folder: Path) -> list[Path]:
    """Write a connector that passes what applies, and settings that name it; returns their paths."""
    module = _module(name)
    source = (resources.examples_dir() / "small_connector.py").read_text(encoding="utf-8")
    # The first line switches off our own lint rules, which are not the reader's.
    lines = source.splitlines(keepends=True)
    text = "".join(lines[1:] if lines[0].startswith(_FIRST_LINE) else lines)
    settings = _start("pyproject.toml").replace("NAME", name).replace("MODULE", module)
    return _write(folder, {f"{module}.py": text, "pyproject.toml": settings})


def _module(name: str) -> str:
    module = name.replace("-", "_")
    if not _NAME.fullmatch(name) or keyword.iskeyword(module):
        near = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-0123456789")
        hint = f"; say {near!r}" if _NAME.fullmatch(near) and near != name else ""
        raise ScaffoldNameError(
            f"{name!r} cannot be a name: it takes small letters, digits and single hyphens, "
            f"and begins with a letter{hint}"
        )
    return module


def _start(file: str) -> str:
    return (resources.starts_dir() / file).read_text(encoding="utf-8")


def _write(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """All files or none."""
    paths = [folder / name for name in files]
    there = [str(path) for path in paths if path.exists()]
    if there:
        raise ScaffoldExistsError(
            f"{' and '.join(there)} {'is' if len(there) == 1 else 'are'} there already; "
            "nothing is written"
        )
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, files.values(), strict=True):
            with path.open("x", encoding="utf-8") as stream:
                written.append(path)
                stream.write(text)
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        raise ScaffoldNotWrittenError(
            f"{folder}: cannot be written into: {error.strerror}"
        ) from error
    return written
