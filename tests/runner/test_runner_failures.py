"""What is shown of a failed case: enough to act on, and a command line that runs it again."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

import pytest

from kvconform.connector_config import read_settings
from kvconform.results.cause import cause
from kvconform.results.failure import describe_failure
from kvconform.results.journal import Journal, RunHeader, plain
from kvconform.results.record import CaseRecord, CheckResult, Outcome
from kvconform.results.reproduce import reproduction
from kvconform.results.summary import IN_FULL, summarize

LONG = tuple(f"step {number}: a computes tokens {number}..{number}" for number in range(60))


def failed(case: str = "m[a]", *checks: CheckResult, **more: object) -> CaseRecord:
    """A failed record of matrix m."""
    fields = {"case": case, "matrix": "m", "source": "my/m.yaml:7", "outcome": Outcome.FAIL}
    return CaseRecord(**{**fields, "checks": checks or (wrong("a miss"),), **more})


def wrong(got: str, *, event: int | None = None, clause: str = "COV-2") -> CheckResult:
    """A check that failed."""
    return CheckResult(
        check="hit-is-covered", clause=clause, outcome=Outcome.FAIL, got=got, event=event
    )


def field(text: str, name: str) -> list[str]:
    """The lines of one field of a failure's text."""
    lines = text.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"  {name} "))
    found = [lines[start]]
    for line in lines[start + 1 :]:
        if not line.startswith(" " * 13):
            break
        found.append(line)
    return [line[13:] for line in found]


def summary(*records: CaseRecord, in_full: int = IN_FULL) -> str:
    """The summary of a run with these records."""
    journal = Journal(header=RunHeader(connector="vendor:x"))
    for one in records:
        journal.apply(plain(one.to_json()))
    return summarize(journal, in_full=in_full)


def test_a_trace_is_shown_around_the_event_that_was_wrong() -> None:
    """However far from the end it is; what is left out on either side is counted."""
    record = failed("m[a]", wrong("a miss", event=21), trace=LONG)
    assert field(describe_failure(record, None), "trace") == [
        "(13 earlier events)",
        *LONG[13:21],
        f"{LONG[21]}  <- COV-2",
        *LONG[22:25],
        "(35 later events)",
    ]


def test_every_event_that_was_wrong_first_is_shown() -> None:
    """Each with the clauses that it broke."""
    checks = [wrong("x", event=at, clause=c) for at, c in ((10, "A-1"), (40, "B-1"), (40, "C-1"))]
    trace = field(describe_failure(failed("m[a]", *checks, trace=LONG), None), "trace")
    assert f"{LONG[10]}  <- A-1" in trace
    assert f"{LONG[40]}  <- B-1, C-1" in trace
    assert [line for line in trace if line.startswith("(")] == [
        "(2 earlier events)",
        "(18 more events)",
        "(16 later events)",
    ]


def test_a_trace_without_a_wrong_event_shows_its_end() -> None:
    """Something that should have happened did not."""
    trace = field(describe_failure(failed(trace=LONG), None), "trace")
    assert trace == ["(48 earlier events)", *LONG[48:]]


def test_who_looks_at_few_cases_or_at_all_of_them_sees_whole_traces() -> None:
    """One case alone, or every failure in full; otherwise the events around what was wrong."""
    one = failed("m[0]", wrong("a miss", event=3), trace=LONG)
    others = [failed(f"m[{at}]", trace=LONG) for at in range(1, 9)]
    assert LONG[59] in summary(one)
    assert LONG[59] not in summary(one, *others).partition("failure 2 of")[0]
    assert summary(one, *others, in_full=9).count(LONG[30]) == 9


