"""Traces: what a list of events does, what is judged about it, and what wrong ones are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from stage_cases import Played, case_named, cases_of, mutant, play

from kvconform import resources
from kvconform.matrix import MatrixError, build_case, load_matrix
from kvconform.ports import ConnectorFactory, Request
from kvconform.results.record import Outcome
from kvconform.stage.trace import TraceError
from kvconform.stage.trace_events import KINDS
from kvconform_reference import make_connector
from kvconform_reference.lookup import Lookup
from kvconform_reference.manager import OffloadKey
from kvconform_reference.mutants.base import Patched

FILES = sorted((resources.matrix_dir() / "traces").glob("*.yaml"))

Play = Callable[..., Played]

HEAD = """\
format: 1
name: mine
title: A trace of a test
scenario: trace
clauses: [COV-2]
layout:
  hash_block: 4
  groups: [{name: full, kind: full, block_size: 4}]
given:
  events:
"""


class _LastTokens(Lookup):
    """Keys know the tokens of one chunk and nothing of those before it."""

    def key(self, request: Request, group: int, chunk: int) -> OffloadKey | None:
        size = self.demands[group].chunk
        tokens = tuple(request.token_ids[chunk * size : (chunk + 1) * size])
        return (repr((chunk, tokens)).encode(), group) if len(tokens) == size else None


class _ForgetsPrefix(Patched):
    lookup_kind = _LastTokens


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a trace: its events, a line each, and its hits."""

    def write(*events: str, hits: str = "{}", head: str = HEAD) -> Path:
        path = tmp_path / "mine.yaml"
        lines = [f"    - {event}" for event in events]
        path.write_text("\n".join([head.rstrip(), *lines, f"  hits: {hits}", ""]))
        return path

    return write


@pytest.fixture
def played(write: Callable[..., Path]) -> Play:
    """Plays a trace, on the reference unless another connector is named."""

    def played(*events: str, on: ConnectorFactory = make_connector, options=None, **rest: str) -> Played:
        matrix = load_matrix(write(*events, **rest))
        return play(build_case(matrix, matrix.rows[0]), on, options=options)

    return played


def results(ended: Played) -> dict[str, Outcome]:
    """Outcome by check."""
    assert ended.stage is not None
    return {result.check: result.outcome for result in ended.stage.results}


def test_every_kind_of_event_has_a_schema_and_a_function():
    """A kind stands in the definition and in the code, under one name."""
    path = resources.templates_dir() / "trace.scenario.yaml"
    defs = yaml.safe_load(path.read_text("utf-8"))["given"]["$defs"]
    assert {*defs["word"]["enum"], *defs["event"]["properties"]} == set(KINDS)


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_connector_that_does_nothing_fails_every_shipped_trace(path: Path):
    """Each of them says who must hit."""
    case = cases_of(f"traces/{path.stem}")[0]
    assert play(case, mutant("null")).outcome is Outcome.FAIL


def test_a_preempted_request_resumes_behind_a_hit_and_is_loaded_as_often_as_it_takes():
    """Two that share fill the pool; loads come again, and whoever waits for blocks gets them."""
    ended = play(case_named("resumed-behind-hit[pool.43-chunk.1-budget.8192-sched.sync]"))
    assert ended.outcome is Outcome.PASS
    assert ended.stage is not None
    text = "\n".join(ended.stage.trace)
    assert "second is preempted" in text
    assert text.count("load of second") > 1


@pytest.mark.parametrize(
    ("case", "fault", "checks"),
    [
        ("source-taken-again[held.copies-chunk.1-budget.8192-sched.sync]", "no-fence", {"bytes-after-load"}),
        ("tenants-side-by-side[held.reports-chunk.1-budget.8192-sched.sync]", "salt-ignored", {"never-shared"}),
        ("branch-inside-chunk[shared.36-twig.30-chunk.1]", "loads-too-much", {"load-is-exact"}),
        ("consumer-while-producing[steps.3-chunk.1-world.2-sched.sync]", "ranks-share-memory", {"bytes-after-load"}),
        ("resumed-behind-hit[pool.43-chunk.1-budget.20-sched.sync]", "pending-served", {"hit-is-covered"}),
    ],
)
def test_a_shipped_trace_shows_the_fault_that_it_is_about(case, fault, checks):
    """The check that names the fault is among those that fail."""
    assert checks <= play(case_named(case), mutant(fault)).failed


