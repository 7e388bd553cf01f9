"""Whatever a connector does wrong is a failed case of the right clause, never an error of ours."""

from __future__ import annotations

import pytest
import stage_fakes as fakes
from stage_cases import case_named, cases_of, play

from kvconform.ports import Capability, UnsupportedLayoutError
from kvconform.results.record import Outcome
from kvconform.stage import NotApplicableError, PinError, Stage
from kvconform_reference import make_connector

COLD = case_named("cold-consumer[keep.3-sched.sync]")
ADMISSION = case_named("fallback[win.16-keep.0-eagle.off-newest.missing-older.short]")
SHARERS = case_named("sharers[hold.store-held.both-sharers.2-chunk.1-pool.256-sched.sync]")
EVERY = [COLD, ADMISSION, SHARERS]

BAD_FACTORIES = {
    "raises": fakes.raising(RuntimeError("no GPU")),
    "exits": fakes.exits,
    "skips": fakes.skips,
    "returns None": fakes.returns_none,
    "takes no argument": fakes.takes_no_argument,
    "no scheduler": fakes.with_attribute("scheduler", None),
    "no workers": fakes.with_attribute("workers", []),
    "workers that are none": fakes.with_attribute("workers", 3),
    "too many workers": fakes.with_attribute("workers", [None, None]),
    "unknown claim": fakes.with_attribute("capabilities", ["teleportation"]),
    "claims that are none": fakes.with_attribute("capabilities", None),
    "chunks of no size": fakes.with_attribute("chunk_tokens", fakes.returning(0)),
    "chunks that split a block": fakes.with_attribute("chunk_tokens", fakes.returning(6)),
    "chunks in words": fakes.with_attribute("chunk_tokens", fakes.returning("many")),
    "chunk_tokens raises": fakes.with_attribute("chunk_tokens", fakes.raising(KeyError("group"))),
}


@pytest.mark.parametrize("name", BAD_FACTORIES)
def test_a_bad_factory_fails_the_case(name):
    """LIF-1 fails, in every scenario; no check passes on the strength of nothing."""
    for case in EVERY:
        played = play(case, BAD_FACTORIES[name])
        assert played.outcome is Outcome.FAIL
        assert played.clauses == {"LIF-1"}
        assert played.stage is not None
        assert Outcome.PASS not in {result.outcome for result in played.stage.results}


@pytest.mark.parametrize("method", [m for m in fakes.SIDES if m != "shutdown"])
@pytest.mark.parametrize(
    "error", [ValueError("boom"), SystemExit(2), AssertionError("never"), RecursionError("deep")]
)
def test_a_method_that_raises_fails_the_case(method, error):
    """Each method of both sides; the text names the method and the exception."""
    played = play(COLD, fakes.with_method(method, fakes.raising(error)))
    assert played.outcome is Outcome.FAIL
    assert "LIF-1" in played.clauses
    assert type(error).__name__ in played.text
    assert method in played.text


def test_a_worker_that_raises_in_shutdown_fails_the_case():
    """The last call counts too."""
    played = play(COLD, fakes.with_method("shutdown", fakes.raising(OSError("busy"))))
    assert played.clauses == {"LIF-1"}


@pytest.mark.parametrize("method", ["get_num_new_matched_tokens", "build_connector_meta"])
def test_a_missing_required_method_is_named(method):
    """The case fails before anything runs."""
    played = play(COLD, fakes.with_method(method, None))
    assert played.clauses == {"LIF-1"}
    assert f"lacks the required method {method!r}" in played.text


NONSENSE = [None, 7, -1, "text", (), (1,), (1, 2, 3), {}, [None], object, (None, None), (b"x", {1})]


@pytest.mark.parametrize("method", list(fakes.SIDES))
@pytest.mark.parametrize("value", NONSENSE, ids=str)
def test_nonsense_from_a_method_never_breaks_the_suite(method, value):
    """A case ends as a pass, a failure or n/a; anything else would be raised here."""
    for case in (COLD, ADMISSION):
        ended = play(case, fakes.with_method(method, fakes.returning(value))).outcome
        assert ended in {Outcome.PASS, Outcome.FAIL, Outcome.NOT_APPLICABLE}


@pytest.mark.parametrize(
    ("answer", "clause"),
    [
        (None, "LIF-1"),
        (16, "LIF-1"),
        ("16", "LIF-1"),
        ((True, True), "LIF-1"),
        ((16.0, True), "LIF-1"),
        ((0, True), "LIF-1"),
        (("16", True), "LIF-1"),
        ((-16, True), "COV-2"),
        ((6, True), "COV-2"),
        ((4096, True), "COV-2"),
        ((32, True), "COV-2"),
        ((0, False), "COV-3"),
        ((None, False), "TRM-1"),
    ],
)
def test_a_wrong_verdict_breaks_its_clause(answer, clause):
    """Of seed B's cold consumer: not a verdict at all, not legal, not covered, or not the best.

    The hit of 32 tokens is right for the consumer and not for the producer, which comes first.
    """
    factory = fakes.with_method("get_num_new_matched_tokens", fakes.returning(answer))
    case = ADMISSION if clause in {"COV-2", "COV-3"} else COLD
    played = play(case, factory)
    assert played.outcome is Outcome.FAIL
    assert clause in played.clauses


