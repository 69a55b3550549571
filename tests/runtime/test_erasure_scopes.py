"""Erasing a message, a subject, a space, and what cannot be read any more: what goes, what stays, what is proved."""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.errors import Corrupt, KeyMissing, StoreFault
from muniment.events.changes import Action, Transition
from muniment.events.identity import ChatId, ConversationId, SubjectId, TurnId
from muniment.events.turn import Turn
from muniment.evidence.verifier import verify_bundle, verify_receipt
from muniment.governance.phases import Phase
from muniment.governance.views import Reason, View
from muniment.ledger.attached_files import left_of
from muniment.ledger.ledger import Writer
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime
from tests import names
from tests.log.worlds import Disk
from tests.runtime.custody import (
    EVERYTHING,
    TALKING,
    erase,
    hold,
    left,
    message,
    of,
    said,
    turn,
    unnamed,
    with_subjects,
    words,
)
from tests.runtime.test_interrupted import failing as failing  # noqa: PLC0414 - a fixture
from tests.turns import RICH, TALK, answered, asked, message_of, plain_turn, rich_turn
from tests.worlds import FileWorld, World, key_of, open_store

RICH_ANSWER = Scope(conversation=TALK, message="rich#6")
TEXTS = ["the system words", "the user words", "the reasoning words", "argument", "the response",
         "the diagnostic words", "the private words", "the answer words"]  # fmt: skip


def every_view(world: World, conversation: str = TALK) -> dict[View, str]:
    """Return what each view shows, as text."""
    return {view: str(world.runtime.transcripts.replay(key_of(conversation), view)) for view in View}


def files(home: Path) -> dict[str, bytes]:
    """Return every file of a home with its bytes."""
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def spelled(text: str) -> list[bytes]:
    """Return the ways in which a text might lie on a disk."""
    raw = text.encode()
    return [raw, text.encode("utf-16-le"), base64.b64encode(raw)[:-4], hashlib.sha256(raw).digest()]


# --- one message ------------------------------------------------------------------------------------------------------


def test_an_erased_message_is_gone_from_every_view_and_its_neighbours_stay(world: World) -> None:
    """LC-07 for one message: its words go, its place, role, speaker and time stay; the turn is still active."""
    world.with_turn(rich_turn()).with_turns(1)
    before = {view: world.replay(view).turns[0] for view in View}
    report = erase(world, RICH_ANSWER)
    assert (report.changed, report.affected_turns, report.turns, report.messages) == (
        True,
        1,
        ["rich"],
        [message_of("rich", 6)],
    )
    assert (report.host_refs, report.items) == ([], [])
    for view, was in before.items():
        now = world.replay(view).turns[0]
        assert now.phase is Phase.ACTIVE
        assert now.messages[6].parts == []
        assert replace(now, messages=now.messages[:6]) == replace(was, messages=was.messages[:6])
        assert replace(now.messages[6], redacted=False) == replace(was.messages[6], parts=[], redacted=False)
        assert "the answer words" not in str(now)
    items = [item for item in world.replay().items if item.turn == RICH]
    assert [(item.message, item.reason) for item in items] == [(message_of("rich", 6), Reason.ERASED)]


@given(st.permutations(range(7)))
@settings(max_examples=25)
def test_erasing_messages_never_adds_a_word_to_any_view(order: list[int]) -> None:
    """States only move towards less content: also the answer's place is not taken by what stood before it.

    When the last message is gone the turn is still a turn; its summaries and labels are not of its messages.
    """
    from tests.worlds import memory_world

    world = memory_world().with_turn(rich_turn())
    shown = {view: {text for text in TEXTS if text in told} for view, told in every_view(world).items()}
    for place in order:
        assert erase(world, Scope(conversation=TALK, message=f"rich#{place}")).changed
        now = {view: {text for text in TEXTS if text in told} for view, told in every_view(world).items()}
        assert all(now[view] <= shown[view] for view in View)
        shown = now
    assert not any(shown.values())
    (last,) = world.replay().turns
    assert last.phase is Phase.ACTIVE
    assert "the summary words" in str(last)
    assert "label of export" in str(last)
    assert world.request(Transition.ERASE).affected_turns == 1
    assert "the summary words" not in str(world.replay().turns)
    world.close()


