"""An archive that does not hold, or is not what was asked for, leaves the store as it was (BEHAVIOUR EX-06, EX-08)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest

from muniment.errors import ArchiveRefused, FileUnavailable, LimitExceeded, StoreNewer
from muniment.events.archive import ArchiveScope, ImportMode, PrivateMaterial, ScopeKind
from muniment.operations.archives import document
from tests.archives.documents import (
    ADA,
    SHARED,
    TALKING,
    at,
    changed,
    exported,
    imported,
    line_where,
    lines_of,
    loud,
    rooted,
    seal,
)
from tests.backups import root_of
from tests.turns import TALK
from tests.worlds import FileWorld

RESTORE = ImportMode.RESTORE


def swapped(told: list[bytes]) -> list[bytes]:
    """Put the second conversation before the first."""
    border = [place for place, line in enumerate(told) if line.startswith(b'{"channel"')][1]
    return rooted([told[0], *told[border:], *told[1:border]])


def edit(word: bytes, change: Callable[[bytes], bytes]) -> Callable[[list[bytes]], list[bytes]]:
    """Return an edit of the first line with a word in it, under a root that is right about it."""

    def edited(told: list[bytes]) -> list[bytes]:
        place = line_where(told, word)
        return rooted([*told[:place], change(told[place]), *told[place + 1 :]])

    return edited


def of_line(word: bytes, **change: object) -> Callable[[list[bytes]], list[bytes]]:
    """Return an edit of members of the first line with a word in it."""
    return edit(word, lambda line: changed(line, **change))


# What stands in a document that is refused -> how it got there. The roots are right unless that is the fault.
FAULTS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a forged root digest": lambda told: [changed(told[0], digest="0" * 64), *told[1:]],
    "forged counts": lambda told: [changed(told[0], events=1), *told[1:]],
    "an altered document": lambda told: [line.replace(b"system words", b"other words!") for line in told],
    "a line left out": lambda told: told[:-1],
    "a line twice": lambda told: [*told, told[-1]],
    "an unknown schema": lambda told: [changed(told[0], schema="muniment/archive/2"), *told[1:]],
    "a root of another shape": lambda told: [changed(told[0], more=1), *told[1:]],
    "a root with blanks": lambda told: [told[0].replace(b":", b": ", 1), *told[1:]],
    "no root": lambda told: told[1:],
    "nothing at all": lambda _: [],
    "no end of a line": lambda told: [*told[:-1], told[-1][:-1]],
    "a padded conversation id": at(1, conversation=" second"),
    "a padded channel": at(1, channel="default "),
    "an empty conversation id": at(1, conversation=""),
    "a padded turn id": edit(b'"turn-2"', lambda line: line.replace(b'"turn-2"', b'"turn-2 "')),
    "a padded chat id": edit(b"chat-7", lambda line: line.replace(b"chat-7", b" chat-7")),
    "a turn id twice": edit(b'"turn-2"', lambda line: line.replace(b'"turn-2"', b'"rich"')),
    "a conversation twice": lambda told: rooted([*told, *told[1:]]),
    "conversations in another order": swapped,
    "an event before any conversation": lambda told: rooted([told[0], *told[2:]]),
    "a record of another subject": edit(b'"turn-2"', lambda line: line.replace(b'"ada"', b'"bob"')),
    "a conversation of another subject": lambda told: rooted([line.replace(b'"ada"', b'"bob"') for line in told]),
    "an unknown kind": of_line(b"alias.recorded", kind="soul.recorded"),
    "a kind of the space": of_line(b"alias.recorded", kind="space.opened"),
    "a body of another shape": edit(b"alias.recorded", lambda line: line.replace(b'"chat"', b'"chap"')),
    "a body in another spelling": edit(b"alias.recorded", lambda line: line.replace(b'"chat":', b'"chat": ')),
    "a turn that is not the next": of_line(b'"turn-2"', turn=5),
    "a turn with references": of_line(b'"turn-2"', refs={"turn": 1}),
    "a turn with a target": of_line(b'"turn-2"', target=1),
    "a turn with a reason": of_line(b'"turn-2"', reason="mask"),
    "a turn without a sequence": of_line(b'"turn-2"', turn=None),
    "an alias with a target": of_line(b"alias.recorded", target=1),
    "an alias with content": of_line(b"alias.recorded", content={}),
    "an alias with a sequence": of_line(b"alias.recorded", turn=1),
    "content of another turn": edit(b'"turn-2"', lambda line: line.replace(b'"parts":[[', b'"parts":[[],[')),
    "content with a digest of its own": edit(b'"turn-2"', lambda line: line.replace(b"YXJjaGl2ZQ==", b"AAAA")),
    "a change of a turn that is not there": of_line(b'"mask"', refs={"turn": 9}, target=9),
    "a change of no turn": of_line(b'"mask"', refs={"turn": 0}, target=0),
    "a change of another target": of_line(b'"mask"', target=1),
    "a change without a target": of_line(b'"mask"', target=None),
    "a transition nobody knows": of_line(b'"mask"', reason="unveil"),
    "a transition of turns to come": of_line(b'"mask"', refs={"first": 1}, target=0),
    "a replacement": of_line(b'"erase"', refs={"turn": 3, "replaced": 1}),
    "a release of no hold": of_line(b'"mask"', reason="release", refs={"turn": 2, "hold": 2}),
    "a release that names none": of_line(b'"mask"', reason="release"),
    "an erased message that is not there": of_line(b"omitted", refs={"turn": 1, "message": 99, "omitted": 1}),
    "a message of all turns": of_line(b"omitted", refs={"first": 1, "through": 2, "message": 0}, target=0),
    "words of an erased turn": of_line(b'"erase"', refs={"turn": 2}, target=2),
    "words about a turn that is erased later": of_line(b'"mask"', refs={"turn": 3}, target=3),
    "no words of a turn": of_line(b'"turn-2"', content=None),
    "an omission that was made": edit(b"omitted", lambda line: changed(line, refs={"turn": 2, "message": 0}, target=2)),
    "a time that is none": of_line(b'"turn-2"', t=2**52),
    "a time of a conversation that is none": at(1, t=-1),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_archive_with_a_fault_leaves_the_store_as_it_was(archive: Path, target: FileWorld, fault: str) -> None:
    """EX-08: refused before the first write; the log has the same root."""
    before = root_of(target.runtime)
    seal(archive, FAULTS[fault](lines_of(archive)))
    for mode in ImportMode:
        with pytest.raises(ArchiveRefused) as refused:
            imported(target.runtime, archive, mode=mode)
        assert "ada" not in str(refused.value)
    assert root_of(target.runtime) == before


def test_the_archive_that_the_faults_are_put_into_is_sound(archive: Path, target: FileWorld) -> None:
    """EX-05: schema, scope, policy, counts, bytes and digest, as anybody counts them."""
    told = lines_of(archive)
    assert rooted(told) == told
    root = msgspec.json.decode(told[0])
    assert root == {
        "schema": "muniment/archive/1",
        "scope": {"kind": "subject", "subject": "ada"},
        "private": "include",
        "documents": 2,
        "notebooks": 0,
        "registries": 0,
        "events": len(told) - 1,
        "bytes": sum(map(len, told[1:])),
        "digest": hashlib.sha256(b"".join(told[1:])).hexdigest(),
    }
    assert imported(target.runtime, seal(archive, told), mode=RESTORE).turns_inserted == 4


def shared(archive: Path) -> ArchiveScope:
    """Make the archive one of the shared part; its conversations are of one subject all the same."""
    told = lines_of(archive)
    seal(archive, [changed(told[0], scope={"kind": "shared"}, notebooks=None, registries=None), *told[1:]])
    return SHARED


def test_a_shared_archive_with_a_subject_s_conversation_is_refused(archive: Path, target: FileWorld) -> None:
    """EX-08: records of another scope, whatever the root says."""
    before = root_of(target.runtime)
    with pytest.raises(ArchiveRefused) as refused:
        imported(target.runtime, archive, shared(archive))
    assert refused.value.problem == "foreign_scope"
    assert root_of(target.runtime) == before


@pytest.mark.parametrize(
    "scope", [SHARED, TALKING, ArchiveScope(kind=ScopeKind.SUBJECT, subject="bob")], ids=["shared", "chat", "bob"]
)
def test_an_archive_comes_into_its_own_scope_alone(archive: Path, target: FileWorld, scope: ArchiveScope) -> None:
    """EX-06, EX-08: a subject's archive does not come into the shared scope or another's, nor the reverse."""
    before = root_of(target.runtime)
    with pytest.raises(ArchiveRefused) as refused:
        imported(target.runtime, archive, scope)
    assert refused.value.problem == "other_scope"
    out = archive.with_name("other")
    exported(target.runtime, out, scope)
    after = root_of(target.runtime)
    with pytest.raises(ArchiveRefused):
        imported(target.runtime, out, ADA)
    assert (root_of(target.runtime), after[0]) == (after, before[0] + 1)


def test_an_archive_comes_in_under_its_own_policy_alone(archive: Path, target: FileWorld) -> None:
    """EX-06: and one without private material holds none, whatever its lines say."""
    with pytest.raises(ArchiveRefused) as refused:
        target.runtime.archives.import_(str(archive), ADA, PrivateMaterial.EXCLUDE)
    assert refused.value.problem == "other_policy"
    told = lines_of(archive)
    seal(archive, rooted([changed(told[0], private="exclude", notebooks=None, registries=None), *told[1:]]))
    with pytest.raises(ArchiveRefused) as refused:
        target.runtime.archives.import_(str(archive), ADA, PrivateMaterial.EXCLUDE)
    assert refused.value.problem in {"content", "foreign_kind"}
    place = line_where(told, b'"turn-2"')
    seal(
        archive,
        rooted([changed(told[0], private="exclude", notebooks=None, registries=None), told[place - 3], told[place]]),
    )
    with pytest.raises(ArchiveRefused):
        target.runtime.archives.import_(str(archive), ADA, PrivateMaterial.EXCLUDE)


def test_a_chat_s_archive_holds_that_chat(archive: Path, target: FileWorld) -> None:
    told = lines_of(archive)
    seal(
        archive,
        [
            changed(
                told[0],
                scope={"kind": "conversation", "channel": "default", "conversation": TALK},
                notebooks=None,
                registries=None,
            ),
            *told[1:],
        ],
    )
    with pytest.raises(ArchiveRefused) as refused:
        imported(target.runtime, archive, TALKING)
    assert refused.value.problem == "foreign_scope"


STORED: dict[str, tuple[Callable[[bytes], bytes], type[Exception]]] = {
    "no envelope": (lambda data: data.partition(b"\n")[2], ArchiveRefused),
    "an envelope of another shape": (lambda data: data.replace(b'"key"', b'"kex"', 1), ArchiveRefused),
    "an envelope in another spelling": (lambda data: data.replace(b":", b": ", 1), ArchiveRefused),
    "a newer envelope": (lambda data: data.replace(b'"format":2', b'"format":3', 1), StoreNewer),
    "an earlier envelope": (lambda data: data.replace(b'"format":2', b'"format":1', 1), ArchiveRefused),
    "a byte of the sealed part": (lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:], ArchiveRefused),
    "cut off": (lambda data: data[:-40], ArchiveRefused),
    "something added": (lambda data: data + b"more", ArchiveRefused),
    "nothing": (lambda _: b"", ArchiveRefused),
}


@pytest.mark.parametrize("fault", STORED)
def test_a_file_with_a_fault_is_refused(archive: Path, target: FileWorld, fault: str) -> None:
    spoil, error = STORED[fault]
    archive.write_bytes(spoil(archive.read_bytes()))
    before = root_of(target.runtime)
    with pytest.raises(error):
        imported(target.runtime, archive)
    assert root_of(target.runtime) == before


def test_a_file_that_is_not_there_is_said_to_be_missing(target: FileWorld, tmp_path: Path) -> None:
    for path in ("nowhere", "nul\0byte"):
        with pytest.raises(FileUnavailable):
            target.runtime.archives.inspect(str(tmp_path / path))


def test_a_line_without_end_does_not_fill_the_memory(
    archive: Path, target: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "LINE_BYTES_MAX", 1000)
    seal(archive, [*lines_of(archive)[:1], b"x" * 200_000])
    with pytest.raises(LimitExceeded):
        imported(target.runtime, archive)


def test_an_archive_that_changes_between_the_check_and_the_import_is_refused(archive: Path, target: FileWorld) -> None:
    """The root is taken again from what is appended; what does not agree undoes everything."""
    told, before = lines_of(archive), root_of(target.runtime)
    place = line_where(told, b'"turn-2"')
    other = [*told[:place], told[place].replace(b"question 0002", b"question 9999"), *told[place + 1 :]]

    def swap(version: list[bytes], stage: str, done: int, total: int) -> None:
        if (stage, done) == ("check", total):
            seal(archive, version)

    for version in (other, rooted(other)):
        seal(archive, told)
        with pytest.raises(ArchiveRefused):
            imported(loud(target.runtime, partial(swap, version)), archive, mode=RESTORE)
        assert root_of(target.runtime)[1] == before[1]
