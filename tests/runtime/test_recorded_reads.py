"""Everything that goes out is on record: exports by every way always, reads where a policy asks for it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import msgspec
import pytest

from muniment.errors import AccessDenied, MunimentError, UnknownConversation
from muniment.events.archive import ArchiveScope, PrivateMaterial, ScopeKind
from muniment.events.identity import TurnId
from muniment.events.records import EventKind
from muniment.formats.writing.export_format import ExportFormat
from muniment.governance.access import Access, Effect
from muniment.governance.covered_turns import CoveringReport
from muniment.governance.policy import RECORDS, Policy
from muniment.governance.views import View
from muniment.operations.context.prompt import Composition
from muniment.operations.evidence.disclosure_entries import DisclosureEntry
from muniment.operations.transcripts.timeline import Anchor, AnchorKind
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from tests.turns import SUBJECT, TALK
from tests.worlds import FileWorld, World, key_of

RECORDING = Access(policies=frozenset({Policy.RECORD_READS}))
READER = Access(
    effects=frozenset({Effect.READ}), views=frozenset({View.HOST_UI, View.MODEL_CONTEXT}), subject=SUBJECT,
    policies=frozenset({Policy.RECORD_READS}),
)  # fmt: skip
CANARY = "question 0003"

READS: dict[str, Callable[[Runtime], object]] = {
    "replay": lambda runtime: runtime.transcripts.replay(key_of(), View.HOST_UI, 2).turns,
    "timeline": lambda runtime: runtime.transcripts.timeline(key_of(), limit=3).turns,
    "search": lambda runtime: runtime.transcripts.search(CANARY).hits,
    "context": lambda runtime: runtime.transcripts.context(key_of(), 90, CANARY).messages,
}


def of_kind(world: World, kind: EventKind) -> list[DisclosureEntry]:
    return [entry for entry in world.runtime.evidence.disclosures(limit=100).disclosures if entry.kind == kind]


def size_of(world: World) -> int:
    return world.runtime.spaces.usage().events


# --- reads ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", READS)
def test_a_read_is_on_record_where_the_policy_asks_for_it_and_nowhere_else(name: str, world: World) -> None:
    """One event for each call, also for a caller who may only read; the store records, not the caller."""
    world.with_turns(5).with_turns(1, "other")
    before = size_of(world)
    shown = READS[name](world.runtime)
    assert size_of(world) == before
    assert READS[name](world.runtime.restricted(READER)) == shown
    assert size_of(world) == before + 1
    (entry,) = of_kind(world, EventKind.CONTENT_READ)
    assert (entry.operation, entry.subject) == (f"transcripts.{name}", SUBJECT)
    assert entry.views == ["model_context" if name == "context" else "host_ui"]


def test_the_record_of_a_read_names_the_turns_that_were_shown(world: World) -> None:
    world.with_turns(1, "other").with_turns(6).masked(5)
    runtime = world.runtime.restricted(RECORDING)
    runtime.transcripts.replay(key_of(), View.HOST_UI, 2)
    runtime.transcripts.timeline(key_of(), Anchor(at=AnchorKind.AROUND, sequence=4), limit=4)
    hits = runtime.transcripts.search(CANARY, limit=2).hits
    with pytest.raises(UnknownConversation):
        runtime.transcripts.replay(key_of("nowhere"))
    runtime.transcripts.search("nobody-said-this")
    page, timeline, search, nothing = of_kind(world, EventKind.CONTENT_READ)
    assert (page.conversation, page.first, page.last, page.turns) == (key_of(), 1, 2, 2)
    assert (timeline.first, timeline.last, timeline.turns) == (2, 6, 4)
    assert (search.conversation, search.first, search.turns) == (None, None, len(search.found))
    assert search.found == sorted({hit.place.position for hit in hits})
    assert (nothing.conversation, nothing.turns) == (None, 0)
    of_other = world.runtime.evidence.disclosures(key_of("other")).disclosures
    assert search in of_other or not any(hit.place.conversation == key_of("other") for hit in hits)
    assert [page, timeline, search] == world.runtime.evidence.disclosures(key_of()).disclosures


def test_a_record_holds_neither_words_nor_the_query(world: World) -> None:
    world.with_turns(4)
    for read in READS.values():
        read(world.runtime.restricted(RECORDING))
    world.runtime.spaces.export(key_of(), ExportFormat.OTEL, View.RAW_OWNER)
    space = world.runtime._session.space
    with space.ledger.reader() as reader:
        rows = [row for row in reader.in_stream(0, 1, 100) if row.kind.startswith("content.")]
        told = b"".join(msgspec.json.encode(space.ledger.open(row).meta) for row in rows)
    assert len(rows) == len(READS) + 1
    assert not any(word in told for word in (b"question", b"answer", b"0003", b"user", b"assistant"))


def test_a_context_that_is_issued_on_record_is_recorded_once(world: World) -> None:
    world.with_turns(3)
    runtime = world.runtime.restricted(RECORDING)
    runtime.transcripts.context(key_of(), 90, composition=Composition(record=True))
    kinds = [entry.kind for entry in world.runtime.evidence.disclosures().disclosures]
    assert kinds == [EventKind.CONTEXT_ISSUED]


def test_a_refused_read_leaves_no_record_of_a_read(world: World) -> None:
    world.with_turns(2)
    with pytest.raises(AccessDenied):
        world.runtime.restricted(READER).transcripts.replay(key_of(), View.RAW_OWNER)
    assert of_kind(world, EventKind.CONTENT_READ) == []


def test_cursors_lead_on_while_pages_are_recorded(world: World) -> None:
    world.with_turns(5)
    runtime = world.runtime.restricted(RECORDING)
    cursor, seen = None, 0
    for _ in islice(iter(int, 1), 10):
        page = runtime.transcripts.replay(key_of(), View.HOST_UI, 2, cursor)
        seen, cursor = seen + len(page.turns), page.next_cursor
        if cursor is None:
            break
    found = runtime.transcripts.search("question", limit=2)
    again = runtime.transcripts.search("question", limit=2, cursor=found.next_cursor)
    assert (seen, again.total) == (5, found.total)
    assert len(of_kind(world, EventKind.CONTENT_READ)) == 5


def test_where_no_record_can_be_written_nothing_is_read(lasting: FileWorld) -> None:
    """A store that takes no events gives out nothing under the policy."""
    lasting.with_turns(2).edited_while_open(
        "CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'no more'); END"
    )
    with pytest.raises(MunimentError):
        lasting.runtime.restricted(RECORDING).transcripts.replay(key_of())
    with pytest.raises(MunimentError):
        lasting.runtime.spaces.export(key_of())
    assert lasting.runtime.transcripts.replay(key_of()).turns


def test_every_operation_that_is_recorded_tells_what_it_covers() -> None:
    """The catalogue is walked, so that another reading operation cannot be forgotten."""
    families = RECORDS[Policy.RECORD_READS]
    recorded = [each for each in catalogue() if each.terms.family in families]
    assert {"transcripts.replay", "transcripts.search", "transcripts.context"} <= {each.path for each in recorded}
    for each in recorded:
        assert issubclass(each.report, CoveringReport), each.path


# --- exports ----------------------------------------------------------------------------------------------------------


def test_every_way_out_is_on_record(world: World, tmp_path: Path) -> None:
    """With the view, what was covered and who; whoever exports needs no right to append."""
    world.with_turns(3)
    scope = ArchiveScope(kind=ScopeKind.CONVERSATION, channel="default", conversation=TALK)
    turn = TurnId(world.replay().turns[1].turn)
    reader = world.runtime.restricted(Access(effects=frozenset({Effect.READ}), subject=SUBJECT))
    reader.evidence.prove(key_of(), turn, View.HOST_UI)
    reader.spaces.export(key_of(), ExportFormat.MARKDOWN, View.EXPORT)
    world.runtime.evidence.export(key_of(), View.EXPORT, certified=False, recipient="court", purpose="case 17")
    world.runtime.evidence.export(key_of(), View.EXPORT, recipient="court")
    world.runtime.archives.export(str(tmp_path / "archive"), scope, PrivateMaterial.INCLUDE)
    world.runtime.spaces.backup(str(tmp_path / "backup"))
    receipt, document, bundle, certified, archive, backup = world.runtime.evidence.disclosures().disclosures
    assert (receipt.way, receipt.turn, receipt.sequence, receipt.views) == ("receipt", turn, 2, ["host_ui"])
    assert (document.way, document.conversation, document.turns) == ("document", key_of(), 3)
    assert {receipt.subject, document.subject} == {SUBJECT}
    assert (bundle.way, bundle.recipient, bundle.purpose, bundle.through) == ("bundle", "court", "case 17", 4)
    assert (certified.kind, certified.recipient, certified.through) == ("export.issued", "court", 4)
    assert (archive.kind, archive.scope, archive.private) == ("archive.exported", scope, "include")
    assert (backup.way, backup.conversation, backup.through) == ("backup", None, backup.position - 1)
    of_talk = world.runtime.evidence.disclosures(key_of()).disclosures
    assert of_talk == [receipt, document, bundle, certified, archive, backup]
    world.with_turns(1, "later")
    assert world.runtime.evidence.disclosures(key_of("later")).disclosures == []
    assert world.runtime.evidence.inspect().findings == []


def test_what_is_refused_before_it_leaves_is_no_disclosure(world: World, tmp_path: Path) -> None:
    world.with_turns(1)
    (tmp_path / "keys.sealed").write_bytes(b"taken")
    with pytest.raises(MunimentError):
        world.runtime.spaces.backup(str(tmp_path))
    with pytest.raises(MunimentError):
        world.runtime.spaces.export(key_of("nowhere"))
    assert world.runtime.evidence.disclosures().disclosures == []


def test_the_facts_of_an_export_count_what_is_left_out_and_why(world: World) -> None:
    world.with_turns(4).masked(2).erased(3)
    document = world.runtime.spaces.export(key_of(), ExportFormat.OTEL, View.EXPORT).summary
    bundle = world.runtime.evidence.export(key_of(), View.EXPORT).summary
    for facts in (document, bundle):
        assert (facts["turns_left_out"], facts["messages_left_out"]) == (2, 4)
        assert (facts["messages_left_out_lifecycle_masked"], facts["messages_left_out_erased"]) == (2, 2)
    whole = world.runtime.evidence.export(key_of("talk"), View.OPERATOR_AUDIT).summary
    assert whole["messages_left_out_view_policy"] == 4
