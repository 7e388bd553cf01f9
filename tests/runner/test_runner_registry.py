"""Connectors are found by name, and every name that leads nowhere says so in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kvconform import registry
from kvconform.ports import ConnectorNotFoundError, KvconformError
from kvconform.registry import (
    ConnectorAmbiguousError,
    ConnectorImportError,
    InvalidProviderError,
    list_connectors,
    list_mutants,
    resolve_connector,
)

PROVIDER = """
class Provider:
    def factory(self, argument):
        if argument not in self.names():
            raise KeyError(argument)
        def make(layout, setting):
            return argument
        return make
    def names(self):
        return ["", "a b:c", "fast"]
    def describe(self, argument):
        return {"version": "7.1", "fault": f"fault of {argument}"}

class Half:
    def names(self):
        return []

def Broken():
    raise RuntimeError("no licence\\nask for one")

class Spelling(Provider):
    def canonical(self, argument):
        return argument.lower() or "fast"
    def recognizes(self, found):
        if found is print:
            raise RuntimeError("not that one")
        return isinstance(found, type) and found.__name__ == "Half"

class NoLibrary(Provider):
    def describe(self, argument):
        raise OSError("no library")

made = Provider()
value = 3
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a distribution with entry points on the path, in place of what is installed."""
    (tmp_path / "vendor_a.py").write_text(PROVIDER, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(
        registry.importlib.metadata,
        "entry_points",
        lambda group: [point for point in points if point.group == group],
    )
    points: list[registry.importlib.metadata.EntryPoint] = []

    def install(**entries: str | list[str]) -> None:
        for name, values in entries.items():
            for value in [values] if isinstance(values, str) else values:
                points.append(
                    registry.importlib.metadata.EntryPoint(
                        name=name, value=value, group=registry.GROUP
                    )
                )

    return install


def test_a_registered_name_gets_its_argument_as_it_stands(install: Callable[..., None]) -> None:
    """Everything after the first colon is the provider's own."""
    install(vendor="vendor_a:Provider")
    found = resolve_connector("vendor:a b:c")
    assert (found.name, found.version) == ("vendor:a b:c", "7.1")
    assert found.factory(None, None) == "a b:c"


def test_registered_names_win_over_modules(install: Callable[..., None]) -> None:
    """A provider called like a module hides the module."""
    install(vendor_a="vendor_a:made")
    assert resolve_connector("vendor_a:fast").describe["fault"] == "fault of fast"


