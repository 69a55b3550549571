"""Filling in the open expectations of a fixture from a run, for its author to review.

Only what is left out or empty is filled in; the run is checked against what the author wrote. Digests of projections
change with the version of a projection and not with the fixture, so they can be kept beside it.
"""

from __future__ import annotations

from msgspec.structs import replace

from muniment.governance.views import View
from muniment.replay.fixture import Command, Expectation, Fixture, KeysExpected, LogExpected, fixture_bytes
from muniment.replay.replay_report import FixtureRun, Measured


def filled(fixture: Fixture, run: FixtureRun, *, projections: bool) -> bytes:
    """Return the bytes of a fixture whose open expectations say what a run measured."""
    measured = {one.line: one for one in run.measured}
    commands = [
        _filled(command, measured[line], projections=projections) if line in measured else command
        for line, command in enumerate(fixture.commands, start=2)
    ]
    return fixture_bytes(fixture.header, commands)


def _filled(command: Command, found: Measured, *, projections: bool) -> Command:
    expect = command.expect or Expectation()
    if found.fault is not None:
        return replace(command, expect=replace(expect, fault=expect.fault or found.fault))
    log, keys = expect.log or LogExpected(), expect.keys or KeysExpected()
    assert found.keys is not None, "what has no fault has keys"
    views, wanted = expect.views or {}, expect.projections or {}
    return replace(
        command,
        expect=replace(
            expect,
            sound=found.sound if expect.sound is None else expect.sound,
            log=LogExpected(size=found.size if log.size is None else log.size, root=log.root or found.root),
            checkpoint=expect.checkpoint or found.checkpoint,
            keys=KeysExpected(
                bundles=found.keys.bundles if keys.bundles is None else keys.bundles,
                contents=found.keys.contents if keys.contents is None else keys.contents,
                versions=found.keys.versions if keys.versions is None else keys.versions,
            ),
            views={View(view): views.get(View(view)) or one.digest for view, one in found.views.items()},
            projections={name: wanted.get(name) or one.digest for name, one in found.projections.items()}
            if projections
            else expect.projections,
        ),
    )
