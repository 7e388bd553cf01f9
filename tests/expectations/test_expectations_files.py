"""Files of expectations: everything wrong with them is told, at its place, all together."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from jsonschema import Draft202012Validator

from kvconform.expectations import (
    CaseSpace,
    Expectations,
    ExpectationsError,
    load_expectations,
)
from kvconform.resources import schema_dir

Load = Callable[..., Expectations]

ENTRY = """\
- case: tiny[keep.3]
  clauses: [COV-1]
  status: fails
  reason: chunks are lost
  link: https://example.org/1
  versions: ">=1,<2"
  review: "2026-12-31"
"""


def told(load: Load, *texts: str, **how: object) -> str:
    """What loading complains about, whole; empty if it does not."""
    try:
        load(*texts, **how)
    except ExpectationsError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("clauses: [COV-1]", "clauses: [COV-1]", ""),
        (
            "  reason: chunks are lost\n",
            "  reasn: chunks are lost\n",
            (
                "e.yaml:1:3: the key 'reason' is missing\n"
                "e.yaml:4:3: unknown key 'reasn' (did you mean 'reason'?)"
            ),
        ),
        (
            "reason: chunks are lost",
            "reason: TODO",
            "e.yaml:4:11: the reason is still to be written (say why the cases fail)",
        ),
        (
            "reason: chunks are lost",
            "reason: ' '",
            "e.yaml:4:11: reason: expected text, got the text ' '",
        ),
        (
            "status: fails",
            "status: fail",
            (
                "e.yaml:3:11: status: expected one of fails, flaky, unsupported, got the text 'fail' "
                "(did you mean 'fails'?)"
            ),
        ),
        (
            '"2026-12-31"',
            "2026-12-31",
            "e.yaml:7:11: '2026-12-31' is a date (quote it: \"2026-12-31\")",
        ),
        ('"2026-12-31"', '"2026-02-30"', "e.yaml:7:11: the calendar has no 2026-02-30"),
        (
            '"2026-12-31"',
            "soon",
            "e.yaml:7:11: review: expected a date such as \"2027-01-31\", got the text 'soon'",
        ),
        (
            '">=1,<2"',
            '"one"',
            (
                "e.yaml:6:13: 'one' is no condition on a version "
                '(write specifiers such as ">=0.30,<0.31")'
            ),
        ),
        (
            '">=1,<2"',
            "0.30",
            (
                'e.yaml:6:13: versions: expected version specifiers such as ">=0.30,<0.31", '
                "got the number 0.3"
            ),
        ),
        (
            "[COV-1]",
            "[COV-11, COV-1, COV-1]",
            (
                "e.yaml:2:13: no clause is named 'COV-11' (did you mean 'COV-1'?)\n"
                "e.yaml:2:28: clauses: the text 'COV-1' stands twice"
            ),
        ),
        (
            "tiny[keep.3]",
            "tiny[keep.5]",
            (
                "e.yaml:1:9: no case of 'tiny' has the component 'keep.5' "
                "(did you mean 'tiny[keep.3]'?)"
            ),
        ),
        (
            "tiny[keep.3]",
            "tiny(keep.3)",
            (
                "e.yaml:1:9: 'tiny(keep.3)' is no pattern of cases "
                "(write matrix-name, matrix-name[axis.value,axis.value] or the id of a case)"
            ),
        ),
        (
            ENTRY,
            "case: tiny\n",
            "e.yaml:1:1: the file: expected a list, got a mapping with the key 'case'",
        ),
        (ENTRY, "", "e.yaml:1:1: the file is empty (write [] if nothing is expected)"),
        (ENTRY, "[]\n", ""),
        (ENTRY, "- tiny\n", "e.yaml:1:3: the file: expected a mapping, got the text 'tiny'"),
    ],
)
def test_a_wrong_entry(load: Load, old: str, new: str, message: str) -> None:
    """Line, column, what was expected and the nearest name."""
    assert ENTRY.count(old) == 1
    assert told(load, ENTRY.replace(old, new)) == message


def test_a_missing_file(load: Load, space: CaseSpace) -> None:
    """It is told as a problem of that file."""
    load("[]\n")
    with pytest.raises(ExpectationsError, match=r"^nosuch.yaml:1:1: no such file$"):
        load_expectations(["e.yaml", "nosuch.yaml"], space)


def short(case: str, status: str = "fails", **more: str) -> str:
    """An entry in one line."""
    fields = {"case": case, "status": status, "reason": "r", "review": "2026-12-31"} | more
    return "- {" + ", ".join(f'{key}: "{value}"' for key, value in fields.items()) + "}\n"


def test_problems_of_all_files_are_told_together(load: Load) -> None:
    """What is wrong in one entry does not hide what is wrong in another file."""
    text = told(
        load,
        short("tiny[win.9]") + short("tiny", "fail"),
        short("tiny[keep.3]") + short("tiny[keep.3]"),
    )
    assert (
        text
        == """\
