"""The pages name commands, options, methods, clauses and files that exist, and all of them."""

from __future__ import annotations

import argparse
import re
import tomllib
from dataclasses import fields
from itertools import product
from pathlib import Path

import pytest
from docs_pages import CONNECTOR, PAGES, ROOT, blocks, commands, first_column, options, prose

from kvconform.cli import COMMANDS
from kvconform.contract.clauses import CHECKS, CLAUSES
from kvconform.engine.calls import required_methods
from kvconform.matrix.axes import read_space
from kvconform.matrix.document import read_document
from kvconform.matrix.load import matrix_schema
from kvconform.matrix.report import Report
from kvconform.plugin_options import DEVICES
from kvconform.ports import Capability, Group, Layout, Request, SchedulerSide, WorkerSide
from kvconform.registry import GROUP
from kvconform.run.request import CASE_SECONDS

EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def _plain(words: list[str]) -> list[str]:
    """``[PATH...]`` and ``[--flag]`` of a synopsis, as if they were given."""
    return [word.strip("[]").removesuffix("...") for word in words]


def _flags(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for action in parser._actions for flag in action.option_strings}


@EVERY_PAGE
def test_commands_exist_and_take_what_is_shown(page: Path) -> None:
    """Each ``kvconform COMMAND ...`` on a page is one that the command line accepts."""
    for words in commands(page):
        name, *rest = _plain(words)
        assert name in COMMANDS, f"{page.name}: kvconform {name}"
        own = rest[: rest.index("--")] if "--" in rest else rest
        assert COMMANDS[name].takes_pytest_args or own == rest
        COMMANDS[name].parser().parse_intermixed_args(own)


@EVERY_PAGE
def test_options_exist(page: Path) -> None:
    """Each long option on a page belongs to some command."""
    known = set().union(*(_flags(command.parser()) for command in COMMANDS.values()))
    assert options(page) <= known


@EVERY_PAGE
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link leads to a file, each anchor to a heading of the page."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        leads_to = page.parent / file if file else page
        assert leads_to.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in _anchors(leads_to), f"{page.name}: {target}"


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in headings}


def environments() -> set[str]:
    """Names of the environments in tox.ini, generated ones (``a{1,2}``) written out."""
    names: set[str] = set()
    tox = (ROOT / "tox.ini").read_text("utf-8")
    for section in re.findall(r"^\[testenv:(.+)\]$", tox, re.MULTILINE):
        parts = [part.split(",") for part in re.split(r"[{}]", section)]
        names |= {"".join(choice) for choice in product(*parts)}
    return names


@EVERY_PAGE
def test_environments_exist(page: Path) -> None:
    """Each ``tox -e NAME`` on a page is an environment of tox.ini."""
    known = environments()
    for name in re.findall(r"tox -e ([\w-]+)", page.read_text("utf-8")):
        assert name in known, f"{page.name}: tox -e {name}"


@EVERY_PAGE
def test_clauses_exist(page: Path) -> None:
    """Each clause id on a page is one of the contract."""
    named = set(re.findall(r"\b[A-Z]{3}-\d+\b", prose(page)))
    assert named <= set(CLAUSES)


def test_readme_lists_the_commands() -> None:
    """The README has a row for every command, and for no other."""
    listed = {cell.split()[1] for cell in first_column(ROOT / "README.md", "command")}
    assert listed == set(COMMANDS)


def test_exit_codes_are_those_of_the_command() -> None:
    """The page and ``kvconform run --help`` tell the same exit codes."""
    told = set(re.findall(r"\b(\d+) (?=[a-z])", COMMANDS["run"].epilog))
    assert set(first_column(CONNECTOR, "exit code")) == told


def test_every_capability_is_explained() -> None:
    """The table of claims has each capability, once."""
    assert sorted(first_column(CONNECTOR, "claim")) == sorted(c.value for c in Capability)


def test_what_a_claim_makes_the_suite_judge() -> None:
    """The row of each claim names the checks that need it, with their clauses."""
    rows = {
        line.split("|")[1].strip().strip("`"): line
        for line in CONNECTOR.read_text("utf-8").splitlines()
        if line.startswith("| `")
    }
    for check in CHECKS.values():
        for need in check.needs:
            if need is not Capability.TRANSFER_CONTROL:
                assert f"`{check.name}` ({check.clause})" in rows[need.value]


