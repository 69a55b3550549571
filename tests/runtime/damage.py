"""Damage of every kind, by name: what is planted, and the issue that names it.

`AT_REST` and `MORE_AT_REST` are edits of the database by somebody without a key; `PLANTED` goes through the ledger
itself, as only a fault of the product, or somebody with the key, could.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import cast

from msgspec.structs import replace

from muniment.crypto.cell import OpenEnvelope
from muniment.events.attributes import (
    AttributeContent,
    AttributeGovernance,
    AttributeHead,
    AttributeOrigin,
    AttributeRecorded,
    SourceKind,
    ValueKind,
)
from muniment.events.cells import pack
from muniment.events.changes import (
    Custody,
    LifecycleRequest,
    RedactionReason,
    RedactionTarget,
    Transition,
    TurnLifecycle,
    TurnRedacted,
)
from muniment.events.labels import content_fields
from muniment.events.message import Part, TextPart
from muniment.events.records import (
    ConversationOpened,
    EventKind,
    ExportGrant,
    ExportIssued,
    MetaBody,
    TurnContent,
    TurnMeta,
)
from muniment.events.references import Plane, RefDerived, SourceEvidence, Visibility
from muniment.evidence.verifier import source_digest
from muniment.ledger.attached_files import left_of
from muniment.ledger.drafts import EncodedContent, draft, encoded
from muniment.ledger.ledger import SPACE_STREAM, OpenedEvent, Writer
from muniment.ledger.vocabulary import PRESENT, WrittenKind
from muniment.log.port import WHOLE_CONVERSATION
from muniment.projections.inspection.findings import FindingKind
from muniment.space.space import Space
from tests.turns import SUBJECT, TALK, answer, message_of, question
from tests.worlds import World, key_of

Is = FindingKind

# edit of tests/runtime/test_edited_at_rest.py -> the issue that names it
AT_REST: dict[str, FindingKind] = {
    "column stream = 900": Is.HEADER_MISMATCH,
    "column seq = 900": Is.HEADER_MISMATCH,
    "column turn_seq = 900": Is.HEADER_MISMATCH,
    "column turn_seq = NULL": Is.HEADER_MISMATCH,
    "column target_seq = 1": Is.HEADER_MISMATCH,
    "column time = time + 1": Is.HEADER_MISMATCH,
    "column header = x'7b7d'": Is.HEADER_MISMATCH,
    "column leaf = zeroblob(32)": Is.TREE_MISMATCH,
    "column position = 900": Is.EVENT_MISSING,
    "kind of a turn": Is.HEADER_MISMATCH,
    "column header cut": Is.HEADER_MISMATCH,
    "a turn deleted": Is.EVENT_MISSING,
    "a mask deleted": Is.EVENT_MISSING,
    "a mask moved to another turn": Is.HEADER_MISMATCH,
    "a mask that masks nothing": Is.HEADER_MISMATCH,
    "the newest event deleted": Is.EVENT_MISSING,
    "an envelope deleted": Is.KEYS_MISSING,
    "an envelope of a mask deleted": Is.KEYS_MISSING,
    "an envelope edited": Is.KEYS_DAMAGED,
    "an envelope cut": Is.KEYS_DAMAGED,
    "words deleted": Is.CONTENT_MISSING,
    "words edited": Is.CONTENT_DAMAGED,
    "words cut": Is.CONTENT_DAMAGED,
    "a stream head deleted": Is.HEAD_MISSING,
    "a stream head with fewer turns": Is.HEAD_MISMATCH,
    "a stream head with fewer changes": Is.HEAD_MISMATCH,
    "a stream head with more messages": Is.HEAD_MISMATCH,
    "a stream head with another leaf": Is.HEAD_MISMATCH,
    "the frontier": Is.TREE_MISMATCH,
    "checkpoints forged": Is.CHECKPOINT_MISMATCH,
    "checkpoints deleted and a turn edited": Is.KEYS_DAMAGED,
    "the newest leaf": Is.TREE_MISMATCH,
    "the nodes of the tree": Is.TREE_MISMATCH,
    "checkpoints renumbered": Is.CHECKPOINT_MISMATCH,
    "name of a turn deleted": Is.LOOKUP_MISMATCH,
    "name of a turn deleted that is repeated": Is.LOOKUP_MISMATCH,
    "name of a turn replaced": Is.LOOKUP_MISMATCH,
    "names of conversations deleted": Is.LOOKUP_MISMATCH,
    "all names deleted": Is.LOOKUP_MISMATCH,
    "names of two turns swapped": Is.LOOKUP_MISMATCH,
    "names of turns of two conversations swapped": Is.LOOKUP_MISMATCH,
    "names of the conversations swapped": Is.LOOKUP_MISMATCH,
    "the seal of the log": Is.TREE_MISMATCH,
    "no seal of the log": Is.TREE_MISMATCH,
    "words of two turns swapped": Is.CONTENT_DAMAGED,
    "headers of two turns swapped": Is.HEADER_MISMATCH,
    "envelopes of two turns swapped": Is.KEYS_DAMAGED,
    "two turns swapped with all that is sealed": Is.HEADER_MISMATCH,
    "a turn appended that was copied": Is.EVENT_UNCOUNTED,
    "the newest event cut off": Is.EVENT_MISSING,
}
OF_NO_CONVERSATION = {
    "the frontier", "the seal of the log", "no seal of the log",
    "checkpoints forged", "checkpoints renumbered", "the nodes of the tree",
}  # fmt: skip
OF_THE_OTHER = {
    "the newest event deleted", "checkpoints deleted and a turn edited", "the newest leaf", "the newest event cut off",
}  # fmt: skip
OF_BOTH = {
    "a stream head with more messages", "name of a turn deleted", "name of a turn deleted that is repeated",
    "name of a turn replaced", "names of conversations deleted", "all names deleted", "names of two turns swapped",
    "names of turns of two conversations swapped", "names of the conversations swapped",
}  # fmt: skip


def sql(text: str) -> Callable[[sqlite3.Connection], None]:
    def run(raw: sqlite3.Connection) -> None:
        assert raw.execute(text).rowcount

    return run


MORE_AT_REST: dict[str, tuple[FindingKind, Callable[[sqlite3.Connection], object]]] = {
    "keys of no event": (Is.ORPHAN_CELLS, sql("INSERT INTO envelopes SELECT 900, sealed FROM envelopes LIMIT 1")),
    "a head of no event": (
        Is.HEAD_MISMATCH, sql("INSERT INTO streams VALUES (900, 1, 0, 0, 0, 0, zeroblob(32), zeroblob(16), '')"),
    ),
    "a bucket too many": (Is.LOOKUP_MISMATCH, sql("INSERT INTO names SELECT 9, body FROM names")),
    "words of an event that has none": (Is.CONTENT_LEFT, sql("UPDATE events SET content = x'00' WHERE position = 0")),
    "a bucket in place of another": (Is.LOOKUP_MISMATCH, sql("UPDATE names SET bucket = 9")),
    "a frontier of more events": (
        Is.EVENT_MISSING,
        lambda raw: raw.execute("UPDATE frontier SET range = ?", ((2**52).to_bytes(8) + bytes(32),)),
    ),
    "all rows deleted": (Is.EVENT_MISSING, sql("DELETE FROM events")),
    "no frontier": (Is.TREE_MISMATCH, sql("DELETE FROM frontier")),
}  # fmt: skip


REQUEST = LifecycleRequest(reason="asked for", requester="operator", requested_ms=1)


def space_of(world: World) -> Space:
    return world.runtime._session.inspected


def appended(world: World, kind: EventKind, meta: MetaBody, reason: str | None, refs: dict[str, int]) -> int:
    """Append an event to the first conversation as no operation would, and return its position."""
    space = space_of(world)
    with space.ledger.reader() as reader:
        stream = space.transcript.stream_of(reader, key_of())
    target = refs.get("turn", WHOLE_CONVERSATION)
    event = draft(space.sources.entropy, kind, 1, meta, reason=reason)
    return space.ledger.transact(lambda writer: writer.append(event, stream=stream, target=target, refs=refs)).position


def lifecycle(reason: str | None, **refs: int) -> Callable[[World], object]:
    return lambda world: appended(world, EventKind.TURN_LIFECYCLE, TurnLifecycle(request=REQUEST), reason, refs)


def redaction(
    turn: int = 5, reason: str = RedactionReason.LEGAL, views: str = "export", **target: int | str
) -> Callable[[World], object]:
    body = TurnRedacted(target=RedactionTarget(**target), views=[views], request=REQUEST)  # type: ignore[arg-type]  # each by its name
    return lambda world: appended(world, EventKind.TURN_REDACTED, body, reason, {"turn": turn})


SOURCE = SourceEvidence(space="default", channel="default", conversation=TALK, turn="turn-1", subject=SUBJECT)


def reference(
    refs: dict[str, int] | None = None, source: SourceEvidence = SOURCE, key: str = "k", subject: str = SUBJECT
) -> Callable[[World], object]:
    """Append a derived reference; its digest is right unless no turn 1 is meant."""

    def plant(world: World) -> None:
        space = space_of(world)
        with space.ledger.reader() as reader:
            stream = space.transcript.stream_of(reader, key_of())
            assert stream is not None
            (row,) = reader.turns(stream, 1, 1)
        wanted = refs or {"turn": 1}
        digest = source_digest(space.ledger.log, [row.leaf], wanted.get("message"))
        meta = RefDerived(
            plane=Plane.LONG_TERM, key=key, subject=subject, source=source, created_ms=1, digest=digest
        )  # fmt: skip
        appended(world, EventKind.REF_DERIVED, meta, None, wanted)

    return plant


HEAD = AttributeHead(id="a", key="host.billing.tokens", kind=ValueKind.STRING, created_ms=1, updated_ms=1)
ORIGIN = AttributeOrigin(writer="gateway", kind=SourceKind.HOST_REPORTED, written_ms=1)


def attribute(
    refs: dict[str, int] | None = None, head: AttributeHead = HEAD, value: object = "words", bytes_max: int = 64
) -> Callable[[World], object]:
    """Record an attribute as no operation would."""
    meta = AttributeRecorded(
        attribute=head,
        source=ORIGIN,
        visibility=Visibility.INTERNAL,
        governance=AttributeGovernance(value_bytes_max=bytes_max),
    )
    content = AttributeContent(value=value, reason="why")

    def plant(world: World) -> int:
        space, named = space_of(world), {"turn": 1} if refs is None else refs
        with space.ledger.reader() as reader:
            stream = space.transcript.stream_of(reader, key_of())
        event = draft(space.sources.entropy, EventKind.ATTR_RECORDED, 1, meta, content=encoded(content))
        target = named.get("turn", WHOLE_CONVERSATION)
        return space.ledger.transact(
            lambda writer: writer.append(event, stream=stream, target=target, refs=named)
        ).position

    return plant


def on_turn(number: int, work: Callable[[Space, Writer, OpenedEvent], object]) -> Callable[[World], object]:
    """Do something to a turn inside a transaction."""

    def plant(world: World) -> None:
        space = space_of(world)
        with space.ledger.reader() as reader:
            stream = space.transcript.stream_of(reader, key_of())
            assert stream is not None
            (row,) = reader.turns(stream, number, number)
        space.ledger.transact(lambda writer: work(space, writer, space.ledger.open(row)))

    return plant


def with_words(*parts: list[Part]) -> Callable[[Space, Writer, OpenedEvent], object]:
    """Seal other words in place of those that were committed, with the salts that these had."""

    def work(space: Space, writer: Writer, opened: OpenedEvent) -> None:
        salts, _ = space.ledger.words(opened)
        writer.reseal_content(
            opened.row, left_of(writer.tx, opened.row, salts, TurnContent(parts=list(parts), digest=bytes(32)))
        )

    return work


def with_meta(edit: Callable[[TurnMeta], bytes]) -> Callable[[Space, Writer, OpenedEvent], object]:
    """Seal another meta body under the key that there is."""

    def work(_space: Space, writer: Writer, opened: OpenedEvent) -> None:
        assert isinstance(opened.meta, TurnMeta)
        sealed = writer.sealed_envelope(opened.row, OpenEnvelope(edit(opened.meta), opened.key))
        writer.tx.put_envelopes([(opened.row.position, sealed)])

    return work


def more_messages(space: Space, writer: Writer, opened: OpenedEvent) -> None:
    head = writer.head(opened.row.stream)
    assert head is not None
    writer.tx.put_stream_head(space.ledger.heads.sealed(replace(head, messages=head.messages + 1)))


def turn_like(number: int, **edit: object) -> Callable[[World], object]:
    """Append a turn that is like another, but for what is edited; nothing claims its name."""

    def plant(world: World) -> None:
        def work(space: Space, writer: Writer, opened: OpenedEvent) -> None:
            _, content = space.ledger.words(opened)
            meta = replace(cast("TurnMeta", opened.meta), **edit)
            fields = list(content_fields(content))
            event = draft(
                space.sources.entropy, EventKind.TURN_COMMITTED, 1, meta, content=EncodedContent(content, fields)
            )
            writer.append(event, stream=opened.row.stream, messages=len(meta.messages))

        on_turn(number, work)(world)

    return plant


def in_space(kind: str, meta: MetaBody, **refs: int) -> Callable[[World], object]:
    def plant(world: World) -> None:
        space = space_of(world)
        event = draft(space.sources.entropy, cast("EventKind", kind), 1, meta)
        invented = kind not in PRESENT
        if invented:
            PRESENT[kind] = WrittenKind(kind, 1, 0)
        space.ledger.transact(lambda writer: writer.append(event, stream=SPACE_STREAM, refs=refs))
        if invented:
            del PRESENT[kind]

    return plant


def opened_twice(world: World) -> None:
    space = space_of(world)
    names = ConversationOpened(channel="default", conversation=TALK)
    event = draft(space.sources.entropy, EventKind.CONVERSATION_OPENED, 1, names)
    space.ledger.transact(lambda writer: writer.append(event, stream=None))


def signed_wrongly(world: World) -> None:
    space = space_of(world)
    with space.ledger.reader() as reader:
        frontier = reader.frontier()
        note = space.notary.sign(reader, replace(frontier, hashes=(bytes(32),) * len(frontier.hashes)))
    space.ledger.transact(lambda writer: writer.tx.put_checkpoint(frontier.size, note))


def step_of_the_space(world: World) -> None:
    """Append a transition to the space's own stream, which has no turns."""
    space = space_of(world)
    event = draft(
        space.sources.entropy, EventKind.TURN_LIFECYCLE, 1, TurnLifecycle(request=REQUEST), reason=Transition.MASK
    )
    space.ledger.transact(
        lambda writer: writer.append(event, stream=SPACE_STREAM, target=WHOLE_CONVERSATION, refs={"through": 1})
    )


