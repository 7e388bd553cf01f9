"""Fixtures of the runner's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from runner_project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project folder."""
    return Project(tmp_path)
