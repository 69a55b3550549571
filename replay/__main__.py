"""The project's own release checks: `python -m replay check`, `bench ...`, `drill ...`, `typescript`, `release`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

REPORT = Path(__file__).parent / "BENCH.md"
RETRIEVAL = Path(__file__).parent / "RETRIEVAL.md"
DRILLED = Path(__file__).parent / "DRILLS.md"
DRILLED_ROWS = Path(__file__).parent / "drills.json"


def main() -> int:
    """Run a command; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m replay", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _bench_arguments(commands.add_parser("bench", help="measure speed and size, beside the floor and the peers"))
    _drill_arguments(commands.add_parser("drill", help="damage a store on purpose and check what is lost"))
    _drills_arguments(commands.add_parser("drills", help="all drills, in a small size or in the size of a release"))
    _mutants_arguments(commands.add_parser("mutants", help="break the code on purpose; a check must fail"))
    _retrieval_arguments(commands.add_parser("retrieval", help="score search on labelled sets"))
    _check_arguments(commands.add_parser("check", help="run every history on every store; open old stores"))
    broken = commands.add_parser("broken", help="show that the histories can fail")
    broken.add_argument("words", nargs="*", metavar="WORD", help="only ways whose description has one of these words")
    _suites_arguments(commands.add_parser("suites", help="run the test suites of others against the server"))
    _hosts_arguments(commands.add_parser("hosts", help="run the tests of agent frameworks against our adapters"))
    commands.add_parser("typescript", help="build, test and pack the TypeScript client")
    commands.add_parser("release", help="write the store of the present version, once")
    given = parser.parse_args()
    logger = logging.getLogger("muniment")
    level = logger.level
    logger.setLevel(logging.ERROR)  # keys of scratch stores need no backup
    try:
        return COMMANDS[given.command](given)
    finally:
        logger.setLevel(level)


def _bench_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to measure (default: everything)")
    parser.add_argument("--peers", action="store_true", help="also measure the installed peers")
    parser.add_argument("--quick", action="store_true", help="check that it runs; too short for reliable figures")
    parser.add_argument("--gate", action="store_true", help="compare ratios and counts with the budgets of gate.toml")
    parser.add_argument("--million", action="store_true", help="also grow to 1,000,000 turns")
    parser.add_argument("--out", type=Path, help=f"where to write the report (all figures: {REPORT.name})")
    parser.add_argument("--json", type=Path, help="where to write the figures as JSON")
    parser.add_argument(
        "--from", type=Path, nargs="+", dest="again", metavar="FILE", help="create the report from such files"
    )
    parser.add_argument("--scratch", type=Path, help="where to write stores; decides which disk is measured")


def _drill_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="name of the drill; an unknown name lists all")
    parser.add_argument("--n", type=int, help="size of the drill")
    parser.add_argument("--seed", type=int, default=1, help="seed of the drill, to repeat a run")
    parser.add_argument("--json", type=Path, help="where to write the outcome as JSON")


def _drills_arguments(parser: argparse.ArgumentParser) -> None:
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--ci", action="store_true", help="the size of every CI run; takes minutes")
    size.add_argument(
        "--release", action="store_true", help=f"the size of a release, saved in {DRILLED.name}; takes hours"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the drills")
    parser.add_argument("--share", type=float, default=1.0, help="share of the release size, for a shorter run")
    parser.add_argument(
        "--resume", action="store_true", help="skip drills that passed with this commit, seed and share"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which drills (default: all)")


def _mutants_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="which mutants (default: all)")


def _retrieval_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sets", nargs="*", metavar="SET", help="which sets to score (default: all)")
    parser.add_argument("--method", action="append", default=[], help="a word in the name of a method (default: all)")
    parser.add_argument(
        "--data", type=Path, help="directory of the sets and their script (default: beside the checkout)"
    )
    parser.add_argument("--out", type=Path, help=f"where to write the report (everything: {RETRIEVAL.name})")


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="FIXTURE", help="which histories (default: all)")
    parser.add_argument("--write", action="store_true", help="update the digests of derived data")


def _suites_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="which suites (default: all)")
    parser.add_argument("--cases", type=int, default=20, help="cases of schemathesis for each operation (default: 20)")
    parser.add_argument(
        "--minutes",
        type=int,
        help="how long schemathesis repeats its cases, such as 60 (default: each once)",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of schemathesis, to repeat a run")
    parser.add_argument(
        "--installed", type=Path, metavar="DIRECTORY", help="where suites are installed and kept (default: nowhere)"
    )


def _hosts_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="which frameworks (default: all)")
    parser.add_argument("--fastest", action="store_true", help="only those that every CI run has time for")
    parser.add_argument("--write", action="store_true", help="only write HOSTS.md, from the tables")
    parser.add_argument(
        "--installed", type=Path, metavar="DIRECTORY", help="where frameworks are installed and kept (default: nowhere)"
    )


def _bench(given: argparse.Namespace) -> int:
    from replay.bench.report import told, write  # noqa: PLC0415 - a drill needs none of it
    from replay.bench.run import NAMES, Order, Result, joined, run  # noqa: PLC0415 - as above

    if given.gate:
        return _gate(given)
    if given.again is not None:
        kept = [msgspec.json.decode(path.read_bytes(), type=Result) for path in given.again]
        try:
            write(joined(kept), given.out or REPORT)
        except ValueError as error:
            print(f"not one report: {error}", file=sys.stderr)
            return 2
        return 0
    if _unknown(given.names, NAMES):
        return 2
    order = Order(
        names=tuple(given.names) or NAMES,
        peers=given.peers,
        quick=given.quick,
        million=given.million,
        scratch=given.scratch,
    )
    result = run(order, lambda figure: print(told(figure), flush=True))
    out = given.out or (None if given.names or given.quick else REPORT)
    if out is not None:
        write(result, out)
    if given.json is not None:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(result)))
    return 0