def test_what_was_said_on_the_way_never_becomes_the_answer(world: World) -> None:
    """An erased message may have been the answer: no step before it takes its place in a view that shows answers."""
    steps = [asked("a question"), answered("a step on the way"), answered("the answer itself")]
    world.with_turn(replace(plain_turn(1), messages=steps))
    assert words(world, view=View.HOST_UI) == [["a question", "the answer itself"]]
    erase(world, message(1, 2))
    assert words(world, view=View.HOST_UI) == [["a question"]]
    assert words(world) == [["a question", "a step on the way"]]


def test_what_is_left_of_a_turn_still_proves_itself(world: World) -> None:
    """Export and receipt disclose the fields that are left, under the commitments of the first day."""
    world.with_turn(rich_turn()).with_turns(1)
    erase(world, RICH_ANSWER)
    for view in View:
        bundle = world.runtime.evidence.export(key_of(), view)
        assert verify_bundle(iter(bundle.text.encode().splitlines(keepends=True)), str(bundle.summary["vkey"])).complete
        assert "the answer words" not in str(
            [base64.b64decode(part + "==", "-_") for part in _disclosures(bundle.text)]
        )
    proof = world.runtime.evidence.prove(key_of(), RICH, View.RAW_OWNER)
    disclosed = verify_receipt(proof.text.encode(), str(proof.summary["vkey"])).disclosed
    assert "message/1/content/0" in disclosed
    assert not [label for label in disclosed if label.startswith("message/6/content")]
    assert "tools/0/summary" in disclosed


def _disclosures(bundle: str) -> Iterator[str]:
    for line in bundle.splitlines():
        yield from json.loads(line).get("disclosures", [])


def test_a_turn_of_which_a_message_was_erased_is_committed_once(world: World) -> None:
    """TR-16 and decision 0007: what is left cannot tell what the whole was, so a repeat is not compared."""
    world.with_turns(1)
    erase(world, message(1, 0))
    for again in (plain_turn(1), replace(plain_turn(1), messages=plain_turn(2).messages)):
        report = world.commit(again)
        assert (report.committed, report.reason, report.sequence) == (False, "turn_already_committed_and_erased", 1)
    assert words(world) == [["answer 0001 of the assistant"]]


def test_erasing_a_message_twice_or_one_that_is_not_there_changes_nothing(world: World) -> None:
    """LC-05."""
    world.with_turns(2)
    assert erase(world, message(1, 0)).changed
    erase(world, turn(2))
    events = world.runtime.spaces.usage().events
    for scope in (message(1, 0), message(1, 2), message(2, 0), message(9, 0), Scope(conversation=TALK, message="rich"),
                  Scope(conversation=ConversationId("nowhere"), message="turn-1#0")):  # fmt: skip
        report = erase(world, scope)
        assert (report.changed, report.affected_turns, report.receipt) == (False, 0, None)
    assert world.runtime.spaces.usage().events == events
    assert not world.runtime.lifecycle.review(Action.ERASE, message(1, 0)).affected_turns


def test_a_hold_of_a_turn_holds_its_messages(world: World) -> None:
    world.with_turns(1)
    hold(world, turn(1))
    report = erase(world, message(1, 0))
    assert (report.changed, [each.turn for each in report.kept]) == (False, ["turn-1"])


def test_the_receipts_tell_which_message_was_erased(world: World) -> None:
    world.with_turns(2)
    receipt = erase(world, message(2, 1)).receipt
    assert receipt is not None
    assert "content of the turn" in {place.place for place in receipt.places}
    (entry,) = world.runtime.lifecycle.receipts(key_of()).entries
    assert (entry.first, entry.last, entry.message, entry.content_left) == (2, 2, 1, 0)
    proved = verify_receipt(receipt.proof.encode(), world.runtime.evidence.checkpoint().vkey).header
    assert (proved["target"], proved["refs"]) == (2, {"message": 1})


