"""What a search is asked to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a search ends that finds nothing: after so many examples, or after so many seconds."""

    examples: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzRequest:
    """One search for a trace on which a connector fails.

    ``connector_config`` are ``KEY=VALUE`` pairs; an example that takes longer than
    ``case_seconds`` has hung.
    """

    connector: str
    device: str
    connector_config: Sequence[str]
    seed: int
    limits: Limits
    corpus: Path
    case_seconds: float

    @property
    def source(self) -> str:
        """The command that finds the same again, apart from the limits."""
        return f"kvconform fuzz --connector {self.connector} --seed {self.seed}"

    def arguments(self) -> list[str]:
        """The same as a command line of ``kvconform fuzz``."""
        words = ["--no-project", "--connector", self.connector, "--device", self.device]
        words += ["--seed", str(self.seed), "--corpus", str(self.corpus)]
        for pair in self.connector_config:
            words += ["--connector-config", pair]
        if self.limits.examples is not None:
            return [*words, "--examples", str(self.limits.examples)]
        return [*words, "--minutes", repr((self.limits.seconds or 0) / 60)]
