"""Annotations through the front door: what is taken, who sees it, what becomes of it with its turn."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace

from muniment.errors import (
    AccessDenied,
    Corrupt,
    CursorStale,
    ForeignSpace,
    InvalidInput,
    KeyMissing,
    LimitExceeded,
    UnknownConversation,
)
from muniment.events.attributes import Attribute, AttributeGovernance, AttributeLink, AttributePolicy
from muniment.events.changes import LifecycleRequest, Transition, TurnLifecycle
from muniment.events.identity import ConversationKey, SpaceName, SubjectId, TurnId
from muniment.events.records import EventKind
from muniment.events.references import Visibility
from muniment.formats.writing.export_format import ExportFormat
from muniment.governance.access import Access, Effect
from muniment.governance.annotation import AttributeRefusal
from muniment.governance.limits import Limits
from muniment.governance.views import Reason, View
from muniment.ledger.drafts import draft
from muniment.operations.transcripts.annotate import AnnotationReport, append, checked, decide
from muniment.space.space import Space
from tests.attributes import GATEWAY, OPERATOR, RAW, RULED, attribute, expected, of_turn, ruled
from tests.runtime.test_evidence import exported, opened, verified
from tests.turns import TALK, plain_turn, rich_turn
from tests.worlds import FileWorld, World, key_of, memory_world, sqlite_world


def annotate(world: World, *attributes: Attribute, dry: bool = False) -> AnnotationReport:
    return world.runtime.transcripts.annotate(key_of(), list(attributes), dry)


def space_of(world: World) -> Space:
    return world.runtime._session.space


def root_of(world: World) -> bytes:
    with space_of(world).ledger.reader() as reader:
        return reader.frontier().root()


def shown(world: World, view: View = RAW, turn: int = 1) -> dict[str, object]:
    """Return the values of a turn's attributes as a view shows them, by id."""
    return {one.id: one.value for one in world.replay(view).turns[turn - 1].attributes}


def told(report: AnnotationReport) -> list[AttributeRefusal | None]:
    return [one.reason for one in report.attributes]


# --- writing ----------------------------------------------------------------------------------------------------------


def test_each_attribute_is_taken_or_refused_alone(world: World) -> None:
    """AT-09, AT-11: what is refused has a reason and leaves no trace; the rest is recorded in the order given."""
    world.with_turns(2)
    report = annotate(
        world,
        attribute("first"),
        attribute("bad key", key="tokens"),
        attribute("twice", 1),
        attribute("nowhere", target=of_turn(9)),
        attribute("twice", 2),
        attribute("of message", 7, of_turn(2, 1)),
        attribute("no message", target=of_turn(2, 2)),
    )
    refused = AttributeRefusal
    assert told(report) == [
        None, refused.KEY_MALFORMED, refused.ID_REPEATED, refused.UNKNOWN_TURN, refused.ID_REPEATED, None,
        refused.UNKNOWN_MESSAGE,
    ]  # fmt: skip
    assert (report.accepted, report.refused, report.dry_run) == (2, 5, False)
    assert [one.position for one in report.attributes if one.accepted] == [4, 5]
    assert report.audit_position == 4
    assert (shown(world), shown(world, turn=2)) == ({"first": "the value words"}, {"of message": 7})
    assert world.runtime.evidence.checkpoint().size == 6


def test_a_write_of_which_nothing_is_taken_leaves_the_log_as_it_was(world: World) -> None:
    """RE-05: a refused write leaves no trace."""
    world.with_turns(1)
    before = root_of(world)
    assert annotate(world, attribute(key="tokens")).accepted == 0
    assert annotate(world).attributes == []
    assert root_of(world) == before


def test_a_conversation_that_is_not_there_is_an_error_of_the_whole_request(world: World) -> None:
    """AT-11; SC-11: so is another space."""
    world.with_turns(1)
    for dry in (False, True):
        with pytest.raises(UnknownConversation):
            world.runtime.transcripts.annotate(key_of("nowhere"), [attribute()], dry)
    foreign = ConversationKey(conversation=TALK, space=SpaceName("elsewhere"))
    with pytest.raises(ForeignSpace):
        world.runtime.transcripts.annotate(foreign, [attribute()])


