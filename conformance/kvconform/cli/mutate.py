"""``kvconform mutate``: faults made by rule in a connector's own code, and whether each of them is caught."""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kvconform.cli.command import (
    Command,
    add_paths,
    count,
    load,
    natural_number,
    positive_number,
    say,
)
from kvconform.matrix import Matrix
from kvconform.mutation.known import Known
from kvconform.mutation.operators import Change
from kvconform.mutation.package import NoSourceError, Package
from kvconform.mutation.play import Play, Plays
from kvconform.mutation.reach import marked, measure
from kvconform.mutation.survey import Fate, Finding, Survey
from kvconform.registry import list_mutants
from kvconform.run.inline import Player

_LEAST = 95
"""Per cent of the changes that must be killed."""

_EACH = 24
"""Cases of a matrix that are played unless --each says another number."""

_MOST = 300
"""Cases that a change gets unless --most says another number."""

_KNOWN = 100
"""Cases that a known survivor gets."""

_LATE = 100
"""A change that takes more cases than this is told, as a file of --known may have them tried first."""

_ALSO = 60
"""Cases that are played once more for each of the tables [[also]] of --known, of those that tell most."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument(
        "--connector",
        metavar="NAME",
        default="reference",
        help="whose code is changed: the modules beside that of its factory (default: reference)",
    )
    parser.add_argument(
        "--known",
        metavar="FILE",
        type=Path,
        help="a TOML file with a reason for each change that may survive, and for code left out",
    )
    parser.add_argument(
        "--only", metavar="FILE", action="append", default=[], help="change this module alone, such as lookup.py; may be repeated"
    )
    parser.add_argument(
        "--sample", metavar="N", type=positive_number, help="try N of the changes, drawn by --seed"
    )
    parser.add_argument(
        "--each",
        metavar="N",
        type=positive_number,
        default=_EACH,
        help="play N cases of each matrix, those that tell mutants apart first, and what the file of "
        f"--known has first (default: {_EACH})",
    )
    parser.add_argument(
        "--most",
        metavar="N",
        type=positive_number,
        help=f"give a change up as survived after N cases that reach it (default: {_MOST})",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=natural_number,
        default=0,
        help="draw other changes, and other cases to try first (default: 0)",
    )


def execute(options: argparse.Namespace) -> int:
    """Try the changes; tell the survivors, and what the file of known ones has too much."""
    known = Known.read(options.known) if options.known else Known()
    package = Package.of(options.connector)
    strange = sorted(set(options.only) - set(package.files))
    if strange:
        raise NoSourceError(
            f"--only {strange[0]}: {package.folder} has {', '.join(package.files)}"
        )
    matrices = load(options)
    every = package.changes(package.files)
    wanted = [one for one in every if not options.only or one.file in options.only]
    tried = [one for one in wanted if not known.leaves_out(one)]
    if options.sample is not None and options.sample < len(tried):
        drawn = random.Random(options.seed).sample(range(len(tried)), options.sample)  # noqa: S311
        tried = [tried[at] for at in sorted(drawn)]
    plays = Plays(
        player=Player(matrices, templates=tuple(p.absolute() for p in options.templates)),
        main=options.connector,
        connectors=sorted({options.connector, *(also.connector for also in known.also)} - {""}),
    )
    ordered, unmet = _ordered_plays(matrices, known, plays, options)
    survey = _measured(package, plays, ordered)
    limits = dict.fromkeys(known.survivors, options.most or _KNOWN)
    findings = {}
    for finding in survey.run(tried, limits, options.most or _MOST):
        findings[finding.change.key] = finding
        _note(finding, len(findings), len(tried), known)
    found = [findings[change.key] for change in tried]
    whole = not (options.only or options.sample or options.most or options.paths)
    faults = _unexplained(found, known)
    if whole:
        faults += _stale(every, known) + [f"to be tried first, and no case: {one}" for one in unmet]
    _report(found, len(wanted) - len(tried) if options.sample is None else 0)
    for fault in faults:
        say(fault)
    return int(bool(faults) or (whole and _percent(found) < _LEAST))


def _measured(package: Package, plays: Plays, ordered: Sequence[Play]) -> Survey:
    plays.factories()  # here, so that a name which is none is told, and each fork has what they need
    reaches = {}
    for reach in measure(package, plays, ordered):
        reaches[reach.play] = reach
    idle = len(ordered) - len(reaches)
    sys.stderr.write(
        f"{count(len(reaches), 'case', 'cases')} can tell changes, {idle} do not apply or fail without one\n"
    )
    return Survey(
        package=package,
        plays=plays,
        reached=[reaches[play] for play in ordered if play in reaches],
        places=frozenset().union(*(marked(package.source(file), file)[1] for file in package.files)),
    )


def _ordered_plays(
    matrices: Sequence[Matrix], known: Known, plays: Plays, options: argparse.Namespace
) -> tuple[list[Play], list[str]]:
    """Those that are to be first, then each matrix in turn; and names among the first that no play has.

    A matrix begins with the cases that tell mutants apart.  After its first case come those under
    other settings.
    """
    killers = {mutant.describe.get("killer", "") for mutant in list_mutants()}
    drawing = random.Random(options.seed)  # noqa: S311 - a draw, no secret
    turns: list[tuple[int, float, Play]] = []
    best: list[str] = []
    for matrix in matrices:
        cases = [f"{matrix.name}[{row.id}]" for row in matrix.rows]
        # Neighbours are alike: in their order a change would meet one value of an axis for long.
        drawing.shuffle(cases)
        cases.sort(key=lambda case: case not in killers)
        best += [case for at, case in enumerate(cases) if not at or case in killers]
        turns += [
            (turn, drawing.random(), Play(case=case, connector=plays.main))
            for turn, case in enumerate(cases)
        ]
    drawing.shuffle(best)
    for also in known.also:
        whole = [c for c in plays.player.cases if c.partition("[")[0] in also.matrices]
        turns += [
            (
                1,
                drawing.random(),
                Play(
                    case=case,
                    connector=also.connector or plays.main,
                    options=tuple(also.options.items()),
                ),
            )
            for case in dict.fromkeys([*best[:_ALSO], *whole])
        ]
    first = {name: turn for turn, name in enumerate(known.first)}
    named = {plays.told(play): play for *_, play in turns}
    ordered = [
        play
        for turn, _, play in sorted(turns, key=lambda one: one[:2])
        if turn < options.each or plays.told(play) in first
    ]
    ordered.sort(key=lambda play: first.get(plays.told(play), len(first)))
    return ordered, [name for name in known.first if name not in named]


def _note(finding: Finding, done: int, total: int, known: Known) -> None:
    new = finding.fate is not Fate.KILLED and finding.change.key not in known.survivors
    if new:
        sys.stderr.write(f"{finding.change.place}: {finding.fate}: {finding.change.key}\n")
    elif finding.played > _LATE and finding.fate is Fate.KILLED:
        sys.stderr.write(f"{finding.change.place}: told late: {finding.how}\n")
    if new or done % 50 == 0 or done == total:
        sys.stderr.write(f"{done} of {count(total, 'change', 'changes')}\n")


def _percent(findings: Sequence[Finding]) -> float:
    killed = sum(finding.fate is Fate.KILLED for finding in findings)
    return 100 * killed / max(1, len(findings))


def _unexplained(findings: Sequence[Finding], known: Known) -> list[str]:
    """Survivors without a reason, reasons for what is killed, and what broke the suite."""
    told = []
    for finding in findings:
        change, listed = finding.change, finding.change.key in known.survivors
        if finding.fate is Fate.BROKE:
            told.append(f"{change.place}: broke the suite: {change.key}\n  {finding.how}")
        elif finding.fate is Fate.SURVIVED and not listed:
            told.append(f"{change.place}: survived ({_tried(finding)}), for no known reason: {json.dumps(change.key)}")
        elif finding.fate is Fate.KILLED and listed:
            told.append(f"{change.place}: known to survive, and killed by {finding.how}: {change.key}")
    return told


def _tried(finding: Finding) -> str:
    return finding.how or f"{finding.played} of the {count(finding.reaching, 'case', 'cases')} that reach it"


def _stale(every: Sequence[Change], known: Known) -> list[str]:
    keys = {change.key for change in every}
    used = {known.leaves_out(change) for change in every}
    return [
        *(f"known to survive, and no change of today's code: {key}" for key in known.survivors if key not in keys),
        *(f"left out, and no code of today: {one}" for one in known.excluded if one not in used),
    ]


def _report(findings: Sequence[Finding], left_out: int) -> None:
    files = Counter(finding.change.file for finding in findings)
    killed = Counter(f.change.file for f in findings if f.fate is Fate.KILLED)
    for file, total in sorted(files.items()):
        say(f"{file}: {killed[file]} of {total} killed")
    fates = Counter(finding.fate for finding in findings)
    told = [f"{fates[fate]} {fate}" for fate in Fate if fates[fate] or fate is not Fate.BROKE]
    told += [f"{left_out} left out"] * bool(left_out)
    say(f"changes: {', '.join(told)}: {_percent(findings):.1f} % killed")


COMMAND = Command(
    name="mutate",
    summary="change a connector's own code by rule, and tell which changes no case catches",
    add_options=_add_options,
    execute=execute,
    epilog=f"Exit codes: 0 at least {_LEAST} % are killed and every survivor has its reason, 1 not,\n"
    "2 usage. With --only, --sample or --most the percentage is told and not judged.",
)
