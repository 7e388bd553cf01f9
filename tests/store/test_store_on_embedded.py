"""The embedded stores keep what they claim, and the reference over them keeps what it claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvconform.cli import main


@pytest.mark.parametrize("store", ["memory", "fs"])
def test_every_case_that_applies_passes(store, capsys):
    """Of a memory store no second process and no file is asked."""
    assert main(["run", "--no-project", "-q", "--store", store, "stores"]) == 0
    assert "0 failed" in capsys.readouterr().out


def test_a_store_and_a_connector_are_not_both_tested(capsys):
    """It is said which options do not go together."""
    assert main(["run", "--no-project", "--store", "fs", "--connector", "reference", "smoke"]) == 2
    assert "--store and --connector name what is tested" in capsys.readouterr().err


def test_an_unknown_store_is_told_with_the_nearest_one(capsys):
    """Before any case runs."""
    assert main(["run", "--no-project", "--store", "memry", "stores"]) == 2
    assert "memory" in capsys.readouterr().err


def test_a_store_without_its_packages_says_how_to_get_them(capsys, monkeypatch):
    """Wherever this runs, the module cannot be imported here."""
    monkeypatch.setitem(__import__("sys").modules, "kvconform_stores.aibrix", None)
    assert main(["run", "--no-project", "--store", "aibrix", "stores/agree"]) == 2
    assert "tox -e aibrix" in capsys.readouterr().err


def test_cases_of_stores_do_not_apply_to_a_connector(capsys):
    """They are told as not applicable, with what to do."""
    assert main(["run", "--no-project", "stores/agree"]) == 5
    assert "kvconform run --store NAME" in capsys.readouterr().out


def test_a_bench_gives_ratios_to_files_and_copies(capsys):
    """Put, get and what they are held against, in one run."""
    assert main(["bench", "--store", "memory"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("put", "get", "file write", "file read", "memory copy", "p99"))


def test_nothing_of_a_case_stays_behind(tmp_path: Path, monkeypatch):
    """Folders that a case was given are removed when it ends."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    main(["run", "--no-project", "-q", "--store", "fs", "stores/agree", "coverage/cold_consumer"])
    assert [path for path in tmp_path.iterdir() if path.name.startswith("kvconform-")] == []
