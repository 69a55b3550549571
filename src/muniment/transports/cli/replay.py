"""`muniment replay`: run histories on throw-away stores, record one from a live space, tell two of them apart.

Nothing that is run touches the store of the door. The exit code is 0 when every expectation held (`run`), or when
nothing differs (`diff`), and 1 otherwise. What nobody expected anything of is told as unchecked.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from muniment.errors import FileUnavailable, InvalidInput, Kind, LimitExceeded
from muniment.events.binding import parse_json
from muniment.kernel.sources import system_sources
from muniment.operations.outfile import OutFile, reading
from muniment.replay.comparing import Difference, first_difference
from muniment.replay.digests import read_digests
from muniment.replay.fixture import FIXTURE_BYTES_MAX, DerivationMode, Fixture, parse_fixture
from muniment.replay.recording import RecordingReport, record
from muniment.replay.replay_report import REPORT_FORMAT, CheckOutcome, FixtureRun, ReplayReport, report_of
from muniment.replay.running import run_fixture
from muniment.runtime.open import StoreKind
from muniment.transports.cli.command import page_on, write_json
from muniment.transports.cli.failure import EXIT_CODES
from muniment.transports.cli.fields import ChoiceParam
from muniment.transports.cli.opening import opened_to_read
from muniment.transports.cli.page import Page, StyledText, TextStyle
from muniment.transports.cli.store_options import StoreOptions, door_options

FAILED = 1
SHOWN_DIGITS = 12
HELP = """Run histories against this version, record one from a live space, compare two.

A history is a fixture: JSON Lines that name every source of chance and say what must hold. `muniment guide replay`
tells more."""


class ComparisonReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What two histories, or two reports, differ in first."""

    same: bool
    difference: Difference | None = None


class RecordedFixture(Struct, frozen=True, kw_only=True):
    """A history that was recorded, and where it is."""

    file: str
    recorded: RecordingReport


def replay_command() -> click.Command:
    """Return the group `replay`."""
    as_json = [option for option in door_options() if option.name == "json"]
    run = click.Command(
        "run",
        callback=_run,
        params=[
            click.Argument(["fixtures"], nargs=-1, required=True, metavar="FIXTURE..."),
            _words("store", "On which kind of store; may be repeated. Default: all that the fixture names.", StoreKind),
            _words("mode", "How what is derived comes about; may be repeated. Default: incremental.", DerivationMode),
            *as_json,
        ],
        help="Run histories on throw-away stores and hold what comes back to what they expect.",
    )
    recorded = click.Command(
        "record",
        callback=_record,
        params=[
            click.Argument(["file"], metavar="FILE"),
            click.Option(["--seed"], metavar="TEXT", help="Draws the synthetic words. Default: by chance."),
            *door_options(),
        ],
        help="Write a history with the shape of a live space and none of its words.\n\n"
        "Lengths, structure, roles and times between events are kept, names become pseudonyms.",
    )
    compared = click.Command(
        "diff",
        callback=_diff,
        params=[click.Argument(["one"], metavar="A"), click.Argument(["other"], metavar="B"), *as_json],
        help="Tell where two histories, or two reports of runs, differ first: line, projection and key.",
    )
    return click.Group(
        "replay",
        commands=[run, recorded, compared],
        help=HELP,
        short_help="Run, record and compare histories on throw-away stores.",
        callback=_alone,
        invoke_without_command=True,
        no_args_is_help=False,
    )


def _words(name: str, told: str, vocabulary: type[StoreKind | DerivationMode]) -> click.Option:
    words = [str(word.value) for word in vocabulary]
    metavar = f"[{'|'.join(words)}]"
    return click.Option([f"--{name}", f"{name}s"], multiple=True, type=ChoiceParam(words), metavar=metavar, help=told)


