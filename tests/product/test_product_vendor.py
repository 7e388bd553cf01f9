"""A vendor's repository: what its settings fill in, and what is said when they are wrong."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import pytest
from product_vendor import VENDOR, Vendor

from kvconform.cli import COMMANDS
from kvconform.cli.settings import fill_in
from kvconform.project import KEYS, Project, ProjectError, read_project
from kvconform.registry import ConnectorAmbiguousError, ConnectorImportError, resolve_connector

CLOSING = "kvconform: 9 passed, 0 failed, 0 n/a, 0 untestable, 1 expected failures, 0 errors\n"


PAGE = Path(__file__).resolve().parents[2] / "docs" / "vendor.md"


def test_the_page_shows_the_settings_of_the_vendor() -> None:
    """As they stand in its file; the table explains every key."""
    text = PAGE.read_text("utf-8")
    (shown,) = re.findall(r"^```toml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert (VENDOR / "pyproject.toml").read_text("utf-8").endswith(f"\n\n{shown}")
    assert tuple(re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE)) == tuple(
        sorted(KEYS, key=text.index)
    )


def filled(words: list[str]) -> argparse.Namespace:
    """Options of ``kvconform run`` after the settings came in."""
    options = COMMANDS["run"].parser().parse_intermixed_args(words)
    fill_in(options)
    return options


def test_a_run_without_arguments_is_the_vendors_run(vendor: Vendor) -> None:
    """From a folder below too: connector, settings, matrices, templates, expectations."""
    done = vendor.kvconform("run", "-q", "--records", "../r.jsonl", below="src")
    assert (done.code, done.out) == (0, CLOSING), done.err
    lines = (vendor.repository / "r.jsonl").read_text("utf-8").splitlines()
    header = json.loads(lines[0])
    assert header["connector"] == "acme:host"
    assert header["connector_version"] == "2.1"
    assert header["options"] == {"num_slots": 256}
    assert header["matrices"] == {"in-flight": 2, "twice": 2, "cold-consumer": 6}


def test_check_and_list_take_the_settings_too(vendor: Vendor) -> None:
    """The same matrices, templates and expectations."""
    done = vendor.kvconform("check")
    assert (done.code, done.out, done.err) == (0, "3 matrices, 10 cases, 1 expectation: ok\n", "")
    done = vendor.kvconform("list", below="matrices")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("\n3 matrices, 10 cases\n")
    assert "coverage/cold_consumer " in done.out


def test_the_command_line_wins(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option by itself; settings of the connector one key at a time."""
    monkeypatch.chdir(vendor.repository)
    options = filled(["coverage", "--connector-config", "num_slots=9", "--expect", "mine.yaml"])
    assert options.paths == ["coverage"]
    assert options.connector == "acme:host"
    assert options.connector_config == ["num_slots=9"]
    assert options.expect == ["mine.yaml"]
    assert options.templates == [Path("templates")]


