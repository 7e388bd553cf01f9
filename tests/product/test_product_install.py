"""The wheel, away from the checkout, is what the checkout is; a vendor's package beside it."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from product_vendor import VENDOR, Done, command, environment

from kvconform.cli import main

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(sysconfig.get_path("purelib"))

pytestmark = pytest.mark.slow

Program = Callable[..., Done]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder)
    done = command(*pip, ROOT, folder=folder)
    assert done.code == 0, done.err
    (wheel,) = folder.glob("kvconform-*.whl")
    return wheel


def new_environment(folder: Path, *packages: Path | str) -> Path:
    """A new virtual environment with ``packages``; returns its Python.

    Dependencies, torch above all, are those of the environment that runs the tests: their folder
    stands in a path file, in which path files do not count, so that its editable kvconform is
    not found there.
    """
    done = command(sys.executable, "-m", "venv", "--without-pip", folder, folder=folder.parent)
    assert done.code == 0, done.err
    python = folder / "bin" / "python"
    own = command(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=folder
    )
    (Path(own.out.strip()) / "dependencies.pth").write_text(f"{HERE}\n", "utf-8")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--ignore-installed")
    done = command(*pip, *packages, folder=folder)
    assert done.code == 0, done.err
    return python


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel and the vendor's package."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(VENDOR, folder / "acme", ignore=shutil.ignore_patterns("__pycache__"))
    return new_environment(folder / "venv", built, folder / "acme")


def kvconform(python: Path, folder: Path, *words: str) -> Done:
    """Run the installed program."""
    return command(python.parent / "kvconform", *words, folder=folder, env=environment())


def test_the_code_that_runs_is_that_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    """Not the checkout's, which the environment of the tests has too."""
    words = (installed, "-c", "import kvconform; print(kvconform.__file__)")
    place = Path(command(*words, folder=tmp_path).out.strip())
    assert place.is_relative_to(installed.parents[1])


def test_shipped_matrices_run_by_their_bare_name(installed: Path, tmp_path: Path) -> None:
    """On the connectors that the wheel brings, with plain pytest too."""
    done = kvconform(installed, tmp_path, "run", "coverage/cold_consumer", "-q")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith(" 0 failed, 0 n/a, 0 untestable, 0 errors\n")
    done = kvconform(installed, tmp_path, "render", "coverage/cold_consumer", "-o", "cases")
    assert done.code == 0, done.err
    assert command(installed, "-m", "pytest", "-q", "cases", folder=tmp_path).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["list"],
        ["list", "--mutants", "--capabilities"],
        ["schema", "layout"],
        ["new", "connector", "my-kv"],
        ["list", "nosuch"],
    ],
)
def test_wheel_and_checkout_say_the_same(
    installed: Path,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Answers, complaints and exit codes."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    done = kvconform(installed, tmp_path / "a", *words)
    monkeypatch.chdir(tmp_path / "b")
    code = main(words)
    told = capsys.readouterr()
    assert (done.code, done.out, done.err) == (code, told.out, told.err)


def test_a_vendors_repository_with_kvconform_installed(installed: Path) -> None:
    """The settings of its pyproject.toml, its registered connector."""
    repository = installed.parents[2] / "acme"
    done = kvconform(installed, repository, "run", "-q")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "kvconform: 9 passed, 0 failed, 0 n/a, 0 untestable, 1 expected failures, 0 errors\n"
    )


def test_a_vendors_package_as_tox_would_run_it(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tox itself says what it would install and run; its own installing is left out.

    The package of ``KVCONFORM_VENDOR`` is among the dependencies, and the command, with the
    arguments after ``--``, runs in an environment that has it.
    """
    monkeypatch.setenv("KVCONFORM_VENDOR", str(VENDOR))
    tox = (sys.executable, "-m", "tox", "-c", ROOT, "--workdir", tmp_path, "config")
    words = ("coverage/cold_consumer", "-q", "--connector", "acme_kv.kv:make_connector")
    own = ("--connector-config", "num_slots=256")
    env = {**environment(), "KVCONFORM_VENDOR": str(VENDOR)}
    asked = ("-e", "conformance", "-k", "deps", "commands", "--", *words, *own)
    done = command(*tox, *asked, folder=tmp_path, env=env)
    assert done.code == 0, done.err
    assert str(VENDOR) in done.out
    (line,) = re.findall(r"^(?:commands = )?\s*(kvconform run .*)$", done.out, re.MULTILINE)
    done = kvconform(installed, ROOT, *shlex.split(line)[1:])
    assert (done.code, done.err) == (0, "")
    assert done.out == "kvconform: 6 passed, 0 failed, 0 n/a, 0 untestable, 0 errors\n"


@pytest.mark.parametrize("name", ["conformance", "vllm29", "vllm33", "vllm33-tests"])
@pytest.mark.parametrize("package", [str(VENDOR), f"-e {VENDOR}", "acme-kv==2.1", ""])
def test_tox_installs_a_vendors_package_for_each_run(
    tmp_path: Path, name: str, package: str
) -> None:
    """Anew, whatever it is called by, and with pytest-xdist beside it; nothing if it is not given."""
    tox = (sys.executable, "-m", "tox", "-c", ROOT, "--workdir", tmp_path, "config", "-e", name)
    env = {**environment(), "KVCONFORM_VENDOR": package}
    done = command(*tox, "-k", "extras", "commands_pre", folder=tmp_path, env=env)
    assert done.code == 0, done.err
    assert "\nextras = parallel\n" in done.out
    wanted = f"--no-deps --force-reinstall -r /dev/null {package}".rstrip()
    last = done.out.rstrip().splitlines()[-1]
    assert last.endswith(f"python -m pip install --quiet {wanted}")


def test_a_wheel_without_data_says_so(built: Path, tmp_path: Path) -> None:
    """Whatever is asked of it; one line, exit code 2."""
    bare = tmp_path / "bare"
    with zipfile.ZipFile(built) as wheel:
        wheel.extractall(bare)
    shutil.rmtree(bare / "kvconform" / "data" / "matrix")
    env = environment(bare, HERE)
    for words in (["list"], ["run", "coverage/cold_consumer"], ["new", "connector", "x"]):
        done = command(sys.executable, "-m", "kvconform", *words, folder=tmp_path, env=env)
        assert (done.code, done.out) == (2, "")
        assert done.err == (
            "kvconform: this installation of kvconform lacks its matrices and templates "
            f"({bare / 'kvconform' / 'data'}); install the distribution again, from a wheel that "
            "was built from a whole checkout\n"
        )
