"""What an archive carries of a conversation, what stays behind, and what keeps a conversation from being replaced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

import muniment
from muniment.errors import ArchiveConflict, ArchiveRefused
from muniment.events.archive import ImportMode, PrivateMaterial
from muniment.events.identity import ConversationId, SpaceName, SubjectId, TurnId
from muniment.events.references import Plane
from muniment.governance.views import View
from muniment.ledger.ledger import Writer
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.provenance.derivations import Derivation
from muniment.operations.transcripts.redact import Passage
from tests.archives.documents import TALKING, changed, exported, imported, lines_of, of_subject, rooted, seal, shown
from tests.attributes import attribute, of_turn
from tests.backups import root_of
from tests.turns import SUBJECT, TALK, plain_turn, question, rich_turn
from tests.worlds import OPERATOR, FileWorld, World, key_of, memory_world, root_key, sqlite_world

RESTORE = ImportMode.RESTORE


def derived(world: World, first: int, last: int, key: str = "item") -> bool:
    """Record that something was derived from plain turns; return whether that was new."""
    derivation = Derivation(
        plane=Plane.LONG_TERM,
        key=key,
        subject=SubjectId(SUBJECT),
        conversation=key_of(),
        turn=TurnId(f"turn-{first}"),
        through=TurnId(f"turn-{last}"),
    )
    return world.runtime.provenance.record([derivation]).references[0].changed


def test_everything_that_was_said_of_turns_is_carried(tmp_path: Path) -> None:
    """Redactions, holds and releases, erased messages, attributes and references come in as they were."""
    world = sqlite_world(tmp_path).with_turns(6).masked(2).erased(3)
    world.redacted(Passage(turn=TurnId("turn-1"), message=0), View.EXPORT)
    runtime, key = world.runtime, key_of()
    given = [attribute("a"), attribute("m", "other words", of_turn(4, 1)), attribute("n", 7, of_turn(4, 0))]
    assert runtime.transcripts.annotate(key, given).accepted == 3
    message = "turn-4#1"
    assert runtime.lifecycle.erase(Scope(conversation=key.conversation, message=message), "why", OPERATOR).changed
    assert derived(world, 1, 2)
    assert derived(world, 3, 3, "of what is erased")
    first = runtime.lifecycle.hold(Scope(conversation=key.conversation, turn=TurnId("turn-5")), "why", OPERATOR)
    second = runtime.lifecycle.hold(Scope(conversation=key.conversation), "another", OPERATOR)
    runtime.lifecycle.release(first.position or 0, "over", OPERATOR)
    out = exported(runtime, tmp_path / "x", TALKING)
    with muniment.open("memory:", keys=root_key(), space="another") as target:
        report = imported(target, tmp_path / "x", TALKING)
        assert (report.turns_inserted, report.erased_turns) == (6, 0)
        assert shown(target) == shown(runtime)
        assert target.evidence.inspect().kinds == {}
        space = target._session.space
        with space.ledger.reader() as reader:
            stream = space.transcript.stream_of(reader, key)
            assert stream is not None
            changes = space.transcript.changes(reader, space.transcript.head(reader, stream))
        assert [hold.span for hold in changes.holds.values()] == [(1, None)]
        assert second.position is not None
        assert changes.erased == {4: {1}}
        again = target.lifecycle.erase(Scope(conversation=key.conversation, turn=TurnId("turn-6")), "why", OPERATOR)
        assert not again.changed
        assert target.archives.export(str(tmp_path / "y"), TALKING, PrivateMaterial.INCLUDE).root == out.root


def test_a_derived_reference_comes_without_proof_and_may_be_recorded_anew(tmp_path: Path) -> None:
    """The leaves are others here: it says so, no repair takes it for damage, and recorded again it is proved."""
    source = memory_world().with_turns(3)
    assert derived(source, 1, 2)
    assert [link.verified for link in source.runtime.evidence.links(conversation=key_of()).links] == [True]
    exported(source.runtime, tmp_path / "x", TALKING)
    target = sqlite_world(tmp_path)
    imported(target.runtime, tmp_path / "x", TALKING)
    (link,) = target.runtime.evidence.links(conversation=key_of()).links
    assert (link.verified, link.from_archive, link.digest, link.source.space) == (False, True, "", "default")
    assert target.runtime.evidence.inspect().kinds == {}
    assert derived(target, 1, 2)
    assert not derived(target, 1, 2)
    links = target.runtime.evidence.links(conversation=key_of()).links
    assert sorted((link.verified, link.from_archive) for link in links) == [(False, True), (True, False)]
    target.runtime.archives.import_(str(tmp_path / "x"), TALKING, PrivateMaterial.INCLUDE, into=ConversationId("copy"))
    (link,) = target.runtime.evidence.links(conversation=key_of("copy")).links
    assert link.source.conversation == "copy"
    assert target.runtime.evidence.inspect().kinds == {}
    source.close()


def test_attributes_and_references_stay_behind_with_the_words(tmp_path: Path) -> None:
    """EX-02: one closure."""
    world = memory_world().with_turns(2)
    world.runtime.transcripts.annotate(key_of(), [attribute("named")])
    derived(world, 1, 1)
    exported(world.runtime, tmp_path / "x", TALKING, PrivateMaterial.EXCLUDE)
    told = b"".join(lines_of(tmp_path / "x"))
    for word in (b"attr.recorded", b"ref.derived", b"named", b"billing", b"item"):
        assert word not in told
    world.close()


def test_what_is_said_of_a_message_of_soul_governance_stays_behind_with_it(tmp_path: Path) -> None:
    """EX-10: the value of an attribute of such a message is as private as the message."""
    world, target = memory_world().with_turn(rich_turn()), memory_world("target")
    place = next(at for at, one in enumerate(rich_turn().messages) if one.authority == "soul_governance")
    aim = replace(of_turn(1, place), turn=TurnId("rich"), message=f"rich#{place}")
    assert world.runtime.transcripts.annotate(key_of(), [attribute("a", "soul words", aim)]).accepted == 1
    out = exported(world.runtime, tmp_path / "x")
    assert b"soul words" not in b"".join(lines_of(tmp_path / "x"))
    imported(target.runtime, tmp_path / "x")
    assert target.runtime.evidence.inspect().kinds == {}
    assert exported(target.runtime, tmp_path / "y").root == out.root
    world.close()
    target.close()


@pytest.mark.parametrize("message", [None, 0])
def test_what_was_said_of_a_turn_that_was_erased_here_does_not_come_back(tmp_path: Path, message: int | None) -> None:
    """Attributes are content of their turn or message: they are fenced with it."""
    world = sqlite_world(tmp_path).with_turns(2)
    world.runtime.transcripts.annotate(key_of(), [attribute("a", "the value words", of_turn(1, message))])
    exported(world.runtime, tmp_path / "x", TALKING)
    scope = Scope(conversation=ConversationId(TALK), turn=TurnId("turn-1"))
    if message is not None:
        scope = Scope(conversation=ConversationId(TALK), message=f"turn-1#{message}")
    world.runtime.lifecycle.erase(scope, "why", OPERATOR)
    assert imported(world.runtime, tmp_path / "x", TALKING, RESTORE).erased_turns == 1
    for _ in range(2):
        told = str(shown(world.runtime))
        assert "the value words" not in told
        assert question(1) not in told
        assert question(2) in told
        assert world.runtime.evidence.inspect().kinds == {}
        assert world.runtime.system.recover().contents_destroyed_again == 0
        world.reopened()


# --- what keeps a conversation from being replaced --------------------------------------------------------------------

KEEPS = {
    "a hold of a subject": (Scope(subject=SubjectId(SUBJECT)), None, "held"),
    "a hold of the space": (Scope(whole_space=SpaceName("default")), None, "held"),
    "a legal minimum": (None, 10**12, "legal_minimum"),
}


@pytest.mark.parametrize("keeps", KEEPS)
def test_what_is_kept_in_the_space_is_not_replaced(tmp_path: Path, keeps: str) -> None:
    """A replacement erases: holds of subjects and of the space and legal minima keep from it, until they end."""
    scope, minimum, problem = KEEPS[keeps]
    world = sqlite_world(tmp_path).with_turns(2)
    exported(world.runtime, tmp_path / "x", TALKING)
    if scope is not None:
        position = world.runtime.lifecycle.hold(scope, "why", OPERATOR).position
    else:
        position = world.runtime.lifecycle.retain("why", OPERATOR, keep_at_least_ms=minimum).position
    before = root_of(world.runtime)
    with pytest.raises(ArchiveConflict) as refused:
        imported(world.runtime, tmp_path / "x", TALKING, RESTORE)
    assert (refused.value.at, refused.value.problem) == (f"position {position}", problem)
    assert root_of(world.runtime) == before
    assert position is not None
    if scope is not None:
        world.runtime.lifecycle.release(position, "over", OPERATOR)
    else:
        world.runtime.lifecycle.retain("over", OPERATOR)
    assert imported(world.runtime, tmp_path / "x", TALKING, RESTORE).turns_deleted == 2


def test_a_hold_of_somebody_else_keeps_nothing(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path).with_turns(2)
    world.commit(of_subject("bob", 1, "other"))
    exported(world.runtime, tmp_path / "x", TALKING)
    world.runtime.lifecycle.hold(Scope(subject=SubjectId("bob")), "why", OPERATOR)
    assert imported(world.runtime, tmp_path / "x", TALKING, RESTORE).turns_deleted == 2


# --- repair -----------------------------------------------------------------------------------------------------------


def replaced_twice(home: Path) -> FileWorld:
    """Return a conversation with a chat id that was replaced by archives twice."""
    world = sqlite_world(home).with_turn(rich_turn()).with_turns(2)
    exported(world.runtime, home / "x", TALKING)
    for number in (7, 8):
        imported(world.runtime, home / "x", TALKING, RESTORE)
        world.commit(plain_turn(number))
    return world


def test_a_repair_finds_nothing_wrong_with_what_was_replaced(tmp_path: Path) -> None:
    """Former streams are found by their former names; every name is counted once."""
    world = replaced_twice(tmp_path)
    report = world.runtime.evidence.inspect()
    assert (report.kinds, report.turns) == ({}, 3 + 4 + 4)
    assert world.runtime.evidence.inspect(key_of()).kinds == {}
    assert world.reopened().runtime.system.health().sound


def test_a_repair_finds_names_that_were_made_to_lead_back(tmp_path: Path) -> None:
    """What was replaced under the present name, and the present conversation under a former one, are both told."""
    world = replaced_twice(tmp_path)
    space = world.runtime._session.space
    now = space.transcript.conversation_digest("default", TALK)
    former = space.transcript.former_digest(now, 1)

    def plan(writer: Writer) -> None:
        for one, other in ((now, bytes(16)), (former, now), (bytes(16), former)):
            writer.rename(one, other)

    space.ledger.transact(plan)
    assert {"lookup_missing", "lookup_mismatch"} <= world.runtime.evidence.inspect().kinds.keys()


@pytest.mark.parametrize("of", ["conversation", "turn"])
def test_a_repair_misses_the_former_name_of_what_was_replaced(tmp_path: Path, of: str) -> None:
    world = replaced_twice(tmp_path)
    space = world.runtime._session.space
    with space.ledger.reader() as reader:
        stream = space.transcript.former_streams(reader, key_of())[1]
    if of == "turn":
        digest = space.transcript.former_digest(space.transcript.turn_digest(key_of(), "turn-7"), stream)
    else:
        digest = space.transcript.former_digest(space.transcript.conversation_digest("default", TALK), 2)
    space.ledger.transact(lambda writer: writer.rename(digest, bytes(16)))
    kinds = world.runtime.evidence.inspect().kinds
    assert kinds == {"lookup_missing": 1, "lookup_dangling": 1}


# --- what is beside the turns of a document ---------------------------------------------------------------------------


def replacing(word: bytes, old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """Return an edit of a line with a word in it."""

    def edited(line: bytes) -> bytes:
        assert word not in line or old in line, line
        return line.replace(old, new) if word in line else line

    return edited


def members(word: bytes, **change: object) -> Callable[[bytes], bytes]:
    """Return an edit of members of the line with a word in it."""
    return lambda line: changed(line, **change) if word in line else line


FAULTS: dict[str, Callable[[bytes], bytes]] = {
    "a value of another kind": replacing(b"the value words", b'"value":"the value words"', b'"value":7'),
    "no value of a turn with words": members(b"the value words", content=None),
    "a value of an erased turn": members(b"the value words", refs={"turn": 2}, target=2),
    "a value of an erased message": members(b"other words", refs={"turn": 3, "message": 0}),
    "an attribute of another message than it says": members(b"other words", refs={"turn": 3}),
    "an attribute of several turns": members(b"the value words", refs={"through": 3}, target=0),
    "an attribute that changes its turn": replacing(b"other words", b'"id":"m"', b'"id":"a"'),
    "a value with the body of a turn": members(b"the value words", content={"parts": [], "digest": ""}),
    "a reference with a digest": replacing(b"ref.derived", b'"digest":""', b'"digest":"AAAA"'),
    "a reference with a space": replacing(b"ref.derived", b'"space":""', b'"space":"home"'),
    "a reference of another conversation": replacing(b"ref.derived", b'"conversation":"talk"', b'"conversation":"x"'),
    "a reference of another channel": replacing(b"ref.derived", b'"channel":"default"', b'"channel":"mail"'),
    "a reference to another turn": replacing(b"ref.derived", b'"turn":"turn-1"', b'"turn":"turn-2"'),
    "a reference without its last turn": replacing(b"ref.derived", b'"through":"turn-2",', b""),
    "a reference without an item": replacing(b"ref.derived", b'"key":"item"', b'"key":" "'),
    "a reference of another subject": replacing(b"ref.derived", b'"subject":"ada"},', b'"subject":"x"},'),
    "a reference to no message": members(b"ref.derived", refs={"through": 2, "message": 0}),
    "a policy of the space": members(b"ref.derived", kind="policy.set"),
}  # fmt: skip


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """Write an archive of a chat with attributes and a reference, an erased turn, and an erased message."""
    world = memory_world().with_turns(3).erased(2)
    given = [attribute("a"), attribute("m", "other words", of_turn(3, 1))]
    assert world.runtime.transcripts.annotate(key_of(), given).accepted == 2
    message = "turn-3#0"
    world.runtime.lifecycle.erase(Scope(conversation=ConversationId(TALK), message=message), "why", OPERATOR)
    assert derived(world, 1, 2)
    exported(world.runtime, tmp_path / "x", TALKING)
    world.close()
    return tmp_path / "x"


@pytest.mark.parametrize("fault", FAULTS)
def test_what_does_not_fit_its_turns_is_refused(beside: Path, fault: str) -> None:
    """EX-08: attributes and references name turns that are there, and have content exactly where nothing erased it."""
    world, told = memory_world("target"), lines_of(beside)
    edited = rooted([told[0], *map(FAULTS[fault], told[1:])])
    assert edited != told
    before = root_of(world.runtime)
    with pytest.raises(ArchiveRefused):
        imported(world.runtime, seal(beside, edited), TALKING)
    assert root_of(world.runtime) == before
    assert imported(world.runtime, seal(beside, told), TALKING).turns_inserted == 3
    world.close()
