"""What a wrong matrix is told: whole messages, with positions and the nearest valid name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Spoil = Callable[[str, str], str]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("scenario: admission", "scenarios: admission",
         ("m.yaml:1:1: the key 'scenario' is missing\n"
         "m.yaml:4:1: unknown key 'scenarios' (did you mean 'scenario'?)")),
        ("block_size: 16}", "block_sze: 16}",
         ("m.yaml:9:7: the key 'block_size' is missing in layout.groups[0]\n"
         "m.yaml:9:32: unknown key 'block_sze' in layout.groups[0] (did you mean 'block_size'?)")),
        ("hash_block: 8", "hash_block: eight",
         "m.yaml:7:15: layout.hash_block: expected an integer >= 1 or {axis: NAME}, got the text 'eight'"),
        ("hash_block: 8", "hash_block: 8.0",
         "m.yaml:7:15: layout.hash_block: expected an integer >= 1 or {axis: NAME}, got the number 8.0"),
        ("hash_block: 8", "hash_block:",
         "m.yaml:7:14: layout.hash_block: expected an integer >= 1 or {axis: NAME}, got nothing"),
        ("{axis: window}", "{axes: window}",
         ("m.yaml:10:57: layout.groups[1].window: expected an integer >= 0 or {axis: NAME}, "
         "got a mapping with the key 'axes'")),
        ("{axis: window}", "{axis: 3}",
         ("m.yaml:10:57: layout.groups[1].window: expected an integer >= 0 or {axis: NAME}, "
         "got a mapping with the key 'axis'")),
        ("{axis: window}", "-3",
         "m.yaml:10:57: layout.groups[1].window: expected an integer >= 0 or {axis: NAME}, got the number -3"),
        ("{axis: eagle}", "1",
         "m.yaml:10:80: layout.groups[1].eagle: expected true or false or {axis: NAME}, got the number 1"),
        ("kind: full", "kind: ful",
         ("m.yaml:9:26: layout.groups[0].kind: expected one of full, sliding, chunked_local, recurrent or {axis: NAME}, "
         "got the text 'ful' (did you mean 'full'?)")),
        ("format: 1", "format: 2",
         "m.yaml:1:9: format: expected 1, the format that this version reads, got the number 2"),
        ("format: 1", "format: true",
         "m.yaml:1:9: format: expected 1, the format that this version reads, got true"),
        ("name: tiny", "name: Tiny_x",
         ("m.yaml:2:7: name: expected lowercase letters and digits in words joined by '-', "
         "at most 80 characters, got the text 'Tiny_x'")),
        ("name: tiny", 'name: "tiny\\n"',
         ("m.yaml:2:7: name: expected lowercase letters and digits in words joined by '-', "
         "at most 80 characters, got the text 'tiny\\n'")),
        ("[COV-1]", "[]", "m.yaml:5:10: clauses: expected at least 1 entry, got none"),
        ("[COV-1]", "[COV-11, COV-5, COV-1, COV-1]",
         ("m.yaml:5:11: no clause is named 'COV-11' (did you mean 'COV-1'?)\n"
         "m.yaml:5:19: no check of the scenario 'admission' cites the clause 'COV-5' "
         "(it cites COV-1, COV-2, COV-3, COV-4, HYB-1, INT-1, LIF-1, RDY-1, RDY-2, SPC-1, TRM-1)\n"
         "m.yaml:5:33: clauses: the text 'COV-1' stands twice")),
        ("layout:\n", "requires: [chunkcontrol]\nlayout:\n",
         "m.yaml:6:12: no capability is named 'chunkcontrol' (did you mean 'chunk_control'?)"),
        ("scenario: admission", "scenario: admision",
         "m.yaml:4:11: no scenario is named 'admision' (did you mean 'admission'?)"),
        ("values: [8, 16]", "values: [8, null, [1], {label: x}, {label: X, value: 1}]",
         ("m.yaml:15:41: axes[0].values[1]: expected an integer, true, false, text or "
         "{label: TEXT, value: ANYTHING}, got nothing\n"
         "m.yaml:15:47: axes[0].values[2]: expected an integer, true, false, text or "
         "{label: TEXT, value: ANYTHING}, got a list\n"
         "m.yaml:15:52: the key 'value' is missing in axes[0].values[3]\n"
         "m.yaml:15:72: axes[0].values[4].label: expected lowercase letters, digits, '_' and '.', "
         "got the text 'X'")),
        ("axes:\n", "select: some\naxes:\n",
         "m.yaml:14:9: select: expected all or a mapping, got the text 'some'"),
        ("axes:\n", "select: {sample: 3}\naxes:\n", "m.yaml:14:9: the key 'seed' is missing in select"),
        ("axes:\n", "expect: {pins: [{when: {window: 8}}]}\naxes:\n",
         ("m.yaml:14:17: expect.pins[0]: expected at least one of the keys 'verdict', 'stored', 'loaded', got none\n"
         "m.yaml:14:33: expect.pins[0].when.window: expected a list, got the number 8")),
    ],
)  # fmt: skip
def test_shape(spoiled: Spoil, old: str, new: str, message: str) -> None:
    """A breach of the file's schema is told in our words at the place of the value."""
    assert spoiled(old, new) == message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{axis: window}", "{axis: windw}",
         ("m.yaml:10:64: no axis is named 'windw' (did you mean 'window'?)\n"
         "m.yaml:15:12: the axis 'window' is never used (write {axis: window} where it belongs)")),
        ("needed_at: 32", "needed_at: {axis: [1]}",
         "m.yaml:13:31: given.chunks[0].needed_at: expected {axis: NAME}, got a list as NAME"),
        ("name: eagle, id: eagle", "name: window, id: win",
         "m.yaml:16:12: the axis 'window' is declared twice"),
        ("name: eagle, id: eagle", "name: eagle, id: win",
         "m.yaml:16:23: the axes 'window' and 'eagle' have the same id 'win'"),
        (", values: [8, 16]", "",
         "m.yaml:15:5: the axis 'window' has no values (give it values, or couple it in zip)"),
        ("[8, 16]", "[8, 16, 8]", "m.yaml:15:45: the axis 'window' has the value the number 8 twice"),
        ("[8, 16]", '[8, "8"]',
         "m.yaml:15:41: the axis 'window': two values are '8' in row ids (give one of them a label)"),
        ("[false, true]", "[false, true, {label: on, value: null}]",
         ("m.yaml:16:60: 'on' is a boolean to some readers of YAML and text to others "
         '(write true or false, or quote it: "on")')),
        ("[8, 16]", "[-8]",
         ("m.yaml:15:38: the axis 'window': the number -8 cannot stand in a row id ([a-z0-9_.]+, at most "
         "60 characters) (give it a label, under labels or as {label: TEXT, value: ...})")),
        ("[8, 16]", "[Big]",
         ("m.yaml:15:38: the axis 'window': the text 'Big' cannot stand in a row id ([a-z0-9_.]+, at most "
         "60 characters) (give it a label, under labels or as {label: TEXT, value: ...})")),
        ("[8, 16]", "[{label: l, value: {axis: eagle}}]",
         "m.yaml:15:38: a value of an axis cannot refer to an axis"),
        ("[8, 16]", "[8, 16], default: 9, labels: {17: x}",
         ("m.yaml:15:55: default: the number 9 is no value of the axis 'window' (known: 8, 16)\n"
         "m.yaml:15:67: the axis 'window' has no value '17' to label (known: 8, 16)")),
        ("axes:\n", "zip: [[{window: 8, nope: 1}, {window: 8}, {window: 3, nope: 1}, {window: 3, nope: 1}]]\naxes:\n",
         ("m.yaml:14:20: zip couples the axis 'nope', which is not declared (known: window, eagle)\n"
         "m.yaml:14:30: this entry has other axes than the first of its list: 'nope' is missing\n"
         "m.yaml:14:65: this combination stands twice\n"
         "m.yaml:16:29: the axis 'window' has values here and in zip (leave out one of the two)")),
        ("axes:\n", "exclude: [{when: {window: [8, 16]}}]\naxes:\n",
         "m.yaml:14:1: no row is left: exclude[0] removes all 4 rows"),
        ("axes:\n", "exclude: [{when: {window: [8]}}, {when: {eagle: [true, false]}}]\naxes:\n",
         "m.yaml:14:1: no row is left: exclude[0] and exclude[1] remove all 4 rows"),
        ("axes:\n", "exclude: [{when: {window: [8]}, then: {window: [16]}}]\naxes:\n",
         "m.yaml:14:11: this exclude removes no row"),
        ("axes:\n", "exclude: [{when: {win: [1]}}, {when: {window: [9, '8', 8, 8]}}]\naxes:\n",
         ("m.yaml:14:19: no axis is named 'win' (did you mean 'window'?)\n"
         "m.yaml:14:48: the number 9 is no value of the axis 'window' (known: 8, 16)\n"
         "m.yaml:14:51: the text '8' is no value of the axis 'window' (the axis has the number 8)\n"
         "m.yaml:14:59: the number 8 stands twice")),
        ("axes:\n", "select: {sample: 30, seed: 1}\naxes:\n",
         "m.yaml:14:18: a sample of 30 rows was asked for and there are 4 (write 'select: all')"),
        ("axes:\n", "expect: {pins: [{when: {windw: [8], eagle: [1, 'true']}, verdict: 3}]}\naxes:\n",
         ("m.yaml:14:25: no axis is named 'windw' (did you mean 'window'?)\n"
         "m.yaml:14:45: the number 1 is no value of the axis 'eagle' (known: false, true)\n"
         "m.yaml:14:48: the text 'true' is no value of the axis 'eagle' (the axis has true)")),
        ("axes:\n", "exclude: [{when: {window: [8]}}]\nexpect: {pins: [{when: {window: [8]}, verdict: 3}]}\naxes:\n",
         "m.yaml:15:17: this pin matches no row"),
        ("axes:\n", "expect: {pins: [{verdict: {axis: window}}, {when: {eagle: [true]}, verdict: 0}]}\naxes:\n",
         "m.yaml:14:44: this pin is never used: earlier pins match all of its rows (put it first)"),
        ("axes:\n", "expect: {pins: [{verdict: {axis: eagle}, stored: {ful: [1]}}]}\naxes:\n",
         ("m.yaml:14:27: expect.pins[0].verdict: expected an integer >= 0 or later or {axis: NAME}, "
         "got false (in row [win.8-eagle.off])\n"
         "m.yaml:14:27: expect.pins[0].verdict: expected an integer >= 0 or later or {axis: NAME}, "
         "got true (in row [win.8-eagle.on])\n"
         "m.yaml:14:51: no group of the layout is named 'ful' (did you mean 'full'?)")),
        ("block_size: 16", "block_size: 15",
         "m.yaml:9:7: group 'full': block_size 15 is not a multiple of hash_block 8"),
        ("[8, 16]", "[8, 0]",
         "m.yaml:10:7: group 'swa': a sliding group needs window >= 1 token, not 0 (in row [win.0-eagle.off])"),
        ("[8, 16]", "[8, big]",
         ("m.yaml:10:57: layout.groups[1].window: expected an integer >= 0 or {axis: NAME}, "
         "got the text 'big' (in row [win.big-eagle.off])")),
        ("name: swa", "name: full", "m.yaml:10:7: two groups are named 'full'"),
        ("  hash_block: 8", "  num_blocks: 1\n  hash_block: 8",
         "m.yaml:7:3: num_blocks is 1, must be >= 2 (block 0 is the null block)"),
        ("state: ready", "state: redy",
         ("m.yaml:13:35: given.chunks[0].state: expected one of missing, pending, ready, present, loading, "
         "got the text 'redy' (did you mean 'ready'?)")),
        ("needed_at: 32,", "needed_at: 32, left_of: 3,",
         ("m.yaml:13:12: given.chunks[0]: expected exactly one of the keys 'needed_at', 'left_of', 'index', "
         "got 'needed_at', 'left_of'")),
        ("needed_at: 32, state: ready", "state: {axis: window}, need: 3",
         ("m.yaml:13:12: given.chunks[0]: expected exactly one of the keys 'needed_at', 'left_of', 'index', got none\n"
         "m.yaml:13:20: given.chunks[0].state: expected one of missing, pending, ready, present, loading, "
         "got the number 16 (in row [win.16-eagle.off])\n"
         "m.yaml:13:20: given.chunks[0].state: expected one of missing, pending, ready, present, loading, "
         "got the number 8 (in row [win.8-eagle.off])\n"
         "m.yaml:13:36: unknown key 'need' in given.chunks[0] (did you mean 'needed_at'?)")),
        ("needed_at: 32", "group: ful, needed_at: 65",
         ("m.yaml:13:20: no group of the layout is named 'ful' (did you mean 'full'?)\n"
         "m.yaml:13:36: a boundary past the prompt: 65 of 64 tokens")),
        ("prompt_tokens: 64", "prompt_tokens: {axis: window}",
         ("m.yaml:13:24: a boundary past the prompt: 32 of 16 tokens (in row [win.16-eagle.off])\n"
         "m.yaml:13:24: a boundary past the prompt: 32 of 8 tokens (in row [win.8-eagle.off])")),
        ("axes:\n", "axes:\n  - {name: boundary, id: b, values: [32, 96]}\n",
         ("m.yaml:15:5: a boundary past the prompt: 96 of 64 tokens (in row [b.96-win.8-eagle.off])\n"
         "m.yaml:15:12: the axis 'boundary' is never used (write {axis: boundary} where it belongs)")),
    ],
)  # fmt: skip
def test_meaning(spoiled: Spoil, old: str, new: str, message: str) -> None:
    """What a schema cannot see is told once for each distinct value, with a row that shows it."""
    assert spoiled(old, new) == message


