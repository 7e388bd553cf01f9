"""An explanation in a few sentences, with axes and values named as in row ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvconform.matrix.model import Axis
from kvconform.suspects.explain import Explanation
from kvconform.suspects.probes import next_probe
from kvconform.suspects.search import Alternatives
from kvconform.suspects.table import Condition

OTHERS = 3
"""So many other explanations are told in full; the rest are counted."""


def describe(explanation: Explanation) -> str:
    """``14 of 102 failed; all 14, and no passing case, have keep.3 and ...``, then what else fits."""
    table = explanation.outcomes.table
    first, *others = explanation.candidates
    sentences = [_verdict(explanation, predicate(table.axes, first.alternatives))]
    if first.same:
        sentences.append(f"No case tells this from: {_listed(table.axes, first.same)}.")
    if others:
        fits = _listed(table.axes, [other.alternatives for other in others])
        sentences.append(f"Others fit as well: {fits}.")
    probe = next_probe(explanation)
    if probe is not None:
        sentences.append(f"A run of {probe.id} would tell some of them apart.")
    without = _without(table.axes, first.alternatives)
    if without:
        sentences.append(f"Cases without {', '.join(without)} count as having such a value.")
    return " ".join(sentences)


def predicate(axes: Sequence[Axis], alternatives: Alternatives) -> str:
    """``keep.3 and (win.128 and bound.3968, or win.256 and bound.3840)``: what is common first.

    Empty if it is true of every row.
    """
    common = [one for one in alternatives[0] if all(one in other for other in alternatives)]
    own = [[one for one in conjunction if one not in common] for conjunction in alternatives]
    shared = _conjunction(axes, common)
    choice = ", or ".join(_conjunction(axes, conditions) for conditions in own if conditions)
    if shared and choice:
        return f"{shared} and ({choice})"
    return shared or choice


def _verdict(explanation: Explanation, what: str) -> str:
    outcomes = explanation.outcomes
    failed, passed = outcomes.failed.bit_count(), outcomes.passed.bit_count()
    exceptions = (explanation.candidates[0].rows & outcomes.passed).bit_count()
    if not passed:
        return f"All {failed} failed; no axis makes a difference."
    count = f"{failed} of {failed + passed} failed"
    if not what:
        return f"{count}; they share no value that a passing case lacks."
    if explanation.exact:
        whose = {1: "it, and no passing case, has", 2: "both, and no passing case, have"}
        return f"{count}; {whose.get(failed, f'all {failed}, and no passing case, have')} {what}."
    whose = {1: "it has", 2: "both have"}
    return (
        f"{count}; nothing simple was found to set them apart. The nearest:"
        f" {whose.get(failed, f'all {failed} have')} {what}, and so {_have(exceptions)}"
        f" of the {passed} that passed."
    )


def _have(count: int) -> str:
    return "has 1" if count == 1 else f"have {count}"


def _listed(axes: Sequence[Axis], some: Sequence[Alternatives]) -> str:
    told = [predicate(axes, alternatives) for alternatives in some[:OTHERS]]
    more = [f"{len(some) - OTHERS} more"] if len(some) > OTHERS else []
    return "; ".join([*told, *more])


def _conjunction(axes: Sequence[Axis], conditions: Iterable[Condition]) -> str:
    return " and ".join(_condition(axes[axis], values) for axis, values in conditions)


def _condition(axis: Axis, values: Sequence[int]) -> str:
    labels = [axis.labels[value] for value in values if value < len(axis.labels)]
    return f"{axis.id}.{'|'.join(labels)}" if labels else f"no {axis.id}"


def _without(axes: Sequence[Axis], alternatives: Alternatives) -> list[str]:
    """Ids of the axes whose lack is as good as one of the named values."""
    lacked = {
        axis
        for conjunction in alternatives
        for axis, values in conjunction
        if len(values) > 1 and len(axes[axis].values) in values
    }
    return [axes[axis].id for axis in sorted(lacked)]
