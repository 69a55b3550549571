"""Recording: a fixture from a live space, with the shape of its history and none of its content.

The commands come from `restated_log`. A command that ends in an error where the live space had none, because of what
was left out, is kept with that error and counted. The fixture is then run once and records what it measured: later
versions are checked against that.
"""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.governance.access import Effect
from muniment.governance.limits import Limits
from muniment.governance.views import View
from muniment.kernel.sources import SeededEntropy
from muniment.replay.filling import filled
from muniment.replay.fixture import (
    Command,
    ErrorExpected,
    Expectation,
    Fixture,
    FixtureHeader,
    Seeds,
    fixture_bytes,
    parse_fixture,
)
from muniment.replay.replay_report import RecordingReport
from muniment.replay.restated_log import RestatedLog
from muniment.replay.running import run_fixture
from muniment.replay.synthetic import Synthetic
from muniment.space.options import StoreKind


def record(session: Session, name: str, seed: str) -> tuple[bytes, RecordingReport]:
    """Return a fixture with the shape of the open space, and what became of the restated.

    `name` becomes the id of the fixture, `seed` draws its words. Takes the right to administer and to see every view.
    """
    session.access.require(Effect.ADMIN)
    session.access.require_whole()
    for view in View:
        session.access.require_view(view)
    restated = RestatedLog(session.space, Synthetic(SeededEntropy(seed.encode())))
    commands = list(restated.commands())
    header = FixtureHeader(
        format="muniment.replay/1",
        id=name,
        subject="A history with the shape of a live space.",
        seeds=Seeds(root=seed, signing=seed, entropy=seed, ids=seed),
        limits=Limits(items_max=session.space.limits.items_max),
    )
    parsed = parse_fixture(fixture_bytes(header, commands))
    store = StoreKind.MEMORY
    run = run_fixture(parsed, store)
    codes = {check.line: check.difference or "" for check in run.checks if check.what == "error"}
    commands = [_with_error(command, codes.get(line)) for line, command in enumerate(parsed.commands, start=2)]
    said = Fixture(header=header, commands=commands, digest="")
    counted = Counter(command.expect.error.code for command in commands if command.expect and command.expect.error)
    return filled(said, run, projections=True), RecordingReport(
        commands=len(commands),
        events=restated.events,
        left_out=dict(sorted(restated.left_out.items())),
        errors=dict(sorted(counted.items())),
    )


def _with_error(command: Command, told: str | None) -> Command:
    if told is None:
        return command
    return replace(command, expect=Expectation(error=ErrorExpected(code=told.partition(" ")[0])))
