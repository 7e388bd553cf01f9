"""Scenario definitions, layouts in files of their own, and the schema itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from kvconform import resources
from kvconform.contract.clauses import CHECKS
from kvconform.matrix import (
    Matrix,
    MatrixError,
    ScenarioError,
    ScenarioNotFoundError,
    load_matrix,
    load_scenario,
    matrix_schema,
    scenario_names,
)

GOOD = """\
title: Mine
checks: [no-exception]
given:
  type: object
  properties:
    depth: {$ref: "#/$defs/depth"}
    items: {type: array, items: {$ref: "#/$defs/item"}}
  $defs:
    depth: {type: integer, minimum: 1}
    item: {type: object, additionalProperties: false, properties: {depth: {$ref: "#/$defs/depth"}}}
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write a scenario called ``mine`` into a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> Path:
        folder = tmp_path / "own"
        folder.mkdir(exist_ok=True)
        (folder / "mine.scenario.yaml").write_text(text)
        (folder / "mine.py.j2").touch()
        return folder

    return write


def test_load(mine: Callable[[str], Path]) -> None:
    """A definition gives title, checks, schema and the template beside it."""
    folder = mine(GOOD)
    scenario = load_scenario("mine", [folder])
    assert (scenario.name, scenario.title, scenario.checks) == ("mine", "Mine", ("no-exception",))
    assert scenario.template == folder / "mine.py.j2"
    assert scenario.schema["type"] == "object"
    assert "mine" in scenario_names([folder])


def test_first_folder_wins(mine: Callable[[str], Path], templates: Path) -> None:
    """Of several folders the first that has the name wins, and all win over the shipped one."""
    folder = mine(GOOD)
    (folder / "admission.scenario.yaml").write_text(GOOD)
    (folder / "admission.py.j2").touch()
    assert load_scenario("admission", [folder, templates]).title == "Mine"
    assert load_scenario("admission", [templates, folder]).title != "Mine"


def test_unknown(mine: Callable[[str], Path]) -> None:
    """An unknown scenario is answered with the nearest known one."""
    with pytest.raises(ScenarioNotFoundError) as caught:
        load_scenario("mines", [mine(GOOD)])
    assert str(caught.value) == "no scenario is named 'mines' (did you mean 'mine'?)"
    with pytest.raises(ScenarioNotFoundError):
        load_scenario("../own/mine", [mine(GOOD)])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title: Mine\n", "", "own/mine.scenario.yaml:1:1: the key 'title' is missing"),
        (
            "[no-exception]",
            "[no-exeption]",
            "own/mine.scenario.yaml:2:10: no check is named 'no-exeption' (did you mean 'no-exception'?)",
        ),
        (
            "type: object\n",
            "type: objekt\n",
            (
                "own/mine.scenario.yaml:4:9: this is not a JSON Schema: "
                "'objekt' is not valid under any of the given schemas"
            ),
        ),
        (
            'depth: {$ref: "#/$defs/depth"}\n    items',
            'depth: {$ref: "#/$defs/deep"}\n    items',
            "own/mine.scenario.yaml:6:19: the reference '#/$defs/deep' names nothing in this schema",
        ),
        (
            'depth: {$ref: "#/$defs/depth"}\n    items',
            'depth: {$ref: "https://example.org/x"}\n    items',
            "own/mine.scenario.yaml:6:19: the reference 'https://example.org/x' names nothing in this schema",
        ),
        (
            "minimum: 1}",
            "pattern: '['}",
            "own/mine.scenario.yaml:9:37: this is not a JSON Schema: '[' is not a 'regex'",
        ),
    ],
)
def test_bad_definition(mine: Callable[[str], Path], old: str, new: str, message: str) -> None:
    """A definition that cannot be used says what is wrong with it, and where."""
    assert GOOD.count(old) == 1
    with pytest.raises(ScenarioError) as caught:
        load_scenario("mine", [mine(GOOD.replace(old, new))])
    assert str(caught.value) == message


def test_missing_template(mine: Callable[[str], Path]) -> None:
    """A definition without its template is of no use, and a matrix that names it is told so."""
    folder = mine(GOOD)
    (folder / "mine.py.j2").unlink()
    message = "own/mine.scenario.yaml:1:1: the template mine.py.j2 is missing beside this file"
    with pytest.raises(ScenarioError) as caught:
        load_scenario("mine", [folder])
    assert str(caught.value) == message