@click.pass_context
def _alone(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        sys.stderr.write(ctx.get_help() + "\n")
        ctx.exit(EXIT_CODES[Kind.INVALID])


# --- run --------------------------------------------------------------------------------------------------------------


@click.pass_context
def _run(ctx: click.Context, fixtures: Sequence[str], stores: Sequence[str], modes: Sequence[str]) -> int:
    door = ctx.ensure_object(StoreOptions)
    wanted = [StoreKind(word) for word in stores] or list(StoreKind)
    runs: list[FixtureRun] = []
    left: list[str] = []
    for path in map(Path, fixtures):
        fixture = _fixture(path)
        digests = read_digests(path.parent).of(fixture)
        for store in wanted:
            if store not in fixture.header.stores:
                left.append(f"{fixture.header.id} is not for {store}")
                continue
            for mode in [DerivationMode(word) for word in modes] or [DerivationMode.INCREMENTAL]:
                if mode in fixture.header.modes:
                    runs.append(run_fixture(fixture, store, mode, digests))
                else:
                    left.append(f"{fixture.header.id} is not for {mode}")
    report = report_of(runs, [*left, *_unchecked(runs)])
    if door.as_json:
        write_json(report)
    else:
        _tell(report, page_on(sys.stdout))
    return 0 if report.passed else FAILED


def _fixture(path: Path) -> Fixture:
    """Return a fixture; what is wrong with it is told by its file."""
    try:
        return parse_fixture(_bytes_of(path))
    except (InvalidInput, LimitExceeded, FileUnavailable) as refused:
        at = path.name if refused.at in {None, "file"} else f"{path.name}, {refused.at}"
        raise type(refused)(at=at, problem=refused.problem, limit=refused.limit, found=refused.found) from None


def _unchecked(runs: Sequence[FixtureRun]) -> list[str]:
    """Return what was run and not checked, once for each fixture; lines in a row are told together."""
    lines: dict[tuple[str, str], set[int]] = {}
    for run in runs:
        for check in run.checks:
            if check.verdict is CheckOutcome.UNCHECKED:
                lines.setdefault((run.fixture, check.what), set()).add(check.line)
    return [f"{fixture}, {rows}: {what}" for (fixture, what), found in lines.items() for rows in _rows(sorted(found))]


def _rows(lines: Sequence[int]) -> Iterator[str]:
    """Yield numbers of lines, those in a row as one range."""
    for _, group in itertools.groupby(enumerate(lines), lambda pair: pair[1] - pair[0]):
        row = [line for _, line in group]
        yield f"line {row[0]}" if len(row) == 1 else f"lines {row[0]} to {row[-1]}"


def _tell(report: ReplayReport, page: Page) -> None:
    columns = ("fixture", "sha-256", "store", "mode", "held", "failed", "unchecked", "")
    rows = [
        [
            *map(StyledText, (run.fixture, run.fixture_digest[:SHOWN_DIGITS], run.store, run.mode)),
            *(StyledText(str(count)) for count in (run.held, run.failed, run.unchecked)),
            StyledText("passed", TextStyle.GOOD) if run.passed else StyledText("FAILED", TextStyle.BAD),
        ]
        for run in report.runs
    ]
    page.table(columns, rows)
    for run in report.runs:
        if not run.passed and not run.failed:
            where = f"{run.fixture} on {run.store}, {run.mode}"
            page.line(
                StyledText("FAILED", TextStyle.BAD), StyledText(f"{where}: nothing is expected of it that could hold")
            )
        for check in run.checks:
            if check.verdict is CheckOutcome.FAILED:
                where = f"{run.fixture} on {run.store}, {run.mode}, line {check.line}, {check.command}"
                page.line(StyledText("FAILED", TextStyle.BAD), StyledText(f"{where}: {check.what}: {check.difference}"))
    if report.not_verified:
        page.line()
        page.line(StyledText(f"Not verified: {len(report.not_verified)}", TextStyle.STRONG))
        for each in report.not_verified:
            page.line(StyledText(each), indent=2)
    page.line()
    passed = sum(run.passed for run in report.runs)
    mood = TextStyle.GOOD if report.passed else TextStyle.BAD
    page.line(StyledText(f"{passed} of {len(report.runs)} runs passed, by muniment {report.version}.", mood))


# --- record and diff --------------------------------------------------------------------------------------------------


@click.pass_context
def _record(ctx: click.Context, file: str, seed: str | None) -> None:
    door = ctx.ensure_object(StoreOptions)
    out = OutFile(Path(file), at="file")
    with opened_to_read(door) as runtime:
        drawn = seed or (door.sources or system_sources()).ids.new_id()
        session = runtime._session  # noqa: SLF001 - recording reads the log itself, as no operation does
        fixture, told = record(session, Path(file).stem, drawn)
    with out.writing() as writing:
        writing.write(fixture)
    out.keep()
    if door.as_json:
        write_json(RecordedFixture(file=file, recorded=told))
        return
    page = page_on(sys.stdout)
    page.facts(
        [
            ("file", StyledText(file)),
            ("commands", StyledText(str(told.commands))),
            ("events read", StyledText(str(told.events))),
        ]
    )
    for title, counted in (("events left out", told.left_out), ("commands that end in an error", told.errors)):
        if counted:
            page.facts([(title, StyledText(", ".join(f"{count} {name}" for name, count in counted.items())))])


@click.pass_context
def _diff(ctx: click.Context, one: str, other: str) -> int:
    door = ctx.ensure_object(StoreOptions)
    mine, theirs = _runs_of(Path(one)), _runs_of(Path(other))
    pairs = zip(mine, theirs, strict=False)
    found = next((each for pair in pairs if (each := first_difference(*pair)) is not None), None)
    compared = ComparisonReport(same=found is None and len(mine) == len(theirs), difference=found)
    if door.as_json:
        write_json(compared)
    elif compared.same:
        page_on(sys.stdout).line(StyledText("Nothing differs.", TextStyle.GOOD))
    else:
        told = "one has more runs than the other" if found is None else found.told()
        page_on(sys.stdout).line(StyledText("They differ", TextStyle.BAD), StyledText(told))
    return 0 if compared.same else FAILED


def _runs_of(path: Path) -> list[FixtureRun]:
    """Return the runs of a report, or run a fixture in memory."""
    data = _bytes_of(path)
    if _is_report(data):
        return parse_json(data, ReplayReport, limit=FIXTURE_BYTES_MAX).runs
    fixture = _fixture(path)
    return [run_fixture(fixture, fixture.header.stores[0])]


def _is_report(data: bytes) -> bool:
    try:
        first = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return False
    return isinstance(first, dict) and first.get("format") == REPORT_FORMAT


def _bytes_of(path: Path) -> bytes:
    with reading(path, "file") as file:
        data = file.read(FIXTURE_BYTES_MAX + 1)
    if len(data) > FIXTURE_BYTES_MAX:
        raise LimitExceeded(at="file", problem="request_too_large", limit=FIXTURE_BYTES_MAX)
    return data
