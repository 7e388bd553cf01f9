"""Pseudo-random numbers that are the same on every machine and Python version."""

from __future__ import annotations

_MASK = (1 << 64) - 1


class SplitMix:
    """The SplitMix64 generator of Steele, Lea and Flood (OOPSLA 2014)."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def below(self, limit: int) -> int:
        """A number from 0 to ``limit`` - 1."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return (mixed ^ (mixed >> 31)) % limit

    def permutation(self, count: int) -> list[int]:
        """The numbers from 0 to ``count`` - 1 in some order."""
        result = list(range(count))
        for at in range(count - 1, 0, -1):
            other = self.below(at + 1)
            result[at], result[other] = result[other], result[at]
        return result