def test_salt_is_judged_by_verdict_and_by_bytes(played: Play):
    """Tokens are equal and the partition is not: the hit is another tenant's."""
    ended = played(
        "submit: {request: a, prompt_tokens: 17, salt: red}",
        "settle",
        "wipe_pool",
        "submit: {request: b, prompt_tokens: 17, like: a, salt: blue}",
        on=mutant("salt-ignored"),
    )
    assert {"never-shared", "bytes-after-load", "hit-is-covered"} <= ended.failed


def test_a_hit_beyond_the_shared_tokens_is_told(played: Play):
    """Keys that forget the prefix join prompts that part and have later tokens in common."""
    image = "images: [{digest: cat, start: 4, length: 4}]"
    events = (
        f"submit: {{request: a, prompt_tokens: 17, {image}}}",
        "settle",
        "wipe_pool",
        "submit: {request: b, prompt_tokens: 17, like: a}",
    )
    assert {"never-shared", "bytes-after-load"} <= played(*events, on=_ForgetsPrefix).failed
    assert played(*events).outcome is Outcome.PASS


def test_where_copies_are_seen_a_miss_at_rest_is_judged_without_a_figure(played: Play):
    """Nobody says who must hit; what was stored is known, so that too little is told all the same."""
    events = (
        "submit: {request: a, prompt_tokens: 16}",
        "settle",
        "wipe_pool",
        "submit: {request: b, prompt_tokens: 16, like: a}",
    )
    assert played(*events, on=mutant("whole-prompt-short")).failed == {"hit-is-best"}


def test_what_a_trace_cannot_show_is_no_check_of_it(played: Play):
    """Nobody hits and nobody must: what is left is what was measured."""
    ended = played("submit: {request: a, prompt_tokens: 9, output_tokens: 3}", "settle")
    told = {"events-give-residence", "events-in-order", "job-blocks"}
    seen = {"hit-is-best", "reads-own-bytes", "no-exception", "every-request-ends"}
    assert set(results(ended)) == seen | told
    assert set(results(ended).values()) == {Outcome.PASS}


def test_a_request_that_must_hit_is_the_witness(played: Play):
    """Where the case says who must hit, no check about hits is dropped."""
    ended = played("submit: {request: a, prompt_tokens: 9}", hits="{a: 8}")
    assert results(ended)["bytes-after-load"] is Outcome.UNTESTABLE
    assert "'a' is admitted with a hit of at least 8 tokens" in ended.text


def test_what_is_held_at_the_end_is_released(played: Play):
    """A trace is over when all has come to rest, whatever it left behind."""
    ended = played("hold: both", "submit: {request: a, prompt_tokens: 9}", "step: 2")
    assert ended.outcome is Outcome.PASS


@pytest.mark.parametrize("event", ["hold: copies", "drop: {of: a, group: full, index: [0]}"])
def test_what_the_connector_does_not_claim_is_not_applicable(played: Play, event: str):
    """Copies that cannot be held and chunks that cannot be dropped."""
    start = "submit: {request: a, prompt_tokens: 9}"
    options = {"own_transfers": True}
    ended = played(start, "settle", event, options=options, on=_without_chunk_control)
    assert ended.outcome is Outcome.NOT_APPLICABLE


def _without_chunk_control(layout, setting):
    connector = make_connector(layout, setting)
    connector.capabilities -= {"chunk_control"}
    return connector


