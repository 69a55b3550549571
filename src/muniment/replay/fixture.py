"""The format of fixtures: JSON Lines, a header first, then one command a line.

The header names every seed, so that the bytes of a log follow from the fixture alone. A command is an
operation of the catalogue (`{"do": "transcripts.commit", "with": {...}}`, bound by the request of that operation) or
a command of the harness (`HarnessCommand`). What a command reports may be kept under a name (`as`) and referred
to later: `{"$from": "page.next_cursor"}` is a value out of it, `{"$file": "archive"}` a path in the directory of the
run.

What is expected is part of the command. An expectation that is left out is reported as unchecked, never as held; with a
digest that is there and empty, the run does not pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.binding import parse_json
from muniment.events.identity import DEFAULT_SPACE, SpaceName
from muniment.governance.access import Access, Effect
from muniment.governance.detection import DetectedType
from muniment.governance.limits import Limits
from muniment.governance.policy import Policy
from muniment.governance.profiles import Profile
from muniment.governance.views import View
from muniment.space.options import StoreKind

LINES_MAX = 100_000
FIXTURE_BYTES_MAX = 64 * 2**20


class HarnessCommand(StrEnum):
    """What the harness does itself: commands that are no operation."""

    EXPECT = "expect"  # measure, and compare with the expectation
    REBUILD = "rebuild"  # rebuild all projections and compare them with what they were
    REOPEN = "reopen"  # close the store and open it again
    CRASH = "crash"  # end at a point of the command in `during`, as a killed process does, and open again
    FILE = "file"  # write a text to a file of the run


class CrashPoint(StrEnum):
    """Where in a transaction a process may be killed."""

    BEFORE = "before"  # nothing is written
    PLANNED = "planned"  # everything is written, nothing committed
    COMMITTED = "committed"  # committed, but not acknowledged
    SCRUBBED = "scrubbed"  # the write-ahead log was emptied behind an erasure or a rotation


class DerivationMode(StrEnum):
    """How projections are built before they are measured; the answers must be the same."""

    INCREMENTAL = "incremental"  # caught up after every command
    REBUILT = "rebuilt"  # rebuilt from the log before every measurement
    REOPENED = "reopened"  # the store is closed and opened before every measurement


class Seeds(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seeds, as text: of the root key, of the keys made at opening, of what commands draw, and of the ids."""

    root: str = "root"
    signing: str = "signing"
    entropy: str = "entropy"
    ids: str = "ids"


class Timing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The clock: it does not move during a command and moves on after it (UTC milliseconds)."""

    start_ms: int = 1_700_000_000_000
    step_ms: int = 1000


class DetectionSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What to detect: by view, before a commit, and known names."""

    views: dict[View, list[DetectedType]] = {}
    before_commit: list[DetectedType] = []
    names: list[str] = []


