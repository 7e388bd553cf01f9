"""Stores by themselves: what a judgement may not miss."""

from __future__ import annotations

import pytest

from kv_layouts import HASH_BLOCK, full
from kvconform.case import Case
from kvconform.ports import Layout, Overwrite, Store, StoreClaims
from kvconform.stage.errors import CaseFailedError, NotApplicableError
from kvconform.store.stage import StoreStage


class LeasingStore(Store):
    """Refuses every delete; says that a put under a key that is there is done, and ignores it."""

    claims = StoreClaims(overwrite=Overwrite.KEEP)

    def __init__(self, setting):
        del setting
        self.kept = {}

    def exists(self, keys):
        """Whether each key is there."""
        return [key in self.kept for key in keys]

    def put(self, keys, buffers):
        """Keep what is new."""
        for key, buffer in zip(keys, buffers, strict=True):
            self.kept.setdefault(key, bytes(buffer))
        return [True] * len(keys)

    def get(self, keys, buffers):
        """What is kept, in a buffer of its size."""
        found = []
        for key, buffer in zip(keys, buffers, strict=True):
            found.append(len(self.kept.get(key, b"")) == len(buffer))
            if found[-1]:
                buffer[:] = self.kept[key]
        return found

    def delete(self, keys):
        """Nothing is forgotten."""
        return [False] * len(keys)


def stage_of(events, factory=LeasingStore):
    """A stage with a case of these events."""
    case = Case(
        id="case",
        matrix="matrix",
        source="matrix.yaml:1",
        scenario="store",
        clauses=("STO-1", "STO-2"),
        requires=(),
        layout=Layout(groups=(full(),), hash_block=HASH_BLOCK),
        given={"events": events},
    )
    return StoreStage(case, factory=factory, connector="", checks=["own-bytes", "put-is-found"])


def test_an_ignored_put_behind_a_refused_delete_is_seen():
    """In a case that is not about overwriting, the put's True and the old bytes fail all the same."""
    stage = stage_of(
        [
            {"put": {"keys": ["a"]}},
            {"get": {"keys": ["a"]}},
            {"delete": {"keys": ["a"]}},
            {"get": {"keys": ["a"]}},
            {"put": {"keys": ["a"], "version": 2}},
            {"get": {"keys": ["a"]}},
        ]
    )
    stage.play()
    with pytest.raises(CaseFailedError):
        stage.conclude()
    stage.close()
    assert {result.check for result in stage.results if result.outcome.is_bad} == {
        "own-bytes",
        "put-is-found",
    }


class ShortKeys(LeasingStore):
    """Takes keys of at most 20 bytes."""

    claims = StoreClaims(max_key_bytes=20)


def test_keys_spelt_out_that_are_too_long_make_a_case_not_applicable():
    """A key in hex counts like one of that many bytes."""
    stage_of([{"second": [{"put": {"keys": ["0x" + "ab" * 20]}}]}], ShortKeys).close()
    with pytest.raises(NotApplicableError, match="the case has 21"):
        stage_of([{"second": [{"put": {"keys": ["0x" + "ab" * 21]}}]}], ShortKeys)


def test_what_is_no_store_fails_its_case():
    """By the clause about answers, with what came instead; the suite is not what broke."""
    stage = stage_of([{"put": {"keys": ["a"]}}], factory=lambda setting: None)  # noqa: ARG005
    stage.note("opened")
    with pytest.raises(CaseFailedError) as caught:
        stage.conclude()
    assert "returned None, expected a Store" in str(caught.value)
    assert stage.dead.startswith("open: ")
