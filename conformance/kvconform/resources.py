"""Finds the shipped matrices and templates: the checkout's own folders, else the wheel's copies."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def root() -> Path:
    """The folder that holds ``matrix`` and ``templates``.

    In a checkout these are its top folders, so that an editable install never reads a stale
    copy; a wheel carries them as data of the package.
    """
    checkout = _PACKAGE.parent.parent
    if (checkout / "matrix").is_dir() and (checkout / "templates").is_dir():
        return checkout
    return _PACKAGE / "data"


def matrix_dir() -> Path:
    """Folder of the shipped matrices."""
    return root() / "matrix"


def templates_dir() -> Path:
    """Folder of the shipped templates."""
    return root() / "templates"


def schema_dir() -> Path:
    """Folder of the JSON Schemas."""
    return _PACKAGE / "schema"
