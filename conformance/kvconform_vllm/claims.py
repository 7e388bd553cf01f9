"""A file of claims: what a connector class can do, where the suite knows better or worse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from kvconform.matrix.document import Document, Unreadable, read_document
from kvconform.matrix.problems import Problem, shown, suggest
from kvconform.ports import Capability, KvconformError

CLAIMS_OPTION = "capabilities"
"""The setting that names a file of claims; it is not handed on to the connector."""

_SHAPE = "a mapping from capability to true or false"
_OF_THE_SUITE = {
    Capability.CHUNK_CONTROL: "the suite cannot put single chunks of this connector into a state",
    Capability.TRANSFER_CONTROL: "copies of this connector do not run through the suite's gate",
}
"""Claims about the suite's own hold on a class: a file can take them away, not add them."""


class ClaimsFileError(KvconformError):
    """A file of claims that cannot be used: names file, what is wrong and what was expected."""


def overridden(claims: frozenset[Capability], file: object) -> frozenset[Capability]:
    """``claims`` with those of ``file`` added (``true``) or taken away (``false``).

    Raises `ClaimsFileError` where the file claims what only the suite could bring about.
    """
    if file is None:
        return claims
    told = read_claims(str(file))
    for capability, why in _OF_THE_SUITE.items():
        if told.get(capability) and capability not in claims:
            raise ClaimsFileError(f"{file}: {capability} cannot be true: {why}; leave it out")
    return frozenset(c for c in Capability if told.get(c, c in claims))


@lru_cache(maxsize=8)
def read_claims(file: str) -> Mapping[Capability, bool]:
    """A YAML mapping from capability to true or false; raises `ClaimsFileError` with all problems."""
    document = read_document(Path(file), file, when_empty=f"write {_SHAPE}")
    problems = [*document.problems, *_problems(document)]
    if problems:
        problems.sort(key=lambda problem: (problem.line, problem.column))
        raise ClaimsFileError("\n".join(map(str, problems)))
    return {Capability(name): value for name, value in document.plain().items()}


def _problems(document: Document) -> Iterator[Problem]:
    data = document.plain()
    if document.root is not None and not isinstance(data, dict):
        yield Problem(file=document.file, line=1, column=1, message=f"must be {_SHAPE}")
    known = [capability.value for capability in Capability]
    for name, value in data.items() if isinstance(data, dict) else ():
        line, column = document.at((name,), key=True)
        if name not in known:
            message, hint = f"no capability is named {shown(name)}", suggest(name, known)
        elif not isinstance(value, (bool, Unreadable)):
            message, hint = f"{name} is {shown(value)}", "must be true or false"
        else:
            continue
        yield Problem(file=document.file, line=line, column=column, message=message, hint=hint)
