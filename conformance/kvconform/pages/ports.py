"""The page of the ports: everything that an implementer imports, from its docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from types import FunctionType

from kvconform import ports
from kvconform.pages.page import code, table

_HEAD = """\
# The ports, name by name

<!-- Made by `kvconform reference --write docs/reference`; do not edit. -->

What `kvconform.ports` has, from its docstrings. How it fits together is told in
[the connector port](../connector.md) and [stores](../stores.md). [All reference pages](README.md).
"""


def ports_page() -> str:
    """The page, classes first in the order of their modules, then functions and constants."""
    found = [(name, getattr(ports, name)) for name in ports.__all__]
    classes = [(name, one) for name, one in found if inspect.isclass(one)]
    functions = [(name, one) for name, one in found if inspect.isfunction(one)]
    order = sorted(classes, key=lambda pair: (pair[1].__module__, _line(pair[1])))
    parts = [_HEAD]
    module = ""
    for name, one in order:
        if one.__module__ != module:
            module = one.__module__
            parts.append(f"## {code(module)}\n\n{_prose(inspect.getmodule(one))}\n")
        parts.append("\n".join(_class(name, one)))
    parts.append("## Functions\n")
    parts += [f"### {code(name + _signature(one))}\n\n{_prose(one)}\n" for name, one in functions]
    return "\n".join(parts)


def _class(name: str, one: type) -> Iterator[str]:
    yield f"### {code(name)}\n"
    yield f"{_prose(one)}\n"
    if issubclass(one, Enum):
        yield table(["value", "meaning"], [[code(str(m.value)), _comment(one, m.name)] for m in one]) + "\n"
        return
    if dataclasses.is_dataclass(one):
        rows = [
            [code(f.name), code(_plain(f.type)), _default(f), _comment(one, f.name)]
            for f in dataclasses.fields(one)
        ]
        yield table(["field", "type", "default", "meaning"], rows) + "\n"
    for method, member in vars(one).items():
        doc = inspect.getdoc(member)
        if method.startswith("_") or doc is None:
            continue
        wrapped = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if not inspect.isfunction(wrapped):
            continue
        call = method if isinstance(member, property) else method + _signature(wrapped)
        must = " (required)" if getattr(member, "__isabstractmethod__", False) else ""
        yield f"- {code(call)}{must}: {_inline(doc)}"
    yield ""


def _prose(one: object) -> str:
    """A docstring in Markdown: what it marks as code is code."""
    return _marked(inspect.getdoc(one) or "")


def _inline(doc: str) -> str:
    return " ".join(_marked(doc).split())


def _marked(text: str) -> str:
    return re.sub(r"``([^`]+)``", r"`\1`", text)


def _comment(one: type, name: str) -> str:
    """The docstring that stands below a member of an enumeration, or a field."""
    source = inspect.getsource(one)
    found = re.search(rf'^    {name}(?:: [^\n]*)?(?: = [^\n]*)?\n    """(.*?)"""', source, re.MULTILINE | re.DOTALL)
    return _inline(found[1]) if found else ""


def _signature(one: object) -> str:
    """Names of the parameters and what comes back, as the source has them."""
    signature = inspect.signature(one)  # type: ignore[arg-type]
    names = [str(p).split(":", 1)[0] for p in signature.parameters.values() if p.name != "self"]
    back = signature.return_annotation
    told = f" -> {_plain(back)}" if back is not inspect.Signature.empty else ""
    return f"({', '.join(names)}){told}"


def _plain(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _default(field: dataclasses.Field[object]) -> str:
    if field.default is dataclasses.MISSING:
        return "" if field.default_factory is dataclasses.MISSING else "empty"
    if isinstance(field.default, FunctionType):
        return code(field.default.__name__)  # its repr has an address, another one in each process
    return code(str(field.default) if isinstance(field.default, Enum) else repr(field.default))


def _line(one: type) -> int:
    return inspect.getsourcelines(one)[1]
