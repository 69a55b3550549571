"""Running a fixture: each command through the public interface of a store, checked against what is expected.

1. The sources switch to the stream of the command, its references are resolved, its request is bound.
2. Its report, or its error, is compared with the expectation. An unexpected error fails.
3. Where something is to be measured, it is measured in the mode of the run and compared with the expectation.
4. What has no expectation is reported as unchecked.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from muniment.declaration.operation import bound, perform
from muniment.errors import InvalidInput, MunimentError
from muniment.events.identity import SpaceName
from muniment.replay.comparing import derived_difference
from muniment.replay.fixture import (
    Command,
    CrashPoint,
    DerivationMode,
    ErrorExpected,
    Expectation,
    Fixture,
    HarnessCommand,
)
from muniment.replay.measuring import PROJECTIONS, derived, forget, measure
from muniment.replay.replay_report import CheckOutcome, FixtureRun, Measured, ReplayCheck
from muniment.replay.store_under_test import StoreUnderTest
from muniment.replay.values import FILE, difference, resolved, told
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from muniment.space.options import StoreKind

NOTHING = Expectation()
EMPTY = "the expectation is empty"
Digests = Mapping[str, Mapping[str, str]]  # line -> projection -> digest
Reach = Callable[[Runtime], Runtime]  # how the runtime is reached that performs a command


def run_fixture(
    fixture: Fixture,
    store: StoreKind,
    mode: DerivationMode = DerivationMode.INCREMENTAL,
    digests: Digests | None = None,
    scratch: Path | None = None,
    reach: Reach | None = None,
) -> FixtureRun:
    """Run a fixture in a directory of its own, which is gone afterwards.

    `digests` says what the projections are at its lines, where the fixture itself does not. `scratch` is where the
    directory is made; without it, where temporary files are. `reach` puts something between the commands and the store,
    such as a server.
    """
    with tempfile.TemporaryDirectory(prefix="muniment-replay-", dir=scratch, ignore_cleanup_errors=True) as directory:
        stage = StoreUnderTest(Path(directory), fixture.header, store)
        running = FixtureRunning(stage, mode, digests or {}, reach)
        try:
            lines = enumerate(fixture.commands, start=2) if running.begin() else ()
            for line, command in lines:
                running.step(line, command)
        finally:
            running.end()
    verdicts = [check.verdict for check in running.checks]
    return FixtureRun(
        fixture=fixture.header.id,
        fixture_digest=fixture.digest,
        store=store,
        mode=mode,
        passed=CheckOutcome.HELD in verdicts and not any(check.fails for check in running.checks),
        held=verdicts.count(CheckOutcome.HELD),
        failed=verdicts.count(CheckOutcome.FAILED),
        unchecked=verdicts.count(CheckOutcome.UNCHECKED),
        checks=running.checks,
        measured=running.measured,
    )


class FixtureRunning:
    """One run in progress."""

    def __init__(self, stage: StoreUnderTest, mode: DerivationMode, digests: Digests, reach: Reach | None) -> None:
        self.checks: list[ReplayCheck] = []
        self.measured: list[Measured] = []
        self._stage = stage
        self._mode = mode
        self._digests = digests
        self._reach = reach
        self._kept: dict[str, Any] = {}
        self._operations = {operation.path: operation for operation in catalogue()}

    def begin(self) -> bool:
        """Make the store and the space of the fixture; return whether there is one.

        They are created before the first command, so that creating them draws the same in every run.
        """
        self._stage.label = "1"
        return self._done("open", self._stage.session)

    def step(self, line: int, command: Command) -> None:
        """Perform a command and check what is expected of it."""
        expect = command.expect or NOTHING
        if command.at_ms is not None:
            self._stage.chance.set(command.at_ms)
        report, error = self._outcome(line, command)
        self._stage.chance.tick()
        if command.kept_as is not None:
            self._kept[command.kept_as] = report
        for what, verdict, told_difference in self._judged(command, expect, report, error):
            self._check(line, command, what, verdict, told_difference)
        if expect.measures or command.do == HarnessCommand.EXPECT:
            found = self._measure(line, command.space)
            self.measured.append(found)
            for what, wanted, had in _pairs(expect, found, self._digests.get(str(line), {})):
                self._compare(line, command, what, wanted, had)
        elif self._mode is DerivationMode.INCREMENTAL and error is None:
            self._grow(command.space)

    def end(self) -> None:
        """Close the store, whatever state it is in."""
        self._done("close", self._stage.leave)

    def _done(self, what: str, work: Callable[[], object]) -> bool:
        """Do what no line asks for; an error of it is a check that failed."""
        try:
            work()
        except MunimentError as fault:
            failed = ReplayCheck(line=1, command=what, what="error", verdict=CheckOutcome.FAILED, difference=fault.code)
            self.checks.append(failed)
            return False
        return True

    # --- performing ---------------------------------------------------------------------------------------------------

    def _outcome(self, line: int, command: Command) -> tuple[Any, MunimentError | None]:
        self._stage.label = f"{line}"
        try:
            return self._performed(line, command), None
        except MunimentError as error:
            return None, error

    def _performed(self, line: int, command: Command) -> Any:
        stage = self._stage
        match command.do:
            case HarnessCommand.EXPECT:
                return None
            case HarnessCommand.REBUILD:
                return self._rebuilt(command.space)
            case HarnessCommand.REOPEN:
                stage.leave()
                stage.session(command.space)
                return None
            case HarnessCommand.CRASH:
                return self._crashed(line, command)
            case HarnessCommand.FILE:
                stage.file(command.given["name"]).write_text(command.given["text"], encoding="utf-8")
                return None
            case _:
                return self._operated(line, command)

    def _operated(self, line: int, command: Command) -> Any:
        operation = self._operations.get(command.do)
        if operation is None:
            raise InvalidInput(at=f"line {line}, do", problem="unknown_word")
        access = None if command.access is None else command.access.access()
        runtime = self._stage.runtime(command.space, access)
        if self._reach is not None:
            runtime = self._reach(runtime)
        given = resolved(command.given, self._kept, self._stage.file)
        self._stage.chance.command(f"{line}")
        upload: Path | bytes | None = None
        if operation.upload is not None and operation.upload in given:
            content = given.pop(operation.upload)
            upload = Path(content) if FILE in command.given[operation.upload] else content.encode()
        request = bound(operation, msgspec.json.encode(given))
        return plain(perform(getattr(runtime, operation.group), operation, request, upload))

    def _rebuilt(self, name: SpaceName | None) -> Any:
        space = self._stage.session(name).space
        grown = derived(space)
        forget(space)
        return {"difference": derived_difference(grown, derived(space))}

    def _crashed(self, line: int, command: Command) -> Any:
        """Crash in the middle of a command, or between two; open the store again."""
        stage = self._stage
        burnt = command.during is None
        if command.during is not None:
            stage.runtime(command.during.space, None)
            fuse = stage.fuse(command.point or CrashPoint.BEFORE, command.nth)
            try:
                self._operated(line, command.during)
            except MunimentError:
                burnt = fuse.burnt
                if not burnt:
                    fuse.clear()
                    raise
        stage.crash()
        stage.label = f"{line} again"
        stage.session(command.space)
        return {"crashed": burnt}

    # --- measuring ----------------------------------------------------------------------------------------------------

    def _measure(self, line: int, name: SpaceName | None) -> Measured:
        try:
            if self._mode is DerivationMode.REOPENED:
                self._stage.leave()
                self._stage.label = f"{line} reopened"
            session = self._stage.session(name)
            if self._mode is DerivationMode.REBUILT:
                forget(session.space)
            return measure(session, line)
        except MunimentError as fault:
            return Measured(line=line, space=name or "", fault=fault.code)

    def _grow(self, name: SpaceName | None) -> None:
        """Catch up derived data, so that it grows incrementally."""
        try:
            session = self._stage.session(name)
            if session.inspected.fault is None:
                with session.space.catalogue.caught_up():
                    pass
        except MunimentError:  # a space that has ended; what asks of it next is told
            return

    # --- judging ------------------------------------------------------------------------------------------------------

    def _judged(
        self, command: Command, expect: Expectation, report: Any, error: MunimentError | None
    ) -> Iterator[tuple[str, CheckOutcome, str | None]]:
        if error is not None or expect.error is not None:
            differs = error_difference(expect.error, error)
            yield "error", CheckOutcome.FAILED if differs else CheckOutcome.HELD, differs
            return
        if command.do == HarnessCommand.REBUILD:
            yield "rebuilt", CheckOutcome.FAILED if report["difference"] else CheckOutcome.HELD, report["difference"]
        elif command.do == HarnessCommand.CRASH:
            met = report["crashed"]
            yield "crashed", CheckOutcome.HELD if met else CheckOutcome.FAILED, None if met else "the point was not met"
        elif expect.report not in (None, {}):
            try:
                differs = difference(resolved(expect.report, self._kept, self._stage.file), report, "report")
            except InvalidInput as unknown:
                differs = f"report: {unknown.code} at {unknown.at}"
            yield "report", CheckOutcome.FAILED if differs else CheckOutcome.HELD, differs
        elif command.do not in set(HarnessCommand):
            yield "report", CheckOutcome.UNCHECKED, None

    def _compare(self, line: int, command: Command, what: str, wanted: object, had: object) -> None:
        if wanted is None:
            self._check(line, command, what, CheckOutcome.UNCHECKED, None)
        elif wanted == "":
            self._check(line, command, what, CheckOutcome.UNCHECKED, f"{EMPTY}; found {told(had)}")
        elif wanted == had:
            self._check(line, command, what, CheckOutcome.HELD, None)
        else:
            plainly = what == "fault"  # a code of ours, or none
            differs = f"{had}, not {wanted}" if plainly else f"{told(had)}, not {told(wanted)}"
            self._check(line, command, what, CheckOutcome.FAILED, differs)

    def _check(self, line: int, command: Command, what: str, verdict: CheckOutcome, differs: str | None) -> None:
        self.checks.append(ReplayCheck(line=line, command=command.do, what=what, verdict=verdict, difference=differs))


def plain(report: Any) -> Any:
    """Return a report as plain data: what a transport would write."""
    return msgspec.json.decode(msgspec.json.encode(report))


def error_difference(wanted: ErrorExpected | None, error: MunimentError | None) -> str | None:
    """Return how an outcome differs from the error that is expected, or from none at all; None when it does not."""
    if error is None or wanted is None:
        return "no error" if error is None else f"{error.code} (at {error.at}, problem {error.problem})"
    for name in ("code", "at", "problem"):
        expected, had = getattr(wanted, name), getattr(error, name)
        if expected is not None and expected != had:
            return f"{name}: {had}, not {expected}"
    return None


def _pairs(expect: Expectation, found: Measured, digests: Mapping[str, str]) -> Iterator[tuple[str, object, object]]:
    """Yield everything that is measured: what it is, what is wanted (None: anything), what was found."""
    log, keys, views = expect.log, expect.keys, expect.views or {}
    if expect.fault is not None or found.fault is not None:
        yield "fault", expect.fault or "none", found.fault or "none"
        return
    yield "sound", expect.sound, found.sound
    yield "log.size", log and log.size, found.size
    yield "log.root", log and log.root, found.root
    yield "checkpoint", expect.checkpoint, found.checkpoint
    for name in ("bundles", "contents", "versions"):
        yield f"keys.{name}", keys and getattr(keys, name), found.keys and getattr(found.keys, name)
    for view in sorted(found.views.keys() | {str(view) for view in views}):
        had = found.views.get(view)
        yield f"view {view}", next((each for name, each in views.items() if name == view), None), had and had.digest
    wanted = {**digests, **(expect.projections or {})}
    for name in sorted({*PROJECTIONS, *wanted}):
        projected = found.projections.get(name)
        yield f"projection {name}", wanted.get(name), projected and projected.digest
