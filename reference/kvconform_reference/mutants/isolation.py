"""Faults of keys: what they forget of all that KV depends on beside the tokens."""

from __future__ import annotations

import hashlib

from kvconform.ports import Request
from kvconform_reference.lookup import Lookup
from kvconform_reference.manager import OffloadKey
from kvconform_reference.mutants.base import Mutant, Patched

Parts = dict[str, object]


class _OwnKeys(Lookup):
    """Keys are hashes of its own, made of token ids and of everything else that counts."""

    def key(self, request: Request, group: int, chunk: int) -> OffloadKey | None:
        if super().key(request, group, chunk) is None:
            return None
        end = (chunk + 1) * self.demands[group].chunk
        lora = request.lora
        parts: Parts = {
            "tokens": list(request.token_ids[:end]),
            "salt": request.salt,
            "lora": lora and (lora.name, lora.version),
            "images": [(one.digest, one.start) for one in request.images if one.start < end],
            "embeddings": request.embeddings,
        }
        return hashlib.sha256(repr(self.forget(parts)).encode()).digest(), group

    def forget(self, parts: Parts) -> Parts:
        """What is left of the parts of a key."""
        return parts


class _NoSalt(_OwnKeys):
    def forget(self, parts: Parts) -> Parts:
        return parts | {"salt": ""}


class _NoAdapter(_OwnKeys):
    def forget(self, parts: Parts) -> Parts:
        return parts | {"lora": None}


class _NoVersion(_OwnKeys):
    def forget(self, parts: Parts) -> Parts:
        lora = parts["lora"]
        return parts | {"lora": lora[0] if isinstance(lora, tuple) else None}


class _NoImages(_OwnKeys):
    def forget(self, parts: Parts) -> Parts:
        return parts | {"images": []}


class _NoImagePlaces(_OwnKeys):
    def forget(self, parts: Parts) -> Parts:
        images = parts["images"]
        return parts | {"images": [one[0] for one in images] if isinstance(images, list) else []}


class _NoEmbeddings(_OwnKeys):
    def forget(self, parts: Parts) -> Parts:
        return parts | {"embeddings": ""}


class _AllImages(_OwnKeys):
    """Images that come later count too."""

    def key(self, request: Request, group: int, chunk: int) -> OffloadKey | None:
        key = super().key(request, group, chunk)
        digests = "".join(image.digest for image in request.images)
        return key and (key[0] + digests.encode(), group)


class _SaltIgnored(Patched):
    lookup_kind = _NoSalt


class _AdapterIgnored(Patched):
    lookup_kind = _NoAdapter


class _AdapterVersionIgnored(Patched):
    lookup_kind = _NoVersion


class _ImagesIgnored(Patched):
    lookup_kind = _NoImages


class _ImagePlaceIgnored(Patched):
    lookup_kind = _NoImagePlaces


class _EmbeddingsIgnored(Patched):
    lookup_kind = _NoEmbeddings


class _LaterImagesSeparate(Patched):
    lookup_kind = _AllImages


ISOLATION = (
    Mutant(
        name="salt-ignored",
        fault="Keys do not depend on the salt.",
        clauses=("ISO-1",),
        factory=_SaltIgnored,
        seed_cases=0,
        classes=("C14",),
    ),
    Mutant(
        name="adapter-ignored",
        fault="Keys do not depend on the LoRA adapter.",
        clauses=("ISO-1",),
        factory=_AdapterIgnored,
        seed_cases=0,
        classes=("C14",),
    ),
    Mutant(
        name="adapter-version-ignored",
        fault="Keys depend on the name of the LoRA adapter and not on its version.",
        clauses=("ISO-1",),
        factory=_AdapterVersionIgnored,
        seed_cases=0,
        classes=("C14",),
    ),
    Mutant(
        name="images-ignored",
        fault="Keys do not depend on images behind placeholder tokens.",
        clauses=("ISO-1",),
        factory=_ImagesIgnored,
        seed_cases=0,
        classes=("C14",),
    ),
    Mutant(
        name="image-place-ignored",
        fault="Keys depend on which images there are and not on where.",
        clauses=("ISO-1",),
        factory=_ImagePlaceIgnored,
        seed_cases=0,
        classes=("C14",),
    ),
    Mutant(
        name="embeddings-ignored",
        fault="Keys do not depend on the prompt's embeddings.",
        clauses=("ISO-1",),
        factory=_EmbeddingsIgnored,
        seed_cases=0,
        classes=("C14",),
    ),
    Mutant(
        name="later-images-separate",
        fault="Requests whose images differ share nothing, not even what comes before the images.",
        clauses=("COV-3",),
        factory=_LaterImagesSeparate,
        seed_cases=0,
    ),
)
