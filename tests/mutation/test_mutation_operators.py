"""The rules: which changes a source has, and that each makes another program."""

from __future__ import annotations

import ast

import pytest

from kvconform.mutation.operators import changed, changes


def texts(source: str) -> set[str]:
    """Statements after each change of a source."""
    return {change.after for change in changes(source, "m.py")}


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = a in b", {"x = a not in b"}),
        ("x = a - b", {"x = a + b", "x = a - b + 1", "x = a - b - 1"}),
        ("x = a | b", {"x = a & b"}),
        ("x = 3", {"x = 4", "x = 2"}),
        ("x = True", {"x = False"}),
        ("x = 'text'", set()),
        ("x: int = 0", {"x: int = 1", "x: int = -1"}),
        ("x = not a", {"x = a"}),
        ("x = a and b", {"x = a or b"}),
        ("x = min(a, b)", {"x = max(a, b)"}),
        ("x = [a for a in b if a]", {"x = [a for a in b if not a]"}),
        ("f()", {"pass"}),
        ("a.b = c", {"pass"}),
        ("x += y", {"pass"}),
        ("del a", set()),
        ("del a[b]", {"pass"}),
        ("def f():\n    '''Text.'''\n    return a", {"return None"}),
        ("def f():\n    return None", set()),
        ("@dataclass(slots=True)\nclass A:\n    pass", set()),
        ("if TYPE_CHECKING:\n    f()", set()),
        ("if a == b:\n    pass", {"if a != b"}),
        ("if a:\n    pass", {"if not a"}),
        ("def f(a=1):\n    pass", {"functiondef a=2", "functiondef a=0"}),
    ],
)
def test_what_is_changed(source: str, after: set[str]) -> None:
    """Each rule, and what is left alone."""
    assert texts(source) == after


def test_a_change_is_found_again_by_its_number() -> None:
    """The tree with the change says what the change says."""
    source = "def f(a):\n    if a > 1:\n        g(a)\n    return a // 2 - 1\n"
    plain = ast.unparse(ast.parse(source))
    programs = [ast.unparse(changed(source, change.number)) for change in changes(source, "m.py")]
    assert plain not in programs
    assert len(set(programs)) == len(programs)
    with pytest.raises(IndexError):
        changed(source, len(programs))


def test_keys_name_the_text_and_not_the_line() -> None:
    """A line that moves keeps its keys; the same change twice in a function is told apart."""
    source = "class A:\n    def f(self):\n        g()\n        g()\n"
    keys = [change.key for change in changes(source, "m.py")]
    assert keys == ["m.py:A.f: g() => pass", "m.py:A.f: g() => pass #2"]
    assert [change.key for change in changes("\n\n" + source, "m.py")] == keys
    assert changes(source, "m.py")[0].place == "m.py:3:8 drop"
