"""``kvconform mutate``: faults made by rule in a connector's own code, and whether each of them is caught."""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
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
from kvconform.mutation.survey import Fate, Finding, Play, Survey
from kvconform.registry import list_mutants, resolve_connector
from kvconform.run.inline import Player

_LEAST = 95
"""Per cent of the changes that must be killed."""

_KNOWN = 150
"""Cases that a known survivor gets: those that have told most, and as many more."""

_ALSO = 60
"""Cases that are played under each of the settings that the file of --known adds."""


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
        "--most",
        metavar="N",
        type=positive_number,
        help="give a change up as survived after N cases (default: all cases)",
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
    unchanged = resolve_connector(options.connector).factory
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
    plays = _plays(matrices, known.also, options.seed)
    survey = Survey(
        package=package,
        unchanged=unchanged,
        player=Player(matrices, templates=tuple(p.absolute() for p in options.templates)),
        plays=plays,
    )
    limits = dict.fromkeys(known.survivors, options.most or _KNOWN)
    findings = {}
    for finding in survey.run(tried, limits, options.most):
        findings[finding.change.key] = finding
        _note(finding, len(findings), len(tried), known)
    ordered = [findings[change.key] for change in tried]
    whole = not (options.only or options.sample or options.most)
    faults = _unexplained(ordered, known) + (_stale(every, known) if whole else [])
    _report(ordered, len(wanted) - len(tried) if options.sample is None else 0)
    for fault in faults:
        say(fault)
    return int(bool(faults) or (whole and _percent(ordered) < _LEAST))


def _plays(
    matrices: Sequence[Matrix], also: Sequence[Mapping[str, object]], seed: int
) -> list[Play]:
    """Cases that tell mutants apart and one of each matrix; some under other settings; the rest."""
    killers = {mutant.describe.get("killer", "") for mutant in list_mutants()}
    cases = [f"{m.name}[{row.id}]" for m in matrices for row in m.rows]
    wanted = killers | {f"{m.name}[{row.id}]" for m in matrices for row in m.rows[-1:]}
    best = [case for case in cases if case in wanted]
    rest = [case for case in cases if case not in wanted]
    drawing = random.Random(seed)  # noqa: S311 - a draw, no secret
    # Neighbours are alike: in their order a change would meet one matrix after another.
    drawing.shuffle(best)
    drawing.shuffle(rest)
    return [
        *(Play(case=case) for case in best),
        *(
            Play(case=case, options=tuple(settings.items()))
            for settings in also
            for case in best[:_ALSO]
        ),
        *(Play(case=case) for case in rest),
    ]


def _note(finding: Finding, done: int, total: int, known: Known) -> None:
    new = finding.fate is not Fate.KILLED and finding.change.key not in known.survivors
    if new:
        sys.stderr.write(f"{finding.change.place}: {finding.fate}: {finding.change.key}\n")
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
            told.append(f"{change.place}: survived, for no known reason: {json.dumps(change.key)}")
        elif finding.fate is Fate.KILLED and listed:
            told.append(f"{change.place}: known to survive, and killed by {finding.how}: {change.key}")
    return told


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