def test_words_that_came_back_are_taken_out_again_at_the_next_opening(lasting: FileWorld) -> None:
    """DESIGN §4: what an event calls erased is destroyed again, a message as well as a turn; the other words stay."""
    lasting.with_turns(3)
    space = lasting.runtime._session.space
    at = {1: lasting.replay().turns[0].position, 2: lasting.replay().turns[1].position}
    with space.ledger.reader() as reader:
        rows = {number: reader.sealed(position) for number, position in at.items()}
    before = {number: space.ledger.words(space.ledger.open(row)) for number, row in rows.items() if row is not None}
    erase(lasting, message(2, 0))
    erase(lasting, message(1, 1))

    def put_back(writer: Writer) -> None:
        for number, (salts, content) in before.items():
            row = writer.tx.sealed(at[number])
            assert row is not None
            writer.reseal_content(row, left_of(writer.tx, row, salts, content))

    space.ledger.transact(put_back)
    assert [entry.content_left for entry in lasting.runtime.lifecycle.receipts(key_of()).entries] == [1, 1]
    erase(lasting, turn(1))
    with space.ledger.reader() as reader:
        life = space.epoch(reader)
    lasting.reopened()
    assert lasting.runtime.system.health().sound
    assert words(lasting) == [[], ["answer 0002 of the assistant"], ["question 0003 of the user",
                              "answer 0003 of the assistant"]]  # fmt: skip
    assert [entry.content_left for entry in lasting.runtime.lifecycle.receipts(key_of()).entries] == [0, 0, 0]
    space = lasting.runtime._session.space
    with space.ledger.reader() as reader:
        assert space.epoch(reader) != life
    assert lasting.runtime.system.recover().contents_destroyed_again == 0


def test_a_message_can_only_be_taken_out_of_words_that_open(lasting: FileWorld) -> None:
    """The whole turn can still be erased."""
    lasting.with_turns(2)
    with lasting.edited() as raw:
        raw.execute("UPDATE events SET content = zeroblob(200) WHERE position = 2")
    with pytest.raises(Corrupt):
        erase(lasting, message(1, 0))
    assert erase(lasting, turn(1)).changed
    assert left(lasting) == [2]


# --- what cannot be read any more -------------------------------------------------------------------------------------

DAMAGE = {
    "content": "UPDATE events SET content = zeroblob(length(content)) WHERE position = {at}",
    "envelope": "UPDATE envelopes SET sealed = zeroblob(length(sealed)) WHERE position = {at}",
    "no envelope": "DELETE FROM envelopes WHERE position = {at}",
    "envelope under another key": "UPDATE envelopes SET sealed = CAST(x'0100000063' || substr(sealed, 6) AS BLOB) "
    "WHERE position = {at}",
}


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.parametrize("scope", [TALKING, turn(2)], ids=["conversation", "turn"])
def test_what_does_not_open_any_more_can_still_be_erased(lasting: FileWorld, name: str, scope: Scope) -> None:
    """Destroying needs no decryption: neither ciphertext nor keys of it are left, and the log says so."""
    lasting.with_turns(3)
    lasting.runtime.evidence.checkpoint()
    with lasting.edited() as raw:
        (at,) = raw.execute("SELECT position FROM events WHERE turn_seq = 2").fetchone()
        raw.execute(DAMAGE[name].format(at=at))
    reviewed = lasting.runtime.lifecycle.review(Action.ERASE, scope)
    report = erase(lasting, scope)
    named = name == "content"
    others = [] if scope.turn else ["turn-1", "turn-3"]
    assert report.affected_turns == len(others) + 1 == reviewed.affected_turns
    assert sorted(report.turns) == sorted([*others, *(["turn-2"] if named else [])]) == sorted(reviewed.turns)
    assert report.receipt is not None
    assert ("envelopes" in {each.place for each in report.receipt.places}) == ("envelope" in name)
    with closing(sqlite3.connect(lasting.database)) as look:
        assert look.execute("SELECT count(content) FROM events WHERE position = ?", (at,)).fetchone() == (0,)
        envelopes = look.execute("SELECT count(*) FROM envelopes WHERE position = ?", (at,)).fetchone()
    look.close()
    assert envelopes == (0 if "envelope" in name else 1,)
    assert lasting.runtime.evidence.audit().spaces[0].turns == 3
    assert not erase(lasting, scope).changed
    assert lasting.reopened().runtime.system.health().sound


