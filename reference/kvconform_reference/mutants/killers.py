"""Which shipped case tells each mutant apart, by its whole id."""

from __future__ import annotations

FALLBACK = "fallback[win.16-keep.0-eagle.on-newest.{}-older.short]"
LEFT = "unaligned-hit[win.{}-keep.3-bound.{}-eagle.off-left.missing]"

RETENTION = "retention[every.0-prompt.144-chunk.1-keep.0-eagle.off-budget.8192-sched.sync]"
LOAD_CAP = "load-cap[cap.{cap}-local.{local}-chunk.1-keep.0-sched.sync]"
STORE_CAP = "store-cap[cap.{cap}-chunk.1-keep.0-budget.8192-sched.sync]"
ADAPTERS = "adapters[chunk.1-owner.{owner}-other.{other}-sched.sync]"
IMAGES = "images[chunk.1-owner.{owner}-other.{other}-sched.sync]"

KILLERS: dict[str, str] = {
    "seed-undone": LEFT.format(256, 3840),
    "load-window-undone": LEFT.format(128, 3968),
    "store-mask-undone": "cold-consumer[keep.3-sched.sync]",
    "lookup-bound-undone": "fallback[win.16-keep.3-eagle.off-newest.missing-older.short]",
    "eagle-ignored": FALLBACK.format("ready"),
    "synchronous-load": "cold-consumer[keep.0-sched.sync]",
    "load-never-reported": "cold-consumer[keep.0-sched.sync]",
    "reports-on-one-rank": "ranks[world.2-chunk.1-sched.sync]",
    "reported-early": "sharers[hold.store-held.copies-sharers.1-chunk.1-pool.256-sched.async]",
    "later-for-ever": FALLBACK.format("pending"),
    "miss-for-ever": "draft-tail[win.32-full.off-bound.208-tail.c4-state.missing]",
    "pending-served": FALLBACK.format("pending"),
    "pending-is-missing": FALLBACK.format("pending"),
    "loading-loaded-again": FALLBACK.format("loading"),
    "loads-too-much": "fallback[win.16-keep.0-eagle.off-newest.ready-older.short]",
    "stores-everything": "cold-consumer[keep.0-sched.sync]",
    "no-fence": "prefill-steps[keep.0-chunk.1-budget.20-sched.sync]",
    "partial-chunk-trusted": "part-written[win.8-keep.0-budget.4-sched.sync-lost.c1]",
    "half-chunk": "ranks[world.2-chunk.2-sched.sync]",
    "stray-write": "sharers[hold.load-held.both-sharers.2-chunk.1-pool.256-sched.sync]",
    "ranks-share-memory": "ranks[world.2-chunk.1-sched.sync]",
    "reported-twice": "cold-consumer[keep.0-sched.async]",
    "never-at-rest": "cold-consumer[keep.0-sched.sync]",
    "blocks-kept": "cold-consumer[keep.0-sched.sync]",
    "local-counted-twice": "warm-consumer[win.8-keep.2-chunk.1-cuts.two-sched.sync]",
    "salt-ignored": "salt[chunk.1-salt.a-other.b-sched.sync]",
    "retention-ignored": RETENTION,
    "replay-forgotten": RETENTION,
    "replay-of-whole-prompt": RETENTION,
    "load-cap-ignored": LOAD_CAP.format(cap="16", local="1"),
    "zero-load-cap": LOAD_CAP.format(cap="0", local="1"),
    "load-cap-of-all": LOAD_CAP.format(cap="16", local="33"),
    "store-cap-ignored": STORE_CAP.format(cap="16"),
    "zero-store-cap": STORE_CAP.format(cap="0"),
    "whole-prompt-short": "whole-prompt[prompt.96-win.9-keep.1-chunk.2-efull.off-eswa.off-sched.async]",
    "dip": "whole-prompt[prompt.96-win.9-keep.1-chunk.2-efull.off-eswa.off-sched.async]",
    "adapter-ignored": ADAPTERS.format(owner="a", other="b"),
    "adapter-version-ignored": ADAPTERS.format(owner="a", other="a.v2"),
    "images-ignored": IMAGES.format(owner="a.at.16", other="b.at.16"),
    "image-place-ignored": IMAGES.format(owner="a.at.22", other="a.at.23"),
    "later-images-separate": IMAGES.format(owner="a.at.22", other="b.at.22"),
    "embeddings-ignored": "embeddings[chunk.1-owner.a-other.b-sched.sync]",
    "null": "cold-consumer[keep.0-sched.sync]",
    "lying": "fallback[win.16-keep.0-eagle.off-newest.ready-older.short]",
}
"""One case for each mutant, of those that catch it: ``kvconform mutants --quick`` plays it."""
