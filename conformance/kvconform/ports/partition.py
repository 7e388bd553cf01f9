"""What keeps a request's KV apart from that of another with the same tokens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """The adapter that a request runs with; another version of a name has other weights."""

    name: str
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image (or other input) that stands behind ``length`` placeholder tokens from ``start``.

    ``digest`` names its content.  KV of tokens below ``start`` does not depend on it.
    """

    digest: str
    start: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """All that the KV of a token depends on beside the tokens up to it.

    ``salt`` keeps tenants apart, ``embeddings`` names the prompt's embeddings where they were
    given instead of tokens; an empty text is none.
    """

    salt: str = ""
    lora: Lora | None = None
    images: tuple[Image, ...] = ()
    embeddings: str = ""


PLAIN = Partition()
"""A request without any of them."""