def test_blocks_that_are_kept_for_ever_are_told_once_every_request_has_ended():
    """What is left to do is then not a request's; the other clauses are judged as ever."""
    played = play(COLD, fakes.with_method("request_finished", fakes.returning((True, None))))
    assert played.stage is not None
    (check,) = [one for one in played.stage.results if one.check == "every-request-ends"]
    assert check.outcome is Outcome.FAIL
    assert check.got == (
        "the connector keeps blocks, or says that it has work pending, for ever"
    )
    assert check.more == ()


def test_a_failed_check_names_the_event_that_was_wrong():
    """Its position in the trace, which has it in the text too, and how often the check failed."""
    played = play(COLD, fakes.claimless_lying)
    assert played.stage is not None
    (check,) = [one for one in played.stage.results if one.check == "bytes-after-load"]
    assert check.event is not None
    event = played.stage.trace[check.event]
    step, _, what = check.detail.partition(": ")
    assert event.startswith(f"{step}: load of producer up to ")
    assert what in event
    assert [more.partition(", ")[0] for more in check.more] == ["32 slot(s) of 'consumer-1' do not"]
    assert f"\n  {check.detail} (and 1 more of this check)\n" in played.text
    assert f"\n  {event}  <- COV-1\n" in played.text


def test_control_that_is_claimed_and_absent_is_a_failure():
    """A capability is a promise: no n/a for a missing `ChunkControl`."""
    played = play(ADMISSION, fakes.with_attribute("chunk_control", None))
    assert played.outcome is Outcome.FAIL
    assert played.clauses == {"LIF-1"}
    assert "chunk_control" in played.text


@pytest.mark.parametrize("control", [object(), 3, "control"])
def test_control_that_is_none_is_a_failure(control):
    """The same for an object without its methods."""
    assert play(ADMISSION, fakes.with_attribute("chunk_control", control)).clauses == {"LIF-1"}


def test_control_that_is_not_claimed_makes_cases_not_applicable():
    """The missing capability is named."""
    played = play(ADMISSION, fakes.claimless)
    assert played.outcome is Outcome.NOT_APPLICABLE
    assert played.text == "n/a: chunk_control"


def test_without_claims_only_the_safe_checks_are_judged():
    """Best checks are n/a by their capability; bytes, ends and legality are judged and pass."""
    played = play(COLD, fakes.claimless)
    assert played.outcome is Outcome.PASS
    assert played.stage is not None
    outcomes = {result.check: result.outcome for result in played.stage.results}
    best = {"hit-is-best", "load-is-exact", "store-is-exact", "load-is-async", "job-blocks"}
    assert {check for check, outcome in outcomes.items() if outcome is Outcome.NOT_APPLICABLE} == best
    assert {outcome for check, outcome in outcomes.items() if check not in best} == {Outcome.PASS}


@pytest.mark.parametrize("case", [COLD, SHARERS], ids=["cold", "sharers"])
def test_a_connector_that_does_and_claims_nothing_is_never_a_pass(case):
    """Nothing was measured of what the case is about: untestable, which counts as failed."""
    assert play(case, fakes.claimless_null).outcome is Outcome.FAIL


@pytest.mark.parametrize("case", [COLD, SHARERS], ids=["cold", "sharers"])
def test_a_connector_that_lies_and_claims_nothing_fails(case):
    """Safe clauses bind every connector: bytes that are not there are COV-1."""
    assert "COV-1" in play(case, fakes.claimless_lying).clauses


def test_a_layout_refused_by_name_is_not_applicable():
    """Not a failure; the connector's own words are kept."""

    def refusing(*_: object) -> None:
        raise UnsupportedLayoutError("windows are not supported")

    with pytest.raises(NotApplicableError, match="layout refused: windows are not supported"):
        Stage(COLD, factory=refusing)


def test_chunks_of_another_size_make_seeded_cases_not_applicable():
    """Chunk indices in a matrix mean chunks of the size that it asks for."""
    doubled = fakes.with_attribute("chunk_tokens", lambda _: 128)
    played = play(ADMISSION, doubled)
    assert played.outcome is Outcome.NOT_APPLICABLE
    assert "the matrix is about" in played.text


@pytest.mark.parametrize(
    ("key", "value"),
    [("verdict", 16), ("stored", {"full": [0], "swa": []}), ("loaded", {"full": [0, 1], "swa": [7]})],
)
def test_a_pin_that_disagrees_with_the_oracle_is_an_error_of_the_matrix(key, value):
    """One of the two is wrong; that is nobody's failed case."""
    pinned = {**COLD.pinned, key: value}
    case = type(COLD)(**{name: getattr(COLD, name) for name in COLD.__slots__} | {"pinned": pinned})
    with pytest.raises(PinError, match=f"{key} is pinned to"):
        play(case, make_connector)


def test_a_pin_of_admission_is_compared_too():
    """The verdict of seed A's figures."""
    case = next(c for c in cases_of("coverage/unaligned_hit") if c.pinned.get("verdict") == "later")
    wrong = type(case)(
        **{name: getattr(case, name) for name in case.__slots__} | {"pinned": {"verdict": 0}}
    )
    with pytest.raises(PinError):
        play(wrong, make_connector)


def test_pins_do_not_bind_a_connector_with_other_policies():
    """The seed's exact figures are for connectors that claim them all."""
    without = make_claims(frozenset(Capability) - {Capability.MASKED_STORE})
    pinned = {**COLD.pinned, "verdict": 16}
    case = type(COLD)(**{name: getattr(COLD, name) for name in COLD.__slots__} | {"pinned": pinned})
    assert play(case, without).outcome is Outcome.PASS


def make_claims(claims):
    """The reference with other claims."""
    return fakes.with_attribute("capabilities", claims)