def test_a_request_that_has_not_its_form_is_refused_as_a_whole(world: World) -> None:
    world.with_turns(1)
    good = to_builtins(attribute())
    bad: list[Any] = [{**good, "kind": "null"}, {**good, "visibility": "all"}, {**good, "more": 1}, {"id": "a"}]
    assert world.runtime.transcripts.annotate(key_of(), [good]).accepted == 1
    for each in bad:
        with pytest.raises(InvalidInput) as refused:
            world.runtime.transcripts.annotate(key_of(), [good, each])
        assert (refused.value.at or "").startswith("attributes[")
    with pytest.raises(InvalidInput):
        world.runtime.transcripts.annotate(key_of(), [attribute()], idempotency_key=" ")


def test_the_number_of_attributes_is_limited_in_a_request_and_of_a_turn() -> None:
    world = memory_world(limits=Limits(attributes_max=3, turn_attributes_max=2, attribute_bytes_max=10)).with_turns(2)
    with pytest.raises(LimitExceeded) as refused:
        annotate(world, *(attribute(str(number)) for number in range(4)))
    assert (refused.value.limit, refused.value.found) == (3, 4)
    assert told(annotate(world, attribute("a", 1), attribute("b", 2, of_turn(1, 0)), attribute("c", 3))) == [
        None,
        None,
        AttributeRefusal.TOO_MANY_OF_TURN,
    ]
    assert told(annotate(world, attribute("a", 4), attribute("c", 3), attribute("c2", 3, of_turn(2)))) == [
        None, AttributeRefusal.TOO_MANY_OF_TURN, None,
    ]  # fmt: skip
    assert told(annotate(world, attribute("a", "0123456789"))) == [AttributeRefusal.VALUE_TOO_LARGE]
    world.close()


def test_the_idempotency_key_is_kept_and_suppresses_nothing(world: World) -> None:
    """AT-13."""
    world.with_turns(1)
    for _ in range(2):
        report = world.runtime.transcripts.annotate(key_of(), [attribute()], idempotency_key="write-7")
        assert (report.accepted, report.idempotency_key) == (1, "write-7")
    (found,) = world.replay().turns[0].attributes
    assert found.source is not None
    assert found.source.request == "write-7"
    assert world.runtime.evidence.checkpoint().size == 5


def test_a_subject_annotates_its_own_turns_alone(world: World) -> None:
    """AC-05: a public entry says nothing of the turns of others, which are as if they did not exist."""
    world.with_turns(1)
    own, other = (world.runtime.restricted(Access(subject=name)) for name in ("ada", "bob"))
    assert own.transcripts.annotate(key_of(), [attribute()]).accepted == 1
    for dry in (True, False):
        with pytest.raises(UnknownConversation):
            other.transcripts.annotate(key_of(), [attribute()], dry)
    world.commit(replace(plain_turn(2), subject=SubjectId("bob")))
    (refused,) = other.transcripts.annotate(key_of(), [attribute()]).attributes
    assert refused.reason is AttributeRefusal.UNKNOWN_TURN
    reader = world.runtime.restricted(Access(effects=frozenset({Effect.READ})))
    with pytest.raises(AccessDenied):
        reader.transcripts.annotate(key_of(), [attribute()])


# --- ids --------------------------------------------------------------------------------------------------------------


def test_writing_an_id_again_replaces_what_it_stood_for(world: World) -> None:
    """AT-10: the newest is shown, the former ones nowhere; an id stays with its turn and message (decision 0060)."""
    world.with_turns(2)
    annotate(world, attribute("a", "former words", visibility=Visibility.EXPORT, governance=FREE))
    again = annotate(world, attribute("a", "present words"), attribute("b", target=of_turn(1, 0)))
    assert again.attributes[0].replaces == 4
    assert (shown(world)["a"], shown(world, View.EXPORT)) == ("present words", {})
    for moved in (of_turn(2), of_turn(1, 0)):
        assert told(annotate(world, attribute("a", target=moved))) == [AttributeRefusal.TARGET_DIFFERS]
    assert told(annotate(world, attribute("b", target=of_turn(1, 1)))) == [AttributeRefusal.TARGET_DIFFERS]
    for view in View:
        assert "former words" not in opened(exported(world, view))


