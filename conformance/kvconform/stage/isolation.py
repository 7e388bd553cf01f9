"""Steps about requests that must not share although their tokens are equal."""

from __future__ import annotations

from kvconform.stage.consumers import ConsumerSteps
from kvconform.stage.errors import UnfinishedScenarioError
from kvconform.stage.judge import say


class IsolationSteps(ConsumerSteps):
    """A stranger asks with the producer's tokens under another salt."""

    def consume_as_stranger(self) -> None:
        """Run a cold request with the whole prompt and the case's other salt: it must not hit.

        Raises `UnfinishedScenarioError` if the pool was not wiped before it.
        """
        if not self._cold:
            raise UnfinishedScenarioError("a cold stranger needs the step wipe_pool before it")
        name = "stranger"
        self._prepare(name, self.given["prompt_tokens"], salt=str(self.given["other_salt"]))
        self.submit(name, stay_on_miss=False)
        self._run(lambda: self.bench.ended(name), [name])
        self.tally.open("never-shared")
        for answer in self._answers(name):
            self.tally.saw("never-shared")
            if answer.tokens:
                salts = f"salt {self.given['salt']!r} stored it, {self.given['other_salt']!r} asks"
                self.tally.wrong(
                    "never-shared", say(0), say(answer.boundary), f"{answer}; {salts}"
                )
