"""Connectors from which a search does not come back, or in another way than it went in."""

from __future__ import annotations

import math
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
    """The 1st, 3rd, 6th, 10th ... lookup of a process is a miss: never as often as before."""

    lookups = 0

    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        _Forgetful.lookups += 1
        found = super().get_num_new_matched_tokens(request, num_computed_tokens)
        is_triangular = math.isqrt(8 * _Forgetful.lookups + 1) ** 2 == 8 * _Forgetful.lookups + 1
        return (0, False) if is_triangular else found


class Remembers(Patched):
    """What it answers depends on earlier cases."""

    scheduler_kind = _Forgetful


def never_hits(layout: Layout, setting: Setting) -> Connector:
    """Does nothing and claims nothing, so that nothing is asked of it but to be right."""
    connector = MUTANTS["null"].factory(layout, setting)
    connector.capabilities = frozenset()
    return connector
