"""Traces: what a list of events does, what is judged about it, and what wrong ones are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from stage_cases import Played, case_named, cases_of, mutant, play

from kvconform import resources
from kvconform.case import Case
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


def case_of(path: Path) -> Case:
    """The only case of a file."""
    matrix = load_matrix(path)
    return build_case(matrix, matrix.rows[0])


def test_a_case_that_was_made_by_hand_is_told_what_no_pool_holds(write: Callable[..., Path]):
    """The message says how many blocks are wanting, and what to change."""
    case = case_of(write("submit: {request: a, prompt_tokens: 40}"))
    with pytest.raises(TraceError) as caught:
        play(replace(case, layout=replace(case.layout, num_blocks=4)))
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
        ("drop: {of: a, group: full, index: [1, 2]}",
         ("13:45: request 'a' has 10 tokens, which are 2 whole chunk(s) of group 'full': there is no chunk 2 "
         "(name one from 0 to 1)")),
        ("fail_load: {of: a, group: full, index: [2]}",
         ("13:47: request 'a' has 10 tokens, which are 2 whole chunk(s) of group 'full': there is no chunk 2 "
         "(name one from 0 to 1)")),
        ("fail_store: {of: a, rank: 1}",
         "13:33: there is no rank 1, layout.world is 1 (ranks are counted from 0)"),
        ("submit: {request: b, prompt_tokens: 4000}",
         ("13:15: request 'b' takes 1002 blocks of a pool of 512, null block included "
         "(give layout.num_blocks more, or the request fewer tokens)")),
        ("submit: {request: b, prompt_tokens: 9, accepted: [1, 0]}",
         ("13:56: accepted says which drafts are right, and no step has any "
         "(give engine.spec_tokens, or leave accepted out)")),
        ("hold: {what: reports, direction: load}",
         "13:40: reports have no direction: one report tells of stores and loads (leave it out, or say what: copies)"),
        ("release", "13:7: nothing is held here (hold something before, or leave this release out)"),
        ("release: {what: copies}",
         "13:16: nothing of this is held here (hold it before, or leave this release out)"),
        ("release: reports",
         "13:16: given.events[2].release: expected a mapping, got the text 'reports' (write {what: reports})"),
        ("abort: a", "13:14: request 'a' has ended before this (leave this abort out)"),
        ("preempt: a", "13:16: request 'a' has ended before this (leave this preempt out)"),
        ("reset: now", "13:7: reset takes nothing (write the word alone: - reset)"),
        ("neutral: a", "13:7: neutral takes nothing (write the word alone: - neutral)"),
        ("abort",
         ("13:7: given.events[2]: expected one of settle, wipe_pool, release, last_first, reset, neutral or a mapping, "
         "got the text 'abort' (write abort with what it is about: abort: ...)")),
    ],
)  # fmt: skip
def test_wrong_events_are_told_with_their_place(write: Callable[..., Path], event: str, message: str):
    """One wrong event, one message, before anything runs."""
    path = write("submit: {request: a, prompt_tokens: 9}", "settle", event)
    with pytest.raises(MatrixError) as caught:
        load_matrix(path)
    assert [str(problem).partition("mine.yaml:")[2] for problem in caught.value.problems] == [message]


@pytest.mark.parametrize(
    ("events", "hits", "told"),
    [
        (["hold: both", "hold: copies"], "{}", "13:13: all of this is held already"),
        (["hold: copies", "release: {what: copies, direction: load}", "release: {what: copies, direction: load}"],
         "{}", "14:16: nothing of this is held here"),
        (["last_first", "last_first"], "{}", "13:7: what is due together comes in reverse already"),
        (["abort: a", "abort: a"], "{}", "13:14: request 'a' was aborted before this"),
        (["settle", "wipe_pool", "submit: {request: b, prompt_tokens: 9, like: a}", "step: 1", "neutral"],
         "{b: 8}", "16:7: neutral compares up to the first hit, and 'b' must hit before this"),
        (["settle"], "{a: 6}", "13:10: no hit of 'a' ends after 6 tokens (a hit ends with a hash block, or a state: 4 or 8)"),
    ],
)  # fmt: skip
def test_events_that_change_nothing_are_told(write, events, hits, told):
    """What is held, reversed or gone already; what is compared too late; a hit that cannot end there."""
    path = write("submit: {request: a, prompt_tokens: 9}", *events, hits=hits)
    with pytest.raises(MatrixError) as caught:
        load_matrix(path)
    (problem,) = caught.value.problems
    assert str(problem).partition("mine.yaml:")[2].startswith(told)


def test_a_hit_may_be_all_but_the_last_token_of_a_prompt_that_ends_with_a_hash_block(write):
    """The last token is computed in any case."""
    assert load_matrix(write("submit: {request: a, prompt_tokens: 16}", hits="{a: 15}"))
    with pytest.raises(MatrixError, match=r"no hit of 'a' ends after 15 tokens"):
        load_matrix(write("submit: {request: a, prompt_tokens: 17}", hits="{a: 15}"))


AXIS = HEAD.replace("given:", "engine: {spec_tokens: {axis: spec}}\ngiven:") + """\
    - submit: {request: a, prompt_tokens: 9, output_tokens: 4, accepted: [2]}
    - hold: {what: {axis: held}, direction: load}
    - release
  hits: {}
