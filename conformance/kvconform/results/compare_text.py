"""A comparison of two runs in words: for terminals, and for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvconform.results import words
from kvconform.results.causes import CauseGroup, first_cause, grouped
from kvconform.results.compare import Change, Comparison, Kind
from kvconform.results.failure import connector_title, describe_failure
from kvconform.results.journal import RunHeader
from kvconform.results.tables import table

MOST_BYTES = 65_536
"""The longest comment on a pull request, counted in bytes to be sure (the limit is in characters)."""

_LISTED = 10
"""So many cases of each group are named on a terminal."""

_SIZES = ((100, 40, 3), (30, 20, 3), (10, 10, 1), (3, 5, 1), (1, 3, 0), (0, 0, 0))
"""Cases of a group, groups and full examples of a section: the first sizes that fit are taken."""

_WITH_CAUSE = {Kind.BROKEN, Kind.WORSE, Kind.OTHER_CAUSE}
_TOLD = [kind for kind in Kind if kind is not Kind.SAME]


def as_text(comparison: Comparison) -> str:
    """For a terminal, without a newline at the end."""
    parts = [
        _sides(comparison),
        "\n".join(f"note: {words.plain(note)}" for note in comparison.notes),
        table([["", "cases", ""], *_counts(comparison)]),
        *(_text_section(comparison, kind) for kind in _TOLD),
        verdict(comparison),
    ]
    return "\n\n".join(part for part in parts if part)


def verdict(comparison: Comparison) -> str:
    """The line that says how it ends."""
    worse = sum(change.kind.is_regression for change in comparison.changes)
    if not worse:
        return "kvconform diff: no regression"
    return f"kvconform diff: {worse} regression{'s' * (worse > 1)}"


def as_markdown(comparison: Comparison) -> str:
    """For a comment: a table of counts, then parts to open; never longer than `MOST_BYTES`."""
    for cases, groups, examples in _SIZES:
        text = _page(comparison, cases, groups, examples)
        if len(text.encode("utf-8")) <= MOST_BYTES:
            return text
    return text  # counts and notes alone, each of a bounded length


def _page(comparison: Comparison, cases: int, groups: int, examples: int) -> str:
    mark = "\N{CROSS MARK}" if comparison.is_regression else "\N{WHITE HEAVY CHECK MARK}"
    rows = [[name, count, meaning] for name, count, meaning in _counts(comparison)]
    parts = [
        f"### {mark} {verdict(comparison)}",
        "\n".join(
            f"- {which}: {words.code(_side(header))}"
            for which, header in (
                ("before", comparison.before.header),
                ("after", comparison.after.header),
            )
        ),
        "\n".join(f"> note: {words.code(note)}" for note in comparison.notes),
        words.table(["", "cases", "meaning"], rows),
    ]
    for kind in _TOLD if cases else ():
        changes = comparison.of(kind)
        if changes:
            body = _markdown_section(comparison, kind, (cases, groups, examples))
            parts.append(words.folded(f"{_title(kind)}: {len(changes)}", body))
    if not cases:
        parts.append("The details do not fit into a comment: `kvconform diff` without `--markdown` has them.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _title(kind: Kind) -> str:
    return kind.title.replace(">", "&gt;")


def _counts(comparison: Comparison) -> list[list[str]]:
    return [
        [kind.title, str(count), kind.meaning + (" (regression)" if kind.is_regression else "")]
        for kind in Kind
        if (count := comparison.counts[kind])
    ]


def _sides(comparison: Comparison) -> str:
    return "\n".join(
        f"{which:<7} {words.plain(_side(header))}"
        for which, header in (
            ("before", comparison.before.header),
            ("after", comparison.after.header),
        )
    )


def _side(header: RunHeader | None) -> str:
    if header is None:
        return "(no header)"
    return (
        f"{connector_title(header)}, engine {header.engine}, device {header.device}, "
        f"kvconform {header.kvconform}, contract revision {header.contract}"
    )


def _text_section(comparison: Comparison, kind: Kind) -> str:
    changes = comparison.of(kind)
    if not changes:
        return ""
    lines = [f"{kind.title}: {kind.meaning}"]
    for group in _groups(kind, changes):
        lines += [f"  {len(group.records)} x {words.plain(str(group.cause))}"]
        lines += _listed(_changes_of(changes, group), "    ")
    if kind not in _WITH_CAUSE:
        lines += _listed(changes, "  ")
    return "\n".join(lines)


def _listed(changes: Sequence[Change], indent: str) -> list[str]:
    lines = [f"{indent}{words.plain(_told(change))}" for change in changes[:_LISTED]]
    more = len(changes) - _LISTED
    return lines + [f"{indent}and {more} more"] * (more > 0)


def _told(change: Change) -> str:
    """A case with what is to be said of it."""
    told = [change.case]
    if change.is_renamed and change.before is not None:
        told.append(f"was {change.before.case}")
    if change.kind is not Kind.RENAMED:
        told.append(change.outcomes)
    if change.kind is Kind.OTHER_CAUSE and change.before is not None:
        told.append(f"before: {first_cause(change.before)}")
    if change.kind is Kind.NOT_APPLICABLE and change.after is not None:
        told.append(change.after.reason)
    if change.kind is Kind.EXPECTATION and change.after is not None:
        told.append(", ".join(change.after.expectations or ("no entry",)))
    if change.note:
        told.append(change.note)
    if change.edited:
        told.append("the case was edited")
    return "; ".join(told)


def _groups(kind: Kind, changes: Sequence[Change]) -> list[CauseGroup]:
    if kind not in _WITH_CAUSE:
        return []
    return grouped(change.after for change in changes if change.after is not None)


def _changes_of(changes: Sequence[Change], group: CauseGroup) -> list[Change]:
    cases = {record.case for record in group.records}
    return [change for change in changes if change.case in cases]


def _markdown_section(
    comparison: Comparison, kind: Kind, sizes: tuple[int, int, int]
) -> str:
    most_cases, most_groups, examples = sizes
    changes = comparison.of(kind)
    if kind not in _WITH_CAUSE:
        return "\n".join(_items(changes, most_cases))
    groups = _groups(kind, changes)
    lines: list[str] = []
    for at, group in enumerate(groups[:most_groups]):
        lines += ["", f"**{len(group.records)} x** {words.code(str(group.cause))}", ""]
        lines += _items(_changes_of(changes, group), most_cases)
        if at < examples:
            lines += ["", *_example(comparison, group)]
    if len(groups) > most_groups:
        lines += ["", f"and {len(groups) - most_groups} more causes"]
    return "\n".join(lines).strip("\n")


def _items(changes: Sequence[Change], most: int) -> Iterator[str]:
    for change in changes[:most]:
        yield f"- {words.code(_told(change))}"
    if len(changes) > most:
        yield f"- and {len(changes) - most} more"


def _example(comparison: Comparison, group: CauseGroup) -> Iterator[str]:
    record = group.records[0]
    yield "One of them in full:"
    yield ""
    yield words.block(f"{record.case}\n{describe_failure(record, comparison.after.header)}")
