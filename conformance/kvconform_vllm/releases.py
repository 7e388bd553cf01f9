"""Which releases of vLLM are supported, and everything that differs between them.

The rest of the package asks `Release` and never compares versions.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from dataclasses import dataclass
from typing import Any

from kvconform.ports import KvconformError

SUPPORTED = ("0.29", "0.30", "0.31", "0.32", "0.33")
"""Minor releases, oldest first."""

_DISTRIBUTION = "vllm"


class VllmMissingError(KvconformError, ImportError):
    """vLLM is not installed, or does not import: says what to install."""


class UnsupportedReleaseError(KvconformError):
    """The installed vLLM is none that this package knows: names it and those that it knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release of vLLM.

    ``version`` is what its metadata says, ``minor`` the second number of it.
    """

    version: str
    minor: int

    @property
    def title(self) -> str:
        """Engine and version, for records."""
        return f"vllm {self.version}"

    def num_chunks(self, spec: Any) -> int:
        """Chunks in the CPU tier of an offloading spec."""
        return int(spec.num_blocks if self.minor < 30 else spec.num_chunks)  # noqa: PLR2004

    def forget_chunk(self, manager: Any, key: bytes) -> None:
        """Take a ready chunk out of the CPU manager, as its eviction does; no public method does."""
        chunk = manager._policy.get(key)  # noqa: SLF001
        if chunk is None:
            return
        manager._policy.remove(key)  # noqa: SLF001
        if self.minor < 30:  # noqa: PLR2004
            manager._num_evictable_cache_blocks -= 1  # noqa: SLF001
            manager._free_block(chunk)  # noqa: SLF001
        else:
            manager._num_evictable_cache_chunks -= 1  # noqa: SLF001
            manager._free_chunk(chunk)  # noqa: SLF001

    def transfer_results(self, worker: Any, finished: set[str]) -> tuple[set[str], set[str], set[str]]:
        """Requests whose stores, whose loads, and whose loads in vain have ended on a worker."""
        if self.minor < 30:  # noqa: PLR2004
            stores, loads = worker.get_finished(finished)
            return set(stores or ()), set(loads or ()), set()
        results = worker.get_transfer_results(finished)
        return (
            set(results.finished_sending),
            set(results.finished_recving),
            set(results.failed_recving),
        )

    def report_failures(self, output: Any, failed: set[str]) -> None:
        """Add loads in vain to a worker's report; releases before 0.30 have no place for them."""
        if failed and self.minor >= 30:  # noqa: PLR2004
            output.failed_recving = failed

    def keep_hash_block(self, kv_cache_config: Any, hash_block: int) -> None:
        """Leave the hash block where the engine core does, so that both sides agree."""
        if hasattr(kv_cache_config, "hash_block_size"):  # 0.32
            kv_cache_config.hash_block_size = hash_block

    def grammar(self) -> Any:
        """The structured-output manager that the scheduler asks: no request uses a grammar."""
        return _NoGrammar() if self.minor >= 30 else _NoGrammar29()  # noqa: PLR2004

    @property
    def takes_drafts(self) -> bool:
        """Whether the stand-in for a speculative configuration has all that this release reads."""
        return self.minor >= 33  # noqa: PLR2004

    def model_fields(self) -> dict[str, object]:
        """What this release reads of a model configuration, beside what all read."""
        fields: dict[str, object] = {}
        if self.minor <= 29:  # noqa: PLR2004
            fields["uses_xdrope"] = False
        if self.minor <= 30:  # noqa: PLR2004
            fields["enable_return_routed_experts"] = False
        else:
            fields["supports_multimodal_inputs"] = False
        return fields


class _NoGrammar:
    """Lets every token pass."""

    def accept_tokens(self, request: Any, tokens: Any, **_: Any) -> bool:
        del request, tokens
        return True

    def validate_tokens(self, request: Any, tokens: Any, **_: Any) -> Any:
        del request
        return tokens

    def grammar_bitmask(self, *_: Any, **__: Any) -> None:
        return None


class _NoGrammar29(_NoGrammar):
    def should_advance(self, request: Any, **_: Any) -> bool:
        del request
        return False


def installed_release() -> Release:
    """The release that an import would find, told without importing it.

    Raises `VllmMissingError` or `UnsupportedReleaseError`.
    """
    known = ", ".join(SUPPORTED)
    try:
        spec = importlib.util.find_spec(_DISTRIBUTION)
        version = importlib.metadata.version(_DISTRIBUTION)
    except (ImportError, ValueError, importlib.metadata.PackageNotFoundError):
        spec = None
    if spec is None:
        raise VllmMissingError(
            f"vLLM is not installed; supported are its releases {known} "
            "(docs/vllm.md says what to install: a plain `pip install vllm` brings a CUDA stack)"
        )
    numbers = version.split("+")[0].split(".")
    if ".".join(numbers[:2]) not in SUPPORTED:
        raise UnsupportedReleaseError(
            f"vLLM {version} is installed; supported are its releases {known}"
        )
    return Release(version=version, minor=int(numbers[1]))
