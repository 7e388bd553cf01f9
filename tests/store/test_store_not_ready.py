"""What is wrong with a store's place is told in one line before any case, or by the cases that it fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

FAKES = Path(__file__).parent / "fakes"


@pytest.fixture
def command(tmp_path):
    """A command line of ours in a folder where the stand-ins are found, as a running process."""
    started = []

    def start(*words, **variables):
        environment = {**os.environ, "SERVED_PIDS": str(tmp_path / "pids"), **variables}
        process = subprocess.Popen(
            [sys.executable, "-m", "kvconform", *words],
            cwd=FAKES,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def servers(folder: Path) -> list[int]:
    """Process ids of the servers that have come up."""
    file = folder / "pids"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def is_alive(pid: int) -> bool:
    """Whether there is such a process; one that nobody has waited for is none."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("store", "words"),
    [
        ("served:no_server", ["the server ended with status 1", "no licence"]),
        ("served:wrong_address", ["nobody listens on port"]),
        ("served:Full", ["No space left on device", "/data/objects"]),
        ("served:Denied", ["Permission denied", "/data/objects"]),
        ("served:nothing", ["served has no 'nothing'"]),
        ("no_such_package:open_store", ["no_such_package"]),
    ],
)
def test_before_the_first_case_it_is_one_line_and_exit_2(command, store, words):
    """Whatever is missing, no case runs."""
    process = command("run", "--no-project", "--store", store, "stores/agree")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert out == ""
    (line,) = [text for text in err.splitlines() if text.startswith("kvconform: ")]
    assert "Traceback" not in err
    assert all(word in line for word in words), line


def test_a_server_that_goes_away_fails_the_cases_that_follow_and_the_run_goes_on(command, tmp_path):
    """The first cases passed; each of the others tells the cause."""
    process = command(
        "run", "--no-project", "--store", "served:open_store", "stores/agree", "stores/batches",
        SERVED_PUTS="20",
    )  # fmt: skip
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 1
    closing = out.strip().splitlines()[-1]
    assert " 0 untestable, 0 errors" in closing
    passed = int(closing.split()[1])
    assert 0 < passed < 15
    assert f"{passed} passed, {15 - passed} failed" in closing
    assert "served: the server is gone" in out
    assert not any(map(is_alive, servers(tmp_path)))


def test_in_a_connector_the_cause_stands_in_the_trace(command):
    """The engine lives on, and requests are computed instead of loaded."""
    process = command(
        "run", "--no-project", "--store", "served:open_store", "coverage/cold_consumer",
        "--max-cases", "1", SERVED_PUTS="3",
    )  # fmt: skip
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 1
    assert "the connector says: the store's put failed" in out
    assert "the server is gone" in out
    table = out.partition("checks by clause")[2].partition("failure 1")[0]
    sound = {line.split()[0]: line.split()[2] for line in table.splitlines() if " " in line.strip()}
    # Nothing wrong is served, nothing raises, every request ends.
    assert [sound[clause] for clause in ("COV-1", "INT-1", "LIF-1", "TRM-1")] == ["0"] * 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_no_server_outlives_a_run_that_is_interrupted(command, tmp_path, number):
    """Servers are in sessions of their own, which no Ctrl-C reaches."""
    process = command("run", "--no-project", "--store", "served:open_store", "stores")
    until = time.monotonic() + 120
    while not servers(tmp_path) and time.monotonic() < until:
        time.sleep(0.1)
    (server,) = servers(tmp_path)
    assert is_alive(server)
    os.killpg(process.pid, number)
    process.communicate(timeout=60)
    assert process.returncode == 130
    until = time.monotonic() + 10
    while is_alive(server) and time.monotonic() < until:
        time.sleep(0.1)
    assert not is_alive(server)
