"""The repository of a vendor, outside this one, and the command line as it is used there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

VENDOR = Path(__file__).resolve().parent / "vendor"
NAME = "kvconform.connectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a command came to."""

    code: int
    out: str
    err: str


def environment(*python_path: Path) -> dict[str, str]:
    """The environment of a user, with these folders on the path of Python alone."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_", "PYTHON"))}
    path = os.pathsep.join(map(str, python_path))
    return {**kept, "PYTHONPATH": path, "COLUMNS": "100", "OMP_NUM_THREADS": "1"}


def command(*words: str | Path, folder: Path, env: dict[str, str] | None = None) -> Done:
    """Run a program in ``folder``."""
    done = subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env=environment() if env is None else env,
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """The repository; ``site`` is a folder of installed packages with the vendor's in it."""

    repository: Path
    site: Path

    @classmethod
    def copy(cls, folder: Path) -> Vendor:
        """Copy the repository into ``folder`` and install its package without a build."""
        vendor = cls(repository=folder / "acme", site=folder / "site")
        shutil.copytree(VENDOR, vendor.repository, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(vendor.repository / "src", vendor.site)
        vendor.announce("acme-kv", "acme = acme_kv.provider:Provider")
        return vendor

    def announce(self, distribution: str, entry_point: str) -> None:
        """Leave what an installer leaves of a package that provides a connector."""
        info = self.site / f"{distribution.replace('-', '_')}-2.1.dist-info"
        info.mkdir(parents=True)
        metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 2.1\n"
        (info / "METADATA").write_text(metadata, "utf-8")
        (info / "entry_points.txt").write_text(f"[{NAME}]\n{entry_point}\n", "utf-8")

    def settings(self, text: str) -> None:
        """Write another table of settings in place of the shipped one."""
        path = self.repository / "pyproject.toml"
        head = path.read_text("utf-8").partition("[tool.kvconform]")[0]
        path.write_text(head + text, "utf-8")

    def kvconform(self, *words: str | Path, below: str = ".") -> Done:
        """Run the command line in a folder of the repository."""
        folder = self.repository / below
        return command(
            sys.executable, "-m", "kvconform", *words, folder=folder, env=environment(self.site)
        )
