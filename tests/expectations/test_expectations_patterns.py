"""Patterns: which cases an entry means, and what is said of a pattern that means none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvconform.expectations import CaseSpace, Pattern, PatternError


def cases(space: CaseSpace, text: str) -> list[str]:
    """Ids of the cases that a pattern means."""
    return list(space.match(Pattern.parse(text)))


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (
            "tiny[left.missing,win.8]",
            ["tiny[win.8-keep.0-left.missing]", "tiny[win.8-keep.3-left.missing]"],
        ),
        (
            "tiny[keep.3]",
            [f"tiny[win.{w}-keep.3-left.{s}]" for w in (8, 16) for s in ("ready", "missing")],
        ),
        ("tiny[keep.3, win.16, left.ready]", ["tiny[win.16-keep.3-left.ready]"]),
        ("tiny[win.8-keep.3-left.ready]", ["tiny[win.8-keep.3-left.ready]"]),
        ("later", ["later[a.1]", "later[a.2]", "later[a.1-b.5]", "later[a.2-b.5]"]),
        ("later[a.1]", ["later[a.1]"]),
        ("later[a.1,*]", ["later[a.1]", "later[a.1-b.5]"]),
        ("later[b.5]", ["later[a.1-b.5]", "later[a.2-b.5]"]),
        ("l*r[b.5]", ["later[a.1-b.5]", "later[a.2-b.5]"]),
        ("*[a.2]", ["later[a.2]"]),
        ("tiny[win.1]", []),
        ("tin[win.8]", []),
    ],
)
def test_what_a_pattern_means(space: CaseSpace, pattern: str, found: list[str]) -> None:
    """Whole components in any order; a whole id is one case, also where others continue it."""
    assert cases(space, pattern) == found


@given(st.sets(st.sampled_from(["win.16", "keep.3", "left.missing"])), st.randoms())
def test_a_case_is_meant_by_each_set_of_its_components(components: set[str], random) -> None:
    """The order of components never counts, and nothing without one of them is meant."""
    rows = [f"win.{w}-keep.{k}-left.{s}" for w in (8, 16) for k in (0, 3) for s in ("a", "missing")]
    words = sorted(components)
    random.shuffle(words)
    pattern = f"tiny[{','.join(words)}]" if words else "tiny"
    expected = [f"tiny[{row}]" for row in rows if components <= set(row.split("-"))]
    assert cases(CaseSpace.of({"tiny": rows}), pattern) == expected


@pytest.mark.parametrize(
    "text", ["", "tiny[", "tiny[]", "Tiny", "tiny[a b]", "tiny[a.*]", "tiny]x[", "tiny\n", "[a.1]"]
)
def test_what_is_no_pattern(text: str) -> None:
    """The message shows the forms that there are."""
    with pytest.raises(PatternError, match=r"is no pattern of cases .write matrix-name, "):
        Pattern.parse(text)


@pytest.mark.parametrize(
    ("pattern", "message", "hint"),
    [
        (
            "tiny[left.mising]",
            "no case of 'tiny' has the component 'left.mising'",
            "did you mean 'tiny[left.missing]'?",
        ),
        (
            "tiny[keep.3,left.mising]",
            "no case of 'tiny' has all of 'keep.3', 'left.mising'",
            "did you mean 'tiny[keep.3,left.missing]'?",
        ),
        (
            "tiny[win.8,win.16]",
            "no case of 'tiny' has all of 'win.8', 'win.16'",
            "did you mean 'tiny[win.8-keep.0-left.ready]'?",
        ),
        (
            "tiny[win.8-keep.3-left.redy]",
            "no case of 'tiny' has the id 'win.8-keep.3-left.redy'",
            "did you mean 'tiny[win.8-keep.3-left.ready]'?",
        ),
        (
            "tiny[keep.3-left.ready]",
            "no case of 'tiny' has the id 'keep.3-left.ready'",
            "did you mean 'tiny[keep.3,left.ready]'?",
        ),
        (
            "later[xyz]",
            "no case of 'later' has the component 'xyz'",
            "known: a.1, a.2, b.5",
        ),
    ],
)
def test_a_pattern_without_cases_is_told_the_nearest(
    space: CaseSpace, pattern: str, message: str, hint: str
) -> None:
    """Misspelt components are mended; else the id that has most of them."""
    assert space.explain(Pattern.parse(pattern)) == (message, hint)
