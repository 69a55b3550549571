"""`muniment replay`: run histories on throw-away stores, record one from a live space, compare two.

No run touches the store that `--store` names. The exit code is 0 when every expectation was met (`run`) or nothing
differs (`diff`), and 1 otherwise. What has no expectation is reported as unchecked.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from muniment.errors import Kind
from muniment.kernel.sources import system_sources
from muniment.operations.outfile import OutFile
from muniment.replay.campaign import compare_files, run_files
from muniment.replay.fixture import DerivationMode
from muniment.replay.recording import record
from muniment.space.options import StoreKind
from muniment.transports.cli.command_group import CommandGroup
from muniment.transports.cli.failure import EXIT_CODES, VERDICT
from muniment.transports.cli.fields import ChoiceParam
from muniment.transports.cli.opening import opened_to_read
from muniment.transports.cli.output import page_on, require_writable, write_json, write_private
from muniment.transports.cli.replay_junit import junit_of
from muniment.transports.cli.replay_page import RecordedFixture, tell_comparison, tell_recording, tell_runs
from muniment.transports.cli.store_options import StoreOptions, door_options

HELP = """Run histories against this version, record one from a live space, compare two.

A history is a fixture: JSON Lines that name every seed and the expected results. `muniment guide replay` has the
details."""


def replay_command() -> click.Command:
    """Return the group `replay`."""
    as_json = [option for option in door_options() if option.name == "json"]
    run = click.Command(
        "run",
        callback=_run,
        params=[
            click.Argument(["fixtures"], nargs=-1, required=True, metavar="FIXTURE..."),
            click.Option(["--junit"], metavar="FILE", help="Also write the results as JUnit XML, for a CI system."),
            _choice("store", "Kind of store; may be repeated. Default: all that the fixture names.", StoreKind),
            _choice("mode", "How projections are built; may be repeated. Default: incremental.", DerivationMode),
            *as_json,
        ],
        help="Run histories on throw-away stores and compare the results with what they expect.\n\n"
        "A folder stands for all `.jsonl` files in it and beneath it. A file that cannot be run is reported, and the "
        "others are run all the same.",
    )
    recorded = click.Command(
        "record",
        callback=_record,
        params=[
            click.Argument(["file"], metavar="FILE"),
            click.Option(["--seed"], metavar="TEXT", help="Seed of the synthetic text. Default: random."),
            *door_options(),
        ],
        help="Write a history with the shape of a live space and none of its content.\n\n"
        "Lengths, structure, roles and times between events are kept, names become pseudonyms.",
    )
    compared = click.Command(
        "diff",
        callback=_diff,
        params=[click.Argument(["one"], metavar="A"), click.Argument(["other"], metavar="B"), *as_json],
        help="Show the first difference between two histories or two reports of runs: line, projection and key.",
    )
    return CommandGroup(
        "replay",
        commands=[run, recorded, compared],
        help=HELP,
        short_help="Run, record and compare histories on throw-away stores.",
        callback=_alone,
        invoke_without_command=True,
        no_args_is_help=False,
    )


def _choice(name: str, summary: str, vocabulary: type[StoreKind | DerivationMode]) -> click.Option:
    words = [str(word.value) for word in vocabulary]
    declared, choices = [f"--{name}", f"{name}s"], ChoiceParam(words)
    return click.Option(declared, multiple=True, type=choices, metavar=f"[{'|'.join(words)}]", help=summary)


@click.pass_context
def _alone(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        sys.stderr.write(ctx.get_help() + "\n")
        ctx.exit(EXIT_CODES[Kind.INVALID])


@click.pass_context
def _run(
    ctx: click.Context, fixtures: Sequence[str], junit: str | None, stores: Sequence[str], modes: Sequence[str]
) -> int:
    kinds = [StoreKind(word) for word in stores] or list(StoreKind)
    ways = [DerivationMode(word) for word in modes] or [DerivationMode.INCREMENTAL]
    if junit is not None:
        require_writable(Path(junit))
    report = run_files([Path(fixture) for fixture in fixtures], kinds, ways)
    if junit is not None:
        write_private(Path(junit), junit_of(report))
    if ctx.ensure_object(StoreOptions).as_json:
        write_json(report)
    else:
        tell_runs(report, page_on(sys.stdout))
    return 0 if report.passed else VERDICT


@click.pass_context
def _record(ctx: click.Context, file: str, seed: str | None) -> None:
    door = ctx.ensure_object(StoreOptions)
    out = OutFile(Path(file), at="file")
    with opened_to_read(door) as runtime:
        drawn = seed or (door.sources or system_sources()).ids.new_id()
        session = runtime._session  # noqa: SLF001 - recording reads the log itself, as no operation does
        fixture, report = record(session, Path(file).stem, drawn)
    with out.writing() as writing:
        writing.write(fixture)
    out.keep()
    if door.as_json:
        write_json(RecordedFixture(file=file, recorded=report))
    else:
        tell_recording(file, report, page_on(sys.stdout))


@click.pass_context
def _diff(ctx: click.Context, one: str, other: str) -> int:
    report = compare_files(Path(one), Path(other))
    if ctx.ensure_object(StoreOptions).as_json:
        write_json(report)
    else:
        tell_comparison(report, page_on(sys.stdout))
    return 0 if report.same else VERDICT
