"""Matrices become a folder of pytest modules: one thin module a matrix, its rows beside it.

Templates are trusted, matrices are not: what a matrix says enters a module as data (``repr`` or
JSON, by a filter of that name) or as text for readers, in which nothing can end a comment or a
string.
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import jinja2

from kvconform.matrix import Matrix, load_scenario
from kvconform.matrix.tuples import Held
from kvconform.ports import KvconformError
from kvconform.rendered import MARKER, Manifest
from kvconform.resources import templates_dir

ROWS_PER_MODULE = 500
"""A module of more rows is split, so that editors and workers get equal pieces."""

_CONFTEST = '''"""Loads the plugin; rendered by kvconform, do not edit."""

pytest_plugins = ["kvconform.plugin"]
'''
_INI = """# Node ids start here, and settings of folders above do not apply.
[pytest]
python_files = test_*.py
"""


_LEFT_BEHIND = frozenset({"__pycache__", ".pytest_cache"})


class RenderError(KvconformError):
    """A template that does not give a module: names it, the matrix and the cause."""


class ForeignFolderError(KvconformError):
    """A folder that is to be written into holds files that no render has put there."""


class DuplicateMatrixError(KvconformError):
    """Two matrices of one name: their cases could not be told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedFolder:
    """What was written: ``cases`` is the number of cases of all modules."""

    path: Path
    modules: tuple[str, ...]
    cases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One file of a folder that is not as a render would leave it: changed, missing or extra."""

    what: str
    file: str

    def __str__(self) -> str:
        return f"{self.what:<8} {self.file}"


def render(
    matrices: Sequence[Matrix],
    folder: Path,
    *,
    templates: Sequence[Path] = (),
    tuples: Sequence[Held] = (),
) -> RenderedFolder:
    """Write the modules of ``matrices`` into ``folder``, which is made if need be.

    ``tuples`` are put on record with them.  ``templates`` are folders searched before the shipped one.  What an earlier render left there
    is replaced as a whole; raises `ForeignFolderError` for a folder with other files in it, and
    `RenderError` or `DuplicateMatrixError` before anything is written.
    """
    rendered = _render(matrices, templates)
    manifest = replace(rendered.manifest, tuples=tuple(tuples))
    _write(folder, rendered.files, manifest)
    return RenderedFolder(
        path=folder,
        modules=tuple(rendered.manifest.modules),
        cases=sum(len(matrix.rows) for matrix in matrices),
    )


def module_source(matrix: Matrix, templates: Sequence[Path] = ()) -> str:
    """The first module of a matrix, as `render` would write it; raises `RenderError`."""
    return next(source for _, source, _ in _modules(matrix, templates, taken=()))


def compare(
    matrices: Sequence[Matrix], folder: Path, *, templates: Sequence[Path] = ()
) -> list[Difference]:
    """How ``folder`` differs from what `render` would write now, sorted by file name.

    Both ways: files that are changed or missing, and files that no render would put there.  What
    Python and pytest leave behind when they run does not count.  Raises as `render` does, and
    `ForeignFolderError` if there is no such folder.
    """
    rendered = _render(matrices, templates)
    if not folder.is_dir():
        raise ForeignFolderError(f"{folder} is no folder; render into it first")
    found = {path.name for path in folder.iterdir()} - _LEFT_BEHIND
    names = {*rendered.files, MARKER}
    different = [Difference(what="missing", file=name) for name in names - found]
    different += [Difference(what="extra", file=name) for name in found - names]
    for name in names & found:
        if name == MARKER:
            # Where extra templates lay on another machine makes no difference.
            old = Manifest.read(folder)
            same = old is not None and replace(old, templates=rendered.manifest.templates) == (
                rendered.manifest
            )
        else:
            same = _bytes(folder / name) == rendered.files[name].encode("utf-8")
        different += [] if same else [Difference(what="changed", file=name)]
    return sorted(different, key=lambda one: one.file)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None  # a folder of that name, say: not what a render writes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rendered:
    """Texts of all files by name, and the manifest that goes beside them."""

    files: dict[str, str]
    manifest: Manifest


def _render(matrices: Sequence[Matrix], templates: Sequence[Path]) -> _Rendered:
    _refuse_duplicates(matrices)
    files: dict[str, str] = {"conftest.py": _CONFTEST, "pytest.ini": _INI}
    modules: dict[str, str] = {}
    for matrix in matrices:
        for module, source, rows in _modules(matrix, templates, taken=modules):
            files[f"{module}.py"] = source
            files[f"{module}.json"] = rows
            modules[f"{module}.py"] = matrix.name
    manifest = Manifest(
        modules=modules,
        files=tuple(sorted(files)),
        templates=tuple(str(path) for path in templates),
        cases={matrix.name: len(matrix.rows) for matrix in matrices},
        partial=tuple(matrix.name for matrix in matrices if matrix.partial),
        smoke=tuple(matrix.name for matrix in matrices if matrix.smoke),
    )
    return _Rendered(files=files, manifest=manifest)


def _modules(
    matrix: Matrix, dirs: Sequence[Path], *, taken: Iterable[str]
) -> Iterator[tuple[str, str, str]]:
    """Name, source and rows (JSON) of each module of a matrix."""
    scenario = load_scenario(matrix.scenario, dirs)
    template_path = scenario.template
    template = _template(template_path)
    names = _names(matrix.name, {Path(name).stem for name in taken})
    data = matrix.to_json()
    rows: list[Any] = data["rows"]
    for start in range(0, len(rows), ROWS_PER_MODULE):
        module = next(names)
        piece = {**data, "rows": rows[start : start + ROWS_PER_MODULE]}
        try:
            source = template.render(
                name=matrix.name,
                title=matrix.title,
                file=str(matrix.file),
                scenario=matrix.scenario,
                source=matrix.source,
                clauses=tuple(matrix.clauses),
                module=module,
                rows_file=f"{module}.json",
                checks=tuple(str(check) for check in scenario.checks),
            )
            compile(source, f"{module}.py", "exec", dont_inherit=True)
        except (jinja2.TemplateError, SyntaxError, ValueError, TypeError) as error:
            raise _render_error(template_path, matrix, error) from error
        yield module, source, json.dumps(piece, ensure_ascii=False, separators=(",", ":")) + "\n"


def _names(matrix: str, taken: Iterable[str]) -> Iterator[str]:
    """``test_name``, ``test_name_2``, ...: those that no other matrix has."""
    used = set(taken)
    base = "test_" + matrix.replace("-", "_")
    for number in count(1):
        name = base if number == 1 else f"{base}_{number}"
        while name in used:
            name += "_"
        used.add(name)
        yield name


def _template(path: Path) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([path.parent, templates_dir()]),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - Python is rendered, `finalize` does what escaping would
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_readers_text,
    )
    environment.filters |= {"repr": _literal, "json": _json, "ident": _identifier}
    try:
        return environment.get_template(path.name)
    except jinja2.TemplateSyntaxError as error:
        raise RenderError(f"{path}:{error.lineno}: {error.message}") from error
    except (jinja2.TemplateError, OSError, UnicodeDecodeError) as error:
        raise RenderError(f"{path}: cannot be used as a template: {error}") from error


class _Code(str):
    """Text that is Python already; the filters make it, `_readers_text` lets it pass."""

    __slots__ = ()


def _literal(value: object) -> _Code:
    return _Code(repr(value))


def _json(value: object) -> _Code:
    """A JSON document as a Python string literal."""
    return _Code(repr(json.dumps(value)))


def _identifier(value: object) -> _Code:
    text = str(value).replace("-", "_")
    if not text.isidentifier() or keyword.iskeyword(text):
        raise jinja2.TemplateRuntimeError(f"{text!r} is no Python identifier")
    return _Code(text)


_LOOK_ALIKE = str.maketrans(
    {
        '"': "\N{RIGHT DOUBLE QUOTATION MARK}",
        "'": "\N{RIGHT SINGLE QUOTATION MARK}",
        "\\": "\N{SET MINUS}",
    }
)


def _readers_text(value: object) -> object:
    """A value that came without a filter: quotes, backslashes and line ends lose their meaning."""
    if isinstance(value, _Code | jinja2.Undefined | int):
        return value
    if isinstance(value, tuple | list | dict):
        return _literal(value)
    text = str(value).translate(_LOOK_ALIKE)
    return "".join(char if char.isprintable() else " " for char in text)


def _render_error(path: Path, matrix: Matrix, error: Exception) -> RenderError:
    line = f":{error.lineno}" if isinstance(error, jinja2.TemplateSyntaxError) else ""
    what = f"{type(error).__name__}: {error}"
    return RenderError(f"{path}{line}: rendering {matrix.name} ({matrix.file}) failed: {what}")


def _refuse_duplicates(matrices: Sequence[Matrix]) -> None:
    files: dict[str, str] = {}
    for matrix in matrices:
        if matrix.name in files:
            raise DuplicateMatrixError(
                f"two matrices are named {matrix.name!r}: {files[matrix.name]} and {matrix.file}; "
                "names begin the case ids and must differ"
            )
        files[matrix.name] = str(matrix.file)


def _write(folder: Path, files: dict[str, str], manifest: Manifest) -> None:
    """Replace what an earlier render put there; everything else in the folder stays."""
    earlier = Manifest.read(folder)
    if earlier is None and folder.exists():
        if not folder.is_dir():
            raise ForeignFolderError(f"{folder} is a file; a folder is needed")
        found = sorted(path.name for path in folder.iterdir())
        if found:
            raise ForeignFolderError(
                f"{folder} holds {found[0]!r} and was not rendered by kvconform; "
                "name a new or an empty folder"
            )
    folder.mkdir(parents=True, exist_ok=True)
    if earlier is not None:
        for name in earlier.files:
            if Path(name).name == name and name not in files and name != MARKER:
                (folder / name).unlink(missing_ok=True)
    manifest.write(folder)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
