"""Steps about requests that limit how many of their tokens are loaded and stored."""

from __future__ import annotations

from kvconform.engine.events import Copied
from kvconform.ports import Direction, load_cap, store_cap
from kvconform.stage.consumers import ConsumerSteps
from kvconform.stage.errors import UnfinishedScenarioError
from kvconform.stage.judge import say


class CapSteps(ConsumerSteps):
    """A capped producer, a capped consumer, and then both without caps as a positive control."""

    def produce_capped(self) -> None:
        """A producer of which only so many tokens from the front may be stored."""
        name = "producer"
        self._transfer_params = {"max_offload_tokens": self.given.get("max_offload_tokens")}
        self.produce(name)
        self._transfer_params = {}
        self._owe("produce_uncapped", "consume_capped")
        self.tally.open("store-cap-kept")
        cap = store_cap(self._requests[name])
        if self.dead:
            return
        self.tally.saw("store-cap-kept")
        for event in self._since(name):
            if isinstance(event, Copied) and event.direction is Direction.STORE:
                for group, index in event.blocks:
                    end = (index + 1) * self.layout.groups[self.layout.index(group)].block_size
                    if cap is not None and end > cap:
                        self.tally.wrong(
                            "store-cap-kept",
                            f"nothing beyond the first {cap} tokens",
                            f"block {index} of group {group}, tokens up to {end}",
                            event=event,
                        )

    def consume_capped(self) -> None:
        """A cold consumer of the whole prompt for which only so many tokens may be loaded.

        With ``local_tokens`` so many tokens are in the pool before it asks; the cap counts those
        beyond.  Raises `UnfinishedScenarioError` if the pool was not wiped before it.
        """
        if not self._cold:
            raise UnfinishedScenarioError("a cold consumer needs the step wipe_pool before it")
        self._paid("consume_capped")
        if "local_tokens" in self.given:
            self._warm_up(self.given["local_tokens"])
        name, num_tokens = "capped", self.given["prompt_tokens"]
        self._transfer_params = {"max_load_tokens": self.given.get("max_load_tokens")}
        self._see_stores()
        self._consume_cold(name, num_tokens, self._supply, self._least_supply())
        self._transfer_params = {}
        self.tally.open("load-cap-kept")
        most = load_cap(self._requests[name])
        stored = store_cap(self._requests["producer"])
        for answer in self._answers(name):
            self.tally.saw("load-cap-kept")
            if most is not None and answer.tokens and answer.tokens > most:
                self.tally.wrong(
                    "load-cap-kept",
                    f"at most {most} tokens beyond the {answer.local} local ones",
                    f"{answer.tokens} tokens",
                    event=answer,
                )
            if stored is not None and answer.tokens and answer.local + answer.tokens > stored:
                self.tally.wrong(
                    "store-cap-kept",
                    f"no hit beyond the first {stored} tokens, of which alone the producer's were stored",
                    say(answer.boundary),
                    event=answer,
                )

    def _warm_up(self, num_tokens: int) -> None:
        """Bring tokens into the pool by a request that stores nothing."""
        name = "warm-up"
        self._transfer_params = {"max_offload_tokens": 0}
        self._prepare(name, num_tokens, 1)
        self.submit(name, stay_on_miss=False)
        self._run(lambda: self.bench.ended(name), [name])
        self.settle()

    def produce_uncapped(self) -> None:
        """The same prompt without caps: now all of it is stored, and a cold consumer finds it."""
        self._paid("produce_uncapped")
        self._owe("consume")
        self.wipe_pool()
        self.produce("producer-2")
