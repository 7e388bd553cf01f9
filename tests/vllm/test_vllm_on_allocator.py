"""The suite's allocator and vLLM's KV cache manager hold and drop the same blocks."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvconform.engine.allocator import Allocator
from kvconform.engine.pool import BlockPool
from kvconform.ports import Group, GroupKind, Layout, RequestSpec
from kvconform_vllm.environment import load_vllm

HASH_BLOCK = 4
RELEASE = load_vllm()


@st.composite
def groups(draw, position):
    """A full, sliding or chunked-local group with blocks of one to five hash blocks."""
    kind = draw(st.sampled_from([k for k in GroupKind if k is not GroupKind.RECURRENT]))
    sliding = kind is GroupKind.SLIDING
    local = kind is GroupKind.CHUNKED_LOCAL
    return Group(
        name=f"g{position}",
        kind=kind,
        block_size=HASH_BLOCK * draw(st.sampled_from([1, 2, 3, 4])),
        window=draw(st.integers(1, 70)) if sliding else 0,
        extra_retained=draw(st.integers(0, 7)) if sliding else 0,
        attention_chunk=HASH_BLOCK * draw(st.integers(1, 8)) if local else 0,
    )


@st.composite
def traffic(draw):
    """A layout, a prompt's tokens, the boundary of a loaded hit, and the tokens of each step."""
    count = draw(st.integers(1, 3))
    members = [draw(groups(position)) for position in range(count)]
    members.append(
        Group(name="least", kind=GroupKind.FULL, block_size=HASH_BLOCK)  # fixes the hash block
    )
    prompt = draw(st.integers(2, 160))
    hit = HASH_BLOCK * draw(st.integers(0, (prompt - 1) // HASH_BLOCK))
    steps, left = [], prompt - hit + draw(st.integers(0, 6))
    while left > 0:
        steps.append(min(left, draw(st.sampled_from([1, 3, 4, 7, 16, 200]))))
        left -= steps[-1]
    layout = Layout(groups=tuple(members), hash_block=HASH_BLOCK, num_blocks=600)
    return layout, prompt, hit, steps


def patterns_of_suite(layout, hit, steps):
    """Rows of held (True) and null blocks after the admission and after each step."""
    allocator = Allocator(layout, BlockPool(layout.num_blocks))
    rows = allocator.holding("r").rows
    seen, computed = [], hit
    if hit:
        assert allocator.admit("r", hit, [[] for _ in layout.groups], 0, hit)
        seen.append([[bool(b) for b in row] for row in rows])
    for count in steps:
        allocator.slide("r", computed)
        assert allocator.grow("r", computed + count) is not None
        computed += count
        seen.append([[bool(b) for b in row] for row in rows])
    return seen


def patterns_of_vllm(layout, prompt, hit, steps):
    """The same, as vLLM's manager has them."""
    from kvconform_vllm import config  # noqa: PLC0415 - vLLM loads when a test runs
    from kvconform_vllm.requests import Live  # noqa: PLC0415 - vLLM loads when a test runs

    equal = config.with_equal_pages(layout)
    kv = config.kv_cache_config(equal)
    settings_ = config.vllm_config(equal, None, RELEASE)
    manager = config.make_scheduler(settings_, kv, equal, RELEASE).kv_cache_manager
    output = tuple(range(1, 10))
    spec = RequestSpec(name="r", prompt=tuple(range(prompt)), output=output)
    request = Live.of(spec, HASH_BLOCK).request
    for token in output:  # a step may reach past the prompt
        request.append_output_token_ids(token)
    seen = []

    def look():
        seen.append([[bool(b) for b in row] for row in manager.get_block_ids("r")])

    if hit:
        room = manager.allocate_slots(
            request, 0, num_external_computed_tokens=hit, delay_cache_blocks=True
        )
        assert room is not None
        look()
        request.num_computed_tokens = hit
    for count in steps:
        assert manager.allocate_slots(request, count) is not None
        look()
        request.num_computed_tokens += count
    return seen


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(traffic())
def test_both_allocators_hold_the_same_blocks(case):
    """For random prompts, budgets, windows, retained tokens and hits, block by block."""
    layout, prompt, hit, steps = case
    assert patterns_of_suite(layout, hit, steps) == patterns_of_vllm(layout, prompt, hit, steps)