def test_expectations_and_settings_are_of_the_named_connector_alone(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another connector is not expected to fail where the vendor's does."""
    monkeypatch.chdir(vendor.repository)
    other = filled(["--connector", "reference"])
    assert (other.connector, other.expect, other.connector_config) == ("reference", [], [])
    assert other.paths[0] == "matrices"
    bare = filled(["--no-project"])
    assert (bare.connector, bare.paths, bare.templates) == ("reference", [], [])


def test_without_settings_nothing_changes(tmp_path: Path) -> None:
    """A pyproject.toml without the table is passed over, a broken one of others too."""
    (tmp_path / "pyproject.toml").write_text("[tool.other\n", "utf-8")
    assert read_project(tmp_path) == Project()


def test_settings_of_a_folder_above_count(vendor: Vendor) -> None:
    """Past a pyproject.toml that does not speak of kvconform."""
    inner = vendor.repository / "src" / "pyproject.toml"
    inner.write_text("[tool.other]\n", "utf-8")
    assert read_project(inner.parent).connector == "acme:host"


def test_everything_wrong_with_settings_is_told_at_once(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with its line and the nearest name."""
    monkeypatch.chdir(vendor.repository)
    vendor.settings(
        "[tool.kvconform]\n"
        "conector = 'acme:host'\n"
        "connector = 7\n"
        "matrices = ['matrices', 'coverage/cold_consumr']\n"
        "expectations = 'expectations.yaml'\n"
        "templates = ['expectations.yaml']\n"
        "[tool.kvconform.connector-config]\n"
        "since = 2026-01-01\n"
        "'a=b' = 1\n"
        "[tool.other]\n"
        "connector = 8\n"
    )
    with pytest.raises(ProjectError) as caught:
        read_project(Path.cwd())
    told = re.sub(r" or 'coverage/\w+'", "", str(caught.value))
    assert told.splitlines() == [
        (
            "pyproject.toml:18:1: unknown key 'conector' in [tool.kvconform] "
            "(did you mean 'connector'?)"
        ),
        "pyproject.toml:19:1: connector must be text, not 7",
        (
            "pyproject.toml:20:1: matrices: no file, folder or shipped matrix is named "
            "'coverage/cold_consumr' (did you mean 'coverage/cold_consumer'?)"
        ),
        (
            "pyproject.toml:21:1: expectations must be a list of texts, not 'expectations.yaml' "
            '(write ["expectations.yaml"])'
        ),
        "pyproject.toml:22:1: templates: there is no folder 'expectations.yaml'",
        (
            "pyproject.toml:23:1: connector-config: 'a=b' cannot be a key: it is handed on as "
            "KEY=VALUE"
        ),
        (
            "pyproject.toml:23:1: connector-config: since must be text, a number, true, false, a "
            "list or a table, not datetime.date(2026, 1, 1)"
        ),
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[tool]\nkvconform = 3\n", 18, "[tool.kvconform] must be a table, not 3"),
        ("[tool.kvconform]\nconnector = \n", 18, "this is not TOML: Invalid value"),
        ("[tool]\nkvconform.connectr = ''\n", 18, "unknown key 'connectr' in [tool.kvconform]"),
        ("[tool.kvconform]\n\nconnector-config = 1\n", 19, "connector-config must be a table"),
    ],
)
def test_settings_that_are_no_table_are_told(
    vendor: Vendor, text: str, line: int, message: str
) -> None:
    """One line on standard error, exit code 2, from every command that reads them."""
    vendor.settings(text)
    done = vendor.kvconform("list")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"kvconform: pyproject.toml:{line}:1: {message}")
    assert done.err.count("\n") == 1


def test_a_vendors_package_that_does_not_import_is_told(vendor: Vendor) -> None:
    """One line with the cause and the package's own entry point; no traceback."""
    (vendor.site / "acme_kv" / "kv.py").write_text("raise OSError('libacme.so: not found')\n")
    done = vendor.kvconform("run", "--device", "cpu")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "kvconform: connector 'acme': loading its provider acme_kv.provider:Provider failed: "
        "OSError: libacme.so: not found\n"
    )


def test_two_providers_of_one_name_are_refused(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather than one of them picked by the order of installation; both are named."""
    vendor.announce("acme-kv-fork", "acme = acme_fork.provider:Provider")
    monkeypatch.syspath_prepend(vendor.site)
    with pytest.raises(ConnectorAmbiguousError) as caught:
        resolve_connector("acme:host")
    assert str(caught.value) == (
        "two packages provide a connector named 'acme' (acme_fork.provider:Provider and "
        "acme_kv.provider:Provider); uninstall one of them"
    )


def test_a_provider_of_a_package_that_is_half_installed_is_told(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entry point is there and its module is not."""
    vendor.announce("ghost", "ghost = ghost_kv.provider:Provider")
    monkeypatch.syspath_prepend(vendor.site)
    with pytest.raises(ConnectorImportError, match="No module named 'ghost_kv'"):
        resolve_connector("ghost")