def more_names(space: Space, writer: Writer, opened: OpenedEvent) -> None:
    head = writer.head(opened.row.stream)
    assert head is not None
    writer.tx.put_stream_head(space.ledger.heads.sealed(replace(head, names=head.names + 1)))


def name_taken_away(space: Space, writer: Writer, opened: OpenedEvent) -> None:
    assert isinstance(opened.meta, TurnMeta)
    writer.rename(space.transcript.turn_digest(key_of(), opened.meta.delivery.turn), bytes(16))


def name_of_nothing(_space: Space, writer: Writer, opened: OpenedEvent) -> None:
    writer.claim(bytes(16), opened.row.stream, opened.row.position)


PLANTED: dict[str, tuple[FindingKind, Callable[[World], object]]] = {
    "a mask of a turn that is not there": (Is.TARGET_MISSING, lifecycle(Transition.MASK, turn=9)),
    "a mask of turns that are still to come": (Is.TARGET_MISSING, lifecycle(Transition.MASK, through=9)),
    "a mask of turns without an end": (Is.TARGET_MISSING, lifecycle(Transition.MASK, first=1)),
    "a mask of turn 0": (Is.TARGET_MISSING, lifecycle(Transition.MASK, first=0, through=2)),
    "an erasure of a message that is not there": (
        Is.TARGET_MISSING, lifecycle(Transition.ERASE, turn=1, message=2),
    ),
    "a change that does nothing known": (Is.CORRUPT_RECORD, lifecycle("dream", turn=1)),
    "a change that does nothing at all": (Is.CORRUPT_RECORD, lifecycle(None, turn=1)),
    "an attribute of a turn that is not there": (Is.ATTRIBUTE_TARGET_MISSING, attribute({"turn": 9})),
    "an attribute of no turn": (Is.ATTRIBUTE_TARGET_MISSING, attribute({})),
    "an attribute of a message that is not there": (
        Is.ATTRIBUTE_TARGET_MISSING, attribute({"turn": 1, "message": 2}, replace(HEAD, message=2)),
    ),
    "an attribute of another message than it says": (
        Is.ATTRIBUTE_TARGET_MISSING, attribute({"turn": 1, "message": 1}, replace(HEAD, message=0)),
    ),
    "an attribute that is larger than it may be": (Is.ATTRIBUTE_OVERSIZED, attribute(value="x" * 63)),
    "an attribute with a bad key": (Is.ATTRIBUTE_MALFORMED, attribute(head=replace(HEAD, key="billing"))),
    "an attribute of another kind": (Is.ATTRIBUTE_MALFORMED, attribute(value=7)),
    "a release of no hold": (Is.HOLD_MISSING, lifecycle(Custody.RELEASE, turn=1)),
    "a release of something else": (Is.HOLD_MISSING, lifecycle(Custody.RELEASE, turn=1, hold=2)),
    "an erasure that left the words": (Is.CONTENT_LEFT, lifecycle(Transition.ERASE, turn=1)),
    "an erasure that left a message": (Is.CONTENT_LEFT, lifecycle(Transition.ERASE, turn=1, message=0)),
    "words destroyed without an erasure": (
        Is.CONTENT_MISSING, on_turn(1, lambda _, writer, opened: writer.destroy_content(opened.row)),
    ),
    "other words": (
        Is.COMMITMENT_MISMATCH, on_turn(1, with_words([TextPart(content=question(1))], [TextPart(content="else")])),
    ),
    "fewer words": (Is.COMMITMENT_MISMATCH, on_turn(1, with_words([TextPart(content=question(1))], []))),
    "words of more messages": (
        Is.CORRUPT_RECORD,
        on_turn(1, with_words([TextPart(content=question(1))], [TextPart(content=answer(1))], [])),
    ),
    "a head of more messages": (Is.HEAD_MISMATCH, on_turn(1, more_messages)),
    "another actor": (
        Is.COMMITMENT_MISMATCH,
        on_turn(1, with_meta(lambda meta: pack(b"\0" * 32, replace(meta, external=True)))),
    ),
    "a record that is none": (Is.RECORD_DAMAGED, on_turn(1, with_meta(lambda _: b"\xc1"))),
    "a record of a newer release": (
        Is.RECORD_UNKNOWN, on_turn(1, with_meta(lambda meta: b"\x93\x63" + pack(b"\0" * 32, meta)[2:])),
    ),
    "an event of a newer release": (
        Is.RECORD_UNKNOWN, in_space("space.dreamt", ExportIssued(export=ExportGrant(view="export"))),
    ),
    "a turn without an id": (
        Is.CORRUPT_RECORD,
        lambda world: turn_like(1, delivery=replace(_meta_of(world).delivery, turn=""))(world),
    ),
    "a turn of nobody": (
        Is.CORRUPT_RECORD,
        lambda world: turn_like(1, actor=replace(_meta_of(world).actor, subject=None))(world),
    ),
    "a turn twice": (Is.DUPLICATE_TURN, turn_like(1)),
    "a conversation twice": (Is.LOOKUP_MISMATCH, opened_twice),
    "a certificate for a stream that is not there": (
        Is.TARGET_MISSING,
        in_space("export.issued", ExportIssued(export=ExportGrant(view="export")), stream=900, through=1),
    ),
    "a certificate for more than there is": (
        Is.TARGET_MISSING,
        in_space("export.issued", ExportIssued(export=ExportGrant(view="export")), stream=1, through=900),
    ),
    "a checkpoint of another tree": (Is.CHECKPOINT_MISMATCH, signed_wrongly),
    "a head of more names": (Is.UNATTESTED, on_turn(1, more_names)),
    "a name that was taken away": (Is.LOOKUP_MISSING, on_turn(1, name_taken_away)),
    "a name that nothing has": (Is.LOOKUP_DANGLING, on_turn(1, name_of_nothing)),
    "a change of the space": (Is.TARGET_MISSING, step_of_the_space),
    "a redaction of a turn that is not there": (Is.TARGET_MISSING, redaction(9)),
    "a redaction of a message that is not there": (Is.REDACTION_TARGET_MISSING, redaction(message=7)),
    "a redaction of a part that is not there": (Is.REDACTION_TARGET_MISSING, redaction(message=6, part=4)),
    "a redaction behind the text": (
        Is.REDACTION_TARGET_MISSING, redaction(message=6, part=0, start=0, end=99),
    ),
    "a redaction of nothing": (Is.REDACTION_TARGET_MISSING, redaction(message=6, part=0, start=3, end=3)),
    "a redaction without an end": (Is.REDACTION_TARGET_MISSING, redaction(message=6, part=0, start=3)),
    "a redaction of characters of no part": (Is.REDACTION_TARGET_MISSING, redaction(message=6, start=0, end=1)),
    "a redaction of characters where there are none": (
        Is.REDACTION_TARGET_MISSING, redaction(message=6, part=1, start=0, end=1),
    ),
    "a redaction of a part of no message": (Is.REDACTION_TARGET_MISSING, redaction(part=0)),
    "a redaction of a summary that is not there": (Is.REDACTION_TARGET_MISSING, redaction(field="tools/1/summary")),
    "a redaction of a label that is not there": (Is.REDACTION_TARGET_MISSING, redaction(field="host_ref/5/label")),
    "a redaction of no field": (Is.REDACTION_TARGET_MISSING, redaction(field="actor")),
    "a redaction for a view that is none": (Is.CORRUPT_RECORD, redaction(views="everybody")),
    "a redaction for no known reason": (Is.CORRUPT_RECORD, redaction(reason="whim")),
    "a reference without a key": (Is.ORPHAN_REFERENCE, reference(key="")),
    "a reference whose key is blank": (Is.ORPHAN_REFERENCE, reference(key=" ")),
    "a reference to another conversation": (
        Is.MISMATCHED_SOURCE_KEY, reference(source=replace(SOURCE, conversation="other")),
    ),
    "a reference to another channel": (Is.MISMATCHED_SOURCE_KEY, reference(source=replace(SOURCE, channel="mail"))),
    "a reference to another space": (Is.MISMATCHED_SOURCE_KEY, reference(source=replace(SOURCE, space="elsewhere"))),
    "a reference of nobody": (Is.MISMATCHED_SOURCE_SUBJECT, reference(subject="")),
    "a reference of somebody else": (Is.MISMATCHED_SOURCE_SUBJECT, reference(subject="eve")),
    "a reference to a turn that is not there": (Is.MISSING_SOURCE_TURN, reference({"turn": 9})),
    "a reference to turns in reverse": (Is.MISSING_SOURCE_TURN, reference({"first": 3, "through": 2})),
    "a reference to turns without an end": (Is.MISSING_SOURCE_TURN, reference({"first": 1})),
    "a reference that names another turn": (Is.MISSING_SOURCE_TURN, reference(source=replace(SOURCE, turn="turn-2"))),
    "a reference to a message that is not there": (
        Is.MISSING_SOURCE_MESSAGE,
        reference({"turn": 1, "message": 2}, replace(SOURCE, message=message_of("turn-1", 2))),
    ),
    "a reference that names another message": (
        Is.MISSING_SOURCE_MESSAGE,
        reference({"turn": 1, "message": 1}, replace(SOURCE, message=message_of("turn-1", 0))),
    ),
    "a reference that names a message by id alone": (
        Is.MISSING_SOURCE_MESSAGE, reference(source=replace(SOURCE, message=message_of("turn-1", 0))),
    ),
    "a reference with the digest of fewer turns": (
        Is.MISMATCHED_SOURCE_DIGEST, reference({"first": 1, "through": 2}, replace(SOURCE, through="turn-2")),
    ),
}  # fmt: skip
OF_THE_SPACE = {
    "an event of a newer release", "a conversation twice",
    "a certificate for a stream that is not there", "a certificate for more than there is",
    "a checkpoint of another tree", "a change of the space", "a head of more names",
    "a name that nothing has",
}  # fmt: skip


def _meta_of(world: World) -> TurnMeta:
    found: list[TurnMeta] = []
    on_turn(1, lambda _, __, opened: found.append(cast("TurnMeta", opened.meta)))(world)
    return found[0]
