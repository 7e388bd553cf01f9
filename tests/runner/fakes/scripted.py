"""A stage whose cases end as their matrix says, and the connector that puts it in place.

Importing this module replaces ``kvconform.stage`` in the process, so that the runner can be
tested with crashes and hangs without an engine.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from types import ModuleType

import kvconform
from kvconform.ports import KvconformError
from kvconform.results.record import CheckResult, Outcome, combine

__version__ = "1.2"


class NotApplicableError(KvconformError):
    """The case asks for what the connector does not claim."""


class CaseFailedError(AssertionError):
    """The case is over and its outcome is bad."""


class Stage:
    """Does what ``act`` of the case says."""

    def __init__(self, case, *, factory, device, checks, options):
        self.case = case
        self.options = options
        self.device = device
        self.checks = checks
        self.factory = factory
        self.results = ()
        self.trace = ()
        self.outcome = Outcome.PASS
        self.concluded = False
        self.said = getattr(factory, "says", {}).get(case.given["act"], case.given["act"])
        if self.said == "unclaimed":
            raise NotApplicableError("n/a: chunk_control")
        if self.said == "setup_error":
            raise RuntimeError("the stage is broken")

    def scene(self, *, every_answer=False):  # noqa: ARG002
        """Nothing to draw."""
        if self.said == "undrawable":
            raise RuntimeError("no scene")

    def act(self):
        """End, hang, crash or go on."""
        act = self.said
        self.trace = ("step 1: request a enters", f"step 2: {act}")
        if act == "hang":
            time.sleep(600)
        elif act.startswith("nap"):
            time.sleep(0.02)
        elif act == "exit":
            os._exit(3)
        elif act == "segfault":
            ctypes.string_at(0)
        elif act == "linger":
            threading.Thread(target=time.sleep, args=(600,), daemon=False).start()
        elif act == "interrupt":
            raise KeyboardInterrupt
        elif act == "error":
            raise RuntimeError("the template is broken")
        elif act == "refuse":
            raise NotApplicableError("layout refused: no windows here")
        return act

    def close(self):
        """Nothing to release."""

    def conclude(self):
        """Judge."""
        self.concluded = True
        act = self.said
        outcomes = {
            "fail": Outcome.FAIL,
            "undrawable": Outcome.FAIL,
            "untestable": Outcome.UNTESTABLE,
        }
        outcome = outcomes.get(act, Outcome.PASS)
        self.results = (
            CheckResult(
                check="no-exception",
                clause="LIF-1",
                outcome=outcome,
                expected="" if outcome is Outcome.PASS else "no exception",
                got="" if outcome is Outcome.PASS else "ValueError: 7 is no block",
                detail="" if outcome is Outcome.PASS else "in get_finished, step 2",
            ),
            CheckResult(check="every-request-ends", clause="TRM-1", outcome=Outcome.PASS),
        )
        self.outcome = combine(self.results)
        if self.outcome.is_bad:
            raise CaseFailedError(f"{self.case.id} fails\n  LIF-1 no-exception")


def connector(layout, setting):
    """The factory; the scripted stage never calls it."""
    raise NotImplementedError


def faulty(layout, setting):
    """A factory with which cases fail that would pass."""
    raise NotImplementedError


faulty.says = {"pass": "fail"}
wrong = faulty


def open_stage(case, subject, *, connector, **how):
    """The door through which the plugin gets its stages."""
    del subject, connector
    return Stage(case, **how)


def subject_of(module):
    """All cases are about connectors."""
    del module
    return "connector"


_STAGE = ModuleType("kvconform.stage")
_STAGE.Stage = Stage
_STAGE.NotApplicableError = NotApplicableError
_STAGE.CaseFailedError = CaseFailedError
sys.modules["kvconform.stage"] = _STAGE
_STAGES = ModuleType("kvconform.stages")
_STAGES.open_stage = open_stage
_STAGES.subject_of = subject_of
sys.modules["kvconform.stages"] = _STAGES
kvconform.stage = _STAGE