def test_a_damaged_turn_is_not_erased_in_the_name_of_another(lasting: FileWorld) -> None:
    """Nobody without a key makes the id of a turn lead to another one."""
    lasting.with_turns(3)
    lasting.runtime.evidence.checkpoint()
    with lasting.edited() as raw:
        places = dict(raw.execute("SELECT turn_seq, position FROM events WHERE turn_seq IS NOT NULL"))
        raw.execute(DAMAGE["envelope"].format(at=places[2]))
        names.rewritten(raw, names.swapped(places[1], places[2]))
    for number in (1, 2):
        with pytest.raises((Corrupt, KeyMissing)):
            erase(lasting, turn(number))


def test_a_row_without_keys_has_to_be_the_turn_that_it_says_it_is(lasting: FileWorld) -> None:
    """Columns that were turned around are compared with the header and the tree; nothing is destroyed."""
    lasting.with_turns(3)
    lasting.runtime.evidence.checkpoint()
    with lasting.edited() as raw:
        places = dict(raw.execute("SELECT turn_seq, position FROM events WHERE turn_seq IS NOT NULL"))
        for was, now in ((2, 99), (3, 2), (99, 3)):
            raw.execute("UPDATE events SET turn_seq = ? WHERE turn_seq = ?", (now, was))
        contents = raw.execute("SELECT count(content) FROM events").fetchone()
    with pytest.raises(Corrupt):
        lasting.request(Transition.ERASE)
    with lasting.broken_into() as raw:
        assert raw.execute("SELECT count(content) FROM events").fetchone() == contents
        raw.execute("UPDATE events SET leaf = zeroblob(32) WHERE position = ?", (places[2],))
    lasting.reopened()
    with pytest.raises(Corrupt):
        lasting.request(Transition.ERASE)


# --- a subject --------------------------------------------------------------------------------------------------------


def test_every_turn_of_a_subject_is_erased_and_no_other(world: World) -> None:
    """Subject, acting or mounted subject, in whatever conversation; one event for each run, one rotation."""
    with_subjects(world)
    world.with_turn(Turn(turn=TurnId("chatted"), subject=SubjectId("bob"), conversation=TALK, chat=ChatId("c"),
                         messages=[asked("by chat")]))  # fmt: skip
    version = world.runtime.spaces.rotate().version or 0
    report = erase(world, of("bob"))
    assert (report.subject, report.conversation, report.affected_turns) == ("bob", None, 5)
    assert [(each.conversation, each.affected_turns) for each in report.conversations] == [(TALK, 4), ("other", 1)]
    assert (left(world), left(world, "other"), left(world, "third")) == ([1, 4], [2], [1])
    receipt = report.receipt
    assert receipt is not None
    assert (receipt.turns_erased, len(receipt.positions)) == (5, 3)
    assert any("in 1 chat ids" in line for line in receipt.outside)
    entries = world.runtime.lifecycle.receipts(key_of()).entries
    assert [(each.first, each.last, each.subject) for each in entries] == [(2, 3, "bob"), (5, 6, "bob")]
    assert [each.position for each in entries] == receipt.positions[:2]
    again = erase(world, of("bob"))
    assert (again.changed, again.affected_turns, again.receipt) == (False, 0, None)
    assert world.runtime.spaces.rotate().version == version + 2
    assert not erase(world, of("nobody")).changed


def test_turns_of_a_subject_that_came_while_it_was_searched_are_erased_too(world: World) -> None:
    """The plan decides inside the transaction (decision 0005)."""
    from muniment.events.changes import LifecycleRequest
    from muniment.operations.lifecycle.destroy import destroy_turns
    from muniment.operations.lifecycle.erase_turns import review_erasure
    from muniment.operations.lifecycle.targets import target_of
    from muniment.space.options import no_progress

    with_subjects(world)
    session = world.runtime._session
    request = LifecycleRequest(reason="why", requester="who", requested_ms=1, subject="bob")
    target = target_of(session.space, of("bob"), no_progress)
    assert review_erasure(session, of("bob"), target, request).affected_turns == 4
    world.with_turn(said(6, "bob")).with_turn(said(1, "bob", "fourth"))
    receipt = destroy_turns(session.space, target, request)
    assert receipt is not None
    assert receipt.turns_erased == 6
    assert (left(world), left(world, "fourth")) == ([1, 4], [])


