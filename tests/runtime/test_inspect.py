"""Repair: damage of every kind is planted, found, named, and counted; nothing is changed by looking."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

import pytest
from msgspec.structs import replace

from muniment.errors import ForeignSpace, LimitExceeded, MunimentError, StoreNewer, UnknownConversation
from muniment.events.changes import Transition
from muniment.events.identity import SpaceName, TurnId
from muniment.events.records import TurnContent
from muniment.governance.limits import Limits
from muniment.ledger.attached_files import left_of
from muniment.ledger.ledger import OpenedEvent, Writer
from muniment.operations.evidence.inspect import InspectionReport
from muniment.operations.lifecycle.scope import Scope
from muniment.projections.change_fold import Changes
from muniment.projections.inspection import inspection
from muniment.projections.inspection.event_checks import EventChecks
from muniment.projections.inspection.findings import MEANS, FindingKind, Findings
from muniment.projections.transcript import Transcript
from muniment.space.space import Space
from tests.attributes import attribute as an_attribute
from tests.runtime.damage import (
    AT_REST,
    HEAD,
    MORE_AT_REST,
    OF_BOTH,
    OF_NO_CONVERSATION,
    OF_THE_OTHER,
    OF_THE_SPACE,
    PLANTED,
    attribute,
    lifecycle,
    on_turn,
    space_of,
)
from tests.runtime.item_damage import PLANTED_IN_MEMORY
from tests.runtime.test_edited_at_rest import EDITS, furnished
from tests.runtime.test_provenance import derived, of_memory, record
from tests.turns import SUBJECT, TALK, rich_turn
from tests.worlds import FileWorld, World, key_of, memory_world

Is = FindingKind


def repaired(world: World, conversation: str | None = None, limit: int = 100) -> InspectionReport:
    key = None if conversation is None else key_of(conversation)
    return world.runtime.evidence.inspect(key, limit)


def found_in(world: World, conversation: str | None = None) -> set[str]:
    return set(repaired(world, conversation).kinds)


# --- at rest, without a key -------------------------------------------------------------------------------------------


def test_every_edit_at_rest_has_an_issue_that_names_it() -> None:
    assert AT_REST.keys() == EDITS.keys() - {"the schema of the future"}


@pytest.mark.parametrize("name", AT_REST)
def test_an_edit_at_rest_is_named_where_it_is_and_nowhere_else(lasting: FileWorld, name: str) -> None:
    """RE-01 to RE-03, RE-06, ST-02: also where the store is open for inspection only; another conversation is clean."""
    with furnished(lasting).edited() as raw:
        EDITS[name](raw)
    report = repaired(lasting)
    assert AT_REST[name] in report.kinds
    assert report.fail_closed
    assert report.findings_total == len(report.findings) == sum(report.kinds.values())
    is_talk = name not in OF_NO_CONVERSATION | OF_THE_OTHER
    is_other = name in OF_THE_OTHER | OF_BOTH
    assert [repaired(lasting, one).fail_closed for one in (TALK, "other")] == [is_talk, is_other]


@pytest.mark.parametrize("name", MORE_AT_REST)
def test_what_belongs_to_nothing_is_found_too(lasting: FileWorld, name: str) -> None:
    kind, plant = MORE_AT_REST[name]
    with furnished(lasting).edited() as raw:
        plant(raw)
    report = repaired(lasting)
    assert kind in report.kinds
    assert report.fail_closed


def test_a_disk_that_lost_pages_is_told_row_by_row(lasting: FileWorld) -> None:
    """ST-02: what SQLite itself cannot read is an issue for each event there, and the others are looked at."""
    lasting.with_turns(60).with_turns(3, "other")
    lasting.close()
    with closing(sqlite3.connect(lasting.database)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = raw.execute("PRAGMA page_size").fetchone()
        pages = [
            page for (page,) in raw.execute("SELECT pageno FROM dbstat WHERE name = 'events' AND pagetype = 'leaf'")
        ]
    with lasting.database.open("r+b") as file:
        file.seek((pages[1] - 1) * size)
        file.write(bytes(size))
    lasting.reopened()
    report = repaired(lasting)
    assert Is.EVENT_UNREADABLE in report.kinds
    assert 0 < report.kinds[Is.EVENT_UNREADABLE] < 60
    assert report.events > 3


def test_a_store_that_was_rolled_back_is_told_so(lasting: FileWorld) -> None:
    copy = lasting.with_turns(1).copy("older")
    lasting.with_turns(2).put_back(copy)
    report = repaired(lasting)
    assert report.kinds == {Is.ROLLED_BACK: 1}
    assert (report.turns, report.fail_closed, report.projections) == (1, True, 0)
    assert repaired(lasting, TALK).fail_closed is False


def test_a_pin_that_was_edited_is_told_and_the_log_is_looked_at(lasting: FileWorld) -> None:
    lasting.with_turns(1).close()
    for pin in (lasting.home / "pins").rglob("*"):
        if pin.is_file() and pin.stat().st_size:
            pin.write_text(pin.read_text().replace("\n4\n", "\n5\n").replace("\n3\n", "\n5\n"))
    lasting.reopened()
    assert found_in(lasting) == {Is.CHECKPOINT_MISMATCH}


# --- with the key -----------------------------------------------------------------------------------------------------


def planted(world: World, name: str) -> tuple[FindingKind, World]:
    """Plant a damage in a world of two conversations: turns 1 to 4 are plain, 5 is rich."""
    kind, plant = PLANTED[name]
    world.with_turns(4).with_turn(rich_turn()).with_turns(2, "other")
    plant(world)
    return kind, world


@pytest.mark.parametrize("name", PLANTED)
def test_damage_that_takes_the_key_is_named_where_it_is_and_nowhere_else(world: World, name: str) -> None:
    """RE-02: every kind, planted through the ledger itself; an issue of one conversation is none of another."""
    kind, damaged = planted(world, name)
    report = repaired(damaged)
    assert kind in report.kinds
    assert report.fail_closed
    assert repaired(damaged, TALK).fail_closed == (name not in OF_THE_SPACE)
    assert not repaired(damaged, "other").fail_closed
    told = repr(report.findings)
    for word in ("question", "answer", "words", TALK, SUBJECT, "turn-1", "other", "default", "elsewhere"):
        assert f"'{word}" not in told, "an issue holds no content and no names"


def test_every_kind_of_issue_is_planted_somewhere_and_explained() -> None:
    """What nobody planted nobody has seen."""
    seen = {*AT_REST.values(), *(kind for kind, _ in [*MORE_AT_REST.values(), *PLANTED.values()])}
    seen |= {planted.finding for planted in PLANTED_IN_MEMORY.values()}
    elsewhere = {Is.EVENT_UNREADABLE, Is.ROLLED_BACK, Is.PROJECTION_MISMATCH}  # tests of their own
    noise = {Is.CHAIN_BROKEN, Is.DUPLICATE_SEQUENCE}  # beside others, in the edits of columns and deleted turns
    assert seen | elsewhere | noise == set(FindingKind) == set(MEANS)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a turn deleted", Is.CHAIN_BROKEN),
        ("a mask deleted", Is.CHAIN_BROKEN),
        ("column turn_seq = 900", Is.CHAIN_BROKEN),
        ("column seq = 900", Is.DUPLICATE_SEQUENCE),
        ("column turn_seq = 900", Is.DUPLICATE_SEQUENCE),
    ],
)
def test_order_that_is_broken_is_named_beside_what_broke_it(lasting: FileWorld, name: str, kind: FindingKind) -> None:
    """RE-02: duplicate turn or sequence."""
    with furnished(lasting).edited() as raw:
        EDITS[name](raw)
    assert kind in found_in(lasting)


def test_a_link_whose_source_does_not_hold_is_shown_as_not_verified(world: World) -> None:
    """RE-01, DR-02: governance rests on what is proved, not on what a reference says."""
    planted(world, "a reference with the digest of fewer turns")
    (link,) = of_memory(world, "k")
    assert not link.verified
    assert link.state.turns == 2


# --- what is kept in memory -------------------------------------------------------------------------------------------


def test_a_projection_that_is_not_what_the_log_gives_is_named_and_derived_anew(world: World) -> None:
    """DESIGN §1, promise 5: a recovery forgets all that was folded, says what was wrong, and then it is right."""
    world.with_turns(3).masked(2)
    assert not repaired(world).fail_closed
    transcript = space_of(world).transcript
    ((stream, known),) = [each for each in transcript._changes.items() if each[1].changes.steps]
    transcript._changes[stream] = known._replace(changes=Changes(seq=known.changes.seq, count=known.changes.count))
    report = repaired(world)
    assert report.kinds == {Is.PROJECTION_MISMATCH: 1}
    assert [finding.problem for finding in report.findings] == ["changes"]
    told = world.runtime.system.recover().projections
    assert {one.projection: one.unchanged for one in told} == {"catalogue": True, "changes": False, "links": True}
    assert not repaired(world).fail_closed
    assert all(one.unchanged for one in world.runtime.system.recover().projections)


def test_a_recovery_after_which_nothing_is_sound_derives_nothing(lasting: FileWorld) -> None:
    with furnished(lasting).edited() as raw:
        EDITS["the newest event deleted"](raw)
    told = lasting.runtime.system.recover()
    assert (told.sound, told.projections) == (False, [])


def test_a_recovery_that_cannot_derive_says_what_it_could_not_read(lasting: FileWorld) -> None:
    """What is damaged is an error and no shorter projection."""
    with furnished(lasting).edited() as raw:
        EDITS["an envelope edited"](raw)
    with pytest.raises(MunimentError) as refused:
        lasting.runtime.system.recover()
    assert (refused.value.code, refused.value.at) == ("store.corrupt", "position 2")


def test_a_recovery_derives_a_space_whose_fault_is_gone(lasting: FileWorld) -> None:
    copy = lasting.with_turns(1).copy("older")
    pins = sorted((lasting.home / "pins").rglob("*"))
    older = {path: path.read_bytes() for path in pins if path.is_file()}
    lasting.with_turns(1).put_back(copy)
    assert not lasting.runtime.system.health().sound
    for path, data in older.items():
        path.write_bytes(data)
    told = lasting.runtime.system.recover()
    assert (told.sound, [one.unchanged for one in told.projections]) == (True, [True] * 3)


# --- the report -------------------------------------------------------------------------------------------------------


def test_a_store_in_order_is_clean_and_counted(world: World) -> None:
    """RE-03, ST-08: how much was looked at, of the space and of a conversation; nothing is appended or changed."""
    world.with_turns(4).with_turns(2, "other").with_turn(rich_turn()).masked(2).erased(3)
    record(world, derived(1), derived(1, through=4, key="summary"), derived(1, "other"))
    world.runtime.evidence.export(key_of())
    before = world.runtime.evidence.checkpoint()
    report = repaired(world)
    assert (report.turns, report.derived_refs, report.fail_closed, report.findings, report.kinds) == (
        7,
        3,
        False,
        [],
        {},
    )
    assert (report.events, report.projections, report.conversation) == (before.size, 3, None)
    assert report.lookups == 2 + 7 + 1  # conversations, turns, a chat id
    whole = repaired(world, TALK)
    assert (whole.turns, whole.derived_refs, whole.checkpoints, whole.projections) == (5, 2, None, None)
    assert whole.conversation == key_of()
    assert not repaired(world, "other").fail_closed
    assert world.runtime.evidence.checkpoint() == before


def test_a_refused_write_leaves_a_clean_report(world: World) -> None:
    """RE-05 for what is written here."""
    world.with_turns(1)
    with pytest.raises(MunimentError):
        record(world, derived(1, message="turn-1#9"))
    assert not repaired(world).fail_closed


@pytest.mark.parametrize("budget", [1, 2, 5, 100])
def test_a_list_of_issues_is_cut_and_its_counts_are_whole(world: World, budget: int) -> None:
    """RE-04: a budget of 1 shows 1."""
    world.with_turns(4)
    for turn in range(1, 5):
        on_turn(turn, lambda _, writer, opened: writer.destroy_content(opened.row))(world)
    report = repaired(world, limit=budget)
    assert len(report.findings) == min(budget, 4)
    assert (report.findings_total, report.kinds, report.fail_closed) == (4, {Is.CONTENT_MISSING: 4}, True)
    assert report.clipped == (budget < 4)
    assert report.turns == 4


def test_a_conversation_that_is_not_there_has_no_report(world: World) -> None:
    world.with_turns(1)
    with pytest.raises(UnknownConversation):
        repaired(world, "nowhere")
    with pytest.raises(ForeignSpace):
        world.runtime.evidence.inspect(replace(key_of(), space=SpaceName("elsewhere")))
    assert not world.runtime.evidence.inspect(replace(key_of(), space=SpaceName("default"))).fail_closed


def test_a_limit_is_a_limit_of_the_report() -> None:
    world = memory_world(limits=Limits(report_items_max=2))
    with pytest.raises(LimitExceeded):
        repaired(world, limit=3)
    world.close()


def test_progress_is_told_part_by_part(lasting: FileWorld) -> None:
    told: list[tuple[str, int, int]] = []
    session = replace(lasting.with_turns(3).runtime._session, progress=lambda *words: told.append(words))
    type(lasting.runtime)(session).evidence.inspect()
    events = lasting.runtime.system.health().events
    assert ("inspect", events, events) in told


def test_a_log_of_a_newer_release_is_left_alone(lasting: FileWorld) -> None:
    """ST-02: an unknown schema is refused, before anything is looked at."""
    furnished(lasting)
    with pytest.raises(StoreNewer), lasting.edited() as raw:
        EDITS["the schema of the future"](raw)
    with lasting.broken_into() as raw:
        raw.execute("PRAGMA user_version = 1")
    lasting.reopened()


def test_reporting_removes_nothing_and_recovering_only_what_a_replacement_left(lasting: FileWorld) -> None:
    """ST-03: report only, and safe: leftovers of an interrupted replacement are completed, nothing else is touched."""
    lasting.with_turns(1)
    keys = lasting.database.with_name("keys.json")
    left, other = keys.with_name("keys.json.new"), keys.with_name("somebody's.txt")
    left.write_bytes(b"{}")
    other.write_bytes(b"kept")
    before = keys.read_bytes()
    assert not repaired(lasting).fail_closed
    assert left.exists()
    lasting.reopened()
    assert (left.exists(), other.read_bytes(), keys.read_bytes()) == (False, b"kept", before)


# --- while others work ------------------------------------------------------------------------------------------------


def test_what_others_do_meanwhile_is_no_issue(lasting: FileWorld) -> None:
    """Commits, erasures and rotations while an inspection reads: every state that it saw was in order."""
    lasting.with_turns(40)
    stop, faults = threading.Event(), list[BaseException]()

    def work() -> None:
        number = 0
        try:
            while not stop.is_set():
                number += 1
                lasting.request(Transition.ERASE, number % 40 + 1)
                lasting.with_turns(1, f"other-{number}")
                record(lasting, derived(number % 40 + 1, key=str(number)))
                lasting.runtime.spaces.rotate()
        except MunimentError as fault:
            faults.append(fault)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        reports = [repaired(lasting) for _ in range(6)]
        reports += [repaired(lasting, TALK) for _ in range(6)]
    finally:
        stop.set()
        worker.join()
    assert not faults
    assert [report.kinds for report in reports] == [{}] * 12


def test_a_message_that_was_erased_alone_is_no_issue(world: World) -> None:
    """What is left proves itself, and what is gone was erased."""
    world.with_turns(2)
    lifecycle(Transition.ERASE, turn=1, message=0)(world)
    assert Is.CONTENT_LEFT in found_in(world)

    def erase(space: Space, writer: Writer, opened: OpenedEvent) -> None:
        salts, words = space.ledger.words(opened)
        writer.reseal_content(
            opened.row, left_of(writer.tx, opened.row, salts, TurnContent(parts=[[], words.parts[1]], digest=b""))
        )

    on_turn(1, erase)(world)
    assert not repaired(world).fail_closed
    assert not repaired(world, TALK).fail_closed


@pytest.mark.parametrize("erased", [False, True])
def test_an_event_whose_keys_were_turned_over_meanwhile_is_looked_at_again(erased: bool) -> None:
    """An older snapshot is wrapped by a key that is gone; what counts is the present log."""
    world = memory_world().with_turns(2)
    space, findings = space_of(world), Findings(10)
    rows = EventChecks(space.ledger, Transcript(space.ledger), findings)
    with space.ledger.reader() as older:
        (row,) = older.turns(1, 2, 2)
        if erased:
            world.erased(2)
        world.runtime.spaces.rotate()
        assert rows.look(older, row).opened is not None
        assert findings.total == 0
        on_turn(2, lambda _, writer, opened: writer.tx.put_envelopes([(opened.row.position, bytes(60))]))(world)
        assert rows.look(older, row).opened is None
        assert findings.counts == {Is.KEYS_MISSING: 1}
    world.close()


def test_the_inspection_of_a_conversation_finds_it_without_its_name(lasting: FileWorld) -> None:
    lasting.with_turns(2)
    with lasting.edited() as raw:
        raw.execute("DELETE FROM names")
    report = repaired(lasting, TALK)
    assert (report.turns, report.kinds) == (2, {Is.LOOKUP_MISMATCH: 3})


def test_the_turns_of_a_conversation_without_a_head_are_looked_at(lasting: FileWorld) -> None:
    lasting.with_turns(2).with_turns(3, "other")
    with lasting.edited() as raw:
        raw.execute("DELETE FROM streams WHERE turns = 2")
        raw.execute("UPDATE envelopes SET sealed = x'00' WHERE position = 2")
    report = repaired(lasting, TALK)
    assert report.turns == 1
    assert {Is.HEAD_MISSING, Is.KEYS_DAMAGED} == set(report.kinds)


def test_a_damaged_source_leaves_a_reference_unproved(lasting: FileWorld) -> None:
    record(lasting.with_turns(3), derived(1, through=3))
    with lasting.edited() as raw:
        (position,) = raw.execute("SELECT position FROM events WHERE turn_seq = 2").fetchone()
        raw.execute("UPDATE envelopes SET sealed = zeroblob(60) WHERE position = ?", (position,))
    report = repaired(lasting)
    assert report.kinds == {Is.KEYS_DAMAGED: 1, Is.MISSING_SOURCE_TURN: 1}
    with pytest.raises(MunimentError):
        of_memory(lasting)


@pytest.mark.parametrize("part", [1, 2, 7, 12])
def test_a_log_is_looked_at_in_parts_of_any_length(world: World, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is looked at twice, and nothing is left out, whatever a snapshot holds."""
    monkeypatch.setattr(inspection, "PART_EVENTS", part)
    record(world.with_turns(9).masked(2), derived(1, through=9))
    for report, events in ((repaired(world), 13), (repaired(world, TALK), 12)):
        assert (report.events, report.turns, report.derived_refs, report.fail_closed) == (events, 9, 1, False)


