"""Connectors from which a search does not come back, or in another way than it went in."""

from __future__ import annotations

import os
import signal
import time

from kvconform.ports import Connector, Layout, Request, Setting, StepResult
from kvconform_reference.mutants import MUTANTS
from kvconform_reference.mutants.base import Patched
from kvconform_reference.scheduler import ReferenceScheduler


class _Hanging(ReferenceScheduler):
    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        if request.request_id == "b":
            time.sleep(600)
        return super().get_num_new_matched_tokens(request, num_computed_tokens)


class _Crashing(ReferenceScheduler):
    def update_connector_output(self, result: StepResult) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)
        super().update_connector_output(result)


class Hangs(Patched):
    """Never answers the second request of a trace."""

    scheduler_kind = _Hanging


class Crashes(Patched):
    """Ends the process with the first report."""

    scheduler_kind = _Crashing


class _Forgetful(ReferenceScheduler):
    """Every seventh lookup of a process is a miss."""

    lookups = 0

    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        _Forgetful.lookups += 1
        found = super().get_num_new_matched_tokens(request, num_computed_tokens)
        return found if _Forgetful.lookups % 7 else (0, False)


class Remembers(Patched):
    """What it answers depends on earlier cases."""

    scheduler_kind = _Forgetful


def never_hits(layout: Layout, setting: Setting) -> Connector:
    """Does nothing and claims nothing, so that nothing is asked of it but to be right."""
    connector = MUTANTS["null"].factory(layout, setting)
    connector.capabilities = frozenset()
    return connector
