"""A small valid matrix, ways to spoil it, and a scenario folder that needs no real template."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shutil import copy

import pytest

from kvconform import resources
from kvconform.matrix import Matrix, MatrixError, load_matrix

TINY = """\
format: 1
name: tiny
title: A small one
scenario: admission
clauses: [COV-1]
layout:
  hash_block: 8
  groups:
    - {name: full, kind: full, block_size: 16}
    - {name: swa, kind: sliding, block_size: 8, window: {axis: window}, eagle: {axis: eagle}}
given:
  prompt_tokens: 64
  chunks: [{needed_at: 32, state: ready}]
axes:
  - {name: window, id: win, values: [8, 16]}
  - {name: eagle, id: eagle, values: [false, true]}
"""


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped scenario definitions beside empty templates."""
    folder = tmp_path_factory.mktemp("templates")
    for path in resources.templates_dir().glob("*.scenario.yaml"):
        copy(path, folder)
        (folder / path.name.replace(".scenario.yaml", ".py.j2")).touch()
    return folder


@pytest.fixture
def load(tmp_path: Path, templates: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Matrix]:
    """Load a text (or bytes) as ``m.yaml`` of an empty working folder."""
    monkeypatch.chdir(tmp_path)

    def load_text(text: str | bytes) -> Matrix:
        raw = text if isinstance(text, bytes) else text.encode()
        (tmp_path / "m.yaml").write_bytes(raw)
        return load_matrix("m.yaml", templates=[templates])

    return load_text


@pytest.fixture
def told(load: Callable[..., Matrix]) -> Callable[..., str]:
    """What loading a text complains about, whole; an empty text if it does not."""

    def complain(text: str | bytes) -> str:
        try:
            load(text)
        except MatrixError as error:
            return str(error)
        return ""

    return complain


@pytest.fixture
def spoiled(told: Callable[..., str]) -> Callable[[str, str], str]:
    """What the tiny matrix, with ``old`` replaced by ``new``, is told."""

    def complain(old: str, new: str) -> str:
        assert TINY.count(old) == 1, f"{old!r} must stand once in the tiny matrix"
        return told(TINY.replace(old, new))

    return complain


@pytest.fixture
def tiny() -> str:
    """The text of the small valid matrix."""
    return TINY
