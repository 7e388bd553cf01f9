"""What is said before vLLM is imported: releases, names, claims, answers, the page of results."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from kvconform.ports import Capability
from kvconform_vllm import environment, releases, results
from kvconform_vllm.claims import ClaimsFileError, overridden
from kvconform_vllm.provider import NAMES, Vllm
from kvconform_vllm.returns import problem_with


def _install(monkeypatch, version):
    environment.load_vllm.cache_clear()
    monkeypatch.setattr(releases.importlib.util, "find_spec", lambda name: version and name)

    def found(name):
        if version is None:
            raise releases.importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(releases.importlib.metadata, "version", found)


def test_a_missing_vllm_is_named_with_the_releases_that_would_do(monkeypatch):
    """One line says that vLLM is missing, which releases do, and where to read on."""
    _install(monkeypatch, None)
    with pytest.raises(releases.VllmMissingError, match=r"not installed.*0\.29.*0\.33.*docs/vllm"):
        Vllm().factory("")


@pytest.mark.parametrize("version", ["0.28.1", "0.34.0", "1.0", "0.1.dev1+g123"])
def test_an_unknown_release_is_refused_by_name(monkeypatch, version):
    """A release that nobody looked at is refused, whichever way it differs."""
    _install(monkeypatch, version)
    with pytest.raises(releases.UnsupportedReleaseError, match="is installed; supported are"):
        Vllm().factory("OffloadingConnector")


@pytest.mark.parametrize("version", ["0.29.0", "0.33.0+cpu", "0.31.2"])
def test_patch_releases_and_local_builds_count(monkeypatch, version):
    """Only the first two numbers decide."""
    _install(monkeypatch, version)
    assert releases.installed_release().title == f"vllm {version}"


def test_python_without_assertions_is_refused(monkeypatch):
    """One line, before vLLM is imported: its own checks would be left out."""
    _install(monkeypatch, "0.33.0")
    monkeypatch.setattr(environment, "sys", SimpleNamespace(flags=SimpleNamespace(optimize=1)))
    with pytest.raises(environment.NoAssertionsError, match=r"-O or PYTHONOPTIMIZE"):
        Vllm().factory("")


def test_a_class_has_one_name(monkeypatch):
    """Without a name it is the first of those that are listed."""
    _install(monkeypatch, "0.33.0")
    vllm = Vllm()
    assert [vllm.canonical(name) for name in ("", *NAMES)] == [NAMES[0], *NAMES]
    assert vllm.describe(NAMES[0]) == {"version": "0.33.0"}


def test_the_version_is_that_of_the_package_of_the_class(monkeypatch, tmp_path):
    """Not vLLM's, which is the engine's; vLLM's own classes may be written with their module."""
    _install(monkeypatch, "0.33.0")
    (tmp_path / "acme_vllm.py").write_text("__version__ = '0.7.1'\n")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("acme_vllm")
    assert Vllm().describe("acme_vllm:Acme") == {"version": "0.7.1"}
    assert Vllm().describe("vllm.some.module:OffloadingConnector") == {"version": "0.33.0"}


def test_a_class_of_the_interface_is_recognized():
    """By the names of its bases; factories and instances are none."""

    class KVConnectorBase_V1: ...  # noqa: N801 - vLLM's own name

    class Own(KVConnectorBase_V1): ...

    assert Vllm().recognizes(Own)
    assert not any(Vllm().recognizes(found) for found in (Own(), print, int, SimpleNamespace))


HEADER = {"event": "run", "format": 1, "kvconform": "0.1.0", "contract": 1, "device": "cpu", "cases": 1}
RESULTS = SimpleNamespace(finished_sending=set(), finished_recving={"r"}, failed_recving=())
PAIR = "a pair (number of tokens or None, whether the load is asynchronous)"


@pytest.mark.parametrize(
    ("hook", "value", "expected"),
    [
        ("get_num_new_matched_tokens", 0, PAIR),
        ("get_num_new_matched_tokens", (True, False), PAIR),
        ("get_num_new_matched_tokens", ("8", False), PAIR),
        ("request_finished", None, "a pair"),
        ("request_finished_all_groups", (False, ["x"]), "a dict of parameters or None"),
        ("get_finished", None, "each a set or None"),
        ("get_finished", ({"r"}, "r"), "each a set or None"),
        ("get_finished", ({1}, set()), "each a set or None"),
        ("get_transfer_results", ({"r"}, set()), "a KVConnectorTransferResults"),
        ("get_block_ids_with_load_errors", {"7"}, "a set of block ids"),
        ("get_block_ids_with_load_errors", 7, "a set of block ids"),
        ("build_connector_meta", None, "a KVConnectorMetadata"),
        ("build_connector_worker_meta", {}, "has a method 'aggregate'"),
        ("get_loaded_kv_cache_group_ids", None, "a tuple of group ids"),
        ("get_external_cache_hit_sources", 3, "a dict from cache tier to tokens"),
        ("take_events", 1, "an iterable of events"),
    ],
)
def test_an_answer_of_another_type_is_told(hook, value, expected):
    """With what was returned, cut where it is long, and what was expected."""
    assert expected in problem_with(hook, value)
    assert problem_with(hook, value).startswith(f"returned {value!r}, expected ")


