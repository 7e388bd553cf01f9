"""``kvconform mutants``: tells whether the suite catches every seeded fault, by the right clause."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from kvconform.cli.command import Command, add_connector_options, add_plan, add_templates, load, say
from kvconform.cli.pages import add_page, deliver
from kvconform.matrix.gate import exemptions
from kvconform.pages.kill_table import kill_page
from kvconform.ports import ConnectorNotFoundError, KvconformError
from kvconform.registry import MUTANT_PROVIDER, Listed, list_mutants
from kvconform.results.summary import closing_line, summarize
from kvconform.results.tables import table
from kvconform.results.terminal import show
from kvconform.run import RunRequest
from kvconform.run.inline import Player
from kvconform.run.kills import Kill, Verdict, kill_of, run_all
from kvconform.run.progress import Progress
from kvconform.run.quick import Grounds, QuickKill, by_killer, by_search, gaps

REFERENCE = "reference"


class PartialTableError(KvconformError):
    """A page is asked for that would hold a part of the mutants."""


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
    short = parser.add_mutually_exclusive_group()
    short.add_argument(
        "--quick",
        action="store_true",
        help="run each mutant on the one case that it names, and tell which clauses, checks and "
        "field classes have no mutant",
    )
    short.add_argument(
        "--first",
        action="store_true",
        help="run each mutant until a case fails by a clause that it declares, and name that case",
    )
    add_page(parser, "the table of --quick")


def execute(options: argparse.Namespace) -> int:
    """Run the reference first, then the mutants; print the kill table."""
    known = {mutant.name: mutant for mutant in list_mutants()}
    if not known:
        raise ConnectorNotFoundError(
            "no mutant is registered; is the distribution kvconform installed?"
        )
    chosen, options.paths = _sort_out(options.names, known)
    if options.quick or options.first:
        return _quick(options, chosen, whole=len(chosen) == len(known))
    if options.write or options.check:
        raise PartialTableError("--write and --check are for the table of --quick")
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
        show(summarize(reference.journal))
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


def _quick(options: argparse.Namespace, chosen: Sequence[Listed], *, whole: bool) -> int:
    """The table of few cases; a page, and what has no mutant, only of all mutants."""
    paged = options.write is not None or options.check is not None
    if paged and not (options.quick and whole and not options.paths):
        raise PartialTableError(
            "--write and --check are for --quick over all mutants and matrices: name none"
        )
    templates = tuple(folder.absolute() for folder in options.templates)
    matrices = load(options)
    player = Player(matrices, templates=templates, device=_device(options))
    grounds = Grounds.of(matrices, player, REFERENCE)
    found = {
        kill.mutant: kill
        for kill in (by_killer if options.quick else by_search)(chosen, grounds)
    }
    kills = [found[mutant.name] for mutant in chosen]
    code = _report_quick(kills)
    lacking = gaps(kills, exemptions()) if whole and options.quick else []
    for line in lacking:
        say(f"{line} (write one, or exempt it with a reason in matrix/exempt.toml)")
    code = code or int(bool(lacking))
    if paged and not code:
        return deliver(options, kill_page(kills), "kvconform mutants --quick")
    return code


def _device(options: argparse.Namespace) -> str:
    """Played in this process, on the CPU unless a device is asked for by name."""
    return "cpu" if options.device == "auto" else str(options.device)


def _report_quick(kills: Sequence[QuickKill]) -> int:
    rows = [["mutant", "declared", "cases", "clauses that failed", "verdict", "case"]]
    rows += [
        [
            kill.mutant,
            ", ".join(kill.declared),
            str(kill.played),
            ", ".join(kill.failed) or "-",
            kill.verdict.value,
            kill.problem or kill.case or "-",
        ]
        for kill in kills
    ]
    say(table(rows, indent=""), end="\n\n")
    say(_counted([kill.verdict for kill in kills]))
    if any(kill.verdict is Verdict.ERROR for kill in kills):
        return 3
    return int(any(kill.verdict is not Verdict.KILLED for kill in kills))


def _counted(verdicts: Sequence[Verdict]) -> str:
    counts = Counter(verdicts)
    broken = f", {counts[Verdict.ERROR]} broke the suite" if counts[Verdict.ERROR] else ""
    return (
        f"mutants: {counts[Verdict.KILLED]} killed, {counts[Verdict.SURVIVED]} survived, "
        f"{counts[Verdict.WRONG_CLAUSE]} by the wrong clause{broken}"
    )


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
    say(_counted([kill.verdict for kill in kills]))
    if counts[Verdict.ERROR]:
        return 3
    clean = counts[Verdict.KILLED] == len(kills) and not any(kill.miscounted for kill in kills)
    return 0 if clean else 1


COMMAND = Command(
    name="mutants",
    summary="run the faulty connectors and tell whether the suite catches each of them",
    add_options=_add_options,
    execute=execute,
    epilog="Exit codes: 0 every mutant is killed by a clause that it declares, 1 one is not, the\n"
    "reference itself fails, something has no mutant or the page of --check differs, 2 usage, 3 the suite broke.",
)