FREE = AttributeGovernance(export_allowed=True)

requests = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 9), st.sampled_from(RULED), st.sampled_from([1, 2, 3, 4])),
    max_size=6,
)
states = st.lists(st.tuples(st.sampled_from(["mask", "unmask", "archive", "erase"]), st.integers(1, 3)), max_size=3)


def asked(request: list[tuple[str, int, tuple[Visibility, AttributePolicy], int]]) -> list[Attribute]:
    return [replace(ruled(name, *rules, number=turn), value=f"{name} {value}") for name, value, rules, turn in request]


def without_positions(report: AnnotationReport) -> AnnotationReport:
    return replace(report, dry_run=False, attributes=[replace(one, position=None) for one in report.attributes])


@settings(max_examples=40, deadline=None)
@given(states, st.lists(requests, min_size=1, max_size=3))
def test_a_dry_run_says_what_a_write_then_does_and_appends_nothing(
    before: list[tuple[str, int]], written: list[list[tuple[str, int, tuple[Visibility, AttributePolicy], int]]]
) -> None:
    """AT-12, ST-08: same decisions, same previews, root unchanged; the previews are what pages then withhold."""
    world = memory_world().with_turns(3)
    for transition, turn in before:
        world.request(Transition(transition), turn)
    for request in map(asked, written):
        root = root_of(world)
        dry = annotate(world, *request, dry=True)
        assert (root_of(world), dry.dry_run) == (root, True)
        assert all(one.position is None for one in dry.attributes)
        wet = annotate(world, *request)
        assert without_positions(wet) == without_positions(dry)
        accepted = [one for one in wet.attributes if one.accepted]
        assert [one.position for one in accepted] == list(range(wet.audit_position, wet.audit_position + wet.accepted))
        names = {one.id for one in accepted}
        found = [item for view in View for item in world.replay(view).items if item.attribute in names]
        assert sorted(map(repr, found)) == sorted(map(repr, wet.withheld))
    world.close()


@settings(max_examples=40, deadline=None)
@given(st.permutations("abcdef"), st.lists(st.sampled_from(RULED), min_size=6, max_size=6), st.booleans())
def test_the_order_of_a_request_makes_no_difference(
    order: list[str], rules: list[tuple[Visibility, AttributePolicy]], split: bool
) -> None:
    """Annotations of different ids commute, in one request or in several; of one id, the last counts."""

    def page_of(names: list[str]) -> list[object]:
        world = memory_world().with_turns(2)
        annotate(world, *(replace(each, value="former") for each in given_.values()))
        chosen = [replace(given_[name], source=replace(given_[name].source, written_ms=7), **times) for name in names]
        for request in [chosen[:3], chosen[3:]] if split else [chosen]:
            annotate(world, *request)
        pages = [world.replay(view) for view in View]
        world.close()
        return [(page.turns[place].attributes, page.items) for page in pages for place in (0, 1)]

    times = {"created_ms": 7, "updated_ms": 8}
    given_ = {
        name: ruled(name, *each, number=1 + place % 2)
        for place, (name, each) in enumerate(zip("abcdef", rules, strict=True))
    }
    assert page_of(order) == page_of(list("abcdef"))


MOVES = {"masked": Transition.MASK, "erased": Transition.ERASE}


