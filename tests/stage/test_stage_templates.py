"""Every step of every shipped template matters: without it a case fails or is an error."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from stage_cases import case_named, play, steps_of, template_text

from kvconform import resources
from kvconform.registry import resolve_connector
from kvconform.results.record import Outcome
from kvconform.stage.errors import UnfinishedScenarioError

CASES = {
    "admission": [
        "fallback[win.32-keep.1-eagle.off-newest.missing-older.short]",
        "fallback[win.32-keep.1-eagle.off-newest.ready-older.whole]",
    ],
    "caps": [
        "load-cap[cap.16-local.33-chunk.1-keep.0-sched.sync]",
        "store-cap[cap.16-chunk.1-keep.0-budget.8192-sched.sync]",
    ],
    "cold_consumer": [
        "cold-consumer[keep.3-sched.sync]",
        "part-written[win.20-keep.3-budget.12-sched.sync-lost.c3]",
    ],
    "effort": [
        "linear[grow.answer-chunk.4-win.12-eagle.on-budget.48-room.128-world.2-sched.async]",
    ],
    "isolation": [
        "salt[chunk.1-salt.a-other.b-sched.sync]",
        "salt-windowed[chunk.1-salt.none-other.b-sched.sync]",
    ],
    "restart": [
        "restart[win.9-chunk.1-world.1-budget.8192]",
    ],
    "sharers": [
        "sharers[hold.store-held.both-sharers.2-chunk.1-pool.256-sched.sync]",
        "sharers[hold.load-held.both-sharers.2-chunk.1-pool.256-sched.sync]",
    ],
    "store": [
        "agree[bytes.512]",
    ],
    "trace": [
        "next-turn[win.8-eagle.on-chunk.1-sched.sync]",
        "source-taken-again[held.copies-chunk.1-budget.8192-sched.sync]",
    ],
}
"""A few cases of each scenario."""


class _Without(ast.NodeTransformer):
    """Replaces the statement at one line by ``pass``; a loop goes with its body."""

    def __init__(self, line: int) -> None:
        self.line = line

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node) if node.lineno == self.line else node

    def visit_For(self, node: ast.For) -> ast.stmt:
        if node.lineno == self.line:
            return ast.copy_location(ast.Pass(), node)
        self.generic_visit(node)
        return node


def body_of(scenario: str) -> str:
    """The case function of a template, as text."""
    text = template_text(scenario)
    return text[text.index(f"def test_{scenario}") :]


def lines() -> Iterator[tuple[str, int, str]]:
    """(scenario, line of its function, text) of each step."""
    for path in sorted(resources.templates_dir().glob("*.py.j2")):
        scenario = path.name.removesuffix(".py.j2")
        body = body_of(scenario)
        for number, text in enumerate(body.splitlines(), 1):
            if "stage." in text:
                yield scenario, number, text.strip()


LINES = list(lines())


def played(scenario: str, text: str) -> set[Outcome]:
    """How the scenario's cases end with another case function."""
    ends = set()
    over_store = scenario in {"restart", "store"}
    factory = resolve_connector("store:fs" if over_store else "reference").factory
    for case_id in CASES[scenario]:
        try:
            ended = play(case_named(case_id), factory, steps=steps_of(text, scenario))
            ends.add(ended.outcome)
        except UnfinishedScenarioError:
            ends.add(Outcome.ERROR)
        except Exception:  # noqa: BLE001 - whatever is raised is an error in the report
            ends.add(Outcome.ERROR)
    return ends


def test_every_template_has_its_cases():
    """A new scenario needs a row in the table above."""
    assert {scenario for scenario, _, _ in LINES} == set(CASES)


@pytest.mark.parametrize("scenario", CASES)
def test_the_cases_pass_on_the_whole_template(scenario):
    """What fails below fails for the missing step."""
    assert played(scenario, body_of(scenario)) == {Outcome.PASS}


@pytest.mark.parametrize(
    ("scenario", "line", "text"), LINES, ids=[f"{s}-{n}-{t}" for s, n, t in LINES]
)
def test_without_a_step_a_case_does_not_pass(scenario, line, text):
    """Each step, and each loop of steps, taken out in turn."""
    assert text
    tree = ast.fix_missing_locations(_Without(line).visit(ast.parse(body_of(scenario))))
    assert played(scenario, ast.unparse(tree)) - {Outcome.PASS}


def test_a_template_that_does_not_conclude_has_no_outcome():
    """Without its last line a scenario raises nothing, and the stage knows that it is not over."""
    text = body_of("admission").replace("stage.conclude()", "pass")
    ended = play(case_named(CASES["admission"][0]), steps=steps_of(text, "admission"))
    assert ended.stage is not None
    assert not ended.stage.concluded
    assert ended.outcome is Outcome.ERROR
