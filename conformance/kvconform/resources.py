"""Finds what ships beside the code: the checkout's own folders, else the wheel's copies."""

from __future__ import annotations

from pathlib import Path

from kvconform.ports import KvconformError

_PACKAGE = Path(__file__).resolve().parent


class DataMissingError(KvconformError):
    """The package is installed without its matrices and templates: says where they were looked for."""


def root() -> Path:
    """The folder that holds ``matrix`` and ``templates``; raises `DataMissingError`.

    In a checkout these are its top folders, so that an editable install never reads a stale
    copy; a wheel carries them as data of the package.
    """
    checkout = _PACKAGE.parent.parent
    for folder in (checkout, _PACKAGE / "data"):
        if (folder / "matrix").is_dir() and (folder / "templates").is_dir():
            return folder
    raise DataMissingError(
        f"this installation of kvconform lacks its matrices and templates ({_PACKAGE / 'data'}); "
        "install the distribution again, from a wheel that was built from a whole checkout"
    )


def matrix_dir() -> Path:
    """Folder of the shipped matrices."""
    return root() / "matrix"


def templates_dir() -> Path:
    """Folder of the shipped templates."""
    return root() / "templates"


def examples_dir() -> Path:
    """Folder of the example connectors that the documentation shows."""
    folder = root()
    return folder / "examples" if folder.name == "data" else folder / "docs" / "examples"


def starts_dir() -> Path:
    """Folder of the files that `kvconform.scaffold` starts from."""
    return _PACKAGE / "starts"


def schema_dir() -> Path:
    """Folder of the JSON Schemas."""
    return _PACKAGE / "schema"