def test_a_factory_is_found_by_module_and_attribute(
    install: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The working folder counts, dots reach into objects, the version is the package's."""
    install()
    package = tmp_path / "elsewhere" / "my_pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = '3.4'\n", encoding="utf-8")
    (package / "deep.py").write_text("class A:\n    make = staticmethod(print)\n", encoding="utf-8")
    monkeypatch.setattr("sys.path", ["/nowhere", *registry.sys.path])
    monkeypatch.chdir(package.parent)
    found = resolve_connector("my_pkg.deep:A.make")
    assert (found.factory, found.version) == (print, "3.4")


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("vendr", ConnectorNotFoundError, "no connector is named 'vendr'; did you mean vendor?"),
        ("vendor:fasd", ConnectorNotFoundError, "did you mean vendor:fast?"),
        ("nosuch.module:f", ConnectorNotFoundError, "there is no module 'nosuch' here"),
        ("vendor_a:mode", ConnectorNotFoundError, "vendor_a has no 'mode'; did you mean made?"),
        ("vendor_a:value", InvalidProviderError, "is int 3, but must be a factory"),
        ("half", InvalidProviderError, "lacks factory, describe()"),
        ("broken", ConnectorImportError, "AttributeError: module 'vendor_a' has no attribute"),
        ("bad_import:f", ConnectorImportError, "ModuleNotFoundError: No module named 'not_there'"),
        ("bad_exit:f", ConnectorImportError, "importing bad_exit failed: SystemExit: 3"),
        ("bad_text:f", ConnectorImportError, "importing bad_text failed: SyntaxError"),
        ("twice", ConnectorAmbiguousError, "two packages provide a connector named 'twice'"),
    ],
)
def test_names_that_lead_nowhere(
    install: Callable[..., None], tmp_path: Path, name: str, kind: type[KvconformError], text: str
) -> None:
    """Each mistake has its own error, on one line, with what to do."""
    install(
        vendor="vendor_a:Provider",
        half="vendor_a:Half",
        broken="vendor_a:NotThere",
        twice=["vendor_a:Provider", "vendor_a:made"],
    )
    for module, source in {
        "bad_import": "import not_there",
        "bad_exit": "raise SystemExit(3)",
        "bad_text": "def",
    }.items():
        (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
    with pytest.raises(kind) as caught:
        resolve_connector(name)
    assert text in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_an_import_failure_says_where(install: Callable[..., None], tmp_path: Path) -> None:
    """The file and line are the ones that raised, not those of the import machinery."""
    install()
    (tmp_path / "bad_line.py").write_text("\n\n1 / 0\n", encoding="utf-8")
    with pytest.raises(ConnectorImportError, match=r"ZeroDivisionError: .*bad_line\.py:3\)$"):
        resolve_connector("bad_line:f")


def test_without_any_package_the_hint_is_to_install(install: Callable[..., None]) -> None:
    """A checkout that was never installed has no entry points."""
    install()
    with pytest.raises(ConnectorNotFoundError, match="is the distribution kvconform installed"):
        resolve_connector("reference")


@pytest.mark.parametrize("name", ["vendor", "vendor:", "vendor:fast", "vendor:FAST"])
def test_records_have_one_name_for_one_connector(install: Callable[..., None], name: str) -> None:
    """As its provider spells it, however it was asked for."""
    install(vendor="vendor_a:Spelling")
    found = resolve_connector(name)
    assert (found.name, found.describe["fault"]) == ("vendor:fast", "fault of fast")
    assert found.factory(None, None) == "fast"


def test_a_name_without_its_argument_is_the_name(install: Callable[..., None]) -> None:
    """Where the provider has nothing to say of it."""
    install(vendor="vendor_a:Provider")
    assert resolve_connector("vendor:").name == "vendor"


def test_what_needs_a_provider_is_told_with_its_name(install: Callable[..., None]) -> None:
    """What a provider recognizes is no factory; one that breaks over the question has no say."""
    install(broken="vendor_a:NotThere", vendor="vendor_a:Spelling")
    with pytest.raises(ConnectorNotFoundError) as caught:
        resolve_connector("vendor_a:Half")
    assert str(caught.value) == (
        "connector 'vendor_a:Half' is no factory that takes (layout, setting); "
        "write vendor:vendor_a:Half"
    )
    assert resolve_connector("vendor_a:Provider").name == "vendor_a:Provider"
    assert resolve_connector("builtins:print").factory is print


def test_a_problem_that_all_names_share_is_listed_once(install: Callable[..., None]) -> None:
    """Under the name of the provider."""
    install(vendor="vendor_a:NoLibrary")
    (one,) = list_connectors()
    assert (one.name, one.problem) == ("vendor", "OSError: no library")


def test_the_version_of_what_was_installed_in_place(
    tmp_path: Path, install: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No distribution lists its modules; the one of the innermost folder is theirs."""
    install()
    for name, version, folder in (("outer", "1.0", "src"), ("inner", "0.7.1", "src/inner")):
        (tmp_path / folder / "own_pkg").mkdir(parents=True, exist_ok=True)
        metadata = tmp_path / "site" / f"{name}-{version}.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n", "utf-8")
        origin = {"url": (tmp_path / folder).as_uri(), "dir_info": {"editable": True}}
        (metadata / "direct_url.json").write_text(json.dumps(origin), "utf-8")
    package = tmp_path / "src" / "inner" / "own_pkg"
    (package / "kv.py").write_text("def make(layout, setting): pass\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.syspath_prepend(str(package.parent))
    assert resolve_connector("own_pkg.kv:make").version == "0.7.1"


def test_lists_keep_mutants_apart_and_go_on_after_a_broken_provider(
    install: Callable[..., None],
) -> None:
    """A provider that does not load is listed with its problem."""
    install(vendor="vendor_a:Provider", mutant="vendor_a:Provider", zzz="not_there:x")
    connectors = list_connectors()
    assert [one.name for one in connectors] == ["vendor", "vendor:a b:c", "vendor:fast", "zzz"]
    assert "No module named 'not_there'" in connectors[-1].problem
    assert [one.name for one in list_mutants()] == ["mutant", "mutant:a b:c", "mutant:fast"]
