"""What is said before vLLM is imported: releases, claims, the page of results."""

from __future__ import annotations

import json

import pytest

from kvconform.ports import Capability
from kvconform_vllm import environment, releases, results
from kvconform_vllm.claims import ClaimsFileError, overridden
from kvconform_vllm.provider import Vllm


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


def test_a_file_of_claims_adds_and_takes_away(tmp_path):
    """True adds a claim, false takes it away, the others stay."""
    file = tmp_path / "claims.yaml"
    file.write_text("later: false\nlongest_hit: true\n")
    claims = overridden(frozenset({Capability.LATER, Capability.EAGLE}), str(file))
    assert claims == {Capability.EAGLE, Capability.LONGEST_HIT}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("latr: true", r"no capability is named 'latr'; did you mean later\?"),
        ("later: 1", "later is 1, must be true or false"),
        ("- later", "must be a mapping"),
        ("later: [", "is no YAML"),
    ],
)
def test_a_wrong_file_of_claims_is_told(tmp_path, text, said):
    """The message names the file, what is wrong and the nearest name."""
    file = tmp_path / "claims.yaml"
    file.write_text(text)
    with pytest.raises(ClaimsFileError, match=said):
        overridden(frozenset(), str(file))


def test_the_page_of_results_counts_checks_by_release(tmp_path):
    """Passed, failed and not applicable stand apart, one column a release."""
    paths = []
    for version, outcome in (("0.30.0", "fail"), ("0.31.0", "pass")):
        header = {"event": "run", "connector": "vllm:X", "engine": f"vllm {version}", "format": 1}
        check = {"check": "hit-is-covered", "clause": "COV-2", "outcome": outcome}
        case = {"event": "case", "case": "c", "matrix": "m", "source": "s", "checks": [check]}
        paths.append(tmp_path / f"{version}.jsonl")
        lines = [header, {**case, "outcome": outcome}]
        paths[-1].write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = tmp_path / "page.md"
    assert results.main([*map(str, paths), "-o", str(page)]) == 0
    assert "| | 0.30.0 | 0.31.0 |" in page.read_text()
    assert "| COV-2 (engine death) | 0 / 1 / 0 | 1 / 0 / 0 |" in page.read_text()


def test_records_of_another_engine_make_no_page(tmp_path, capsys):
    """A file that is no run on vLLM is refused by name."""
    path = tmp_path / "reference.jsonl"
    path.write_text(json.dumps({"event": "run", "connector": "reference", "format": 1}) + "\n")
    assert results.main([str(path), "-o", str(tmp_path / "page.md")]) == 2
    assert "no records of a run on vLLM" in capsys.readouterr().err