def test_given_by_a_schema_with_definitions(
    mine: Callable[[str], Path], tiny: str, tmp_path: Path
) -> None:
    """References inside a scenario's schema work, whole and piece by piece."""
    folder = mine(GOOD)
    start = tiny.index("given:")
    text = (
        tiny[:start]
        + "given: {depth: {axis: window}, items: [{depth: {axis: eagle}}, {deep: 1}]}\n"
    )
    text += tiny[tiny.index("axes:") :].replace("[8, 16]", "[8, 0]")
    text = text.replace("scenario: admission", "scenario: mine").replace("[COV-1]", "[LIF-1]")
    text = text.replace("window: {axis: window}", "window: 8")
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(MatrixError) as caught:
        load_matrix("m.yaml", templates=[folder])
    assert str(caught.value).splitlines() == [
        "m.yaml:11:16: given.depth: expected an integer >= 1, got the number 0 (in row [win.0-eagle.off])",
        "m.yaml:11:48: given.items[0].depth: expected an integer >= 1, got false (in row [win.8-eagle.off])",
        "m.yaml:11:48: given.items[0].depth: expected an integer >= 1, got true (in row [win.8-eagle.on])",
        "m.yaml:11:65: unknown key 'deep' in given.items[1] (did you mean 'depth'?)",
    ]


LAYOUT = """\
hash_block: 8
groups:
  - {name: full, kind: full, block_size: 16}
  - {name: swa, kind: sliding, block_size: 8, window: {axis: window}, eagle: {axis: eagle}}
"""


class TestLayoutFiles:
    """Layouts by name."""

    @pytest.fixture
    def named(
        self, load: Callable[[str], Matrix], tiny: str, tmp_path: Path
    ) -> Callable[[str], str]:
        """What the tiny matrix is told with its layout in a file."""

        def complain(layout: str) -> str:
            (tmp_path / "layouts").mkdir(exist_ok=True)
            (tmp_path / "layouts" / "hybrid.yaml").write_text(layout)
            text = tiny[: tiny.index("layout:")] + "layout: hybrid\n" + tiny[tiny.index("given:") :]
            try:
                inline, by_name = load(tiny), load(text)
            except MatrixError as error:
                return str(error)
            assert [by_name.case(row).layout for row in by_name.rows] == [
                inline.case(row).layout for row in inline.rows
            ]
            return ""

        return complain

    def test_same_as_inline(self, named: Callable[[str], str]) -> None:
        """A layout by name means what it would mean in the matrix."""
        assert named(LAYOUT) == ""

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("hash_block: 8", "hash_blok: 8",
             ("layouts/hybrid.yaml:1:1: the key 'hash_block' is missing in layout\n"
             "layouts/hybrid.yaml:1:1: unknown key 'hash_blok' in layout (did you mean 'hash_block'?)")),
            ("block_size: 16", "block_size: 12",
             "layouts/hybrid.yaml:3:5: group 'full': block_size 12 is not a multiple of hash_block 8"),
            ("{axis: window}", "{axis: widow}",
             ("layouts/hybrid.yaml:4:62: no axis is named 'widow' (did you mean 'window'?)\n"
             "m.yaml:11:12: the axis 'window' is never used (write {axis: window} where it belongs)")),
            ("hash_block: 8", "hash_block: 8\nhash_block: 8",
             "layouts/hybrid.yaml:2:1: the key 'hash_block' stands twice (first on line 1)"),
        ],
    )  # fmt: skip
    def test_bad_layout(
        self, named: Callable[[str], str], old: str, new: str, message: str
    ) -> None:
        """What is wrong with a layout is told in the layout's own file."""
        assert named(LAYOUT.replace(old, new)) == message

    def test_unknown(self, told: Callable[[str], str], tiny: str, tmp_path: Path) -> None:
        """An unknown layout is answered with the nearest one."""
        (tmp_path / "layouts").mkdir()
        (tmp_path / "layouts" / "hybrid.yaml").write_text(LAYOUT)
        text = tiny[: tiny.index("layout:")] + "layout: hybrit\n" + tiny[tiny.index("given:") :]
        assert told(text) == "m.yaml:6:9: no layout is named 'hybrit' (did you mean 'hybrid'?)"


def test_schema_is_a_schema() -> None:
    """The shipped schema is valid, and every name in it has a use."""
    schema = matrix_schema()
    Draft202012Validator.check_schema(schema)
    text = (resources.schema_dir() / "matrix.schema.json").read_text(encoding="utf-8")
    for name in schema["$defs"]:
        assert f'"#/$defs/{name}"' in text


@pytest.mark.parametrize("name", ["admission", "cold_consumer", "sharers"])
def test_shipped_definitions(name: str, templates: Path) -> None:
    """Every shipped definition can be used and names checks that exist."""
    scenario = load_scenario(name, [templates])
    assert set(scenario.checks) <= set(CHECKS)
    assert {"reads-own-bytes", "no-exception", "every-request-ends"} <= set(scenario.checks)
