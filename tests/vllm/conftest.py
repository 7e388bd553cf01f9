"""Tests of the vLLM engine: skipped where vLLM is not installed."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

from kvconform_vllm.provider import Vllm

sys.path.insert(0, str(Path(__file__).parent.parent / "stage"))


def _installed() -> bool:
    # By its metadata: as a name it could be this very folder.
    try:
        return bool(importlib.metadata.version("vllm"))
    except importlib.metadata.PackageNotFoundError:
        return False


collect_ignore_glob = [] if _installed() else ["test_vllm_on_*.py"]


@pytest.fixture(scope="session")
def offloading():
    """A factory of benches with vLLM's OffloadingConnector."""
    return Vllm().factory("OffloadingConnector")