@pytest.mark.parametrize(
    ("hook", "value"),
    [
        ("get_num_new_matched_tokens", (None, False)),
        ("get_num_new_matched_tokens", (-8, True)),  # what it is worth the judges say
        ("request_finished", (True, {"remote": 1})),
        ("get_finished", (None, ["r"])),
        ("get_transfer_results", RESULTS),
        ("get_block_ids_with_load_errors", None),
        ("build_connector_worker_meta", SimpleNamespace(aggregate=print)),
        ("take_events", iter(())),
        ("on_new_request", object()),
    ],
)
def test_an_answer_that_vllm_takes_is_let_through(hook, value):
    """Also where the interface says it otherwise."""
    assert not problem_with(hook, value)


def test_a_file_of_claims_adds_and_takes_away(tmp_path):
    """True adds a claim, false takes it away, the others stay."""
    file = tmp_path / "claims.yaml"
    file.write_text("later: false\nlongest_hit: true\n")
    claims = overridden(frozenset({Capability.LATER, Capability.EAGLE}), str(file))
    assert claims == {Capability.EAGLE, Capability.LONGEST_HIT}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("latr: true", r"yaml:1:1: no capability is named 'latr' \(did you mean 'later'\?\)"),
        ("later: 1", r"yaml:1:1: later is 1 \(must be true or false\)"),
        ("later: true\nlater: false", r"yaml:2:1: the key 'later' stands twice"),
        ("- later", "must be a mapping"),
        ("later: [", "this is not YAML"),
        ("", r"the file is empty \(write a mapping"),
        ("chunk_control: true", "chunk_control cannot be true: the suite cannot put"),
        ("transfer_control: true", "transfer_control cannot be true: copies"),
    ],
)
def test_a_wrong_file_of_claims_is_told(tmp_path, text, said):
    """The message names the file, the line, what is wrong and the nearest name."""
    file = tmp_path / "claims.yaml"
    file.write_text(text)
    with pytest.raises(ClaimsFileError, match=said):
        overridden(frozenset(), str(file))


def test_the_page_of_results_counts_checks_by_release(tmp_path):
    """Passed, failed and not applicable stand apart, one column a release, and how many cases there were."""
    paths = []
    for version, outcome in (("0.30.0", "fail"), ("0.31.0", "pass")):
        header = {**HEADER, "connector": "vllm:X", "engine": f"vllm {version}"}
        check = {"check": "hit-is-covered", "clause": "COV-2", "outcome": outcome}
        case = {"event": "case", "case": "c", "matrix": "m", "source": "s", "checks": [check], "clauses": []}
        paths.append(tmp_path / f"{version}.jsonl")
        lines = [header, {**case, "outcome": outcome}]
        paths[-1].write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = tmp_path / "page.md"
    assert results.main([*map(str, paths), "-o", str(page)]) == 0
    assert "| | 0.30.0 | 0.31.0 |" in page.read_text()
    assert "| of cases | 1 | 1 |" in page.read_text()
    assert "| COV-2 (engine death) | 0 / 1 / 0 / 0 | 1 / 0 / 0 / 0 |" in page.read_text()


def test_releases_that_ran_other_matrices_stand_in_a_table_of_their_own(tmp_path):
    """The widest run comes first; of the others the page says what they had."""
    paths = []
    for version, matrices in (("0.30.0", {"b": 1}), ("0.31.0", {"a": 1, "b": 1})):
        header = {**HEADER, "connector": "vllm:X", "engine": f"vllm {version}"}
        paths.append(tmp_path / f"{version}.jsonl")
        paths[-1].write_text(json.dumps({**header, "matrices": matrices}) + "\n")
    page = tmp_path / "page.md"
    assert results.main([*map(str, paths), "-o", str(page)]) == 0
    wide, _, narrow = page.read_text().partition("Of these matrices alone: b.")
    assert "| | 0.31.0 |" in wide
    assert "| | 0.30.0 |" in narrow


def test_records_of_another_engine_make_no_page(tmp_path, capsys):
    """A file that is no run on vLLM is refused by name."""
    path = tmp_path / "reference.jsonl"
    path.write_text(json.dumps({**HEADER, "connector": "reference", "engine": "built-in"}) + "\n")
    assert results.main([str(path), "-o", str(tmp_path / "page.md")]) == 2
    assert "no records of a run on vLLM" in capsys.readouterr().err
