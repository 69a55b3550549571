"""`muniment demo`: run the steps, show each one when it is done; exit with 0 only when every expectation held."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import click
from msgspec import Struct

from muniment.kernel.sources import system_sources
from muniment.transports.cli.demo.finding import search, search_again
from muniment.transports.cli.demo.governing import explain, hold, look_back, redact, trace
from muniment.transports.cli.demo.moving import back_up, move, restore
from muniment.transports.cli.demo.remembering import forget, recall, remember
from muniment.transports.cli.demo.stage import DemoStage, DemoStep
from muniment.transports.cli.demo.steps import commit, erase, export, forge, mask, replay, roll_back, tamper, verify
from muniment.transports.cli.output import page_on, write_json
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle
from muniment.transports.cli.store_options import StoreOptions, door_options

ACTS: list[Callable[[DemoStage], DemoStep]] = [
    commit, replay, search, remember, back_up, redact, mask, hold, erase, search_again, recall, forget, trace, export,
    verify, forge, look_back, explain, tamper, roll_back, move, restore,
]  # fmt: skip
FAILED = 1
INTRODUCTION = (
    "muniment stores agent conversations as evidence. This demo runs on a throw-away store: each step runs real "
    "operations and checks the result. A failed check is marked, and the demo then ends with an error."
)


class DemoReport(Struct, frozen=True, kw_only=True):
    """The whole demo: its steps, and whether every expectation held."""

    held: bool
    acts: list[DemoStep]


def demo_command() -> click.Command:
    """Return the command `demo`."""
    return click.Command(
        "demo",
        callback=_run,
        params=[option for option in door_options() if option.name == "json"],
        help="Show what muniment does with a small conversation: store, hide, erase, export and prove it.",
        short_help="Show what muniment does, in a throw-away store.",
    )


@click.pass_context
def _run(ctx: click.Context) -> int:
    door = ctx.ensure_object(StoreOptions)
    page = None if door.as_json else page_on(sys.stdout)
    if page is not None:
        page.prose(INTRODUCTION)
    acts = []
    with tempfile.TemporaryDirectory(prefix="muniment-demo-") as directory:
        stage = DemoStage(Path(directory), door.sources or system_sources())
        for number, play in enumerate(ACTS, start=1):
            act = play(stage)
            acts.append(act)
            if page is not None:
                _tell(number, act, page)
    held = all(act.held for act in acts)
    if page is None:
        write_json(DemoReport(held=held, acts=acts))
    else:
        checks = [check for act in acts for check in act.checks]
        page.heading("Result")
        count = sum(check.held for check in checks)
        page.line(StyledText(f"{count} of {len(checks)} expectations held.", TextStyle.GOOD if held else TextStyle.BAD))
    return 0 if held else FAILED


def _tell(number: int, act: DemoStep, page: OutputPage) -> None:
    page.heading(f"{number}. {act.title}")
    page.prose(act.story)
    for exhibit in act.exhibits:
        page.line()
        rows = [[StyledText(cell, _mood(cell)) for cell in row] for row in exhibit.rows]
        page.table(exhibit.columns, rows, exhibit.title)
    page.line()
    for check in act.checks:
        verdict = StyledText("ok", TextStyle.GOOD) if check.held else StyledText("FAILED", TextStyle.BAD)
        page.line(verdict, StyledText(check.expected))


def _mood(cell: str) -> TextStyle:
    """Return the style of a cell: faint where it marks withheld content."""
    return TextStyle.FAINT if cell.startswith("[") and " withheld: " in cell and "\n" not in cell else TextStyle.PLAIN
