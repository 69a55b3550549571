"""One turn explained: what is shown, what happened, who received it, what it fed, its proof; and what stays hidden."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.errors import AccessDenied, InvalidInput, MunimentError, UnknownConversation, UnknownPlace
from muniment.events.archive import ArchiveScope, ImportMode, PrivateMaterial, ScopeKind
from muniment.events.changes import RedactionReason, Transition
from muniment.events.identity import Channel, ConversationId, SubjectId, TurnId
from muniment.events.message import TextPart
from muniment.events.records import EventKind
from muniment.events.references import Plane
from muniment.formats.writing.export_format import ExportFormat
from muniment.governance.access import Access, Effect
from muniment.governance.policy import Policy
from muniment.governance.views import Reason, View
from muniment.operations.context.prompt import Composition
from muniment.operations.evidence.explain import AUDIT_PARTS, Explanation
from muniment.operations.evidence.turn_history import HistoryEntry
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.provenance.derivations import Derivation
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.runtime import Runtime
from tests.attributes import attribute, of_turn
from tests.turns import SUBJECT, TALK, answer, plain_turn, question
from tests.worlds import OPERATOR, FileWorld, World, key_of, memory_world

SECOND = TurnId("turn-2")
RECORDING = Access(policies=frozenset({Policy.RECORD_READS}))
HOST = Access(effects=frozenset({Effect.READ}), views=frozenset({View.HOST_UI}))


def explained(world: World, turn: str = SECOND, access: Access | None = None) -> Explanation:
    runtime = world.runtime if access is None else world.runtime.restricted(access)
    return runtime.evidence.explain(turn)


def kinds(entries: list[HistoryEntry]) -> list[str]:
    return [f"{each.kind} {each.action or ''}".strip() for each in entries]


# --- what it tells ----------------------------------------------------------------------------------------------------


def test_it_shows_what_each_view_shows(world: World) -> None:
    """The same turn and the same items as a replay under the view."""
    world.with_turns(3)
    world.redacted(Passage(turn=SECOND, message=1), View.HOST_UI)
    told = explained(world)
    assert [shown.view for shown in told.views] == list(View)
    for shown in told.views:
        page = world.replay(shown.view)
        assert shown.turn == page.turns[1]
        assert shown.items == [item for item in page.items if item.turn == SECOND]
    assert (told.conversation, told.turn, told.sequence, told.left_out) == (key_of(), SECOND, 2, [])
    by_host = next(shown for shown in told.views if shown.view is View.HOST_UI)
    assert [item.reason for item in by_host.items] == [Reason.REDACTED]


def test_it_tells_everything_that_happened_to_the_turn_and_nothing_of_others(world: World) -> None:
    world.with_turns(3)
    runtime = world.runtime
    runtime.transcripts.redact(key_of(), Passage(turn=SECOND, message=0), [View.EXPORT], RedactionReason.LEGAL, "dpo")
    runtime.transcripts.redact(key_of(), Passage(turn=TurnId("turn-1")), [View.EXPORT], RedactionReason.LEGAL, "dpo")
    runtime.transcripts.annotate(key_of(), [attribute("a", target=of_turn(2)), attribute("b", target=of_turn(3))])
    held = runtime.lifecycle.hold(Scope(subject=SUBJECT), "a court", "legal")
    runtime.lifecycle.hold(Scope(subject=SubjectId("bob")), "another court", "legal")
    runtime.lifecycle.release(held.position or 0, "closed", "legal")
    world.masked(2)
    runtime.disclosure.reveal(key_of(), SECOND, "complaint 17", "supervisor")
    world.request(Transition.ARCHIVE)
    told = explained(world)
    assert kinds(told.history) == [
        "turn.committed", "turn.redacted legal", "attr.recorded", "turn.lifecycle hold", "turn.lifecycle release",
        "turn.lifecycle mask", "content.revealed", "turn.lifecycle archive",
    ]  # fmt: skip
    by_kind = {f"{each.kind} {each.action}": each for each in told.history}
    redaction, hold = by_kind["turn.redacted legal"], by_kind["turn.lifecycle hold"]
    assert (redaction.requester, redaction.views, redaction.first) == ("dpo", ["export"], 2)
    assert (hold.requester, hold.reason, hold.subject) == ("legal", "a court", SUBJECT)
    assert by_kind["turn.lifecycle mask"].requester == OPERATOR
    assert by_kind["content.revealed None"].reason == "complaint 17"
    assert by_kind["attr.recorded None"].attribute == "a"
    assert (by_kind["turn.lifecycle archive"].first, by_kind["turn.lifecycle archive"].last) == (1, 3)


def test_it_tells_who_received_the_turn(world: World, tmp_path: Path) -> None:
    """Every way out that reached it, in the order of the log; none that did not."""
    world.with_turns(3).with_turns(1, "other")
    runtime, recording = world.runtime, world.runtime.restricted(RECORDING)
    scope = ArchiveScope(kind=ScopeKind.SUBJECT, subject=SUBJECT)
    runtime.evidence.export(key_of(), recipient="court")
    runtime.evidence.prove(key_of(), SECOND)
    runtime.evidence.prove(key_of(), TurnId("turn-1"))
    runtime.spaces.export(key_of(), ExportFormat.OTEL)
    runtime.spaces.export(key_of("other"), ExportFormat.OTEL)
    runtime.archives.export(str(tmp_path / "archive"), scope, PrivateMaterial.INCLUDE)
    runtime.spaces.backup(str(tmp_path / "backup"))
    recording.transcripts.replay(key_of(), View.HOST_UI, 1)
    recording.transcripts.replay(key_of(), View.HOST_UI, 2)
    recording.transcripts.search(question(2), limit=1)
    runtime.transcripts.context(key_of(), 500, composition=Composition(record=True))
    runtime.disclosure.reveal(key_of(), SECOND, "why", "who")
    told = explained(world)
    ways = [each.way or each.operation or str(each.kind) for each in told.received]
    assert ways == [
        "export.issued", "receipt", "document", "archive.exported", "backup", "transcripts.replay",
        "transcripts.search", "content.revealed",
    ]  # fmt: skip
    assert told.received[0].recipient == "court"
    assert [each.kind for each in told.contexts] == [EventKind.CONTEXT_ISSUED]
    world.with_turns(1)
    assert explained(world, "turn-4").received == explained(world, "turn-4").contexts == []


def test_it_tells_which_memory_the_turn_fed(world: World) -> None:
    world.with_turns(4)
    for key, first, through in (("one", 2, None), ("several", 1, 3), ("other", 3, 4)):
        world.runtime.provenance.record([
            Derivation(
                plane=Plane.LONG_TERM, key=key, subject=SUBJECT, conversation=key_of(), turn=TurnId(f"turn-{first}"),
                through=None if through is None else TurnId(f"turn-{through}"),
            )
        ])  # fmt: skip
    told = explained(world)
    assert [(each.key, each.first, each.last) for each in told.memory] == [("one", 2, None), ("several", 1, 3)]


def test_it_tells_whether_the_turn_is_proved(lasting: FileWorld) -> None:
    """Neither signs nor appends: what is not signed yet is said to be so."""
    lasting.with_turns(2)
    before = explained(lasting).proof
    assert (before.included, before.pinned, before.checkpoint_size) == (False, False, 1)
    signed = lasting.runtime.evidence.checkpoint()
    size = lasting.runtime.spaces.usage().events
    proof = explained(lasting).proof
    assert (proof.included, proof.pinned) == (True, True)
    assert (proof.checkpoint_size, proof.checkpoint_root) == (signed.size, signed.root)
    assert lasting.runtime.spaces.usage().events == size
    lasting.with_turns(1)
    assert explained(lasting, "turn-3").proof.included is False


def test_it_is_a_recorded_read_itself(world: World) -> None:
    world.with_turns(2)
    told = explained(world, access=RECORDING)
    (entry,) = world.runtime.evidence.disclosures().disclosures
    assert (entry.operation, entry.found) == ("evidence.explain", [told.position])
    assert entry.views == [str(view) for view in View]
    assert [each.operation for each in explained(world).received] == ["evidence.explain"]


def test_a_turn_that_came_with_an_archive_says_so(world: World, tmp_path: Path) -> None:
    source = memory_world("source").with_turns(2)
    scope = ArchiveScope(kind=ScopeKind.CONVERSATION, channel="default", conversation=TALK)
    source.runtime.archives.export(str(tmp_path / "archive"), scope, PrivateMaterial.INCLUDE)
    source.close()
    world.runtime.archives.import_(str(tmp_path / "archive"), scope, PrivateMaterial.INCLUDE, ImportMode.BOOTSTRAP)
    assert [each.kind for each in explained(world).history] == ["turn.committed", "archive.imported"]


# --- which turn -------------------------------------------------------------------------------------------------------


def test_a_turn_is_found_by_its_id_a_message_or_its_position(world: World) -> None:
    world.with_turns(3)
    told = explained(world)
    for text in ("turn-2", "turn-2#0", "turn-2#1", str(told.position)):
        assert explained(world, text) == told
    for text in ("turn-9", "turn-2#2", "turn-2#x", "turn-2#", "#1", "0", "999", "9" * 40, "²"):
        with pytest.raises(UnknownPlace):
            explained(world, text)
    for text in ("", " ", "a\nb", "x" * 600):
        with pytest.raises(InvalidInput):
            explained(world, text)


def test_where_several_conversations_have_it_the_error_says_what_to_add(world: World) -> None:
    world.with_turns(2).with_turns(2, "other")
    mail = msgspec.structs.replace(plain_turn(2), channel=Channel("mail"))
    world.commit(mail)
    explain = world.runtime.evidence.explain
    for conversation, problem, found in ((None, "add_conversation", 3), (TALK, "add_channel", 2)):
        with pytest.raises(InvalidInput) as refused:
            explain("turn-2", conversation)
        assert (refused.value.problem, refused.value.found) == (problem, found)
        assert "add the" in str(refused.value)
    assert explain("turn-2", ConversationId("other")).conversation == key_of("other")
    assert explain("turn-2", channel=Channel("mail")).conversation == key_of(channel="mail")
    assert explain("turn-2", ConversationId(TALK), Channel("default")).sequence == 2
    with pytest.raises(UnknownConversation):
        explain("turn-2", ConversationId("nowhere"))
    with pytest.raises(UnknownPlace):
        explain("2", ConversationId("other"))


# --- access and canaries ----------------------------------------------------------------------------------------------


def test_views_and_the_audit_that_the_access_lacks_are_absent(world: World) -> None:
    world.with_turns(2)
    world.runtime.evidence.export(key_of(), recipient="court")
    told = explained(world, access=HOST)
    assert [shown.view for shown in told.views] == [View.HOST_UI]
    assert told.left_out == AUDIT_PARTS
    assert (told.history, told.received, told.contexts, told.memory) == ([], [], [], [])
    hidden = explained(world, access=Access(policies=frozenset({Policy.NO_DEBUG_REPLAY})))
    assert View.RAW_OWNER not in {shown.view for shown in hidden.views}
    assert hidden.left_out == AUDIT_PARTS
    with pytest.raises(AccessDenied):
        explained(world, access=Access(views=frozenset()))
    with pytest.raises(AccessDenied):
        explained(world, access=Access(effects=frozenset({Effect.APPEND})))


def everything_told(runtime: Runtime, turn: str) -> str:
    """Return all that the answers of this area tell, as text."""
    told: list[object] = [runtime.evidence.explain(turn)]
    for ask in (runtime.evidence.disclosures, runtime.evidence.inspect):
        try:
            told.append(ask())
        except MunimentError as refused:
            told.append(str(refused))
    return msgspec.json.encode(told).decode()


@settings(max_examples=20)
@given(st.sampled_from(["mask", "erase", "redact", "private"]), st.frozensets(st.sampled_from(View), min_size=1))
def test_no_answer_holds_a_word_that_the_views_of_the_caller_hide(how: str, views: frozenset[View]) -> None:
    """A canary in the question and one in the answer, hidden in any way, for a caller with any views."""
    world = memory_world().with_turns(2)
    if how == "redact":
        world.redacted(Passage(turn=SECOND), *views, View.RAW_OWNER)
    elif how == "private":
        views -= {View.RAW_OWNER, View.MODEL_CONTEXT, View.HOST_UI, View.EXPORT}
    else:
        world.request(Transition(how), 2)
    world.runtime.restricted(RECORDING).transcripts.search(question(2))
    world.runtime.evidence.prove(key_of(), SECOND)
    if views:
        caller = world.runtime.restricted(Access(effects=frozenset({Effect.READ}), views=views))
        text = everything_told(caller, SECOND)
        assert question(2) not in text
        assert answer(2) not in text
        assert "0002 of" not in text
    world.close()


def test_what_a_view_shows_is_all_that_is_told(world: World) -> None:
    """A caller of one view is told the words of that view, so that the canaries above prove something."""
    world.with_turns(2)
    told = explained(world, access=HOST)
    parts = [message.parts for message in told.views[0].turn.messages]
    assert parts == [[TextPart(content=question(2))], [TextPart(content=answer(2))]]
