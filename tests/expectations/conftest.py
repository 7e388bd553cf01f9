"""Fixtures of the tests of expected failures; the scripted project is the runner's."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kvconform.expectations import CaseSpace, Expectations, load_expectations

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "runner"))

from runner_project import Project

TODAY = dt.date(2026, 1, 31)

ROWS = [f"win.{w}-keep.{k}-left.{s}" for w in (8, 16) for k in (0, 3) for s in ("ready", "missing")]
"""Rows of the matrix ``tiny``: two windows, two lengths kept, two states."""


@pytest.fixture
def space() -> CaseSpace:
    """``tiny`` with three axes, ``later`` with an axis that was added with a default."""
    return CaseSpace.of({"tiny": ROWS, "later": ["a.1", "a.2", "a.1-b.5", "a.2-b.5"]})


@pytest.fixture
def load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, space: CaseSpace
) -> Callable[..., Expectations]:
    """Load texts as ``e.yaml``, ``e2.yaml``, ... of an empty working folder, on a fixed day."""
    monkeypatch.chdir(tmp_path)

    def load_texts(*texts: str, version: str | None = "1.2", strict: bool = False) -> Expectations:
        names = [f"e{number if number > 1 else ''}.yaml" for number in range(1, len(texts) + 1)]
        for name, text in zip(names, texts, strict=True):
            (tmp_path / name).write_text(text, encoding="utf-8")
        return load_expectations(names, space, version=version, strict=strict, today=TODAY)

    return load_texts


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project folder for scripted cases."""
    return Project(tmp_path)
