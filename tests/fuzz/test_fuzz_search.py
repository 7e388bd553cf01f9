"""Searches: seeded faults are found and made small, the same way each time; the rest is told."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kvconform.cli import main
from kvconform.fuzz.corpus import read
from kvconform.fuzz.play import Target, play
from kvconform.registry import resolve_connector

HERE = Path(__file__).resolve().parent

Fuzz = Callable[..., tuple[int, str]]


@pytest.fixture
def fuzz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Fuzz:
    """Runs the command; returns its exit code and what it wrote.  The corpus is ``corpus``."""
    monkeypatch.chdir(HERE)  # where the fakes can be imported from

    def fuzz(*words: str, watched: bool = False) -> tuple[int, str]:
        own = [] if watched else ["--in-process"]
        code = main(["fuzz", "--no-project", "--corpus", str(tmp_path / "corpus"), *own, *words])
        out, err = capfd.readouterr()
        return code, out + err

    return fuzz


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """The folder of the fixture ``fuzz``."""
    return tmp_path / "corpus"


def kind_of(path: Path, connector: str) -> str:
    """What the example of a file shows on a connector."""
    (example,) = read(path).examples.values()
    return play(example, Target(factory=resolve_connector(connector).factory)).kind


@pytest.mark.parametrize(
    "fault",
    [
        "no-fence",
        "salt-ignored",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("half-chunk", "ranks-share-memory", "stray-write")
        ),
    ],
)
def test_a_seeded_fault_is_found_and_its_file_shows_it(fuzz, corpus, fault):
    """Within 60 examples; the file fails by the check that is told, and passes on the reference."""
    connector = f"mutant:{fault}"
    code, out = fuzz("--connector", connector, "--examples", "60")
    assert code == 1, out
    (path,) = corpus.iterdir()
    assert f"written    {path}" in out
    first, check = re.findall(r"^  ([A-Z]+-\d+) ([a-z-]+): fail$", out, re.MULTILINE)[0]
    assert path.name.startswith(f"{first.lower()}-")
    assert kind_of(path, connector) == check
    assert kind_of(path, "reference") == ""
    events = len(next(iter(read(path).examples.values())).events)
    assert events <= 5


@pytest.mark.slow
def test_the_same_seed_finds_the_same(fuzz, corpus):
    """To the byte, and another seed need not."""
    texts = []
    for _ in range(2):
        fuzz("--connector", "mutant:half-chunk", "--examples", "100", "--seed", "1")
        (path,) = corpus.iterdir()
        texts.append((path.name, path.read_text("utf-8")))
        path.unlink()
    assert texts[0] == texts[1]


def test_nothing_is_found_on_the_reference(fuzz, corpus):
    """And the closing line says what was seen."""
    code, out = fuzz("--examples", "60")
    assert code == 0, out
    seen = re.search(r"nothing found in 60 examples of \d+ layouts, \d+ requests, (\d+) hits", out)
    assert seen is not None
    assert int(seen[1]) > 0
    assert list(corpus.iterdir()) == []


def test_a_connector_that_never_hits_was_not_measured(fuzz):
    """Nothing found among no hits is no success."""
    code, out = fuzz("--connector", "fuzz_fakes:never_hits", "--examples", "30")
    assert code == 5
    assert "no request ever hit, so that nothing was measured" in out


@pytest.mark.slow
def test_the_corpus_is_replayed_first(fuzz, corpus):
    """What fails is told before anything is drawn; what no longer parses does not hide the rest."""
    fuzz("--connector", "mutant:half-chunk", "--examples", "100")
    (found,) = corpus.iterdir()
    (corpus / "broken.yaml").write_text("format: 1\nname: [\n")
    (corpus / "other.yaml").write_text(found.read_text("utf-8").replace("events:", "evnts:"))
    code, out = fuzz("--connector", "mutant:half-chunk", "--examples", "100")
    assert code == 1
    assert "broken.yaml is left out: it no longer parses:" in out
    assert "other.yaml:" in out
    assert "did you mean 'events'?" in out
    assert f"corpus: {found.stem}[only] fails" in out
    assert "nothing found" not in out
    code, out = fuzz("--examples", "30")
    assert code == 2, out  # the reference passes the one that is left, and two files are of no use
    assert "1 replayed, 0 failed, 2 file(s) left out" in out
    assert "nothing found" in out


@pytest.mark.slow
def test_what_does_not_fail_each_time_is_told(fuzz):
    """A connector that remembers earlier cases makes no steady finding."""
    code, out = fuzz("--connector", "fuzz_fakes:Remembers", "--examples", "200")
    assert code == 1
    assert "it does not fail each time" in out


def test_an_extra_that_is_missing_is_one_line(fuzz, monkeypatch):
    """With the command that installs it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    code, out = fuzz("--examples", "1")
    assert code == 2
    assert out == (
        "kvconform: kvconform fuzz draws its examples with Hypothesis, which is not installed: "
        "python -m pip install 'hypothesis>=6.100'\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--examples", "0"], "0 is no number of examples"),
        (["--minutes", "1", "--examples", "1"], "not allowed with argument"),
        (["--connector", "refrence"], "did you mean reference?"),
    ],
)
def test_a_wrong_command_line_is_told(fuzz, words, said):
    """Exit code 2, and nothing is written."""
    code, out = fuzz(*words)
    assert code == 2
    assert said in out


def test_a_hang_and_a_crash_leave_their_example(fuzz, corpus):
    """The process is gone; its example has a file of its own, which is replayed the next time."""
    code, out = fuzz("--connector", "fuzz_fakes:Crashes", "--examples", "50", watched=True)
    assert code == 1, out
    assert "LIF-1: the process ended with it: SIGSEGV" in out
    (path,) = corpus.iterdir()
    assert path.name.startswith("lif-1-")
    path.unlink()
    code, out = fuzz(
        "--connector", "fuzz_fakes:Hangs", "--examples", "50", "--case-timeout", "1", watched=True
    )
    assert code == 1, out
    assert "TRM-1: it hung: not back after 1 s" in out
    (path,) = corpus.iterdir()
    assert kind_of(path, "reference") == ""
