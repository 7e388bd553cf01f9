"""Steps about a producer and the cold consumers of what it stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kvconform.contract.oracle import Chunk, Supply
from kvconform.engine.events import Answered, Copied
from kvconform.ports import Capability, Direction, Partition, load_cap, store_cap
from kvconform.stage.base import StageBase
from kvconform.stage.errors import UnfinishedScenarioError
from kvconform.stage.judge import Blocks, claims_everything


class ConsumerSteps(StageBase):
    """A producer's KV is stored, and later requests ask for prefixes of it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._dropped = False
        self._found: dict[int, int] = {}
        """Tokens found, by the length of the consumer."""

    def produce(self, name: str = "producer") -> None:
        """Compute a prompt and its answer, and let every store complete."""
        self._prepare(name, self.given["prompt_tokens"])
        self.submit(name, stay_on_miss=False)
        self._run(lambda: self.bench.ended(name), [name])
        self.settle()
        if not self.dead:
            steps = self.bench.token_steps(name)
            self._policy = self._supply = self.oracle.supply(
                self._stored_tokens(name), steps, prompt_tokens=self._prompt_tokens(name)
            )
            self._see_stores()

    def _see_stores(self) -> None:
        """Take what copies were seen to store for what is there, where copies can be seen.

        Which chunks a policy stores, and which of their blocks the engine still held, is then no
        assumption of the suite; whether the policy is a good one is judged by `judge_stores`.
        """
        if Capability.TRANSFER_CONTROL not in self.oracle.claims:
            return
        for event in self._events[self._stores_seen :]:
            if isinstance(event, Copied) and event.direction is Direction.STORE and event.rank == 0:
                for group, index in event.blocks:
                    if index >= 0:
                        self._stored.add((self.layout.index(group), index))
        self._stores_seen = len(self._events)
        self._supply = self.oracle.seen_supply(self._stored)

    def _prompt_tokens(self, name: str) -> int:
        return len(self._requests[name].prompt)

    def _reachable(self, name: str) -> frozenset[Chunk]:
        """Chunks that a store policy with a mask keeps of a producer."""
        return self.oracle.reachable_chunks(
            self._stored_tokens(name), prompt_tokens=self._prompt_tokens(name)
        )

    def _stored_tokens(self, name: str) -> int:
        """Tokens of the producer whose KV was computed and may be stored."""
        spec = self._requests[name]
        computed = len(spec.prompt) + len(spec.output) - 1
        tokens = len(spec.prompt) if self.layout.prompt_only else computed
        cap = store_cap(spec) if Capability.REQUEST_CAPS in self.oracle.claims else None
        return tokens if cap is None else min(tokens, cap)

    def _load_cap(self, name: str) -> int | None:
        """Tokens that the request lets itself be loaded; None where nobody keeps such caps."""
        known = Capability.REQUEST_CAPS in self.oracle.claims
        return load_cap(self._requests[name]) if known else None

    def judge_stores(self, name: str = "producer") -> None:
        """Judge what the producer stored."""
        self.tally.open("store-is-exact")
        if self.dead:
            return
        self.judge.stores(
            self._since(name),
            self._stored_tokens(name),
            self._prompt_tokens(name),
            self.bench.token_steps(name),
        )
        if claims_everything(self.oracle.claims):
            self._compare_pin("stored", self._blocks_of(self._reachable(name)))

    def _blocks_of(self, chunks: Iterable[Chunk]) -> Blocks:
        blocks: Blocks = {group.name: [] for group in self.layout.groups}
        for chunk in sorted(chunks):
            group = self.layout.groups[chunk[0]]
            tokens = self.oracle.tokens_of(chunk)
            blocks[group.name] += sorted({token // group.block_size for token in tokens})
        return blocks

    def drop_chunks(self, name: str = "producer") -> None:
        """Take away the chunks that the case lists, as an eviction would."""
        self._paid("drop_chunks")
        self._dropped = "drop" in self.given
        if self._dropped:
            self._owe("consume")
        self._see_stores()
        states = dict(self._supply.states)
        for entry in self.given.get("drop", ()):
            self._need_chunks_as_wished()
            group = self.layout.index(entry["group"])
            for chunk in entry["index"]:
                states.pop((group, chunk), None)
                self._stored -= self.oracle.blocks_of((group, chunk))
                if not self.dead:
                    self.bench.drop_chunk(name, group, chunk)
        self._supply = Supply(states=states, gone=self._supply.gone)

    def _arises(self, check: str) -> bool:
        """Hits are compared where there are several consumers to compare."""
        if check == "hits-are-monotone":
            return len(set(self.cuts())) != 1
        return super()._arises(check)

    def cuts(self) -> Sequence[int]:
        """The boundaries at which consumers are cut off the producer's prompt, in tokens."""
        wanted = self.given.get("consumers", "alignment")
        last = self.given["prompt_tokens"] - 1
        if wanted == "alignment":
            return self.oracle.alignment_boundaries(last)
        if wanted == "replay":
            return sorted({*self.oracle.alignment_boundaries(last), last})
        if wanted == "hash_block":
            return sorted({*range(self.layout.hash_block, last, self.layout.hash_block), last})
        return list(wanted)

    def cuts_once_dropped(self) -> Sequence[int]:
        """Where the consumer is cut that asks once chunks are gone: the last of `cuts`."""
        return [max(self.cuts())] if "drop" in self.given else []

    def consume(self, boundary: int) -> None:
        """A cold consumer whose prompt ends one token after ``boundary``.

        Raises `UnfinishedScenarioError` if the pool was not wiped before it.
        """
        if not self._cold:
            raise UnfinishedScenarioError("a cold consumer needs the step wipe_pool before it")
        self._paid("consume")
        if "drop" in self.given and not self._dropped and "drop_chunks" not in self._owed:
            self._owe("drop_chunks")
        name = f"consumer-{len(self._requests)}"
        self._see_stores()
        answer = self._consume_cold(name, boundary + 1, self._supply, self._least_supply())
        if answer is not None and not self._dropped:
            self._compare_lengths(answer)
        if answer is not None and answer.boundary and claims_everything(self.oracle.claims):
            # Pins are about what the policy stores, not about what this connector did.
            best = self.oracle.best_verdict(answer.num_tokens, self._policy)
            # What is pinned is the last consumer's, before chunks are gone.
            if boundary == max(self.cuts()) and not self._dropped:
                self._compare_pin("verdict", best)
                self._compare_pin("loaded", self.judge.needed_blocks(best or 0, answer.local))

    def _compare_lengths(self, answer: Answered) -> None:
        """A longer consumer finds no less than a shorter one: stores have only been added."""
        self.tally.open("hits-are-monotone")
        worth = self.judge.worth(answer)
        if worth is None:
            return
        found = max(worth, answer.local)
        for shorter, less in self._found.items():
            if shorter < answer.num_tokens:
                self.tally.saw("hits-are-monotone")
                if found < less:
                    self.tally.wrong(
                        "hits-are-monotone",
                        f"at least {less} tokens, as a consumer of {shorter} tokens found",
                        f"{found} tokens for one of {answer.num_tokens}",
                        event=answer,
                    )
        self._found[answer.num_tokens] = found

    def _consume_cold(
        self,
        name: str,
        num_tokens: int,
        supply: Supply,
        least: Supply,
        *,
        partition: Partition | None = None,
    ) -> Answered | None:
        """Run a cold request to its end and judge its first verdict and its load.

        Where neither a mask nor the copies tell what was stored, ``least``, what a masked store
        keeps, is the least that must be found again.  With a retention interval the mask does
        not tell: each consumer adds what its own prompt needs.
        """
        self._prepare(name, num_tokens, 1, partition=partition)
        self.submit(name, stay_on_miss=False)
        answer = self.ask(name)
        self.tally.open("hit-is-covered", "hit-is-best", "load-is-async")
        if answer is not None:
            known = Capability.TRANSFER_CONTROL in self.oracle.claims or (
                Capability.MASKED_STORE in self.oracle.claims
                and self.layout.retention_interval is None
            )
            self.judge.answer(
                answer,
                supply if known else least,
                at_least=not known,
                load_cap=self._load_cap(name),
            )
        self.finish(name)
        return answer

    def _least_supply(self) -> Supply:
        reachable = self._reachable("producer")
        chunks = {
            chunk: state for chunk, state in self._supply.states.items() if chunk in reachable
        }
        return Supply(states=chunks, gone=self._supply.gone)