def test_what_happens_again_and_again_is_told_once() -> None:
    """Also where several requests take turns; nothing counts as left out."""
    trace = [
        "step 0: a submitted, prompt of 9 tokens",
        *(f"step {n}: a asked: later" for n in range(1, 601)),
        "step 600: b submitted, prompt of 9 tokens",
        *(f"step {n}: {who} asked: later" for n in range(601, 1001) for who in "ab"),
        "step 1001: a ended with 10 tokens",
    ]
    shown = field(describe_failure(failed(trace=tuple(trace)), None), "trace")
    assert shown == [
        "step 0: a submitted, prompt of 9 tokens",
        "step 1: a asked: later (x 599, until step 599)",
        "step 600: a asked: later",
        "step 600: b submitted, prompt of 9 tokens",
        "step 601: a asked: later (x 400, until step 1000)",
        "step 601: b asked: later (x 400, until step 1000)",
        "step 1001: a ended with 10 tokens",
    ]


def test_a_wrong_event_in_a_run_of_equal_ones_is_marked() -> None:
    """The line that stands for it has the mark."""
    trace = tuple(f"step {n}: a asked: later" for n in range(30))
    text = describe_failure(failed("m[a]", wrong("later", event=4), trace=trace), None)
    assert field(text, "trace") == ["step 0: a asked: later (x 30, until step 29)  <- COV-2"]


def test_a_stack_keeps_its_innermost_calls() -> None:
    """They are the connector's own; a stack says what it is and which end is cut."""
    stack = tuple(f"connector.py:{line} in f{line}" for line in range(40))
    text = describe_failure(failed(stack=stack), None)
    assert field(text, "stack") == ["(innermost call first)", *stack[:12], "(28 outer calls)"]
    assert field(describe_failure(failed(stack=stack), None, whole=True), "stack")[1:] == [*stack]
    assert "events" not in text


def test_further_failures_of_a_check_are_counted_and_at_hand() -> None:
    """They are in the records, and in the text where all of it is asked for."""
    check = CheckResult(
        check="hit-is-covered",
        clause="COV-2",
        outcome=Outcome.FAIL,
        detail="step 1: here",
        more=("a miss, expected a hit: step 2: there",),
    )
    text = describe_failure(failed("m[a]", check), None)
    assert field(text, "detail") == ["step 1: here (and 1 more of this check)"]
    text = describe_failure(failed("m[a]", check), None, whole=True)
    assert field(text, "detail") == ["step 1: here"]
    assert field(text, "more") == ["a miss, expected a hit: step 2: there"]


SETTINGS = {
    "yes": True,
    "no": False,
    "none": None,
    "whole": 4,
    "part": 0.5,
    "text": "plain",
    "empty": "",
    "spaces": "two words & a 'quote' \"twice\" $HOME",
    "like_true": "true",
    "like_none": "null",
    "like_number": "4",
    "like_text": '"plain"',
    "like_list": "[1, 2]",
    "python": "{'a': 1}",
    "equals": "a=b",
    "lines": "one\n  two",
    "accents": "é→",
    "list": [1, "1", {"a": None}],
    "table": {"a": {"b": [True, "it's"]}},
}


@pytest.mark.parametrize("key", SETTINGS)
def test_the_reproduction_line_hands_over_the_same_settings(key: str) -> None:
    """As a shell splits the printed line and the command line reads its words."""
    header = RunHeader(connector="vendor:x", options={key: SETTINGS[key]})
    text = describe_failure(failed(), header)
    words = shlex.split("\n".join(field(text, "reproduce")))
    pair = words[words.index("--connector-config") + 1]
    read = read_settings([pair])
    assert read == {key: SETTINGS[key]}
    assert type(read[key]) is type(SETTINGS[key])


def test_a_shipped_matrix_is_reproduced_by_its_bare_name() -> None:
    """It is found from any folder by that name."""
    shown = failed("unaligned-hit[a]", source="coverage/unaligned_hit.yaml:31")
    line = reproduction(shown, RunHeader(connector="reference", device="cuda"))
    assert line == (
        "kvconform run coverage/unaligned_hit --connector reference --device cuda "
        "--case 'unaligned-hit[a]'"
    )


