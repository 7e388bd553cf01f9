"""Strict YAML: plain data that remembers where each value stands in its file.

Files come from anyone.  Tags, merge keys, duplicate keys and doubtful scalars are refused, and
size, depth and aliases are capped, so that no file can run code or use up the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kvconform.matrix.problems import MAX_PROBLEMS, Problem, shown
from kvconform.matrix.scalars import Scalar, ScalarError, read_plain

MAX_BYTES = 4 * 1024 * 1024
MAX_NODES = 100_000
MAX_DEPTH = 40
MAX_ALIASES = 100

YamlPath = tuple[str | int, ...]

# libyaml reads five times faster; the pure Python parser gives the same events.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TAB = re.compile(r"^ *\t[ \t]*[^ \t\r\n]", re.MULTILINE)


class Unreadable(str):
    """Stands in the data for a value that was already reported."""

    __slots__ = ()


@dataclass(slots=True, kw_only=True)
class Node:
    """A value and its place.  ``size`` and ``height`` are those of the tree with aliases expanded."""

    line: int
    column: int
    scalar: Scalar = None
    items: list[Node] | None = None
    keys: dict[str, tuple[int, int, Node]] | None = None
    size: int = 1
    height: int = 1

    def plain(self) -> Any:
        """Lists, mappings with text keys, and scalars."""
        if self.keys is not None:
            return {key: node.plain() for key, (_, _, node) in self.keys.items()}
        if self.items is not None:
            return [node.plain() for node in self.items]
        return self.scalar


@dataclass(slots=True, kw_only=True)
class Document:
    """One file as read; ``root`` is None if nothing of it could be."""

    file: str
    root: Node | None = None
    problems: list[Problem] = field(default_factory=list)

    def plain(self) -> Any:
        """The file's data, with `Unreadable` where a value was refused."""
        return None if self.root is None else self.root.plain()

    def at(self, path: Sequence[str | int], *, key: bool = False) -> tuple[int, int]:
        """Line and column of the value at ``path``, or of its key.

        Where the path leaves the file (a value that came from an axis), the last node on it.
        """
        node = self.root
        if node is None:
            return 1, 1
        place = (node.line, node.column)
        for step in path:
            if node.keys is not None and step in node.keys:
                line, column, node = node.keys[str(step)]
                place = (line, column) if key else (node.line, node.column)
            elif node.items is not None and isinstance(step, int) and step < len(node.items):
                node = node.items[step]
                place = (node.line, node.column)
            else:
                break
        return place


def read_document(
    path: Path, file: str, *, when_empty: str = "a matrix begins with 'format: 1'"
) -> Document:
    """Read ``path``; ``file`` is how problems call it.  Raises nothing: see ``problems``.

    ``when_empty`` is the hint for a file with nothing in it.
    """
    document = Document(file=file)
    try:
        text = _read_text(path)
        _Builder(document).build(text, when_empty)
    except _Fatal as stop:
        document.root = None  # half a file says nothing about what the other half lacks
        document.problems.append(
            Problem(
                file=file, line=stop.line, column=stop.column, message=stop.message, hint=stop.hint
            )
        )
    return document


class _Fatal(Exception):  # noqa: N818 - never leaves this module
    """Reading cannot go on."""

    def __init__(self, line: int, column: int, message: str, hint: str = "") -> None:
        self.line, self.column, self.message, self.hint = line, column, message, hint
        super().__init__(message)


