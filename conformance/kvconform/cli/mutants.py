"""``kvconform mutants``: tells whether the suite catches every seeded fault, by the right clause."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from kvconform.cli.command import Command, add_connector_options, add_plan, add_templates, load, say
from kvconform.ports import ConnectorNotFoundError, KvconformError
from kvconform.registry import MUTANT_PROVIDER, Listed, list_mutants
from kvconform.results.summary import closing_line, summarize, table
from kvconform.run import RunRequest
from kvconform.run.kills import Kill, Verdict, kill_of, run_all
from kvconform.run.progress import Progress

REFERENCE = "reference"


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        metavar="NAME|PATH",
        nargs="*",
        help="a mutant (default: all, see 'kvconform list --mutants'), or a matrix as for "
        "'kvconform run' (default: all that are shipped)",
    )
    add_templates(parser)
    add_plan(parser)
    add_connector_options(parser)


def execute(options: argparse.Namespace) -> int:
    """Run the reference first, then the mutants; print the kill table."""
    known = {mutant.name: mutant for mutant in list_mutants()}
    if not known:
        raise ConnectorNotFoundError(
            "no mutant is registered; is the distribution kvconform installed?"
        )
    chosen, options.paths = _sort_out(options.names, known)
    matrices = load(options)
    request = RunRequest(
        device=options.device,
        case_seconds=options.case_timeout,
        max_restarts=options.max_restarts,
        connector_config=tuple(options.connector_config),
        templates=tuple(folder.absolute() for folder in options.templates),
    )
    progress = Progress(sys.stderr)
    results = run_all([REFERENCE], matrices, request, progress)
    reference = results[REFERENCE]
    if isinstance(reference, Exception):
        raise reference
    if reference.exit_code:
        say(summarize(reference.journal))
        sys.stderr.write(
            "kvconform: the reference is not clean, so what its mutants fail proves nothing\n"
        )
        return 1
    results = run_all([mutant.name for mutant in chosen], matrices, request, progress)
    kills: list[Kill] = []
    for mutant in chosen:
        result = results[mutant.name]
        if isinstance(result, KvconformError):
            sys.stderr.write(f"kvconform: {mutant.name}: {result}\n")
            kills.append(_broken(mutant))
        elif isinstance(result, Exception):
            raise result
        else:
            kills.append(kill_of(mutant, result, [matrix.name for matrix in matrices]))
            if kills[-1].broken:
                sys.stderr.write(f"kvconform: {mutant.name}: {closing_line(result.journal)}\n")
    return _report(kills)


def _sort_out(names: Sequence[str], known: dict[str, Listed]) -> tuple[list[Listed], list[str]]:
    """Mutants by their name with or without ``mutant:``; everything else is a path."""
    chosen: dict[str, Listed] = {}
    paths: list[str] = []
    for name in names:
        full = name if name.startswith(f"{MUTANT_PROVIDER}:") else f"{MUTANT_PROVIDER}:{name}"
        if full in known:
            chosen[full] = known[full]
        elif name == full:
            raise ConnectorNotFoundError(
                f"no mutant is named {name!r}; there are {', '.join(known)}"
            )
        else:
            paths.append(name)
    return list(chosen.values()) or list(known.values()), paths


def _broken(mutant: Listed) -> Kill:
    return Kill(
        mutant=mutant.name,
        fault=mutant.describe.get("fault", ""),
        declared=(mutant.describe.get("clause", ""),),
        failed=(),
        cases_failed=0,
        cases=0,
        broken=True,
    )


def _report(kills: Sequence[Kill]) -> int:
    rows = [["mutant", "declared", "failed", "clauses that failed", "verdict", "fault"]]
    rows += [
        [
            kill.mutant,
            ", ".join(kill.declared),
            f"{kill.cases_failed}/{kill.cases}",
            ", ".join(kill.failed) or "-",
            kill.verdict.value,
            kill.fault,
        ]
        for kill in kills
    ]
    say(table(rows, indent=""), end="\n\n")
    for kill in kills:
        if kill.miscounted:
            say(
                f"{kill.mutant}: {kill.seed_failures} of the seed's cases fail, "
                f"{kill.seed_declared} are declared"
            )
    counts = Counter(kill.verdict for kill in kills)
    broken = f", {counts[Verdict.ERROR]} broke the suite" if counts[Verdict.ERROR] else ""
    say(
        f"mutants: {counts[Verdict.KILLED]} killed, {counts[Verdict.SURVIVED]} survived, "
        f"{counts[Verdict.WRONG_CLAUSE]} by the wrong clause{broken}"
    )
    if counts[Verdict.ERROR]:
        return 3
    clean = counts[Verdict.KILLED] == len(kills) and not any(kill.miscounted for kill in kills)
    return 0 if clean else 1


COMMAND = Command(
    name="mutants",
    summary="run the faulty connectors and tell whether the suite catches each of them",
    add_options=_add_options,
    execute=execute,
    epilog="Exit codes: 0 every mutant is killed by a clause that it declares, 1 one is not or\n"
    "the reference itself fails, 2 usage, 3 the suite broke.",
)