# --- attributes and erasures ------------------------------------------------------------------------------------------


def test_findings_about_attributes_name_their_positions(world: World) -> None:
    world.with_turns(3)
    large = attribute(value="x" * 63)(world)
    missing = attribute({"turn": 9})(world)
    bad = attribute({"turn": 2}, replace(HEAD, id="b", key="nope"))(world)
    found = {(each.position, each.kind, each.problem) for each in repaired(world).findings}
    assert found == {
        (large, Is.ATTRIBUTE_OVERSIZED, "value_too_large"),
        (missing, Is.ATTRIBUTE_TARGET_MISSING, "turn"),
        (bad, Is.ATTRIBUTE_MALFORMED, "key_malformed"),
    }


def test_an_attribute_whose_content_is_erased_is_still_looked_at(world: World) -> None:
    world.with_turns(2)
    attribute({"turn": 1}, replace(HEAD, key="nope"))(world)
    attribute({"turn": 2}, value=7)(world)
    world.erased(1).erased(2)
    assert [each.problem for each in repaired(world).findings] == ["key_malformed"]


def test_an_inspection_counts_attributes_and_erasures(world: World) -> None:
    """Of everything, and of one conversation."""
    world.with_turns(4).with_turns(2, "other").with_turn(rich_turn())
    world.runtime.transcripts.annotate(key_of(), [an_attribute(), an_attribute("b")])
    world.erased(1).erased(2).erased(1, "other")
    scope = Scope(conversation=key_of().conversation, turn=TurnId("turn-3"), message="turn-3#1")
    world.runtime.lifecycle.erase(scope, "asked for", "operator")
    whole, talk = repaired(world), repaired(world, TALK)
    assert (whole.attributes, whole.erasures, whole.erased_turns, whole.erased_messages) == (2, 4, 3, 1)
    assert (talk.attributes, talk.erasures, talk.erased_turns, talk.erased_messages) == (2, 3, 2, 1)
    assert whole.findings == []
