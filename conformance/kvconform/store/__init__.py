"""Stores by themselves: objects that name their owner, a second process, damage, verdicts."""