TEMPORARY = Path(tempfile.gettempdir()).as_posix()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hit of 3968 tokens", "hit of 16 tokens"),
        ("waited 0.25 s", "waited 1e-05 s"),
        (f"no file '{TEMPORARY}/kvconform-isfxsq9a/a'", f"no file '{TEMPORARY}/x/kv_b1/c.bin'"),
        ("no file /tmp/tmpab_c9x", "no file /tmp/tmpq71kk0"),
        ("<Meta object at 0x7f3a2b10>", "<Meta object at 0x55e1aa>"),
        ("no chunk 9c1185a5c5e9fc54", "no chunk deadbeefcafe0123"),
        (
            "job f47ac10b-58cc-4372-a567-0e02b2c3d479 lost",
            "job 0e02b2c3-a567-4372-58cc-f47ac10bd479 lost",
        ),
        ("KeyError: (0, b'\\x8f\\'a')", 'KeyError: (1, b"\'\\x00")'),
    ],
)
def test_causes_are_equal_but_for_what_is_new_in_each_run(one: str, other: str) -> None:
    """Numbers, files under the temporary folder, addresses, hashes and other ids."""
    assert cause(wrong(one)) == cause(wrong(other))
    assert cause(wrong(one)) != cause(wrong("something else"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("no file /srv/kv/a", "no file /srv/kv/b"),
        ("no file /srv/tmp/a", "no file /srv/tmp/b"),
        ("the facade failed", "the accede failed"),
        ("in start_load_kv", "in wait_for_save"),
    ],
)
def test_causes_that_differ_in_words_are_two(one: str, other: str) -> None:
    """Nothing else is taken out."""
    assert cause(wrong(one)) != cause(wrong(other))


def test_failures_of_one_cause_are_one_line() -> None:
    """Whatever temporary folder each of them had."""
    records = [
        failed(f"m[{at}]", wrong(f"OSError: no space in {TEMPORARY}/kv-{name}/chunk"))
        for at, name in enumerate(["ab_c", "x9yz", "q0q0", "mmmm"])
    ]
    assert "\nfailure 1 of 1, 4 cases: COV-2 hit-is-covered\n  example: m[0]\n" in summary(
        *records, in_full=1
    )
    text = summary(*records, failed("m[late]", wrong("later")), in_full=1)
    assert "\nthe other 1 case by clause, check and cause\n  1 x  COV-2 hit-is-covered  later\n" in text


def test_the_worst_kind_of_failure_comes_first() -> None:
    """However few its cases are; a case is filed under the worst of what failed in it."""
    cheap = [failed(f"m[{at}]", wrong("x", clause="COV-4")) for at in range(3)]
    both = failed("m[both]", wrong("x", clause="COV-4"), wrong("bytes", clause="COV-1"))
    text = summary(*cheap, both, in_full=2)
    heads = [line for line in text.splitlines() if line.startswith("failure ")]
    assert heads == [
        "failure 1 of 2, 1 case: COV-1 hit-is-covered",
        "failure 2 of 2, 3 cases: COV-4 hit-is-covered",
    ]


def test_what_could_measure_nothing_is_named_beside_what_failed() -> None:
    """In one line; where nothing failed it is told in full."""
    silent = CheckResult(
        check="load-is-exact", clause="COV-4", outcome=Outcome.UNTESTABLE, expected="a load ran"
    )
    text = describe_failure(failed("m[a]", silent, wrong("a miss")), None)
    assert field(text, "untestable") == ["COV-4 load-is-exact"]
    assert "a load ran" not in text
    assert "a load ran" in describe_failure(failed("m[a]", silent), None)


def test_a_failure_is_always_told_in_the_same_order() -> None:
    """What ran, the clause, expected and got, axes, events, how to see it again, where it stands."""
    record = failed("m[a]", wrong("a miss"), axes={"window": 8}, trace=LONG[:2])
    names = [line.split()[0] for line in describe_failure(record, None).splitlines() if line[2] != " "]
    assert names == ["connector", "COV-2", "check", "got", "axes", "trace", "reproduce", "matrix"]
