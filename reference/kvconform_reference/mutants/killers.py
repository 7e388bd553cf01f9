"""Which shipped case tells each mutant apart, by its whole id."""

from __future__ import annotations

FALLBACK = "fallback[win.16-keep.0-eagle.on-newest.{}-older.short]"
LEFT = "unaligned-hit[win.{}-keep.3-bound.{}-eagle.off-left.missing]"

RETENTION = "retention[every.0-prompt.144-chunk.1-keep.0-eagle.off-budget.8192-sched.sync]"
LOAD_CAP = "load-cap[cap.{cap}-local.{local}-chunk.1-keep.0-sched.sync]"
STORE_CAP = "store-cap[cap.{cap}-chunk.1-keep.0-budget.8192-sched.sync]"
ADAPTERS = "adapters[chunk.1-owner.{owner}-other.{other}-sched.sync]"
SHORT = "eagle-short-prefix[prompt.{prompt}-longer.{longer}-chunk.1-efull.off-eswa.{swa}-finds.{finds}-spec.3]"
IMAGES = "images[chunk.1-owner.{owner}-other.{other}-sched.sync]"
LOAD_FAILS = "load-fails[group.full-lost.c0-chunk.1-how.nothing-sched.sync]"
RESET_STORE = "reset-store-in-flight[held.copies-answer.2-between.1-world.1-chunk.1-sched.sync]"
RESET_LOAD = "reset-load-in-flight[held.copies-between.1-world.1-chunk.1-sched.sync]"

