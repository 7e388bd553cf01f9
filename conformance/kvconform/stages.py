"""The stage of a case, whatever it puts to the test: an engine with a connector, or a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kvconform.case import Case
from kvconform.matrix.scenario import Subject
from kvconform.ports import ConnectorFactory, StoreFactory
from kvconform.stage import NotApplicableError, Stage
from kvconform.store.stage import StoreStage

AnyStage = Stage | StoreStage


def open_stage(
    case: Case,
    subject: str = Subject.CONNECTOR,
    *,
    factory: ConnectorFactory,
    connector: str = "",
    checks: Iterable[str] = (),
    **how: Any,
) -> AnyStage:
    """The stage of ``case``; ``connector`` is the name under which another process finds it.

    ``how`` are the device and the options of a connector.  Raises `NotApplicableError` where
    the case does not apply.
    """
    if subject == Subject.CONNECTOR:
        settings: Mapping[str, Any] = how
        return Stage(case, factory=factory, connector=connector, checks=checks, **settings)
    store: StoreFactory | None = getattr(factory, "store", None)
    if store is None:
        raise NotApplicableError("n/a: no store is put to the test (kvconform run --store NAME)")
    return StoreStage(case, factory=store, connector=connector, checks=checks)


def subject_of(module: object) -> str:
    """What the cases of a rendered module put to the test."""
    return str(getattr(module, "SUBJECT", Subject.CONNECTOR))
