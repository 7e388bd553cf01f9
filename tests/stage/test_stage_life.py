"""What traces judge of requests that end early, come again, lag behind or share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from stage_cases import case_named, mutant, play

from kvconform.matrix import MatrixError, build_case, load_matrix
from kvconform.results.record import Outcome
from kvconform.stage.trace import TraceError
from kvconform_reference import make_connector
from kvconform_reference.mutants.base import Patched
from kvconform_reference.worker import ReferenceWorker

HEAD = """\
format: 1
name: mine
title: A trace of a test
scenario: trace
clauses: [LIF-2]
layout:
  hash_block: 4
  world: 2
  groups: [{name: full, kind: full, block_size: 4}]
given:
  events:
"""
SUBMIT = "submit: {request: a, prompt_tokens: 17, output_tokens: 3}"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a trace: its events, a line each."""

    def write(*events: str, hits: str = "{}") -> Path:
        path = tmp_path / "mine.yaml"
        lines = [f"    - {event}" for event in events]
        path.write_text("\n".join([HEAD.rstrip(), *lines, f"  hits: {hits}", ""]))
        return path

    return write


def played(path: Path, on=make_connector):
    """Plays the one case of a matrix."""
    matrix = load_matrix(path)
    return play(build_case(matrix, matrix.rows[0]), on)


def outcomes(ended) -> dict[str, Outcome]:
    """Outcome by check."""
    return {result.check: result.outcome for result in ended.stage.results}


class _LateTalker(ReferenceWorker):
    """Reports what nobody asked for, once nothing is left to do."""

    quiet_steps = 0

    def get_finished(self, finished_request_ids: set[str]) -> tuple[set[str], set[str]]:
        stores, loads = super().get_finished(finished_request_ids)
        idle = not (self.metadata.stores or self.metadata.loads or self._storing or finished_request_ids)
        self.quiet_steps = self.quiet_steps + 1 if idle else 0
        return stores, loads | ({"a"} if self.quiet_steps == 2 else set())


class _TalksAtRest(Patched):
    worker_kind = _LateTalker


def test_what_is_reported_after_all_has_come_to_rest_is_seen(write: Write):
    """The engine goes on for some steps once nothing is left to do."""
    path = write(SUBMIT, "step: 2", "abort: a", "settle")
    assert played(path).outcome is Outcome.PASS
    assert played(path, _TalksAtRest).failed == {"reported-as-asked"}


def test_checks_arise_with_the_events_that_they_are_about(write: Write):
    """A plain trace has none of them; sharers bring theirs alone."""
    plain = outcomes(played(write(SUBMIT, "settle")))
    assert not {"nothing-left", "stored-however-cut", "hit-on-every-rank", "sharers-go-on"} & set(plain)
    shared = outcomes(played(write(SUBMIT, "settle", "sharers: {request: s, like: a, count: 3}")))
    assert shared["sharers-go-on"] is Outcome.PASS
    cut = outcomes(played(write(SUBMIT, "step: 2", "preempt: a")))
    assert cut["stored-however-cut"] is Outcome.PASS
    assert cut["nothing-left"] is Outcome.PASS
    assert "reported-as-asked" not in cut


def test_a_rank_that_has_not_stored_is_seen_where_verdicts_are(write: Write):
    """Rank 0 has all of it, rank 1 nothing: the hit is told, whatever its bytes are."""
    events = (
        "hold: {what: copies, ranks: [1], direction: store}",
        SUBMIT,
        "run: a",
        "step: 2",
        "wipe_pool",
        "submit: {request: b, prompt_tokens: 17, like: a}",
        "step: 2",
    )
    caught = played(write(*events, hits="{b: 16}"), mutant("first-rank-stores"))
    assert "hit-on-every-rank" in caught.failed
    assert "at most a miss, which is what rank 1 has stored, or later" in caught.text


def test_what_heals_later_was_lost_all_the_same():
    """A chunk must be stored by the next rest: another request's store does not count for it."""
    case = case_named("preempt-phases[held.reports-steps.10-between.2-budget.24-chunk.1-sched.sync]")
    assert "stored-however-cut" in play(case, mutant("stale-cursor")).failed


def test_blocks_kept_for_ever_end_a_trace_that_needs_their_id(write: Write):
    """It is told that nothing came to rest; the second request is not played."""
    again = "submit: {request: a, prompt_tokens: 9, reuse: true}"
    ended = played(write(SUBMIT, "run: a", again), mutant("blocks-kept"))
    assert ended.outcome is Outcome.FAIL
    assert "every-request-ends" in ended.failed
    assert not any("prompt of 9 tokens" in line for line in ended.stage.trace)


def test_an_id_whose_blocks_are_kept_while_all_is_held_is_not_applicable(write: Write):
    """To keep them is the connector's right: then the case cannot be played on it."""
    again = "submit: {request: a, prompt_tokens: 9, reuse: true}"
    events = (SUBMIT, "run: a", "hold: both", "step: 1", again)
    ended = played(write(*events), mutant("blocks-kept"))
    assert ended.outcome is Outcome.NOT_APPLICABLE
    assert "blocks of 'a' are kept while transfers are held" in ended.text


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("abort: b", "no request is named 'b' before this"),
        ("preempt: b", "no request is named 'b' before this"),
        ("submit: {request: b, prompt_tokens: 9, reuse: true}", "no request named 'b' came before"),
        ("submit: {request: a, prompt_tokens: 9, reuse: true}", "'a' may be alive when its id is used again"),
        ("hold: {what: both, ranks: [2]}", "there is no rank 2, layout.world is 2"),
        ("release: {what: both, ranks: [0, 5]}", "there is no rank 5, layout.world is 2"),
        ("sharers: {request: s, like: b, count: 2}", "no request is named 'b' before this"),
    ],
)
def test_events_that_no_engine_could_play_are_refused(write: Write, event: str, message: str):
    """From the data alone, before anything runs."""
    with pytest.raises(MatrixError) as caught:
        load_matrix(write(SUBMIT, event))
    assert any(message in str(problem) for problem in caught.value.problems)


def test_a_request_that_is_alive_does_not_lend_its_id(write: Write):
    """An abort may be named in the data and come to nothing; a preempted one lives on."""
    again = "submit: {request: a, prompt_tokens: 9, reuse: true}"
    assert played(write(SUBMIT, "abort: a", again, "abort: a", again)).outcome is Outcome.PASS
    with pytest.raises(MatrixError):
        load_matrix(write(SUBMIT, "abort: a", again, again))
    assert issubclass(TraceError, Exception)