TAIL = "tail-before-head[prompt.65-other.33-room.11-chunk.1-found.56-eagle.off-world.1-sched.sync]"
PINNED = "pinned[flying.{}-room.8-chunk.1-world.1-sched.sync]"
OWN_OFFER = "own-offer[room.16-chunk.1-budget.8192-world.1-sched.sync]"
TOO_LARGE = "too-large[room.20-chunk.1-budget.32-hits.front.64-world.1-sched.sync]"
RECENCY = "recency[used.loaded-hits.loaded.back-room.36-chunk.1-world.1-sched.sync]"
REFILL = "refill[prompt.65-room.8-chunk.1-found.64-budget.8192-world.1-sched.sync]"
TOLD = "told[chunk.1-shared.56-left.16-all.120-eagle.on-win.12-hold.reports-budget.40-world.1-sched.async]"
EFFORT = "linear[grow.prompt-chunk.1-win.12-eagle.on-budget.8192-room.all-world.1-sched.async]"
EFFORT_FULL = "linear[grow.history-chunk.1-win.12-eagle.off-budget.8192-room.all-world.2-sched.async]"
EFFORT_STEPS = "linear[grow.prompt-chunk.1-win.12-eagle.off-budget.48-room.128-world.1-sched.async]"
EFFORT_SENT = "linear[grow.prompt-chunk.4-win.12-eagle.off-budget.48-room.all-world.2-sched.sync]"
CLAMPED = (
    "clamped[state.16-full.{full}-chunk.1-states.n6-fulls.n{n}-swas.n12-lost.{lost}-at.{at}-is.missing]"
)
PAGES = "pages[slot.{slot}-scale.{scale}-pad.{pad}-mem.{mem}-chunk.{chunk}-world.{world}]"
UNSEEN = "unseen[other.recurrent-win.0-budget.8192-chunk.1-world.1-sched.sync]"

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
    "abort-reported-twice": "abort-loading[held.copies-ranks.all-steps.1-chunk.1-sched.sync]",
    "aborted-load-unreported": "abort-loading[held.copies-ranks.all-steps.1-chunk.1-sched.sync]",
    "stores-reported-unasked": "abort-phases[steps.1-next.two-reuse.off-chunk.1-world.1-sched.sync]",
    "abort-unknown": "abort-at-once[output.1-chunk.1-sched.sync]",
    "aborted-load-stays-pinned": "abort-loading[held.reports-ranks.all-steps.1-chunk.1-sched.sync]",
    "stale-cursor": "preempt-phases[held.reports-steps.10-between.2-budget.24-chunk.1-sched.sync]",
    "cursor-of-last-life": (
        "id-comes-again[held.both-ranks.r1-steps.4-prompt.65-shared.8-least.64-chunk.1-sched.sync]"
    ),
    "cursor-ahead": "steps-cut[prompt.44-budget.8192-chunk.1-sched.sync]",
    "refused-chunk-lost": "refused-for-room[held.both-steps.2-budget.8192-sched.sync]",
    "first-rank-stores": "rank-skew-store[held.copies-late.r0-steps.2-world.2-chunk.1-sched.sync]",
    "convoy": "sharers-of-store[held.copies-sharers.50-pool.1400-chunk.1-sched.sync]",
    "load-not-pinned": "verdict-until-used[held.copies-steps.1-filler.9-lost.first-chunk.1-sched.sync]",
    "verdict-remembered": "no-room-then-gone[steps.1-more.1-lost.first-chunk.1-sched.sync]",
    "layers-of-first-rank": (
        "rank-layers[held.reports-full.2.1-swa.1.2-world.2-chunk.1-sched.sync]"
    ),
    "load-success-ignored": LOAD_FAILS,
    "store-success-ignored": "store-fails[group.full-lost.c0-chunk.1-how.part-budget.8192-sched.sync]",
    "load-errors-twice": LOAD_FAILS,
    "load-errors-of-one-block": LOAD_FAILS,
    "load-errors-of-others": LOAD_FAILS,
    "failed-load-not-over": LOAD_FAILS,
    "failure-raises": LOAD_FAILS,
    "last-rank-counts": "store-fails-on-rank[world.2-rank.0-how.part-chunk.1-sched.sync]",
    "failed-store-leaks": "many-failures[how.part-chunk.1-sched.sync]",
    "failed-load-pins": LOAD_FAILS,
    "reset-ignored": "reset-at-rest[between.1-world.1-chunk.1-sched.sync]",
    "reset-of-ready-chunks": RESET_STORE,
    "reset-unpins": RESET_LOAD,
    "reset-forgets-jobs": RESET_STORE,
    "reset-leaks": "many-resets[end.settle-chunk.1-sched.sync]",
    "over-budget": REFILL,
    "head-first": TAIL,
    "newest-first": RECENCY,
    "first-in-first-out": RECENCY,
    "own-offer-evicted": OWN_OFFER,
    "refuses-when-full": TAIL,
    "refuses-for-ever": PINNED.format("load-hits.both"),
    "clears-out": TAIL,
    "loading-evicted": PINNED.format("load-hits.both"),
    "storing-evicted": PINNED.format("both.stores-hits.fresh"),
    "removed-untold": TAIL,
    "stored-untold": TAIL,
    "told-early": TAIL,
    "refused-told": TOO_LARGE,
    "told-twice": TAIL,
    "told-wrong-group": TOLD,
    "told-wrong-key": TAIL,
    "quadratic-lookup": EFFORT,
    "scans-each-step": EFFORT_STEPS,
    "scans-to-evict": EFFORT_FULL,
    "roll-call": EFFORT,
    "sends-history": EFFORT_SENT,
    "stores-drafts": "drafts[spec.3-accept.none-efull.off-eswa.off-keep.0-chunk.1-sched.sync]",
    "key-before-confirmed": "drafts[spec.1-accept.all-efull.off-eswa.off-keep.0-chunk.1-sched.sync]",
    "cursor-counts-drafts": "drafts[spec.1-accept.all-efull.off-eswa.off-keep.0-chunk.1-sched.sync]",
    "optimistic-count": "drafts[spec.3-accept.none-efull.off-eswa.off-keep.0-chunk.1-sched.async]",
    "stored-before-computed": "drafts[spec.1-accept.all-efull.off-eswa.off-keep.0-chunk.1-sched.sync]",
    "lookahead-stored": "drafts[spec.1-accept.all-efull.off-eswa.off-keep.0-chunk.1-sched.sync]",
    "volatile-never-stored": "drafts[spec.1-accept.none-efull.off-eswa.on-keep.0-chunk.2-sched.sync]",
    "draft-tail-kept": SHORT.format(prompt=8, longer=10, swa="on", finds="h0.88"),
    "every-group-is-eagle": SHORT.format(prompt=8, longer=10, swa="off", finds="h8.96"),
    "state-before": CLAMPED.format(full=16, n=6, lost="mamba", at="c2"),
    "state-not-clamped": CLAMPED.format(full=16, n=6, lost="full", at="c2"),
    "states-as-full": "states-skipped[shared.70-budget.8192-chunk.1-sched.sync]",
    "states-as-window": CLAMPED.format(full=24, n=4, lost="full", at="c3"),
    "state-of-last-token": "whole-prompt-states[prompt.96-full.8-chunk.1-sched.sync]",
    "skipped-state-trusted": "states-skipped[shared.70-budget.48-chunk.2-sched.sync]",
    "first-width-for-all": "layout-mla-indexer[mem.separate-chunk.1-sched.sync]",
    "scales-forgotten": PAGES.format(slot=16, scale=4, pad=0, mem="strided", chunk=1, world=2),
    "odd-bytes-lost": PAGES.format(slot=17, scale=0, pad=0, mem="strided", chunk=3, world=2),
    "strides-ignored": PAGES.format(slot=16, scale=0, pad=0, mem="packed", chunk=2, world=1),
    "writes-past-page": PAGES.format(slot=16, scale=4, pad=0, mem="strided", chunk=1, world=2),
    "null-block-filled": "cold-consumer[keep.0-sched.sync]",
    "null-block-stored": "part-written[win.8-keep.0-budget.4-sched.sync-lost.c4]",
    "block-twice": "cold-consumer[keep.0-sched.sync]",
    "delays-misses": UNSEEN,
    "serialises-misses": UNSEEN,
    "asserts-later": "cold-consumer[keep.0-sched.sync]",
    "odd-group-first": (
        "block-sizes[k1.sliding-k2.full-k3.full-w1.9-w2.0-w3.0-b1.8-b2.8-b3.8"
        "-chunk.2-budget.48-sched.sync]"
    ),
    "store-short-read": "damage[how.cut-bytes.4096-data.position]",
    "store-unchecked": "damage[how.flip-bytes.4096-data.position]",
    "store-raises": "damage[how.flip-bytes.4096-data.position]",
    "store-put-ignored": "overwrite[keys.one-size.4096]",
    "store-batch-undeclared": "batches[bytes.100-batch.middle]",
    "store-stale-index": "agree[bytes.512]",
    "store-in-place": "killed[bytes.4194304-after.100]",
    "store-unbounded": "capacity[room.16384]",
    "store-refuses-early": "capacity[room.16384]",
    "store-one-namespace": "namespaces[one.rank0-other.rank1]",
    "store-short-keys": "key-bytes[keys.long-others.long.too]",
    "store-safe-names": "key-bytes[keys.slash-others.slash.too]",
    "store-known-before": "capacity[room.16384]",
    "store-text-keys": "key-bytes[keys.high-others.high.too]",
    "store-forgets": "own-bytes[bytes.7-data.position-keys.one]",
    "store-index-in-memory": "second-process[bytes.33]",
    "store-never-expires": "expiry[look.get]",
    "store-expires-early": "expiry[look.get]",
    "store-renewed-by-get": "expiry[look.get]",
    "store-no-lease": "lease-room[leased.oldest]",
    "store-endless-lease": "lease-delete[s.11]",
    "store-copies-twice": "no-copy[bytes.37748736]",
    "store-no-delete": "deleted[after.get]",
    "store-no-front": "front[buffer.100-data.position]",
    "store-end-instead": "front[buffer.100-data.position]",
    "store-no-file": "damage[how.cut-bytes.4096-data.position]",
    "store-index-at-opening": "side-by-side[bytes.33]",
    "store-full-raises": "troubled[how.full-bytes.4096]",
    "store-full-believed": "troubled[how.full-bytes.4096]",
    "store-full-torn": "troubled[how.full-bytes.4096]",
    "store-full-for-good": "troubled[how.full-bytes.4096]",
    "store-denied-forgets": "troubled[how.denied-bytes.4096]",
    "store-hash-names": "second-process[bytes.33]",
    "null": "cold-consumer[keep.0-sched.sync]",
    "lying": "fallback[win.16-keep.0-eagle.off-newest.ready-older.short]",
}
"""One case for each mutant, of those that catch it: ``kvconform mutants --quick`` plays it."""
