"""Steps about transfers that are held while other requests come."""

from __future__ import annotations

from kvconform.engine.events import Answered
from kvconform.ports import Capability
from kvconform.stage.base import StageBase
from kvconform.stage.errors import UnfinishedScenarioError


class HoldSteps(StageBase):
    """Requests share a prefix whose store or load is in flight."""

    def hold_transfers(self) -> None:
        """Bring the producer's store, or the first sharer's load, into flight and keep it there.

        Reports are held, and copies too where the connector lets them be held; or only one of the
        two, if the case says so.  The pool forgets
        the prefix, so that sharers depend on the connector.
        """
        self._held = True
        self._owe("share", "steps", "release", "finish_all", "share_once_more")
        store = self.given["hold"] == "store"
        held = self.given.get("held", "both")
        if store:
            self._hold(held)
        self._prepare("producer", self.given["prompt_tokens"])
        self.submit("producer", stay_on_miss=False)
        self._run(lambda: self.bench.ended("producer"), ["producer"])
        if not store:
            self.settle()
        if not self.dead:
            self.bench.reset_prefix_cache()
        if not store:
            self._hold(held)
            self._share("first")
            self._step(1)

    def _hold(self, held: str) -> None:
        controlled = Capability.TRANSFER_CONTROL in self.oracle.claims
        if held == "copies":
            self._need(Capability.TRANSFER_CONTROL)
        if self.dead:
            return
        if held == "copies":
            self.bench.hold_copies()
        else:
            self.bench.hold(copies=controlled and held == "both")

    def _share(self, name: str) -> None:
        self._prepare(name, self.given["prompt_tokens"])
        self.submit(name, stay_on_miss=False)

    def share(self) -> None:
        """Submit the case's number of requests with the producer's prompt."""
        if not self._held:
            raise UnfinishedScenarioError("sharers need the step hold_transfers before them")
        self._paid("share")
        for index in range(self.given["sharers"]):
            self._share(f"sharer-{index}")

    def steps(self, count: int) -> None:
        """Step ``count`` times."""
        self._paid("steps")
        self._step(count)

    def _step(self, count: int) -> None:
        for _ in range(count):
            if not self.dead:
                self.bench.step()

    def release(self) -> None:
        """End the hold."""
        self._paid("release")
        if not self.dead:
            self.bench.release()

    def finish_all(self) -> None:
        """Run until nothing is left to do."""
        self._paid("finish_all")
        self.settle()

    def share_once_more(self) -> None:
        """Positive control: with nothing in flight, one more cold sharer; judge every verdict."""
        self._paid("share_once_more")
        self.wipe_pool()
        self._share("last")
        self.settle()
        self.tally.open("hit-is-covered")
        for event in self._events:
            if isinstance(event, Answered):
                self.judge.answer(event, None)
