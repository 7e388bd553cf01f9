"""`kvconform stores`: one line a store at the end, also for one that cannot be run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kvconform.cli import main, stores
from kvconform.results.journal import Journal, plain, read_records
from kvconform.results.record import CaseRecord, Outcome
from kvconform.store.counts import StoreCount
from kvconform.store.environments import ENVIRONMENTS, expectations_name, stores_of_this_environment

CHECKOUT = Path(__file__).parents[2]


def test_it_closes_with_a_line_for_each_store(capsys, tmp_path):
    """A store whose packages are missing has a line with the cause, and fails the run."""
    file = tmp_path / "counts.json"
    words = ["stores", "memory", "fs", "aibrix", "stores/sizes", "--counts", str(file)]
    words += ["--records", str(tmp_path / "kept")]
    assert main(words) == 1
    lines = capsys.readouterr().out.strip().splitlines()[-3:]
    assert lines[0] == "memory: 5 passed, 0 failed, 0 expected, 0 not applicable"
    assert lines[1] == "fs: 5 passed, 0 failed, 0 expected, 0 not applicable"
    assert lines[2].startswith("aibrix: not run: store 'aibrix' needs aibrix-kvcache")
    assert [one["passed"] for one in json.loads(file.read_text())] == [5, 5, 0]
    kept = {path.name: read_records(path) for path in (tmp_path / "kept").iterdir()}
    assert {name: len(journal.records) for name, journal in kept.items()} == {"memory.jsonl": 5, "fs.jsonl": 5, "aibrix.jsonl": 0}


def test_a_folder_of_records_that_cannot_be_made_is_told(capsys, tmp_path):
    """Before anything is run."""
    (tmp_path / "file").touch()
    assert main(["stores", "memory", "--records", str(tmp_path / "file" / "kept")]) == 2
    assert capsys.readouterr().err.endswith("cannot be made: Not a directory\n")


def test_an_environment_that_cannot_be_made_is_a_line(monkeypatch, capsys):
    """With the last error that was told; the others are run."""
    said = "print('ERROR: No matching distribution found for aibrix-kvcache'); print('evaluation failed'); raise SystemExit(1)"
    echoed = stores._echoed
    monkeypatch.setattr(stores, "_echoed", lambda _: echoed([sys.executable, "-c", said]))
    assert main(["stores", "--tox", "memory", "aibrix", "stores/sizes"]) == 1
    lines = capsys.readouterr().out.strip().splitlines()[-2:]
    assert lines == [
        "memory: 5 passed, 0 failed, 0 expected, 0 not applicable",
        "aibrix: not run: tox -e aibrix ended with 1: ERROR: No matching distribution found for aibrix-kvcache",
    ]


def test_what_tox_is_asked_for_is_what_was_asked(monkeypatch, tmp_path):
    """The stores, the matrices and the plan go on to the environment, which writes its counts."""
    asked = []

    def run(command):
        asked.append(command)
        Path(command[command.index("--counts") + 1]).write_text(
            '[{"name": "lmcache-l2", "passed": 3}, {"name": "lmcache-disk", "failed": 1}]'
        )
        return [], 1

    monkeypatch.setattr(stores, "_echoed", run)
    words = ["stores", "--tox", "lmcache-l2", "lmcache-disk", "stores/sizes", "--level", "full", "--records", "kept"]
    monkeypatch.chdir(tmp_path)
    assert main(words) == 1
    (command,) = asked
    words = command[command.index("-e") : command.index("--counts")]
    assert words == [
        "-e", "lmcache", "--", "lmcache-l2", "lmcache-disk", "stores/sizes", "--level", "full",
        "--case-timeout", "60.0", "--records", str(tmp_path / "kept"),
    ]  # fmt: skip


@pytest.mark.parametrize("store", ENVIRONMENTS)
def test_every_store_has_an_environment_that_exists(store):
    """And the expectations that the third-party ones are run with."""
    environment = ENVIRONMENTS[store]
    ini = (CHECKOUT / "tox.ini").read_text()
    assert not environment or f"[testenv:{environment}]" in ini
    assert not environment or (CHECKOUT / "expectations" / expectations_name(store)).exists()


def test_a_tox_environment_runs_its_own_stores(monkeypatch):
    """Outside of one all, and where it is for none of them."""
    for name, own in (("lmcache", 2), ("mooncake", 1), ("tests", 7), ("", 7)):
        monkeypatch.setenv("TOX_ENV_NAME", name)
        assert len(stores_of_this_environment()) == own


def test_what_fails_a_run_counts_as_failed_and_nothing_run_is_not_good():
    """Failures, what could not be measured, unexpected passes, errors."""
    journal = Journal()
    for at, outcome in enumerate(Outcome):
        record = CaseRecord(case=f"m[{at}]", matrix="m", source="m.yaml:1", outcome=outcome)
        journal.apply(plain(record.to_json()))
    count = StoreCount.of("fs", journal)
    assert str(count) == "fs: 1 passed, 4 failed, 1 expected, 1 not applicable"
    assert not count.is_good
    assert not StoreCount(name="fs", not_applicable=3).is_good
    assert StoreCount(name="fs", passed=1).is_good
