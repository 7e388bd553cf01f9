"""Classes, settings and stores that are wrong: told before any case, or as what they are."""

from __future__ import annotations

import json
import re

import pytest
import vllm_connectors
from stage_cases import cases_of, play

from kvconform.ports import Capability, KvconformError
from kvconform.results.record import Outcome
from kvconform_vllm.claims import ClaimsFileError
from kvconform_vllm.provider import Vllm
from kvconform_vllm.releases import installed_release
from kvconform_vllm.trial import UnusableClassError


def factory(name):
    """Benches with a class of `vllm_connectors`."""
    return Vllm().factory(f"vllm_connectors:{name}")


def first_of(matrix, *, scheduling="sync"):
    """The matrix' first case with that kind of scheduling."""
    return next(case for case in cases_of(matrix) if case.layout.scheduling == scheduling)


def failed(played):
    """What was wrong, by clause."""
    results = played.stage.results
    return {one.clause: one for one in results if one.outcome is Outcome.FAIL}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"cpu_bytes_to_use": 0}, "with cpu_bytes_to_use=0: __init__: .*must be specified"),
        ({"cpu_bytes_to_use": "abc"}, "'abc'"),
        ({"blocks_per_chunk": 0}, "must be greater than 0"),
        ({"blocks_per_chunk": "x"}, "'x'"),
        ({"block_size": 16, "blocks_per_chunk": 1}, "only one of 'block_size'"),
        ({"eviction_policy": "nonsense"}, "'nonsense'"),
        ({"spec_name": "MySpec"}, r"(?!.*kvconform_vllm\.transfers).*MySpec"),
        ({"spec_module_path": "acme_kv"}, "give spec_name too"),
        ({"spec_name": "S", "spec_module_path": "not_there"}, "No module named 'not_there'"),
    ],
)
def test_settings_that_no_case_could_have_end_the_run(offloading, settings, said):
    """In one line with the settings and what was said of them."""
    with pytest.raises(UnusableClassError) as caught:
        offloading.check_options(settings)
    (line,) = str(caught.value).splitlines()
    assert line.startswith("no connector vllm:OffloadingConnector can be made with ")
    assert re.search(said, line)


@pytest.mark.parametrize(
    ("name", "said"),
    [("Old", "constructor"), ("Abstract", "abstract class"), ("Waiting", "Error: no server at")],
)
def test_a_class_of_which_nothing_can_be_made_ends_the_run(monkeypatch, name, said):
    """By vLLM's own refusal or by what the constructor raises, in one line."""

    def init(*_, **__):
        raise RuntimeError("no server\nat all")

    base = vllm_connectors.KVConnectorBase_V1
    monkeypatch.setattr(vllm_connectors, "Abstract", type("Abstract", (base,), {}), raising=False)
    waiting = type("Waiting", (vllm_connectors.OffloadingConnector,), {"__init__": init})
    monkeypatch.setattr(vllm_connectors, "Waiting", waiting, raising=False)
    with pytest.raises(UnusableClassError, match=said) as caught:
        factory(name).check_options({})
    assert len(str(caught.value).splitlines()) == 1


def test_a_class_that_breaks_on_some_layouts_is_judged_case_by_case():
    """A case on which it cannot be made fails by LIF-1; the suite is not what broke."""
    made = factory("OfOneLayout")
    made.check_options({})
    played = play(first_of("coverage/layout_full_only"), made)
    assert set(failed(played)) == {"LIF-1"}
    assert "no window to slide" in failed(played)["LIF-1"].got
    assert play(first_of("coverage/cold_consumer"), made).outcome is Outcome.PASS


def test_what_refuses_the_configuration_in_a_case_fails_it():
    """Here the constructor of another release, which vLLM refuses by a validation error."""
    played = play(first_of("coverage/layout_full_only"), factory("Old"))
    assert set(failed(played)) == {"LIF-1"}
    assert "input_value" not in failed(played)["LIF-1"].got


def test_claims_of_the_suites_own_doing_cannot_be_added(tmp_path):
    """Before any case, by the name of the file."""
    file = tmp_path / "claims.yaml"
    file.write_text("longest_hit: true\nchunk_control: true\n")
    with pytest.raises(ClaimsFileError, match="chunk_control cannot be true"):
        factory("Keeping").check_options({"capabilities": str(file)})
    Vllm().factory("").check_options({"capabilities": str(file)})


@pytest.mark.parametrize("name", ["Resetting", "Shutting"])
def test_a_store_that_is_emptied_between_cases_is_fair(name):
    """By the hook that vLLM has for it, or by shutting down."""
    made = factory(name)
    made.check_options({})
    outcomes = {play(case, made).outcome for case in cases_of("isolation/salt")}
    assert outcomes == {Outcome.PASS}


