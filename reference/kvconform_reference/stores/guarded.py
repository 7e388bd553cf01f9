"""A store that never takes its caller down: what it raises is a miss or a refusal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kvconform.ports import Store


class GuardedStore(Store):
    """``inner``, of which an exception costs the batch and nothing else.

    ``tell`` is given the cause.  What fails is as good as absent: a put has kept nothing that
    counts, a get has found nothing.
    """

    def __init__(self, inner: Store, tell: Callable[[str], None]) -> None:
        self.claims = inner.claims
        self._inner = inner
        self._tell = tell

    def exists(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """As the store says, False where it fails."""
        return self._answers("exists", len(keys), lambda: self._inner.exists(keys))

    def put(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """As the store says, False where it fails."""
        return self._answers("put", len(keys), lambda: self._inner.put(keys, buffers))

    def get(self, keys: Sequence[bytes], buffers: Sequence[memoryview]) -> Sequence[bool]:
        """As the store says, False where it fails."""
        return self._answers("get", len(keys), lambda: self._inner.get(keys, buffers))

    def delete(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """As the store says, False where it fails."""
        return self._answers("delete", len(keys), lambda: self._inner.delete(keys))

    def object_file(self, key: bytes) -> Path | None:
        """As the store says."""
        return self._inner.object_file(key)

    def close(self) -> None:
        """Close the store; one that fails now is told as well."""

        def closed() -> Sequence[bool]:
            self._inner.close()
            return ()

        self._answers("close", 0, closed)

    def _answers(
        self, method: str, count: int, ask: Callable[[], Sequence[bool]]
    ) -> Sequence[bool]:
        try:
            return ask()
        except Exception as error:  # noqa: BLE001 - whatever a store raises costs its batch alone
            self._tell(f"the store's {method} failed: {type(error).__name__}: {error}")
            return [False] * count
