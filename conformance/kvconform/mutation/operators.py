"""The rules: which small changes of a syntax tree make a fault that a person could have written.

Comparisons, arithmetic, constants, conditions, whole statements and return values.  Texts,
annotations, decorators, docstrings and what is raised are left alone: no connector decides by
them.  So is the ``strict`` of ``zip``, which tells a fault and makes none.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_NEGATED = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
"""Comparisons whose swap negates them, so that a negated condition would be the same change."""

_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_NUMERIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
_UNTOUCHED = {"annotation", "returns", "decorator_list"}
_HEADS = {ast.If: "test", ast.While: "test", ast.For: "iter", ast.FunctionDef: "args"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change.  ``number`` finds it again in the same source.

    ``key`` names it by what it changes and not by its line, so that it stands when lines move:
    file, function, the statement before and after; a second one of the same text ends with ``#2``.
    ``statement`` is the line at which that statement begins.
    """

    number: int
    file: str
    line: int
    column: int
    statement: int
    operator: str
    function: str
    before: str
    after: str
    key: str = ""

    @property
    def place(self) -> str:
        """``file:line:column operator``."""
        return f"{self.file}:{self.line}:{self.column} {self.operator}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """``new`` takes the place of what ``owner`` has in ``field`` (at ``index``)."""

    operator: str
    node: ast.AST
    owner: ast.AST
    field: str
    index: int | None
    new: ast.AST
    statement: ast.stmt
    function: str

    def apply(self) -> None:
        self._put(self.new)

    def undo(self) -> None:
        self._put(self.node)

    def _put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.owner, self.field, node)
        else:
            getattr(self.owner, self.field)[self.index] = node


def changes(source: str, file: str) -> list[Change]:
    """Every change of a module's source, in the order of the source."""
    found: list[Change] = []
    seen: dict[str, int] = {}
    for number, edit in enumerate(_edits(ast.parse(source))):
        before = _text(edit.statement)
        edit.apply()
        # A whole statement is replaced in its owner, and stands unchanged itself.
        after = _text(edit.new if isinstance(edit.new, ast.stmt) else edit.statement)
        edit.undo()
        key = f"{file}:{edit.function}: {before} => {after}"
        seen[key] = seen.get(key, 0) + 1
        line, column = getattr(edit.node, "lineno", 0), getattr(edit.node, "col_offset", 0)
        found.append(
            Change(
                number=number,
                file=file,
                line=line or edit.statement.lineno,
                column=column,
                statement=edit.statement.lineno,
                operator=edit.operator,
                function=edit.function,
                before=before,
                after=after,
                key=key if seen[key] == 1 else f"{key} #{seen[key]}",
            )
        )
    return found


def changed(source: str, number: int) -> ast.Module:
    """The tree of a module's source with one change made."""
    tree = ast.parse(source)
    for at, edit in enumerate(_edits(tree)):
        if at == number:
            edit.apply()
            return ast.fix_missing_locations(tree)
    raise IndexError(f"there is no change {number}")


def _text(statement: ast.stmt) -> str:
    """A simple statement in one line; of one with a body, its head."""
    head = _HEADS.get(type(statement))
    if head is None and hasattr(statement, "body"):
        return ast.unparse(statement).splitlines()[0]
    shown: ast.AST = getattr(statement, head) if head else statement
    name = f"{type(statement).__name__.lower()} " if head else ""
    return name + " ".join(ast.unparse(shown).split())


def _edits(tree: ast.Module) -> Iterator[_Edit]:
    yield from _walk(tree, "", None)


def _walk(node: ast.AST, function: str, statement: ast.stmt | None) -> Iterator[_Edit]:
    for field, value in ast.iter_fields(node):
        if field in _UNTOUCHED:
            continue
        children = value if isinstance(value, list) else [value]
        for at, child in enumerate(children):
            if not isinstance(child, ast.AST) or _is_silent(child):
                continue
            own = child if isinstance(child, ast.stmt) else statement
            name = getattr(child, "name", "")
            inside = ".".join(filter(None, [function, name])) if _is_scope(child) else function
            if own is not None:
                for operator, new in _replacements(child, node):
                    yield _Edit(
                        operator=operator,
                        node=child,
                        owner=node,
                        field=field,
                        index=at if isinstance(value, list) else None,
                        new=new,
                        statement=own,
                        function=inside or "module",
                    )
            if not isinstance(child, ast.Raise):
                yield from _walk(child, inside, own)