def _read_text(path: Path) -> str:
    try:
        if path.is_dir():
            raise _Fatal(1, 1, "this is a folder", "name a YAML file")
        if path.exists() and not path.is_file():
            raise _Fatal(1, 1, "this is not a regular file")
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise _Fatal(1, 1, "no such file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _Fatal(1, 1, f"cannot be read: {reason}") from None
    if len(raw) > MAX_BYTES:
        raise _Fatal(
            1, 1, "the file is larger than 4 MiB", "axes make rows; there is no need to list them"
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _place(raw[: error.start].decode("utf-8", "replace"))
        raise _Fatal(
            line, column, f"byte 0x{raw[error.start]:02x} is not UTF-8", "save the file as UTF-8"
        ) from None
    if found := _UNPRINTABLE.search(text):
        line, column = _place(text[: found.start()])
        raise _Fatal(line, column, f"a control character (U+{ord(found[0]):04X})", "remove it")
    if found := _TAB.search(text):
        line, column = _place(text[: text.index("\t", found.start())])
        raise _Fatal(line, column, "a tab in the indentation", "indent with spaces")
    return text


def _place(before: str) -> tuple[int, int]:
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not been read; ``key`` waits for its value."""

    node: Node
    anchor: str | None
    broken: bool = False
    key: tuple[str | None, int, int] | None = None


class _Builder:
    """Builds the node tree from parser events, without recursion."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.stack: list[_Open] = []
        self.anchors: dict[str, Node | None] = {}
        self.aliases = 0
        self.nodes = 0

    def build(self, text: str, when_empty: str) -> None:
        seen_document = False
        try:
            for event in _events(text):
                if isinstance(event, yaml.DocumentStartEvent):
                    if seen_document:
                        raise _Fatal(
                            *_mark(event), "a second document begins here", "one document a file"
                        )
                    seen_document = True
                elif isinstance(event, yaml.NodeEvent):
                    self._node(event)
                elif isinstance(event, yaml.CollectionEndEvent):
                    self._close()
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            last = text.count("\n") + 1
            if line > last:  # libyaml's place for what is missing at the end
                line, column = _place(text)
            context = f" {error.context}" if error.context else ""
            raise _Fatal(line, column, f"this is not YAML: {error.problem}{context}") from None
        except yaml.YAMLError as error:
            raise _Fatal(1, 1, f"this is not YAML: {' '.join(str(error).split())}") from None
        root = self.document.root
        if root is None or (root.keys is None and root.items is None and root.scalar is None):
            self.document.root = None
            raise _Fatal(1, 1, "the file is empty", when_empty)

    def _problem(self, place: tuple[int, int], message: str, hint: str = "") -> None:
        line, column = place
        if len(self.document.problems) >= MAX_PROBLEMS:
            raise _Fatal(line, column, f"more than {MAX_PROBLEMS} problems; the rest is not shown")
        self.document.problems.append(
            Problem(file=self.document.file, line=line, column=column, message=message, hint=hint)
        )

    def _node(self, event: yaml.NodeEvent) -> None:
        line, column = place = _mark(event)
        if isinstance(event, yaml.AliasEvent):
            self._alias(event, place)
            return
        self._count(1, place)
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._problem(
                place, f"YAML that tries to be code: the tag {shown(tag)}", "a matrix is plain data"
            )
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            node = Node(line=line, column=column, scalar=event.value)
            if tag is not None:
                node.scalar = Unreadable(event.value)
            elif _SURROGATE.search(event.value):
                self._problem(place, "half of a surrogate pair", "write the character itself")
                node.scalar = Unreadable("")
            elif not event.style:
                self._plain(event, node)
            if event.anchor is not None:
                self.anchors[event.anchor] = node
            self._attach(node)
            return
        if len(self.stack) >= MAX_DEPTH:
            raise _Fatal(line, column, f"nested deeper than {MAX_DEPTH} levels")
        mapping = isinstance(event, yaml.MappingStartEvent)
        node = Node(
            line=line, column=column, keys={} if mapping else None, items=None if mapping else []
        )
        self.stack.append(_Open(node, event.anchor, broken=tag is not None))

    def _plain(self, event: yaml.ScalarEvent, node: Node) -> None:
        top = self.stack[-1] if self.stack else None
        if (
            event.value == "<<"
            and top is not None
            and top.node.keys is not None
            and top.key is None
        ):
            self._problem((node.line, node.column), "a merge key (<<)", "write the keys out")
            node.scalar = Unreadable("<<")
            return
        try:
            node.scalar = read_plain(event.value)
        except ScalarError as error:
            self._problem((node.line, node.column), str(error), error.hint)
            node.scalar = Unreadable(event.value)

    def _alias(self, event: yaml.AliasEvent, place: tuple[int, int]) -> None:
        name = event.anchor
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            raise _Fatal(*place, f"more than {MAX_ALIASES} aliases")
        if name not in self.anchors:
            raise _Fatal(*place, f"the alias *{name} has no anchor before it")
        node = self.anchors[name]
        if node is None:
            raise _Fatal(*place, f"the alias *{name} stands inside its own anchor")
        self._count(node.size, place)
        if len(self.stack) + node.height > MAX_DEPTH:
            raise _Fatal(*place, f"nested deeper than {MAX_DEPTH} levels")
        self._attach(node)

    def _count(self, nodes: int, place: tuple[int, int]) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise _Fatal(*place, f"more than {MAX_NODES:,} values, aliases counted each time")

    def _close(self) -> None:
        closed = self.stack.pop()
        if closed.broken:
            closed.node.keys = closed.node.items = None
            closed.node.scalar = Unreadable("")
        if closed.anchor is not None:
            self.anchors[closed.anchor] = closed.node
        self._attach(closed.node)

    def _attach(self, node: Node) -> None:
        if not self.stack:
            self.document.root = node
            return
        top = self.stack[-1]
        parent = top.node
        parent.size += node.size
        parent.height = max(parent.height, node.height + 1)
        if parent.items is not None:
            parent.items.append(node)
        elif top.key is None:
            top.key = (self._key(node, parent), node.line, node.column)
        elif parent.keys is not None:
            key, line, column = top.key
            top.key = None
            if key is not None:
                parent.keys[key] = (line, column, node)

    def _key(self, node: Node, parent: Node) -> str | None:
        """The key's text, or None if it was reported and its value is to be skipped."""
        place = (node.line, node.column)
        value = node.scalar
        if (
            node.keys is not None
            or node.items is not None
            or value is None
            or isinstance(value, float)
        ):
            self._problem(place, "a key must be text", "quote it if it is meant as text")
            return None
        if isinstance(value, Unreadable):
            return None
        # Numbers and booleans as keys (labels of axis values) go by their text, as in JSON.
        key = str(value).lower() if isinstance(value, bool) else str(value)
        if parent.keys is not None and key in parent.keys:
            first = parent.keys[key][0]
            self._problem(place, f"the key {shown(key)} stands twice", f"first on line {first}")
            return None
        return key


def _events(text: str) -> Iterator[yaml.Event]:
    events: Iterator[yaml.Event] = yaml.parse(text, Loader=_LOADER)
    return events


def _mark(event: yaml.Event) -> tuple[int, int]:
    mark: Any = event.start_mark
    return mark.line + 1, mark.column + 1
