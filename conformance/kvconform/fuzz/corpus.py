"""The folder of traces that were found: read before a search, written after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvconform.fuzz.example import SCENARIO, Example
from kvconform.matrix import MatrixError, load_matrix
from kvconform.ports import KvconformError

CURRENT = "current.yaml"
"""The example that is being played: what is left of a process that did not come back from it."""


class CorpusError(KvconformError):
    """The folder cannot be used: names it and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One file of the folder: its examples by case id, or what is wrong with it."""

    path: Path
    examples: Mapping[str, Example]
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a new file says.  ``clause`` begins its name; ``comment`` stands above all else."""

    example: Example
    clause: str
    clauses: Sequence[str]
    title: str
    source: str
    comment: str

    @property
    def name(self) -> str:
        """The name of the matrix and the file: the same example has the same."""
        return f"{self.clause.lower()}-{self.example.digest}"


class Corpus:
    """A folder of matrices of the scenario ``trace``; it is made when something is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if folder.exists() and not folder.is_dir():
            raise CorpusError(f"--corpus {folder}: this is a file; a folder is needed")

    @property
    def current(self) -> Path:
        """Where the example stands that is being played."""
        return self.folder / CURRENT

    def kept(self) -> Iterator[Kept]:
        """Every file, by name; one that cannot be used is told and does not hide the others."""
        for path in sorted(self.folder.glob("*.yaml")):
            if path.name != CURRENT:
                yield read(path)

    def write_current(self, example: Example) -> None:
        """Keep an example while it is played."""
        self._write(self.current, example.text("current", "The example being played", ["TRM-1"]))

    def clear_current(self) -> None:
        """It has come back."""
        self.current.unlink(missing_ok=True)

    def take_current(self) -> Example | None:
        """Take away the example that did not come back; None if there is none, or half of one."""
        examples = read(self.current).examples if self.current.exists() else {}
        self.clear_current()
        return next(iter(examples.values()), None)

    def add(self, entry: Entry) -> Path:
        """Write a file; returns its path."""
        path = self.folder / f"{entry.name}.yaml"
        text = entry.example.text(
            entry.name, entry.title, entry.clauses, source=entry.source, comment=entry.comment
        )
        self._write(path, text)
        return path

    def _write(self, path: Path, text: str) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CorpusError(f"{path}: cannot be written: {error.strerror}") from error


def read(path: Path) -> Kept:
    """One file of a corpus."""
    try:
        matrix = load_matrix(path)
    except MatrixError as error:
        return Kept(path=path, examples={}, problem=f"it no longer parses:\n{error}")
    if matrix.scenario != SCENARIO:
        problem = f"its scenario is {matrix.scenario}, not {SCENARIO}: use kvconform run"
        return Kept(path=path, examples={}, problem=problem)
    rows = {f"{matrix.name}[{row.id}]": Example.of_row(matrix, row) for row in matrix.rows}
    return Kept(path=path, examples=rows)