# --- who sees what ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["active", "masked", "erased"])
def test_no_value_is_in_a_view_that_hides_it_neither_in_a_page_nor_in_an_export(world: World, state: str) -> None:
    """AT-14 to AT-18, RP-08, EX-01: over the whole table, in the JSON of pages and in what bundles disclose."""
    world.with_turns(1)
    annotate(world, *(ruled(f"{visibility}/{policy}", visibility, policy) for visibility, policy in RULED))
    if state != "active":
        world.request(MOVES[state], 1)
    for view in View:
        page, bundle = world.replay(view), exported(world, view)
        verified(world, bundle)
        told_words, disclosed = json.dumps(to_builtins(page.turns[0])), opened(bundle)
        for visibility, policy in RULED:
            name, wanted = f"{visibility}/{policy}", expected(view, visibility, policy, state)
            origin = wanted == "value" and view in {RAW, OPERATOR}
            for words in (told_words, disclosed):
                assert (f'"value of {name}"' in words) is (wanted == "value"), (view, name)
                assert (f'"link of {name}"' in words) is (wanted == "value"), (view, name)
                assert (f'"reason of {name}"' in words) is origin, (view, name)
                assert (f'"{name}"' in words) is (wanted != "nothing"), (view, name)
            items = [item.reason for item in page.items if item.attribute == name]
            assert bool(items) is (wanted != "value"), (view, name)


def test_a_replacement_says_that_it_is_one(world: World) -> None:
    """AT-18."""
    world.with_turns(1)
    annotate(world, ruled("a", Visibility.OPERATOR_AUDIT, AttributePolicy.OPERATOR_AUDIT_ONLY_AFTER_MASK))
    world.masked(1)
    (found,) = world.replay(OPERATOR).turns[0].attributes
    assert found.value == {"redacted": True, "reason": "transcript lifecycle"}
    assert (found.redacted, found.schema, found.kind) == (True, "muniment.attribute.redacted", "object")
    assert found.source is not None
    assert found.source.writer == "gateway"


def test_attributes_come_back_with_the_turn_that_is_unmasked(world: World) -> None:
    world.with_turns(1)
    annotate(world, attribute())
    assert shown(world.masked(1)) == {}
    world.request(Transition.UNMASK, 1)
    assert shown(world) == {"a": "the value words"}


def test_a_masked_turn_is_annotated_and_an_erased_one_is_not(world: World) -> None:
    """Decision 0060: what was erased has nothing new said of it."""
    world.with_turns(2).masked(1).erased(2)
    survives = ruled("b", Visibility.INTERNAL, AttributePolicy.METADATA_SURVIVES_MASK)
    report = annotate(world, attribute("a"), survives, attribute("c", target=of_turn(2)))
    assert told(report) == [None, None, AttributeRefusal.ERASED]
    assert shown(world) == {"b": "value of b"}


def test_attributes_of_a_private_message_are_the_raw_owners_alone(world: World) -> None:
    """SP-02: also when they were recorded for others."""
    world.with_turn(rich_turn())
    target = replace(of_turn(1, 5), turn=TurnId("rich"), message="rich#5")
    annotate(world, attribute("a", target=target, visibility=Visibility.HOST_UI))
    found = {view: [one.id for one in world.replay(view).turns[0].attributes] for view in View}
    assert found == {view: ["a"] if view is RAW else [] for view in View}


def test_a_timeline_shows_attributes_and_goes_on_when_some_are_written(world: World) -> None:
    """PG-07: saying something of a turn is no lifecycle change."""
    world.with_turns(4)
    annotate(world, attribute("a", visibility=Visibility.HOST_UI, target=of_turn(4)))
    runtime = world.runtime
    page = runtime.transcripts.timeline(key_of(), limit=2)
    assert [len(turn.attributes) for turn in page.turns] == [0, 1]
    annotate(world, attribute("b", visibility=Visibility.HOST_UI, target=of_turn(2)))
    older = runtime.transcripts.timeline(key_of(), limit=2, cursor=page.older_cursor)
    assert [len(turn.attributes) for turn in older.turns] == [0, 1]
    world.masked(1)
    with pytest.raises(CursorStale):
        runtime.transcripts.timeline(key_of(), limit=2, cursor=page.older_cursor)


def test_lists_and_cursors_of_the_catalogue_do_not_mind_annotations(world: World) -> None:
    world.with_turns(1).with_turns(1, "other")
    page = world.runtime.conversations.list_(limit=1)
    annotate(world, attribute())
    assert len(world.runtime.conversations.list_(limit=1, cursor=page.next_cursor).conversations) == 1