def _is_scope(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.ClassDef)


def _is_silent(node: ast.AST) -> bool:
    """Whether nothing that runs here decides anything."""
    strict = isinstance(node, ast.keyword) and node.arg == "strict"
    return strict or _is_text(node) or _is_typing(node)


def _is_text(node: ast.AST) -> bool:
    """A docstring, or a comment written as a string."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_typing(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _replacements(node: ast.AST, owner: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Each change of one node: the name of the rule, and what takes its place."""
    if isinstance(node, ast.Compare):
        yield from _comparisons(node)
    elif isinstance(node, ast.BinOp):
        yield from _arithmetic(node, owner)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or", ast.BoolOp(op=other, values=node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "sign" if isinstance(node.op, ast.USub) else "not", node.operand
    elif isinstance(node, ast.Constant):
        yield from _constants(node)
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.stmt):
        yield from _statements(node)
    if _is_condition(node, owner) and isinstance(node, ast.expr) and not _negates_itself(node):
        yield "negate", ast.UnaryOp(op=ast.Not(), operand=node)


def _calls(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node.func, ast.Name) and node.func.id in _CALLED:
        other = _CALLED[node.func.id]
        name = ast.Name(id=other, ctx=ast.Load())
        yield f"{node.func.id}/{other}", ast.Call(func=name, args=node.args, keywords=node.keywords)


def _comparisons(node: ast.Compare) -> Iterator[tuple[str, ast.AST]]:
    for at, op in enumerate(node.ops):
        ops = list(node.ops)
        ops[at] = _COMPARED[type(op)]()
        yield "compare", ast.Compare(left=node.left, ops=ops, comparators=node.comparators)


def _arithmetic(node: ast.BinOp, owner: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if type(node.op) in _ARITHMETIC:
        other = _ARITHMETIC[type(node.op)]()
        yield "arithmetic", ast.BinOp(left=node.left, op=other, right=node.right)
    if isinstance(node.op, _NUMERIC) and not isinstance(owner, ast.BinOp):
        for op in (ast.Add(), ast.Sub()):
            one = ast.Constant(value=1)
            yield "off by one", ast.BinOp(left=copy.deepcopy(node), op=op, right=one)


def _constants(node: ast.Constant) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node.value, bool):
        yield "constant", ast.Constant(value=not node.value)
    elif isinstance(node.value, int):
        yield "constant", ast.Constant(value=node.value + 1)
        yield "constant", ast.Constant(value=node.value - 1)


def _statements(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """Dropped, where the rest still makes a program; a return value becomes None."""
    if isinstance(node, ast.Return):
        nothing = isinstance(node.value, ast.Constant) and node.value.value is None
        if node.value is not None and not nothing:
            yield "return", ast.Return(value=ast.Constant(value=None))
    elif isinstance(node, ast.Assign):
        if not all(isinstance(target, ast.Name) for target in node.targets):
            yield "drop", ast.Pass()
    elif isinstance(node, ast.Delete):
        # A bare name is deleted to say that it is not used.
        if not all(isinstance(target, ast.Name) for target in node.targets):
            yield "drop", ast.Pass()
    elif isinstance(node, ast.Expr | ast.AugAssign | ast.Raise | ast.Continue | ast.Break):
        yield "drop", ast.Pass()


def _is_condition(node: ast.AST, owner: ast.AST) -> bool:
    if isinstance(owner, ast.If | ast.While | ast.IfExp):
        return node is owner.test
    return isinstance(owner, ast.comprehension) and node in owner.ifs


def _negates_itself(node: ast.AST) -> bool:
    """Whether another rule makes the negation already."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    return isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], _NEGATED)
