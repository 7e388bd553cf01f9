"""Cases played in this process, one call a case: for tables of many connectors and few cases.

Nothing watches over it: a connector that never returns is the caller's to end (`kvconform.run.forked`).
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from kvconform.case import Case
from kvconform.matrix import Matrix
from kvconform.ports import ConnectorFactory, UnsupportedLayoutError
from kvconform.render import render
from kvconform.results.record import CheckResult, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """How one case ended; ``text`` says why where it did not pass."""

    case: str
    outcome: Outcome
    results: tuple[CheckResult, ...] = ()
    text: str = ""

    @property
    def failed_checks(self) -> frozenset[str]:
        """Checks that failed; those that had nothing to measure are no evidence."""
        return frozenset(one.check for one in self.results if one.outcome is Outcome.FAIL)

    @property
    def failed_clauses(self) -> frozenset[str]:
        """Clauses of these checks."""
        return frozenset(one.clause for one in self.results if one.outcome is Outcome.FAIL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Playable:
    steps: Callable[[Any], None]
    checks: tuple[str, ...]
    subject: str
    case: Callable[[], Case]


@dataclass(slots=True)
class Player:
    """Plays the cases of some matrices through their rendered modules, as pytest would."""

    matrices: Sequence[Matrix]
    templates: tuple[Path, ...] = ()
    device: str = "cpu"
    _cases: dict[str, _Playable] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        _load_stages()
        from kvconform import stages  # noqa: PLC0415 - loads torch

        scenarios = {matrix.name: matrix.scenario for matrix in self.matrices}
        with tempfile.TemporaryDirectory(prefix="kvconform-inline-") as temporary:
            folder = Path(temporary) / "cases"
            rendered = render(self.matrices, folder, templates=self.templates)
            for name in rendered.modules:
                module = _load(folder / name)
                rows = module.ROWS
                steps = getattr(module, f"test_{scenarios[rows.header.name]}")
                for row in rows:
                    self._cases[f"{rows.header.name}[{row.id}]"] = _Playable(
                        steps=steps,
                        checks=tuple(module.CHECKS),
                        subject=stages.subject_of(module),
                        case=row.case,
                    )

    @property
    def cases(self) -> Sequence[str]:
        """Ids of all cases, in the order of the matrices."""
        return tuple(self._cases)

    def play(
        self,
        case: str,
        factory: ConnectorFactory,
        options: Mapping[str, object] | None = None,
        name: str = "",
    ) -> Played:
        """One case on a fresh connector; what breaks the suite itself is the outcome *error*.

        ``name`` is the connector's, for cases with another process.
        """
        from kvconform import stages  # noqa: PLC0415 - loads torch
        from kvconform.stage import CaseFailedError, NotApplicableError  # noqa: PLC0415

        playable = self._cases[case]
        stage: stages.AnyStage | None = None
        try:
            stage = stages.open_stage(
                playable.case(),
                playable.subject,
                factory=factory,
                connector=name,
                device=self.device,
                checks=playable.checks,
                options=options,
            )
            playable.steps(stage)
        except CaseFailedError as error:
            assert stage is not None  # noqa: S101 - only a stage concludes
            return Played(case=case, outcome=stage.outcome, results=stage.results, text=str(error))
        except (NotApplicableError, UnsupportedLayoutError) as error:
            return Played(case=case, outcome=Outcome.NOT_APPLICABLE, text=str(error))
        except Exception as error:  # noqa: BLE001 - told as what it is: a fault of the suite
            text = f"{type(error).__name__}: {error}"
            return Played(case=case, outcome=Outcome.ERROR, text=text)
        finally:
            if stage is not None:
                stage.close()
        if not stage.concluded:
            return Played(case=case, outcome=Outcome.ERROR, text="the case was not concluded")
        return Played(case=case, outcome=stage.outcome, results=stage.results)


@cache
def _load_stages() -> None:
    """Before any fork, or each would load torch anew.  Copies here are many and tiny."""
    import torch  # noqa: PLC0415

    from kvconform import stages  # noqa: F401, PLC0415

    torch.set_num_threads(1)


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"kvconform_inline_{path.stem}", path)
    assert spec is not None  # noqa: S101 - a file of ours that ends with .py
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
