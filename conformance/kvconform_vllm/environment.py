"""What must be so before vLLM is imported, once in a process."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import warnings
from functools import cache

from kvconform.ports import KvconformError
from kvconform_vllm.releases import Release, VllmMissingError, installed_release

_VARIABLES = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "CRITICAL",  # it warns of its compiled parts, which nothing here needs
}


class NoAssertionsError(KvconformError):
    """Python leaves assertions out: says how that was asked for."""


@cache
def load_vllm() -> Release:
    """Import vLLM with what the suite needs set, and say which release it is.

    Raises `VllmMissingError`, `UnsupportedReleaseError`, `NoAssertionsError`.
    """
    release = installed_release()
    if sys.flags.optimize:
        raise NoAssertionsError(
            "Python leaves assertions out (-O or PYTHONOPTIMIZE), and vLLM's own checks are "
            "assertions: run without it"
        )
    for name, value in _VARIABLES.items():
        os.environ.setdefault(name, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _import()
    except (Exception, SystemExit) as error:
        lines = str(error).strip().splitlines() or [""]
        raise VllmMissingError(
            f"vLLM {release.version} does not import: {type(error).__name__}: {lines[0]}"
        ) from error
    return release


def _import() -> None:
    import torch  # noqa: PLC0415

    # The copies are small: more threads only wait for each other.
    torch.set_num_threads(1)
    for module in (
        "vllm.config",
        "vllm.distributed.kv_transfer.kv_connector.factory",
        "vllm.v1.core.sched.async_scheduler",
        "vllm.v1.request",
        "vllm.v1.outputs",
    ):
        importlib.import_module(module)
    logging.getLogger("vllm").setLevel(logging.CRITICAL)
    _seed_hashes()


def _seed_hashes() -> None:
    from vllm.utils.hashing import sha256  # noqa: PLC0415
    from vllm.v1.core.kv_cache_utils import init_none_hash  # noqa: PLC0415

    init_none_hash(sha256)
