"""Steps about requests that must not share although their tokens are equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvconform.contract.sharing import shared_supply, shared_tokens
from kvconform.engine.origins import tells_of_kept
from kvconform.ports import Image, Lora, Partition
from kvconform.stage.consumers import ConsumerSteps
from kvconform.stage.errors import UnfinishedScenarioError
from kvconform.stage.judge import say


class IsolationSteps(ConsumerSteps):
    """A stranger asks with the producer's tokens, and differs in something beside them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._partition = read_partition(self.given.get("owner", {}))

    def consume_as_stranger(self) -> None:
        """Run a cold request with the whole prompt as the case's stranger.

        It may share what does not depend on the difference, and nothing else.  Raises
        `UnfinishedScenarioError` if the pool was not wiped before it.
        """
        if not self._cold:
            raise UnfinishedScenarioError("a cold stranger needs the step wipe_pool before it")
        name, num_tokens = "stranger", self.given["prompt_tokens"]
        stranger = read_partition(self.given["stranger"])
        shared = shared_tokens(self._partition, stranger, num_tokens)
        self._see_stores()
        self._consume_cold(
            name,
            num_tokens,
            shared_supply(self.oracle, self._supply, shared),
            shared_supply(self.oracle, self._least_supply(), shared),
            partition=stranger,
        )
        if tells_of_kept(self.events):
            return  # what an earlier case stored says nothing of sharing in this one
        self.tally.open("never-shared")
        for answer in self._answers(name):
            if shared < num_tokens:
                self.tally.saw("never-shared")
            if answer.boundary and answer.boundary > shared:
                self.tally.wrong(
                    "never-shared",
                    f"at most {shared} shared tokens" if shared else say(0),
                    say(answer.boundary),
                    f"{answer}; stored by {self._partition}, asked for by {stranger}",
                    event=answer,
                )


def read_partition(data: Mapping[str, Any]) -> Partition:
    """The partition of a request as a matrix gives it."""
    return Partition(
        salt=data.get("salt", ""),
        lora=Lora(**data["lora"]) if "lora" in data else None,
        images=tuple(Image(**image) for image in data.get("images", ())),
        embeddings=data.get("embeddings", ""),
    )
