"""What can be wrong with a request for a covering selection."""

from __future__ import annotations

from collections.abc import Sequence

from kvconform.ports import KvconformError


class ModelError(KvconformError, ValueError):
    """A model that is none; ``problems`` are all that was found."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class StrengthError(KvconformError, ValueError):
    """A strength that the model does not allow: says what was given and what was expected."""


class PresetError(KvconformError, ValueError):
    """Presets that are no valid rows; ``problems`` has the position of each and what is wrong."""

    def __init__(self, problems: Sequence[tuple[int, str]]) -> None:
        super().__init__("; ".join(f"preset {at} {problem}" for at, problem in problems))
        self.problems = tuple(problems)


class NoRowLeftError(KvconformError, ValueError):
    """No row is valid; without any one of ``constraints`` (positions) one of them would be."""

    def __init__(self, constraints: Sequence[int], given: int, product: int) -> None:
        named = ", ".join(map(str, constraints))
        super().__init__(
            f"no row is left: {len(constraints)} of the {given} constraints ({named}) exclude"
            f" all {product:,} combinations; relax one of them"
        )
        self.constraints = tuple(constraints)
        self.given = given
        self.product = product


class TooLargeError(KvconformError):
    """An exact answer would take too long: ``count`` is above ``limit``."""

    def __init__(self, what: str, count: int, limit: int) -> None:
        super().__init__(
            f"{count:,} {what}, and the limit is {limit:,};"
            " lower the strength, or use fewer values or simpler constraints"
        )
        self.count = count
        self.limit = limit
