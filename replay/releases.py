"""Stores that releases wrote: committed once, never regenerated, opened and audited by every later version.

    fixtures/stores/<version>/store/        the store, as that release left it
    fixtures/stores/<version>/root.key      its root key, which is public here
    fixtures/stores/<version>/expected.json what it held then

A store is copied before it is touched. It must open, account for itself, show in every view what it showed, and take a
turn. `python -m replay release` writes the store of the present version, unless there is one.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from muniment.crypto.root import LocalRoot
from muniment.declaration.operation import bound, perform
from muniment.declaration.session import Session
from muniment.errors import MunimentError
from muniment.events.identity import ConversationId, ConversationKey, SpaceName, SubjectId, TurnId
from muniment.events.message import Message, Role
from muniment.events.turn import Turn
from muniment.evidence.pin import FilePin
from muniment.kernel.sources import seeded_sources
from muniment.log.reserve import NAME as RESERVE
from muniment.operations.attachments import AttachmentPlace
from muniment.operations.lifecycle.scope import Scope
from muniment.replay.fixture import Command, parse_fixture
from muniment.replay.measuring import measure
from muniment.replay.replay_report import Measured
from muniment.replay.running import plain
from muniment.runtime.catalogue import catalogue
from muniment.runtime.open import maker_of, session_at
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options, StoreKind
from muniment.version import __version__

RELEASES = Path(__file__).resolve().parents[1] / "fixtures" / "stores"
STORE, KEY, EXPECTED, PINS = "store", "root.key", "expected.json", "pins"
SPACE = SpaceName("default")


class Expected(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a released store held: its log, its living keys, and what its views showed."""

    version: str
    size: int
    root: str
    bundles: int
    contents: int
    turns: int
    views: dict[str, str]


def complaints_about(releases: Path) -> Iterator[str]:
    """Yield what is wrong with the stores of all releases."""
    stores = sorted(path for path in releases.glob("*") if path.is_dir())
    if not stores:
        yield "no released store is there"
    for release in stores:
        try:
            yield from (f"store of {release.name}: {each}" for each in _complaints(release))
        except MunimentError as fault:
            yield f"store of {release.name}: {fault}"


def _complaints(release: Path) -> Iterator[str]:
    wanted = msgspec.json.decode((release / EXPECTED).read_bytes(), type=Expected)
    with tempfile.TemporaryDirectory(prefix="muniment-release-") as directory:
        copy = Path(directory) / release.name
        shutil.copytree(release, copy)
        for path in copy.rglob("*"):  # a checkout does not keep them private
            path.chmod(0o700 if path.is_dir() else 0o600)
        with _opened(copy) as (session, runtime):
            found = expected_of(session, runtime)
            if replace(found, version=wanted.version) != wanted:
                names = [name for name in Expected.__struct_fields__ if getattr(found, name) != getattr(wanted, name)]
                yield f"holds something else: {', '.join(name for name in names if name != 'version')}"
            if not all(each.unchanged for each in runtime.system.recover().projections):
                yield "rebuilt projections differ"
            first = AttachmentPlace(turn=TurnId("t-0"), message=0, part=0)
            if runtime.attachments.read(ConversationKey(conversation=_WITH_FILES), first).data != _FILE:
                yield "an attached file differs"
            if runtime.evidence.inspect().findings:
                yield "an inspection finds something"
            turn = parse_fixture(_HISTORY.read_bytes()).commands[0].given["turn"]
            later = msgspec.json.decode(msgspec.json.encode({**turn, "turn": "a later turn"}), type=Turn)
            if not runtime.transcripts.commit(later).committed:
                yield "takes no turn"


def expected_of(session: Session, runtime: Runtime) -> Expected:
    """Return what a store holds."""
    session.space.require_sound()
    audited = runtime.evidence.audit().spaces
    measured: Measured = measure(session, 0)
    assert measured.keys is not None, "a store that is sound has keys"
    return Expected(
        version=__version__,
        size=measured.size,
        root=measured.root,
        bundles=measured.keys.bundles,
        contents=measured.keys.contents,
        turns=sum(each.turns for each in audited),
        views={view: one.digest for view, one in measured.views.items()},
    )


@contextmanager
def _opened(release: Path) -> Iterator[tuple[Session, Runtime]]:
    """Open the store of a release."""
    sources = seeded_sources(release.name)
    root = LocalRoot(bytes.fromhex((release / KEY).read_text(encoding="ascii").strip()), sources.entropy)
    options = Options(sources=sources, pin=FilePin(release / PINS), profile=None, policies=frozenset())
    session = session_at(release / STORE, root, SPACE, options, make=maker_of(StoreKind.SQLITE), at_rest=True)
    try:
        yield session, Runtime(session)
    finally:
        session.store.close()


_FILE = bytes(range(256)) * 8
_WITH_FILES = ConversationId("files")
_HISTORY = RELEASES.parent / "histories" / "views.jsonl"
_HISTORIES = ("views", "erase-a-turn", "redact-a-range", "attributes", "provenance", "alias-and-conflict", "holds")


def release() -> int:
    """Write the store of the present version, unless there is one; return the exit code."""
    place = RELEASES / __version__
    if place.exists():
        print(f"{place.name} is written already and is never written again")
        return 1
    place.mkdir(parents=True)
    (place / KEY).write_text(("0123456789abcdef" * 4) + "\n", encoding="ascii")
    with _opened(place) as (_, runtime):
        for history in _HISTORIES:
            for command in parse_fixture((_HISTORY.parent / f"{history}.jsonl").read_bytes()).commands:
                _perform(runtime, history, command)
        _attach(runtime)
    with _opened(place) as (session, runtime):
        (place / EXPECTED).write_bytes(msgspec.json.format(msgspec.json.encode(expected_of(session, runtime))) + b"\n")
    shutil.rmtree(place / PINS)
    for reserve in place.rglob(RESERVE):  # made again by whoever opens it; a repository needs no empty megabyte
        reserve.unlink()
    return 0


def _attach(runtime: Runtime) -> None:
    """Commit turns with files, and erase one of them."""
    for number, data in enumerate((_FILE, _FILE[::-1])):
        file = runtime.attachments.add(data, mime_type="application/octet-stream").part
        asked = Message(role=Role.USER, content=[file])
        turn = Turn(turn=TurnId(f"t-{number}"), subject=SubjectId("ada"), conversation=_WITH_FILES, messages=[asked])
        runtime.transcripts.commit(turn)
    runtime.lifecycle.erase(Scope(conversation=_WITH_FILES, turn=TurnId("t-1")), "asked for", "ada")


def _perform(runtime: Runtime, history: str, command: Command) -> None:
    """Perform what a history does, in conversations of its own; what it is refused there is refused here."""
    operation = next((each for each in catalogue() if each.path == command.do), None)
    if operation is None or command.access is not None or "$" in str(command.given):
        return
    given = msgspec.json.decode(msgspec.json.encode(command.given).replace(b'"talk"', f'"{history}"'.encode()))
    try:
        plain(perform(getattr(runtime, operation.group), operation, bound(operation, msgspec.json.encode(given))))
    except MunimentError:
        return