def documents(world: World) -> list[str]:
    return [world.runtime.spaces.export(key_of(), each, view).text for each, view in product(ExportFormat, View)]


def test_documents_in_the_formats_of_others_are_the_same_with_and_without_attributes(world: World) -> None:
    world.with_turns(2).masked(2)
    before = documents(world)
    annotate(world, *(ruled(str(place), *rules, number=1 + place % 2) for place, rules in enumerate(RULED)))
    assert documents(world) == before


# --- with its turn ----------------------------------------------------------------------------------------------------


def contents(world: World) -> list[bool]:
    """Return of each attribute event whether its content is there: the cell, and the key that opens it."""
    space = space_of(world)
    with space.ledger.reader() as reader:
        rows = reader.of_kind(EventKind.ATTR_RECORDED)
        kept = [(row.content is not None, space.ledger.unsealed(row).key is not None) for row in rows]
    assert all(cell is key for cell, key in kept)
    return [cell for cell, _ in kept]


@pytest.mark.parametrize("turn", [1, None])
def test_an_erasure_destroys_every_value_that_the_turn_ever_had(world: World, turn: int | None) -> None:
    """BEHAVIOUR 9, erasure: attribute values are destroyed with the turn, replaced ones too; the receipt says it."""
    world.with_turns(2)
    annotate(world, attribute("a"), attribute("b", target=of_turn(2)))
    annotate(world, attribute("a", "again"), attribute("m", target=of_turn(1, 0)))
    world.masked(1)
    report = world.request(Transition.ERASE, turn)
    assert contents(world) == ([False, True, False, False] if turn else [False] * 4)
    assert report.receipt is not None
    values = 3 + 1 if turn else 4 + 1  # the reason of the mask is destroyed, too
    done = {one.place: one.done for one in report.receipt.places}
    assert done["content recorded beside the turns"] == f"{values} destroyed"
    assert done["content keys"] == f"{report.receipt.turns_erased} destroyed"
    assert world.runtime.system.recover().sound
    verified(world, exported(world, RAW))


def test_a_value_that_came_back_from_a_backup_is_destroyed_again(lasting: FileWorld) -> None:
    """DESIGN §4: on opening, everything that the log calls erased is destroyed again; what is said of a turn, too."""
    lasting.with_turns(2)
    annotate(lasting, attribute("a"), attribute("b", target=of_turn(2)))
    with lasting.edited() as raw:
        cell = raw.execute("SELECT content FROM events WHERE position = 4").fetchone()
    lasting.erased(1)
    with lasting.edited() as raw:
        raw.execute("UPDATE events SET content = ? WHERE position = 4", cell)
    assert lasting.runtime.system.health().sound
    assert contents(lasting) == [False, True]
    assert shown(lasting, turn=2) == {"b": "the value words"}


def test_no_word_of_an_attribute_is_on_the_disk_in_clear(lasting: FileWorld) -> None:
    lasting.with_turns(1)
    links = [AttributeLink(relation="canary-relation", kind="canary-kind", id="canary-link")]
    source = replace(GATEWAY, writer="canary-writer", reason="canary-reason")
    given_ = attribute(
        "canary-id", "canary-value", key="host.canary.key", schema="canary-schema", links=links, source=source
    )
    assert annotate(lasting, given_).accepted == 1
    lasting.close()
    for path in lasting.store.rglob("*"):
        assert path.is_dir() or b"canary" not in path.read_bytes(), path
    lasting.reopened()


