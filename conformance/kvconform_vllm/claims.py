"""A file of claims: what a connector class can do, where the suite knows better or worse."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import yaml

from kvconform.ports import Capability, KvconformError

CLAIMS_OPTION = "capabilities"
"""The setting that names a file of claims; it is not handed on to the connector."""


class ClaimsFileError(KvconformError):
    """A file of claims that cannot be used: names file, what is wrong and what was expected."""


def overridden(claims: frozenset[Capability], file: object) -> frozenset[Capability]:
    """``claims`` with those of ``file`` added (``true``) or taken away (``false``)."""
    if file is None:
        return claims
    told = read_claims(str(file))
    return frozenset(c for c in Capability if told.get(c, c in claims))


@lru_cache(maxsize=8)
def read_claims(file: str) -> Mapping[Capability, bool]:
    """A YAML mapping from capability to true or false; raises `ClaimsFileError`."""
    try:
        data = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise ClaimsFileError(f"{file}: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ClaimsFileError(f"{file}: is no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict):
        raise ClaimsFileError(f"{file}: must be a mapping from capability to true or false")
    known = [capability.value for capability in Capability]
    problems = []
    for name, value in data.items():
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"
            problems.append(f"{file}: no capability is named {name!r}{hint}")
        elif not isinstance(value, bool):
            problems.append(f"{file}: {name} is {value!r}, must be true or false")
    if problems:
        raise ClaimsFileError("\n".join(problems))
    return {Capability(name): value for name, value in data.items()}