def test_safe_and_best_clauses_are_told_apart() -> None:
    """The paragraph on safe clauses has all of them, the one on best clauses the others."""
    text = prose(CONNECTOR)
    safe, _, rest = text[text.index("**Safe** clauses") :].partition("**Best** clauses")
    best = rest.partition("\n\n")[0]
    for clause in CLAUSES.values():
        if clause.id.startswith("STO-"):
            continue  # of stores, which have a page of their own
        assert (clause.id in safe) == clause.safe
        assert (clause.id in best) == (not clause.safe)


def test_every_method_of_the_port_is_explained() -> None:
    """Required and optional methods of both sides stand on the page."""
    text = prose(CONNECTOR)
    for side in (SchedulerSide, WorkerSide):
        public = [name for name in vars(side) if not name.startswith("_") and name != "metadata"]
        assert set(required_methods(side)) <= set(public)
        for name in public:
            assert f"`{name}" in text, name


def test_figures_are_those_of_the_code() -> None:
    """Defaults and choices on the page are the real ones."""
    text = prose(CONNECTOR)
    assert f"({CASE_SECONDS:g} by default)" in text
    for device in DEVICES:
        assert device in text


def test_entry_point_block_is_valid() -> None:
    """The TOML block registers a provider in the group that the registry reads."""
    (block,) = (block for block in blocks(CONNECTOR) if block.language == "toml")
    assert list(tomllib.loads(block.text)["project"]["entry-points"]) == [GROUP]


def _attributes(kind: type) -> set[str]:
    """Public fields, properties and methods of a class."""
    named = set(getattr(kind, "__dataclass_fields__", ())) | set(vars(kind))
    return {name for name in named if not name.startswith("_")}


def _named_in_first_column(page: Path, heading: str) -> list[str]:
    """Names in backticks in the first cells of a table, without the arguments of methods."""
    cells = "`" + "` `".join(first_column(page, heading)) + "`"
    return re.findall(r"`(\w+)(?:\(\w+\))?`", cells)


@pytest.mark.parametrize(
    ("heading", "kind"), [("of `layout`", Layout), ("of a group", Group), ("of `request`", Request)]
)
def test_every_attribute_that_a_connector_is_handed_is_explained(heading: str, kind: type) -> None:
    """The tables name each attribute of the port's classes once, and no other."""
    assert sorted(_named_in_first_column(CONNECTOR, heading)) == sorted(_attributes(kind))


@pytest.mark.parametrize(("heading", "name"), [("key of `layout`", "layout"), ("key of a group", "group")])
def test_every_key_of_a_layout_is_explained(heading: str, name: str) -> None:
    """The tables have the keys of the schema, and mark those that are needed."""
    schema = matrix_schema()["$defs"][name]
    page = ROOT / "docs" / "scenario.md"
    assert sorted(first_column(page, heading)) == sorted(schema["properties"])
    lines = page.read_text("utf-8").splitlines()
    rows = lines[next(at for at, line in enumerate(lines) if line.startswith(f"| {heading} |")) :]
    needed = {row.split("`")[1] for row in rows[: rows.index("")] if "| needed" in row}
    assert needed == set(schema["required"])


def test_defaults_of_a_layout_are_those_of_the_code() -> None:
    """What stands in brackets behind a key's meaning is its default."""
    page = (ROOT / "docs" / "scenario.md").read_text("utf-8")
    for kind in (Layout, Group):
        for field in fields(kind):
            said = re.search(rf"^\| `{field.name}` \|.*\((\d+)\)", page, re.MULTILINE)
            assert said is None or int(said[1]) == field.default, field.name


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        ("[16, true, copies]", ["one.16", "one.on", "one.copies"]),
        ("[{label: c2.c7, value: [2, 7]}]", ["one.c2.c7"]),
        ("[-8, Big], labels: {-8: minus, Big: big}", ["one.minus", "one.big"]),
    ],
)
def test_values_of_an_axis_stand_in_ids_as_the_page_says(
    values: str, ids: list[str], tmp_path: Path
) -> None:
    """The values that the table of the page shows."""
    path = tmp_path / "m.yaml"
    path.write_text(f"axes:\n  - {{name: one, id: one, values: {values}}}\n")
    document = read_document(path, "m.yaml")
    space = read_space(document.plain(), Report(document))
    assert space is not None
    assert [space.axes[0].token(at) for at in range(len(ids))] == ids