def test_a_message_that_was_erased_alone_hides_what_is_said_of_it_and_takes_nothing_new(world: World) -> None:
    world.with_turns(1)
    annotate(world, attribute("turn"), attribute("gone", 1, of_turn(1, 0)), attribute("kept", 2, of_turn(1, 1)))
    space, request = space_of(world), LifecycleRequest(reason="asked for", requester="operator", requested_ms=1)
    event = draft(
        space.sources.entropy, EventKind.TURN_LIFECYCLE, 1, TurnLifecycle(request=request), reason=Transition.ERASE
    )
    space.ledger.transact(lambda writer: writer.append(event, stream=1, target=1, refs={"turn": 1, "message": 0}))
    assert shown(world) == {"turn": "the value words", "kept": 2}
    assert told(annotate(world, attribute("new", target=of_turn(1, 0)), attribute("other"))) == [
        AttributeRefusal.ERASED,
        None,
    ]


# --- what happens meanwhile, and what is done to the files ------------------------------------------------------------


def test_a_turn_that_is_erased_meanwhile_is_not_annotated(world: World) -> None:
    """Decision 0005: the plan decides inside the transaction; what was decided before is only a proposal."""
    world.with_turns(2)
    asked_ = [attribute("a"), attribute("b", target=of_turn(2)), attribute("c", target=of_turn(3))]
    request = checked(world.runtime._session, key_of(), asked_, None)
    space = space_of(world)
    with space.ledger.reader() as reader:
        decided = decide(request, reader)
    assert [each.refusal for each in decided] == [None, None, AttributeRefusal.UNKNOWN_TURN]
    world.erased(1).with_turns(1)
    report = space.ledger.transact(lambda writer: append(request, writer))
    assert told(report) == [AttributeRefusal.ERASED, None, None]
    assert contents(world) == [True, True]


@pytest.mark.parametrize("edit", ["DELETE FROM events", "UPDATE events SET target_seq = 2"])
def test_the_newest_word_about_an_attribute_cannot_be_taken_away_at_rest(lasting: FileWorld, edit: str) -> None:
    """Decision 0008: an attribute that was narrowed does not become wide again by an edit; it shows as corruption."""
    lasting.with_turns(1)
    annotate(lasting, attribute("a", visibility=Visibility.HOST_UI))
    annotate(lasting, attribute("a", "narrow"))
    lasting.edited_while_open(f"{edit} WHERE position = 4")
    with pytest.raises(Corrupt):
        lasting.reopened().replay()


def test_an_attribute_whose_row_is_gone_under_an_open_store_is_corruption(lasting: FileWorld) -> None:
    lasting.with_turns(1)
    annotate(lasting, attribute("a"))
    assert shown(lasting)
    lasting.edited_while_open("DELETE FROM events WHERE position = 3")
    with pytest.raises(Corrupt):
        lasting.replay()


def test_a_missing_value_that_nothing_erased_is_corruption_and_never_skipped(lasting: FileWorld) -> None:
    """DESIGN §4: a missing cell for content that the log does not call erased."""
    lasting.with_turns(1)
    annotate(lasting, attribute("a"))
    with lasting.edited() as raw:
        raw.execute("UPDATE events SET content = NULL WHERE position = 3")
    with pytest.raises(KeyMissing):
        lasting.replay()
    assert [item.reason for item in lasting.replay(View.EXPORT).items if item.attribute] == [Reason.ATTR_VISIBILITY]


@settings(max_examples=15, deadline=None)
@given(states, st.lists(requests, min_size=1, max_size=3))
def test_the_same_annotations_show_the_same_over_either_store_and_after_coming_back(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[tuple[str, int]],
    written: list[list[tuple[str, int, tuple[Visibility, AttributePolicy], int]]],
) -> None:
    """Twin run: equal pages and roots; rebuilt from the log equal to grown; the audit passes."""
    memory, lasting = memory_world(), sqlite_world(tmp_path_factory.mktemp("twin"))
    for world in (memory, lasting):
        world.with_turns(3)
        for request in map(asked, written):
            annotate(world, *request)
            for transition, turn in before[:1]:
                world.request(Transition(transition), turn)
    for view in View:
        assert memory.replay(view) == lasting.replay(view)
    assert root_of(memory) == root_of(lasting)
    pages = [lasting.replay(view) for view in View]
    assert [lasting.reopened().replay(view) for view in View] == pages
    assert lasting.runtime.evidence.audit().spaces[0].turns == 3
    memory.close()
    lasting.close()
