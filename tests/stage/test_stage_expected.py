"""Which checks a case has is known before it runs; claims that are no ports, and ports unclaimed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
import stage_fakes as fakes
from stage_cases import all_shipped, case_named, cases_of, checks_of, play

from kvconform.engine.engine import Engine
from kvconform.matrix import load_scenario
from kvconform.ports import Capability, Connector, Layout, Setting
from kvconform.registry import resolve_connector
from kvconform.results.record import Outcome
from kvconform.stage import Stage
from kvconform.stage.errors import NotApplicableError
from kvconform.stage.told import CHECKS as TOLD
from kvconform.stage.traffic import _IF_KNOWN, _OF_HITS
from kvconform.stages import open_stage
from kvconform_reference import make_connector

COLD = case_named("cold-consumer[keep.3-sched.sync]")
POLICY_OF_TRACES = {
    *_IF_KNOWN,
    *_OF_HITS,
    *TOLD,
    "bytes-after-load",
    "reads-own-bytes",
    "writes-only-loads",
    "job-blocks",
}
"""Of these a trace is judged as far as it gives something to judge."""


STORES = [resolve_connector(f"store:{name}").factory for name in ("fs", "memory")]
"""One of the two has what a case asks for."""


def expected_of(case, subject, factories):
    """The first factory to which the case applies, and the checks that it is to have there."""
    for factory in factories:
        with suppress(NotApplicableError):
            opened = open_stage(case, subject, factory=factory, checks=checks_of(case))
            opened.close()
            return factory, set(opened.expected)
    pytest.fail(f"{case.id} applies to none of them")


@pytest.mark.parametrize("matrix", all_shipped())
def test_the_checks_of_a_case_are_known_before_it_runs(matrix):
    """The first, the last and a middle case of every matrix: the record has what was expected."""
    cases = cases_of(matrix)
    for case in {cases[at].id: cases[at] for at in (0, len(cases) // 2, -1)}.values():
        scenario = load_scenario(case.scenario)
        needs_store = scenario.subject == "store" or "persistent" in case.requires
        factories = STORES if needs_store else (make_connector,)
        factory, before = expected_of(case, scenario.subject, factories)
        played = play(case, factory)
        assert played.stage is not None
        after = {result.check for result in played.stage.results}
        assert after <= before
        left_out = before - after
        assert left_out <= (POLICY_OF_TRACES if case.scenario == "trace" else set())


def test_what_a_case_expects_is_the_same_for_every_connector():
    """A connector that does nothing is expected to keep as much as one that does all."""
    for name in ("null", "lying", "blocks-kept"):
        factory = fakes.MUTANTS[name].factory
        mine = Stage(COLD, factory=factory, checks=checks_of(COLD)).expected
        assert mine == Stage(COLD, factory=make_connector, checks=checks_of(COLD)).expected


def own_transfers(layout: Layout, setting: Setting) -> Connector:
    """Copies go past the gate."""
    return make_connector(layout, replace(setting, options={"own_transfers": True}))


def test_transfer_control_that_is_claimed_and_absent_fails():
    """Without the figures that only the gate tells, too."""
    claims = frozenset(Capability) - {Capability.EXACT_LOAD, Capability.MASKED_STORE}
    liar = fakes.with_attribute("capabilities", claims, own_transfers)
    played = play(COLD, liar)
    assert played.outcome is Outcome.FAIL
    assert "no-exception" in played.failed
    assert "transfer_control is claimed" in played.text
    assert play(COLD, own_transfers).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("factory", "unclaimed"),
    [
        (make_connector, set()),
        (own_transfers, set()),
        (fakes.claimless, {"transfer_control"}),
        (
            fakes.with_attribute("capabilities", frozenset({Capability.LATER})),
            {"transfer_control", "chunk_control"},
        ),
    ],
)
def test_ports_that_are_there_and_not_claimed_are_told(factory, unclaimed):
    """They change no verdict."""
    played = play(COLD, factory)
    assert played.outcome is Outcome.PASS
    assert played.stage is not None
    assert set(played.stage.unclaimed) == unclaimed


def test_an_engine_tells_of_itself():
    """What was not used yet is no port."""
    engine = Engine(COLD.layout, fakes.claimless, "cpu", {})
    assert engine.unclaimed == frozenset()