def test_a_store_that_outlives_its_case_is_told_as_such():
    """Not as foreign bytes: they are the right ones."""
    made = factory("Keeping")
    vllm_connectors.Keeping.store.clear()
    first, again = (play(first_of("isolation/salt"), made) for _ in range(2))
    assert first.outcome is Outcome.PASS
    assert set(failed(again)) == {"LIF-1"}
    assert "what no step of this case computed: kept from an" in failed(again)["LIF-1"].got


@pytest.mark.parametrize(
    ("hook", "value", "scheduling"),
    [
        ("get_num_new_matched_tokens", 0, "sync"),
        ("get_finished", None, "async"),
        ("request_finished_all_groups", None, "sync"),
        ("build_connector_meta", None, "sync"),
        ("get_block_ids_with_load_errors", 3, "sync"),
    ],
)
def test_an_answer_of_another_type_fails_by_its_hook(monkeypatch, hook, value, scheduling):
    """With what was returned and what was expected."""
    monkeypatch.setattr(vllm_connectors.Wrong, hook, lambda *_, **__: value, raising=False)
    case = first_of("coverage/cold_consumer", scheduling=scheduling)
    found = failed(play(case, factory("Wrong")))
    assert set(found) == {"LIF-1"}
    assert found["LIF-1"].got.startswith(f"returned {value!r}, expected ")
    assert found["LIF-1"].detail.endswith(f"in {hook}")


def test_a_chunk_may_be_given_in_tokens(offloading):
    """Where all blocks have one size that divides it; other layouts are not applicable."""
    options = {"block_size": 32}
    offloading.check_options(options)
    case = first_of("coverage/layout_full_only")
    (group,) = case.layout.groups
    bench = offloading.make_bench(case.layout, offloading, "cpu", options)
    assert (group.block_size < 32, bench.chunk_tokens(0)) == (True, 32)
    assert play(case, offloading, options=options).outcome is not Outcome.NOT_APPLICABLE
    played = play(case, offloading, options={"block_size": group.block_size + 1})
    assert played.outcome is Outcome.NOT_APPLICABLE
    assert "blocks_per_chunk fits every layout" in played.text


def test_what_wants_a_gpu_is_not_applicable(offloading):
    """With vLLM's own words, and no reason to end the run."""
    options = {"spec_name": "CPUOffloadingSpec"}
    offloading.check_options(options)
    played = play(first_of("coverage/cold_consumer"), offloading, options=options)
    assert played.outcome is Outcome.NOT_APPLICABLE
    assert "there is no GPU here" in played.text
    assert "CUDA" in played.text


def nested(name, **settings):
    """Settings of a MultiConnector with one connector inside."""
    inner = {"kv_connector": name, "kv_role": "kv_both", "kv_connector_extra_config": settings}
    return {"connectors": json.loads(json.dumps([inner]))}


def test_a_connector_inside_another_decides_on_groups(tmp_path):
    """The inner one is asked by vLLM; a folder in its settings is its own in each case too."""
    multi = Vllm().factory("MultiConnector")
    options = nested("ExampleConnector", shared_storage_path=str(tmp_path / "store"))
    multi.check_options(options)
    played = play(first_of("coverage/cold_consumer"), multi, options=options)
    assert played.outcome is Outcome.NOT_APPLICABLE
    assert "SupportsHMA" in played.text
    # Its known failures aside, nothing of one case shows in the next.
    for _ in range(2):
        played = play(first_of("coverage/layout_full_only"), multi, options=options)
        assert "kept from an earlier case" not in played.text
    multi.make_bench(first_of("coverage/layout_full_only").layout, multi, "cpu", options).close()
    assert list((tmp_path / "store").iterdir()) == []


def test_nothing_to_nest_is_told():
    """As a class of which nothing can be made."""
    with pytest.raises(KvconformError, match="no connector vllm:MultiConnector can be made"):
        Vllm().factory("MultiConnector").check_options({})


def test_a_bench_that_nobody_closed_is_closed_by_the_next(monkeypatch):
    """As after a case that turned out not to apply."""
    downs = []
    monkeypatch.setattr(vllm_connectors.Resetting, "shutdown", lambda side: downs.append(type(side)))
    made = factory("Resetting")
    layout = first_of("isolation/salt").layout
    benches = [made.make_bench(layout, made, "cpu", {}) for _ in range(2)]
    assert len(downs) == 2  # both sides of the first
    for bench in benches:
        bench.close()
    assert len(downs) == 4


def test_a_worker_of_the_users_own_takes_claims_away(offloading):
    """What the suite's worker alone can do is claimed with it alone."""
    layout = first_of("coverage/cold_consumer").layout
    bench = offloading.make_bench(layout, offloading, "cpu", {})
    assert {Capability.CHUNK_CONTROL, Capability.TRANSFER_CONTROL} <= bench.capabilities
    assert bench.name == installed_release().title
