"""What is drawn: valid matrices, all kinds of events and groups, and nothing that is not claimed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from kvconform.fuzz.draw import examples
from kvconform.fuzz.example import Example
from kvconform.fuzz.play import Target, play
from kvconform.fuzz.smaller import smaller
from kvconform.matrix import load_matrix
from kvconform.ports import Capability, GroupKind
from kvconform.stage.trace_events import KINDS
from kvconform_reference import make_connector


def drawn(count: int, claims: set[Capability]) -> list[Example]:
    """So many examples."""
    found: list[Example] = []
    few = settings(
        max_examples=count, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip

    def keep(example: Example) -> None:
        found.append(example)

    seed(0)(few(given(examples(claims))(keep)))()
    return found


def kinds(found: list[Example]) -> set[str]:
    """Kinds of their events."""
    return {
        name
        for example in found
        for event in example.events
        for name in ([event] if isinstance(event, str) else event)
    }


def test_every_example_is_a_valid_matrix_and_comes_back_from_its_file(tmp_path: Path):
    """The file says the same as the example, word for word."""
    for number, example in enumerate(drawn(60, set(Capability))):
        path = tmp_path / f"{number}.yaml"
        path.write_text(example.text(f"no-{number}", "An example: drawn", ["COV-1"], comment="One\nTwo"))
        matrix = load_matrix(path)
        assert Example.of_row(matrix, matrix.rows[0]) == example
        assert matrix.case(matrix.rows[0]).layout == example.case().layout


def test_all_kinds_of_events_and_groups_come():
    """Two hundred examples have each of them."""
    found = drawn(200, set(Capability))
    assert kinds(found) == set(KINDS)
    groups = [group for example in found for group in example.layout["groups"]]
    assert {group["kind"] for group in groups} == set(GroupKind)
    assert any("host_chunks" in example.engine for example in found)
    submits = [event["submit"] for e in found for event in e.events if isinstance(event, dict) and "submit" in event]
    assert any("accepted" in what for what in submits)
    assert any(group.get("eagle") for group in groups)
    assert any(example.layout.get("world") == 2 for example in found)
    assert any(example.engine.get("scheduling") == "async" for example in found)


def test_what_is_not_claimed_is_not_drawn():
    """A connector without control of chunks and copies gets no example that needs it."""
    found = drawn(200, set())
    assert not kinds(found) & {"drop", "fail_load", "fail_store"}
    assert not any("host_chunks" in example.engine for example in found)
    parts = [event["hold"] for e in found for event in e.events if isinstance(event, dict) and "hold" in event]
    assert {part if isinstance(part, str) else part["what"] for part in parts} == {"reports"}


def _taken_for_a_fault(name: str) -> Example:
    """Examples on which verdicts once failed the reference for no fault."""
    submit = {"request": "a", "prompt_tokens": 24, "output_tokens": 20}
    full = {"name": "full", "kind": "full", "block_size": 4}
    local = {"name": "local", "kind": "chunked_local", "block_size": 4, "attention_chunk": 12}
    layout: dict[str, object] = {"hash_block": 4, "groups": [full]}
    engine: dict[str, object] = {"host_chunks": 12}
    events: list[object] = [{"submit": submit}, "settle"]
    match name:
        case "a chunk that the case took away":
            events.append({"drop": {"of": "a", "group": "full", "index": [0]}})
        case "accepted in the last step":
            engine |= {"spec_tokens": 5}
        case "left its window before it was known":
            layout |= {"blocks_per_chunk": 3, "groups": [local]}
            engine = {"host_chunks": 6, "spec_tokens": 2}
            submit |= {"prompt_tokens": 31, "output_tokens": 9}
        case "known a step late, behind a restart of attention":
            layout |= {"blocks_per_chunk": 2, "groups": [local]}
            engine |= {"scheduling": "async"}
            submit |= {"prompt_tokens": 71, "output_tokens": 9}
        case "a chunk without its last state":
            states = {"name": "states", "kind": "recurrent", "block_size": 8}
            layout |= {"blocks_per_chunk": 2, "groups": [states]}
            engine = {"max_batched_tokens": 64}
            submit |= {"prompt_tokens": 57, "output_tokens": 1}
            events = [{"submit": {"request": "b", "prompt_tokens": 27}}, {"submit": submit}, {"hold": "both"}]
        case "accepted in the last step, held":
            engine = {"spec_tokens": 2}
            events.insert(0, {"hold": "copies"})
            events.insert(2, "release")
    return Example(layout=layout, engine=engine, events=events, hits={})


@pytest.mark.parametrize(
    "name",
    [
        "a chunk that the case took away",
        "accepted in the last step",
        "accepted in the last step, held",
        "left its window before it was known",
        "known a step late, behind a restart of attention",
        "a chunk without its last state",
    ],
)
def test_what_is_no_fault_is_not_told(name: str):
    """What nobody can be asked for is not asked of the reference."""
    example = _taken_for_a_fault(name)
    assert play(example, Target(factory=make_connector)).kind == ""


def test_what_is_left_of_an_example_is_valid_too(tmp_path: Path):
    """Whatever is left out, the rest loads from its file: no release without a hold, no name that is gone."""
    path = tmp_path / "less.yaml"
    some = [example for example in drawn(40, set(Capability)) if len(kinds([example])) > 5]
    assert some
    for example in some[:4]:
        for less in smaller(example):
            path.write_text(less.text("less", "Less", ["COV-1"]))
            assert load_matrix(path).rows, less


def test_each_thing_that_an_event_can_do_without_is_left_out():
    """A failure on one rank, of one chunk, in part, is tried without each of these."""
    fault = {"of": "a", "group": "full", "index": [0], "how": "part", "rank": 1, "nth": 2}
    example = Example(
        layout={"hash_block": 4, "world": 2, "groups": [{"name": "full", "kind": "full", "block_size": 4}]},
        engine={"spec_tokens": 2},
        events=[{"submit": {"request": "a", "prompt_tokens": 9, "accepted": [1]}}, {"fail_store": fault}, "settle"],
        hits={},
    )
    left = [less.events[1]["fail_store"] for less in smaller(example) if "fail_store" in kinds([less])]
    for gone in ({"index"}, {"group", "index"}, {"how"}, {"rank"}, {"nth"}):
        assert {key: value for key, value in fault.items() if key not in gone} in left
    assert all("world" in less.layout for less in smaller(example) if "rank" in str(less.events))