e.yaml:1:10: no case of 'tiny' has the component 'win.9' (did you mean 'tiny[win.8]'?)
e.yaml:2:26: status: expected one of fails, flaky, unsupported, got the text 'fail' (did you mean \
'fails'?)
e2.yaml:2:10: this entry stands twice (first at e2.yaml:1)"""
    )


def test_a_case_matched_as_both(load: Load) -> None:
    """Two meanings for one case are a problem, once for each pair of entries."""
    text = told(
        load,
        short("tiny[keep.3]") + short("tiny[left.missing]", "flaky"),
        short("tiny[win.8-keep.0-left.missing]", "unsupported"),
    )
    assert (
        text
        == """\
e.yaml:2:10: tiny[win.8-keep.3-left.missing] (and 1 more) is matched as both 'fails' and 'flaky' \
(the other entry is at e.yaml:1)
e2.yaml:1:10: tiny[win.8-keep.0-left.missing] is matched as both 'flaky' and 'unsupported' \
(the other entry is at e.yaml:2)"""
    )


def test_entries_of_one_meaning_may_share_cases(load: Load) -> None:
    """One explains one clause, the other another."""
    assert not told(load, short("tiny[keep.3]") + short("tiny[left.missing]"))


def test_entries_for_different_versions_do_not_clash(load: Load) -> None:
    """Only what is active at once can be a contradiction."""
    text = short("tiny", versions=">=2") + short("tiny", "flaky", versions="<2")
    assert not told(load, text, version="1.2")
    assert not told(load, text, version=None)
    both = short("tiny", versions=">=1") + short("tiny", "flaky", versions="<2")
    assert "matched as both 'fails' and 'flaky'" in told(load, both, version="1.2")


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("", "e.yaml:1:80: the connector tells no version (leave versions out)"),
        (
            "abc",
            "e.yaml:1:80: the connector's version 'abc' is none by PEP 440 (leave versions out)",
        ),
    ],
)
def test_a_condition_that_cannot_be_judged(load: Load, version: str, message: str) -> None:
    """It is no silent way to switch an entry off."""
    assert told(load, short("tiny", versions=">=2"), version=version) == message


def test_a_matrix_that_is_not_loaded(load: Load) -> None:
    """Silent if it is a shipped one; a warning if nobody knows the name, an error if strict."""
    text = short("cold-consumer[nosuch]") + short("lter[a.1]") + short("zzz")
    expected = load(text)
    assert expected.warnings == (
        (
            "e.yaml:2: no matrix of this run, nor a shipped one, is named 'lter' "
            "(did you mean 'later'?)"
        ),
        "e.yaml:3: no matrix of this run, nor a shipped one, is named 'zzz'",
    )
    assert (
        told(load, text, strict=True)
        == """\
e.yaml:2:10: no matrix here is named 'lter' (did you mean 'later'?)
e.yaml:3:10: no matrix here is named 'zzz'"""
    )


def test_a_past_review_date_is_a_warning(load: Load) -> None:
    """Only of entries that count in this run; the day itself is not past."""
    text = (
        short("tiny[keep.3]", review="2026-01-30", link="x#1")
        + short("tiny[keep.0]", review="2026-01-31")
        + short("later", review="2026-01-30", versions=">=2")
    )
    assert load(text).warnings == ("e.yaml:1: to be reviewed since 2026-01-30: r (x#1)",)


def test_a_file_that_is_named_twice_counts_once(load: Load, space: CaseSpace) -> None:
    """Its entries are no duplicates of themselves."""
    load(short("tiny"))
    assert len(load_expectations(["e.yaml", "./e.yaml"], space).bound) == 1


def test_the_schema_is_one() -> None:
    """Editors get it; what the loader refuses by it is what it says."""
    schema = json.loads((schema_dir() / "expectations.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    entry = {"case": "tiny", "status": "fails", "reason": "r", "review": "2026-12-31"}
    validator = Draft202012Validator(schema)
    assert validator.is_valid([entry])
    assert not validator.is_valid([{**entry, "until": "2027"}])
    assert set(schema["$defs"]["entry"]["properties"]) == {
        "case",
        "clauses",
        "status",
        "reason",
        "link",
        "versions",
        "review",
    }
