"""Stores by themselves: objects that name their owner, a second process, damage, verdicts."""

from kvconform.store.stage import StoreStage

__all__ = ["StoreStage"]