class FixtureHeader(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The first line. `subject` says what the fixture is about, `breaks` what kind of mistake makes it fail."""

    format: Literal["muniment.replay/1"]  # of this file
    id: str
    subject: str
    breaks: str = ""
    seeds: Seeds = Seeds()
    clock: Timing = Timing()
    space: SpaceName = DEFAULT_SPACE
    stores: tuple[StoreKind, ...] = tuple(StoreKind)
    modes: tuple[DerivationMode, ...] = tuple(DerivationMode)
    profile: Profile | None = None
    policies: list[Policy] = []
    limits: Limits = Limits()
    detect: DetectionSettings = DetectionSettings()


class Rights(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The rights of a command; what is left out is not restricted."""

    effects: list[Effect] | None = None
    views: list[View] | None = None
    subject: str | None = None

    def access(self) -> Access:
        """Return the rights as an access."""
        whole = Access()
        return Access(
            effects=whole.effects if self.effects is None else frozenset(self.effects),
            views=whole.views if self.views is None else frozenset(self.views),
            subject=self.subject,
        )


class ErrorExpected(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An error by its code, and by what else is given."""

    code: str
    at: str | None = None
    problem: str | None = None


class LogExpected(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How many events the log has and the root over them."""

    size: int | None = None
    root: str | None = None


class KeysExpected(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How many events have keys, how many have their words, and how many versions of the space key there are."""

    bundles: int | None = None
    contents: int | None = None
    versions: int | None = None


class Expectation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What must hold after a command.

    `report` is compared with the report of the command: objects by the members that are given, lists item by item,
    anything else whole. `error` is the error that the command must end with. The others are measured: `checkpoint` is
    the SHA-256 of the signed note, `views` that of all slices of a view, `projections` the digests of derived data,
    `fault` the code of what keeps the space from being read. A digest that is empty has yet to be filled in: it is not
    checked, and the run does not pass.
    """

    report: Any = None
    error: ErrorExpected | None = None
    fault: str | None = None
    sound: bool | None = None
    log: LogExpected | None = None
    checkpoint: str | None = None
    keys: KeysExpected | None = None
    views: dict[View, str] | None = None
    projections: dict[str, str] | None = None

    @property
    def measures(self) -> bool:
        """Whether something must be measured for it."""
        wanted = (self.fault, self.sound, self.log, self.checkpoint, self.keys, self.views, self.projections)
        return any(one is not None for one in wanted)


class Command(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    rename={"given": "with", "kept_as": "as"},
):
    """One line after the header. `space` is another space of the same store; `at_ms` moves the clock."""

    do: str
    given: dict[str, Any] = {}
    kept_as: str | None = None
    space: SpaceName | None = None
    access: Rights | None = None
    at_ms: int | None = None
    note: str | None = None
    point: CrashPoint | None = None
    nth: int = 1
    during: Command | None = None
    expect: Expectation | None = None


class Fixture(Struct, frozen=True, kw_only=True):
    """A header, its commands, and the SHA-256 of the bytes that they were read from."""

    header: FixtureHeader
    commands: list[Command]
    digest: str


def parse_fixture(data: bytes) -> Fixture:
    """Return the fixture that bytes hold, or raise `request.invalid` with the line that is not understood."""
    lines = [line for line in data.splitlines() if line.strip()]
    if not lines:
        raise InvalidInput(at="line 1", problem="missing_field")
    if len(lines) > LINES_MAX:
        raise LimitExceeded(at="lines", problem="too_many", limit=LINES_MAX, found=len(lines))
    header = _line(lines[0], FixtureHeader, 1)
    commands = [_line(line, Command, number) for number, line in enumerate(lines[1:], start=2)]
    for number, command in enumerate(commands, start=2):
        _check(command, f"line {number}")
    return Fixture(header=header, commands=commands, digest=hashlib.sha256(data).hexdigest())


def fixture_bytes(header: FixtureHeader, commands: Iterable[Command]) -> bytes:
    """Return a fixture as it is written."""
    return b"".join(msgspec.json.encode(each) + b"\n" for each in (header, *commands))


def _line(line: bytes, into: type[Any], number: int) -> Any:
    try:
        return parse_json(line, into)
    except InvalidInput as refused:
        at = f"line {number}" + (f", {refused.at}" if refused.at else "")
        raise InvalidInput(at=at, problem=refused.problem) from None


def _check(command: Command, at: str) -> None:
    """Refuse a command with too few or too many fields for what it does."""
    crashes = command.do == HarnessCommand.CRASH
    if crashes and (command.point is None) is not (command.during is None):
        raise InvalidInput(at=f"{at}, during" if command.during is None else f"{at}, point", problem="missing_field")
    if not crashes and (command.point is not None or command.during is not None):
        raise InvalidInput(at=f"{at}, point", problem="not_taken")
    if command.during is not None and (command.during.expect is not None or command.during.do in set(HarnessCommand)):
        raise InvalidInput(at=f"{at}, during", problem="not_taken")
    if command.expect is not None:
        _check_expected(command.do, command.expect, f"{at}, expect")
    if command.do == HarnessCommand.FILE and sorted(map(type, command.given.values()), key=str) != [str, str]:
        raise InvalidInput(at=f"{at}, with", problem="wrong_type")
    if command.do == HarnessCommand.FILE and command.given.keys() != {"name", "text"}:
        raise InvalidInput(at=f"{at}, with", problem="missing_field")
    if command.nth < 1:
        raise InvalidInput(at=f"{at}, nth", problem="not_positive", found=command.nth)


def _check_expected(do: str, expect: Expectation, at: str) -> None:
    """Refuse what cannot be checked: a report where there is none, measurements of what cannot be read."""
    if expect.report not in (None, {}) and (do in set(HarnessCommand) or expect.error is not None):
        raise InvalidInput(at=f"{at}.report", problem="not_taken")
    if expect.fault is not None and replace(expect, report=None, error=None, fault=None).measures:
        raise InvalidInput(at=f"{at}.fault", problem="not_taken")
