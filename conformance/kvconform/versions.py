"""The version of the code that a connector was loaded from."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit


def version_of(module_name: str) -> str:
    """``__version__`` of the top package, else the version of its distribution; empty if unknown."""
    top = module_name.partition(".")[0]
    version = getattr(sys.modules.get(top), "__version__", None)
    if isinstance(version, str):
        return version
    for distribution in importlib.metadata.packages_distributions().get(top, ()):
        return importlib.metadata.version(distribution)
    return _editable_version(top)


def _editable_version(top: str) -> str:
    """What was installed from a folder in place lists no modules: the folder tells whose they are."""
    folder = _folder_of(top)
    if folder is None:
        return ""
    owners = [
        (len(source.parts), distribution.version)
        for distribution in importlib.metadata.distributions()
        if (source := _source_folder(distribution)) is not None and folder.is_relative_to(source)
    ]
    return max(owners)[1] if owners else ""


def _folder_of(top: str) -> Path | None:
    module = sys.modules.get(top)
    file = getattr(module, "__file__", None)
    places = [str(Path(file).parent)] if file else list(getattr(module, "__path__", ()))
    return Path(places[0]).resolve() if places else None


def _source_folder(distribution: importlib.metadata.Distribution) -> Path | None:
    """The folder of an editable installation, as PEP 610 records it."""
    try:
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        editable = bool(origin.get("dir_info", {}).get("editable"))
        return Path(unquote(urlsplit(origin["url"]).path)).resolve() if editable else None
    except (ValueError, AttributeError, KeyError, TypeError, OSError):
        return None
