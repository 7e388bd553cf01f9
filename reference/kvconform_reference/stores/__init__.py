"""The embedded stores: one in memory, one in files."""

from kvconform_reference.stores.files import FileStore
from kvconform_reference.stores.memory import MemoryStore

__all__ = ["FileStore", "MemoryStore"]