def _gate(given: argparse.Namespace) -> int:
    from replay.bench.gate import gate  # noqa: PLC0415 - as above
    from replay.bench.gated import EXACT, FRAMES, RATIOS  # noqa: PLC0415 - as above

    if _unknown(given.names, (*EXACT, *FRAMES, *RATIOS)):
        return 2
    verdicts = gate(
        tuple(given.names),
        quick=given.quick,
        scratch=given.scratch,
        tell=lambda verdict: print(verdict.told(), flush=True),
    )
    slower = [verdict.name for verdict in verdicts if not verdict.holds]
    if slower:
        print(f"above their budgets: {', '.join(slower)}", file=sys.stderr)
    return 1 if slower else 0


def _unknown(names: list[str], known: Sequence[str]) -> bool:
    """Tell of names that nobody knows."""
    unknown = sorted(set(names) - set(known))
    if unknown:
        print(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}", file=sys.stderr)
    return bool(unknown)


def _drill(given: argparse.Namespace) -> int:
    from replay.drills.table import DRILLS  # noqa: PLC0415 - a benchmark needs none of it

    if given.name not in DRILLS:
        print(f"unknown: {given.name}; known: {', '.join(DRILLS)}", file=sys.stderr)
        return 2
    outcome = DRILLS[given.name].run(given.n, given.seed)
    print(outcome.line())
    if given.json is not None:
        given.json.write_bytes(msgspec.json.encode(outcome))
    return 0 if outcome.passed else 1


def _drills(given: argparse.Namespace) -> int:
    from replay.drills.all import Order, run_all  # noqa: PLC0415 - as above
    from replay.drills.results import Results  # noqa: PLC0415 - as above
    from replay.drills.table import DRILLS  # noqa: PLC0415 - as above

    unknown = set(given.names) - set(DRILLS)
    if unknown:
        print(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(DRILLS)}", file=sys.stderr)
        return 2
    order = Order(
        release=given.release, seed=given.seed, share=given.share, resume=given.resume, names=tuple(given.names)
    )
    return 0 if run_all(order, Results(DRILLED_ROWS, DRILLED) if given.release else None) else 1


def _mutants(given: argparse.Namespace) -> int:
    from replay.mutants import run_mutants  # noqa: PLC0415 - as above

    return 0 if run_mutants(given.names) else 1


def _retrieval(given: argparse.Namespace) -> int:
    from replay.retrieval.report import floors_missed, markdown  # noqa: PLC0415 - a drill needs none of it
    from replay.retrieval.run import Order, run  # noqa: PLC0415 - as above
    from replay.retrieval.sets import DATA, SETS  # noqa: PLC0415 - as above

    known = [one.name for one in SETS]
    if _unknown(given.sets, known):
        return 2
    order = Order(sets=tuple(given.sets), methods=tuple(given.method), data=given.data or DATA)
    result = run(order, lambda line: print(line, flush=True))
    if not result.tables:
        print(f"nothing to score: {'; '.join(result.missing)}", file=sys.stderr)
        return 2
    out = given.out or (None if given.sets or given.method else RETRIEVAL)
    if out is not None:
        out.write_text(markdown(result))
    missed = floors_missed(result)
    for each in missed:
        print(f"missed: {each}", file=sys.stderr)
    unscored = sorted(set(given.sets) - {table.labelled.name for table in result.tables})
    if unscored:
        print(f"not scored: {', '.join(unscored)}", file=sys.stderr)
    return 1 if missed or unscored else 0


def _check(given: argparse.Namespace) -> int:
    from replay import check  # noqa: PLC0415 - a benchmark needs none of it

    return check.main(given.names, writes=given.write)


def _broken(given: argparse.Namespace) -> int:
    from replay import broken  # noqa: PLC0415 - as above

    return broken.main(given.words)


def _suites(given: argparse.Namespace) -> int:
    from replay.suites.run import SUITES, SuiteOrder, run_suites  # noqa: PLC0415 - as above

    if _unknown(given.names, tuple(SUITES)):
        return 2
    order = SuiteOrder(
        names=tuple(given.names),
        cases=given.cases,
        seed=given.seed,
        minutes=given.minutes,
        installed=given.installed,
    )
    return 0 if run_suites(order) else 1


def _hosts(given: argparse.Namespace) -> int:
    from replay.hosts.run import HostOrder, run_hosts, write  # noqa: PLC0415 - as above
    from replay.hosts.tables import tables  # noqa: PLC0415 - as above

    if given.write:
        write()
        return 0
    if _unknown(given.names, tuple(tables())):
        return 2
    return 0 if run_hosts(HostOrder(names=tuple(given.names), fastest=given.fastest, installed=given.installed)) else 1


def _typescript(_given: argparse.Namespace) -> int:
    from replay import typescript  # noqa: PLC0415 - as above

    return typescript.main()


def _release(_given: argparse.Namespace) -> int:
    from replay.releases import release  # noqa: PLC0415 - as above

    return release()


COMMANDS = {
    "bench": _bench,
    "drill": _drill,
    "drills": _drills,
    "mutants": _mutants,
    "retrieval": _retrieval,
    "check": _check,
    "broken": _broken,
    "suites": _suites,
    "hosts": _hosts,
    "typescript": _typescript,
    "release": _release,
}


if __name__ == "__main__":
    sys.exit(main())
