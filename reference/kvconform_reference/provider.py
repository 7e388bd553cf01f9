"""The names under which the reference and its mutants are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvconform.ports import (
    ConnectorFactory,
    ConnectorNotFoundError,
    Layout,
    Setting,
    Store,
    StoreFactory,
)
from kvconform_reference.connector import ReferenceConnector, make_connector
from kvconform_reference.mutants import KILLERS, MUTANTS
from kvconform_reference.stored import OverStore
from kvconform_reference.stores import FileStore, MemoryStore

VERSION = "0.1.0"


class ReferenceFactory:
    """Makes reference connectors, one for each case."""

    def __call__(self, layout: Layout, setting: Setting) -> ReferenceConnector:
        """One connector for one case."""
        return make_connector(layout, setting)

    @staticmethod
    def with_store(store: StoreFactory) -> OverStore:
        """What makes them over a store."""
        return OverStore(store)


class Reference:
    """``reference``: takes no argument."""

    def factory(self, argument: str) -> ConnectorFactory:
        """The reference connector's factory."""
        if argument:
            raise ConnectorNotFoundError(f"the reference takes no argument, not {argument!r}")
        return ReferenceFactory()

    def names(self) -> Sequence[str]:
        """Its only name."""
        return ("",)

    def describe(self, argument: str) -> Mapping[str, str]:
        """Its version."""
        del argument
        return {"version": VERSION}


class Mutant:
    """``mutant:NAME``: the reference with one fault."""

    def factory(self, argument: str) -> ConnectorFactory:
        """The mutant's factory; raises KeyError for an unknown name."""
        return MUTANTS[argument].factory

    def names(self) -> Sequence[str]:
        """All mutants."""
        return tuple(MUTANTS)

    def describe(self, argument: str) -> Mapping[str, str]:
        """Version, ``fault`` in one sentence, and the ``clause`` that must catch it.

        ``classes`` of field reports that it stands for; ``killer``, a case that tells it apart;
        ``against``, the connector without the fault; ``unkept``, a store's claim that it does not keep;
        ``cases``, the exact number of the seed's cases that fail: each where it is known.
        """
        mutant = MUTANTS[argument]
        told = {"version": VERSION, "fault": mutant.fault, "clause": ",".join(mutant.clauses)}
        told |= {"against": mutant.against}
        told |= {"unkept": mutant.unkept}
        told |= {"classes": ",".join(mutant.classes), "killer": KILLERS.get(argument, "")}
        return told if mutant.seed_cases is None else {**told, "cases": str(mutant.seed_cases)}


class EmbeddedStore:
    """A store that comes with the project and takes no argument."""

    kind: type[Store]

    def factory(self, argument: str) -> StoreFactory:
        """Opens the store."""
        if argument:
            raise ConnectorNotFoundError(f"this store takes no argument, not {argument!r}")
        return self.kind

    def names(self) -> Sequence[str]:
        """Its only name."""
        return ("",)

    def describe(self, argument: str) -> Mapping[str, str]:
        """Its version."""
        del argument
        return {"version": VERSION}


class Memory(EmbeddedStore):
    """``memory``: objects in the memory of one process."""

    kind = MemoryStore


class Files(EmbeddedStore):
    """``fs``: one file an object."""

    kind = FileStore