def test_a_chunk_that_is_no_mapping(spoiled: Spoil) -> None:
    """A rule about keys says nothing to a value without keys but what was expected."""
    assert spoiled("{needed_at: 32, state: ready}", "7") == (
        "m.yaml:13:12: given.chunks[0]: expected a mapping, got the number 7"
    )


def test_all_at_once(told: Callable[[str], str]) -> None:
    """Problems of every kind in one file come together, sorted by place."""
    text = (
        "format: 1\nname: A\nfoo: 1\nlayout: {hash_block: yes, groups: []}\n"
        "title: !x y\nclauses: [COV-9]\nscenario: sharer\n"
    )
    assert told(text).splitlines() == [
        "m.yaml:1:1: the key 'given' is missing",
        (
            "m.yaml:2:7: name: expected lowercase letters and digits in words joined by '-', "
            "at most 80 characters, got the text 'A'"
        ),
        "m.yaml:3:1: unknown key 'foo' (known: requires, source, engine, given, axes, zip, exclude, implies, level, select, expect)",
        (
            "m.yaml:4:22: 'yes' is a boolean to some readers of YAML and text to others "
            '(write true or false, or quote it: "yes")'
        ),
        "m.yaml:4:35: layout.groups: expected at least 1 entry, got none",
        "m.yaml:5:8: YAML that tries to be code: the tag '!x' (a matrix is plain data)",
        "m.yaml:6:11: no clause is named 'COV-9' (did you mean 'COV-6'?)",
        "m.yaml:7:11: no scenario is named 'sharer' (did you mean 'sharers'?)",
    ]