def test_a_request_that_no_pool_holds_is_told(played: Play):
    """The message says how many blocks are wanting, and what to change."""
    head = HEAD.replace("hash_block: 4", "hash_block: 4\n  num_blocks: 4")
    with pytest.raises(TraceError) as caught:
        played("submit: {request: a, prompt_tokens: 40}", head=head)
    assert str(caught.value).endswith(
        "request 'a' takes 12 blocks of a pool of 4, null block included: give layout.num_blocks "
        "more of them, or the request a shorter prompt"
    )


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("setle", ("13:7: given.events[2]: expected one of settle, wipe_pool, release, last_first, reset, neutral or a mapping, "
         "got the text 'setle' (did you mean 'settle'?)")),
        ("{sumbit: {request: b}}", "13:8: unknown key 'sumbit' in given.events[2] (did you mean 'submit'?)"),
        ("{step: 2, run: a}", "13:7: given.events[2]: expected at most 1 key, got 2"),
        ("submit: {request: b, prompt_tokens: 9, outputs: 3}",
         "13:46: unknown key 'outputs' in given.events[2].submit (did you mean 'output_tokens'?)"),
        ("submit: {request: a, prompt_tokens: 9}",
         "13:25: two requests are named 'a' (every request has a name of its own)"),
        ("submit: {request: b, prompt_tokens: 9, like: c}",
         "13:52: no request is named 'c' before this (known: a)"),
        ("submit: {request: b, prompt_tokens: 9, shared: 4}",
         "13:54: shared without like (say with which request, under like)"),
        ("submit: {request: b, prompt_tokens: 30, like: a, shared: 12}",
         "13:64: 12 tokens cannot be shared, there are 10"),
        ("run: c", "13:12: no request is named 'c' before this (known: a)"),
        ("drop: {of: a, group: ful, index: [0]}",
         "13:28: no group of the layout is named 'ful' (did you mean 'full'?)"),
    ],
)  # fmt: skip
def test_wrong_events_are_told_with_their_place(write: Callable[..., Path], event: str, message: str):
    """One wrong event, one message, before anything runs."""
    path = write("submit: {request: a, prompt_tokens: 9}", "settle", event)
    with pytest.raises(MatrixError) as caught:
        load_matrix(path)
    assert [str(problem).partition("mine.yaml:")[2] for problem in caught.value.problems] == [message]


def test_a_request_that_must_hit_has_to_exist(write: Callable[..., Path]):
    """A misspelt name under ``hits`` would be a witness that never comes."""
    path = write("submit: {request: a, prompt_tokens: 9}", hits="{b: 8}")
    with pytest.raises(MatrixError, match=r"12:10: no request is named 'b' before this"):
        load_matrix(path)


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ("fail_load: {of: nobody}", "no request is named 'nobody'"),
        ("fail_store: {of: a, group: swa}", "no group of the layout is named 'swa'"),
        ("fail_store: {of: a, index: [1]}", "index without group"),
    ],
)
def test_a_failure_names_what_is_there(write, event, told):
    """Request, group and chunk of a failing copy are checked with the matrix."""
    path = write("submit: {request: a, prompt_tokens: 9}", event)
    with pytest.raises(MatrixError, match=told):
        load_matrix(path)


def test_a_rank_that_is_not_there_cannot_fail(write):
    """The layout has one rank, counted from 0."""
    path = write("submit: {request: a, prompt_tokens: 9}", "fail_store: {of: a, rank: 1}")
    loaded = load_matrix(path)
    with pytest.raises(TraceError, match="the layout has 1 rank"):
        play(build_case(loaded, loaded.rows[0]))


def test_a_failure_that_never_came_about_is_untestable(write):
    """Without a hit there is no load that could fail: that is not green."""
    path = write("submit: {request: a, prompt_tokens: 9}", "fail_load: {of: a}")
    loaded = load_matrix(path)
    played = play(build_case(loaded, loaded.rows[0]))
    assert played.outcome is Outcome.FAIL
    assert "a load failed" in played.text