axes:
  - {name: spec, id: spec, values: [0, 1SPEC]}
  - {name: held, id: held, values: [reportsHELD]}
"""


@pytest.mark.parametrize(
    ("spec", "held", "told"),
    [
        (", 2", ", copies", []),
        ("", ", copies", ["12:74: 2 drafts cannot be right"]),
        (", 2", "", ["13:45: reports have no direction"]),
    ],
)
def test_what_changes_nothing_in_some_rows_only_is_what_an_axis_is_for(tmp_path, spec, held, told):
    """No drafts, or reports instead of copies, are values like others."""
    path = tmp_path / "mine.yaml"
    path.write_text(AXIS.replace("SPEC", spec).replace("HELD", held))
    try:
        load_matrix(path)
        found = []
    except MatrixError as error:
        found = [str(problem).partition("mine.yaml:")[2] for problem in error.problems]
    assert len(found) == len(told)
    assert all(text.startswith(start) for text, start in zip(found, told, strict=True))


def test_what_cannot_come_about_in_one_row_is_told_with_the_row(tmp_path):
    """Chunks of two blocks: the third is not there, and the row says so."""
    text = HEAD.replace("hash_block: 4", "hash_block: 4\n  blocks_per_chunk: {axis: chunk}") + """\
    - submit: {request: a, prompt_tokens: 17}
    - settle
    - drop: {of: a, group: full, index: [3]}
  hits: {}
axes:
  - {name: chunk, id: chunk, values: [1, 2]}
"""
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(MatrixError, match=r"14:42: .* no chunk 3 \(name one from 0 to 1; in row \[chunk\.2\]\)"):
        load_matrix(path)


def test_layers_of_one_group_may_be_split_and_those_of_another_sharded(tmp_path):
    """As where a small draft model is on every rank; a rank moves those that it has."""
    head = HEAD.replace("hash_block: 4", "hash_block: 4\n  world: 2").replace(
        "[{name: full, kind: full, block_size: 4}]",
        "[{name: full, kind: full, block_size: 4, layers_by_rank: [1, 2]}, {name: swa, kind: sliding, block_size: 4, window: 8}]",
    )
    path = tmp_path / "mine.yaml"
    path.write_text(head + """\
    - submit: {request: a, prompt_tokens: 33}
    - settle
    - wipe_pool
    - submit: {request: b, prompt_tokens: 33, like: a}
  hits: {b: 32}
""")
    assert play(case_of(path)).outcome is Outcome.PASS
    assert "bytes-after-load" in play(case_of(path), mutant("layers-of-first-rank")).failed
    path.write_text(path.read_text().replace("layers_by_rank", "layers: 3, layers_by_rank"))
    with pytest.raises(MatrixError, match=r"layers_by_rank says how many layers there are \(leave layers out\)"):
        load_matrix(path)


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


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ("fail_store: {of: a, rank: 1}", "a copy of rank 1 cannot fail, the layout has 1 rank"),
        ("drop: {of: a, group: full, index: [9]}", "chunk 9 of group full ends with token 40, and request 'a' has 10"),
    ],
)  # fmt: skip
def test_a_case_that_was_made_by_hand_is_told_what_is_not_there(write, event, told):
    """A rank, and a chunk; of a file both are told with their place before anything runs."""
    case = case_of(write("submit: {request: a, prompt_tokens: 9}", "settle"))
    events = [*case.given["events"], yaml.safe_load(event)]
    with pytest.raises(TraceError, match=told):
        play(replace(case, given={**case.given, "events": events}))


def test_a_failure_that_never_came_about_is_untestable_and_named(write):
    """Without a hit there is no load that could fail: that is not green, and says of which line."""
    path = write("submit: {request: a, prompt_tokens: 9}", "settle", "fail_load: {of: a}")
    ended = play(case_of(path))
    assert ended.outcome is Outcome.FAIL
    assert "a load failed" in ended.text
    assert f"no copy failed by fail_load of 'a' ({path}:13)" in ended.text


def test_only_the_failure_that_never_came_about_is_named(write):
    """The store fails, the load does not: the event of the store is not told."""
    path = write(
        "submit: {request: a, prompt_tokens: 9}",
        "fail_store: {of: a}",
        "settle",
        "submit: {request: b, prompt_tokens: 9, like: a}",
        "fail_load: {of: b, group: full, index: [1], nth: 7}",
    )
    ended = play(case_of(path))
    assert f"no copy failed by fail_load of 'b' ({path}:15)" in ended.text
    assert "fail_store" not in ended.text