def test_turns_that_nobody_can_name_are_counted_and_left_alone(lasting: FileWorld) -> None:
    with_subjects(lasting)
    lasting.runtime.evidence.checkpoint()
    with lasting.broken_into() as raw:
        (at,) = raw.execute("SELECT position FROM events WHERE turn_seq = 2 AND stream = 1").fetchone()
    unnamed(lasting.reopened(), at)
    report = erase(lasting, of("bob"))
    assert (report.affected_turns, report.unreadable_turns) == (3, 1)
    assert erase(lasting, of("bob")).unreadable_turns == 1
    assert erase(lasting, TALKING).affected_turns == 3
    assert erase(lasting, of("bob")).unreadable_turns == 0


# --- what was interrupted ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scope", [message(1, 0), turn(1), of("ada"), TALKING], ids=["message", "turn", "subject", "talk"]
)
@pytest.mark.parametrize("ending", ["-wal", "log.db"])
def test_an_erasure_of_any_scope_is_whole_or_not_begun(
    failing: tuple[Runtime, Disk], scope: Scope, ending: str
) -> None:
    """The words go with the transaction; the old space key when the disk lets it; asked again it is finished."""
    runtime, disk = failing
    runtime.transcripts.commit(plain_turn(1))
    disk.broken["xWrite", ending] = apsw.IOError
    with pytest.raises(StoreFault):
        runtime.lifecycle.erase(scope, "why", "who")
    disk.broken.clear()
    begun = ending == "log.db"
    assert runtime.system.health().key_versions == 2
    again = runtime.lifecycle.erase(scope, "why", "who")
    assert again.changed is not begun
    assert runtime.system.health().key_versions == 1 if begun else runtime.system.recover().sound
    assert "question 0001" not in str(runtime.transcripts.replay(key_of(), View.RAW_OWNER))


# --- no trace ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "gone", "stays"),
    [
        (message(1, 0), "question 0001 of the user", "answer 0001 of the assistant"),
        (of("ada"), "answer 0001 of the assistant", "question 7 in other"),
        (EVERYTHING, "answer 0001 of the assistant", None),
    ],
    ids=["message", "subject", "space"],
)
def test_what_was_erased_is_in_no_file_and_its_ciphertext_neither(
    lasting: FileWorld, scope: Scope, gone: str, stays: str | None
) -> None:
    """Nor can anybody with every key that is left decrypt it; what was not erased can still be decrypted."""
    lasting.with_turns(1).with_turn(said(7, "bob", "other"))
    with closing(sqlite3.connect(lasting.database)) as look:
        (at,) = look.execute("SELECT min(position) FROM events WHERE turn_seq = 1").fetchone()
        (sealed,) = look.execute("SELECT content FROM events WHERE position = ?", (at,)).fetchone()
        (envelope,) = look.execute("SELECT sealed FROM envelopes WHERE position = ?", (at,)).fetchone()
    look.close()
    keys = lasting.runtime._session.space.keys.current.secret
    erase(lasting, scope)
    for stage in ("open", "closed"):
        for name, data in files(lasting.home).items():
            for needle in (*spelled(gone), sealed[20:60], envelope[17:57], keys):
                assert needle not in data, (stage, name)
        lasting.close()
    if stays is None:
        lasting.runtime = open_store(lasting.home, "another", space="another")
        return
    lasting.reopened()
    dump = b"".join(_decrypted(lasting))
    assert gone.encode() not in dump
    assert stays.encode() in dump


def _decrypted(world: World) -> Iterator[bytes]:
    """Yield everything that can still be decrypted."""
    from muniment.crypto.cell import open_cell

    space = world.runtime._session.space
    with space.ledger.reader() as reader:
        for row in reader.sealed_events(0, reader.frontier().size - 1):
            meta, key = space.ledger.unsealed(row)
            yield meta
            if row.content is not None and key is not None:
                yield open_cell(key, row.content, row.leaf)
