"""Cases of the shipped matrices, run in this process through their rendered templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from kvconform import resources
from kvconform.case import Case
from kvconform.matrix import build_case, load_matrix, load_scenario
from kvconform.ports import ConnectorFactory
from kvconform.registry import resolve_connector
from kvconform.results.record import Outcome
from kvconform.stage import CaseFailedError, NotApplicableError, Stage
from kvconform.stages import open_stage
from kvconform_reference import make_connector
from kvconform_reference.mutants import MUTANTS

SEED = ("coverage/unaligned_hit", "coverage/cold_consumer")


@cache
def cases_of(matrix: str) -> tuple[Case, ...]:
    """Every case of a shipped matrix."""
    loaded = load_matrix(resources.matrix_dir() / f"{matrix}.yaml")
    return tuple(build_case(loaded, row) for row in loaded.rows)


@cache
def case_named(case_id: str) -> Case:
    """The case of a whole id, found in the shipped matrices."""
    name = case_id.partition("[")[0]
    for path in resources.matrix_dir().rglob(f"{name.replace('-', '_')}.yaml"):
        matrix = str(path.relative_to(resources.matrix_dir()).with_suffix(""))
        for case in cases_of(matrix):
            if case.id == case_id:
                return case
    raise LookupError(case_id)


def checks_of(case: Case) -> tuple[str, ...]:
    """The checks that the case's scenario declares."""
    return tuple(str(check) for check in load_scenario(case.scenario).checks)


def template_text(scenario: str) -> str:
    """The text of a shipped template."""
    return (resources.templates_dir() / f"{scenario}.py.j2").read_text(encoding="utf-8")


def steps_of(text: str, scenario: str) -> Callable[[Stage], None]:
    """The case function of a template's text, as a module of its own would define it."""
    body = text[text.index(f"def test_{scenario}") :]
    namespace: dict[str, Any] = {}
    exec(compile(body, f"{scenario}.py.j2", "exec"), namespace)  # noqa: S102 - our own template
    return namespace[f"test_{scenario}"]


@dataclass(frozen=True, slots=True)
class Played:
    """How a case ended: the stage is None if it could not be set up."""

    outcome: Outcome
    text: str
    stage: Stage | None = None

    @property
    def failed(self) -> set[str]:
        """Checks that failed."""
        results = self.stage.results if self.stage else ()
        return {result.check for result in results if result.outcome is Outcome.FAIL}

    @property
    def clauses(self) -> set[str]:
        """Clauses of the checks that failed."""
        results = self.stage.results if self.stage else ()
        return {result.clause for result in results if result.outcome is Outcome.FAIL}


_IN_MEMORY = getattr(resolve_connector("store:memory").factory, "store", None)


def _name_of(factory: ConnectorFactory) -> str:
    """The name by which a second process finds it."""
    mutant = next((f"mutant:{m.name}" for m in MUTANTS.values() if m.factory is factory), None)
    in_memory = getattr(factory, "store", None) is _IN_MEMORY
    return mutant or ("store:memory" if in_memory else "store:fs")


def play(
    case: Case,
    factory: ConnectorFactory = make_connector,
    *,
    steps: Callable[[Stage], None] | None = None,
    options: Mapping[str, object] | None = None,
) -> Played:
    """Run one case; whatever is neither a failure nor n/a is raised."""
    stage = None
    try:
        subject = load_scenario(case.scenario).subject
        name = _name_of(factory)
        stage = open_stage(
            case, subject, factory=factory, connector=name, checks=checks_of(case), options=options
        )
        (steps or steps_of(template_text(case.scenario), case.scenario))(stage)
    except CaseFailedError as error:
        return Played(Outcome.FAIL, str(error), stage)
    except NotApplicableError as error:
        return Played(Outcome.NOT_APPLICABLE, str(error), stage)
    finally:
        if stage is not None:
            stage.close()
    return Played(stage.outcome if stage.concluded else Outcome.ERROR, "", stage)


def mutant(name: str) -> ConnectorFactory:
    """The factory of a mutant."""
    return MUTANTS[name].factory


def failing_ids(matrix: str, factory: ConnectorFactory, **options: object) -> set[str]:
    """Ids of the matrix' cases that do not pass."""
    return set(_failing_ids(matrix, factory, tuple(options.items())))


@cache
def _failing_ids(
    matrix: str, factory: ConnectorFactory, options: tuple[tuple[str, object], ...]
) -> frozenset[str]:
    return frozenset(
        case.id
        for case in cases_of(matrix)
        if play(case, factory, options=dict(options)).outcome is not Outcome.PASS
    )


def all_shipped() -> list[str]:
    """Names of every shipped matrix."""
    return [
        str(path.relative_to(resources.matrix_dir()).with_suffix(""))
        for path in sorted(resources.matrix_dir().rglob("*.yaml"))
        if "layouts" not in path.parts
    ]