def test_too_many_rows(spoiled: Spoil) -> None:
    """A product that nobody will run is refused with its size, before it is built."""
    new = f"values: {list(range(1, 1001))}}}\n  - {{name: b, id: b, values: {list(range(300))}"
    assert spoiled("values: [8, 16]", new) == (
        "m.yaml:14:1: the axes make 600,000 rows (1000 x 300 x 2); at most 200,000 are read "
        "(fewer values, several matrices, or 'select: {strength: 2}')\n"
        "m.yaml:16:12: the axis 'b' is never used (write {axis: b} where it belongs)"
    )


def test_places_inside_axis_values(spoiled: Spoil) -> None:
    """A fault in a value that an axis brings is told where the axis is put in."""
    new = "chunks: {axis: chunks}\naxes:\n  - name: chunks\n    id: c\n    values:\n" + "".join(
        f"      - {{label: {label}, value: {value}}}\n"
        for label, value in (
            ("good", "[{needed_at: 8, state: ready}]"),
            ("bad", "[{needed_at: 8, state: raedy}]"),
            ("far", "[{needed_at: 80, group: swo, state: ready}]"),
        )
    )
    assert spoiled("chunks: [{needed_at: 32, state: ready}]\naxes:\n", new) == (
        "m.yaml:13:11: a boundary past the prompt: 80 of 64 tokens (in row [c.far-win.8-eagle.off])\n"
        "m.yaml:13:11: given.chunks[0].state: expected one of missing, pending, ready, present, loading, "
        "got the text 'raedy' (did you mean 'ready'?; in row [c.bad-win.8-eagle.off])\n"
        "m.yaml:13:11: no group of the layout is named 'swo' (did you mean 'swa'?; in row [c.far-win.8-eagle.off])"
    )


def test_an_image_past_the_prompt(told: Callable[[str], str]) -> None:
    """An image of which tokens are missing would make requests differ in nothing."""
    text = """\
format: 1
name: pictures
title: An image that is not in the prompt
scenario: isolation
clauses: [ISO-1]
layout:
  hash_block: 8
  groups: [{name: full, kind: full, block_size: 8}]
given:
  prompt_tokens: 50
  owner: {}
  stranger: {images: [{digest: a, start: 48, length: 4}]}
"""
    assert told(text) == "m.yaml:12:54: an image past the prompt: 52 of 50 tokens"
