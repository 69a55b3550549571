"""Damage of memory, by name: what is planted in a notebook, the finding that names it, and its problem.

All of it goes through the ledger, as only a fault of the product, or somebody with the key, could: every event is
sealed, chained and counted as it should be. `remembered` makes the world that it is planted in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import replace

from muniment.crypto.cell import OpenEnvelope
from muniment.events.changes import Transition
from muniment.events.memory_governance import MemoryPolicySet, PolicyAction, PolicySelector
from muniment.events.memory_items import (
    Audience,
    EntryRole,
    ItemContent,
    ItemKind,
    ItemMeta,
    ItemRetired,
    ItemRevised,
    MemoryPlane,
    NamedSlot,
    NotebookEntry,
    NotebookOpened,
    Retirement,
    Revision,
    RevisionAction,
)
from muniment.events.records import EventKind, MetaBody
from muniment.events.references import SourceEvidence
from muniment.ledger.drafts import draft, encoded
from muniment.ledger.ledger import SPACE_STREAM, Writer
from muniment.log.port import WHOLE_CONVERSATION
from muniment.memory.fold import MemoryItem
from muniment.operations.memory.item_changes import retire_item, stream_of
from muniment.projections.inspection.findings import FindingKind
from muniment.space.space import Space
from tests.memory.asking import remember
from tests.memory.items import source
from tests.runtime.damage import REQUEST, space_of
from tests.turns import SUBJECT, message_of
from tests.worlds import World

Is = FindingKind
FORMER, PRESENT, OTHER = "i-1", "i-2", "i-3"


class Planted(NamedTuple):
    """A damage, and what an inspection says of it."""

    finding: FindingKind
    plant: Callable[[World], object]
    problem: str | None = None


def remembered(world: World) -> World:
    """Return a world in which one item has taken the slot of another one, and a third is in a slot of its own."""
    world.with_turns(4)
    remember(world, id=FORMER)
    remember(world, "Lives in Rome", 2, id=PRESENT)
    remember(world, "Walks to work", 3, topic="commute", id=OTHER)
    return world


def item_of(world: World, item: str) -> MemoryItem:
    """Return an item as it is."""
    space = space_of(world)
    with space.ledger.reader() as reader:
        found = space.notebooks.item(reader, item)
    assert found is not None
    return found


def within(world: World, work: Callable[[Space, Writer, int], Any]) -> Any:
    """Do something to the notebook of all this, inside a transaction."""
    space = space_of(world)
    with space.ledger.reader() as reader:
        stream = stream_of(reader, item_of(world, OTHER))
    return space.ledger.transact(lambda writer: work(space, writer, stream))


# --- events as no operation would append them -------------------------------------------------------------------------

META = ItemMeta(item="i-9", kind=ItemKind.FACT, writer="host", observed_ms=1, confidence=900)
SAYS = ItemContent(topic="height", text="Is tall")


def record(
    meta: ItemMeta = META, says: ItemContent = SAYS, *, named: bool = True, slot: bool = True
) -> Callable[[World], object]:
    """Record an item with its names, or without some of them."""

    def work(space: Space, writer: Writer, stream: int) -> None:
        event = draft(space.sources.entropy, EventKind.ITEM_RECORDED, 1, meta, content=encoded(says))
        position = writer.append(event, stream=stream).position
        if named:
            writer.claim(space.notebooks.item_name(meta.item), stream, position)
        if slot:
            writer.flush()
            name = space.notebooks.slot_of(space.notebooks.at(writer.tx, position))
            there = len(space.notebooks.in_slot(writer.tx, name))
            if there:
                writer.rename(name, space.notebooks.former_name(name, there))
            writer.claim(name, stream, position)

    return lambda world: within(world, work)


def resting(**edit: Any) -> Callable[[World], object]:
    """Record an item that rests on a turn, without a reference to it."""
    return record(replace(META, evidence=[SourceEvidence(**_SOURCE | edit)]))


_SOURCE: dict[str, Any] = {name: getattr(source(), name) for name in ("space", "channel", "conversation", "turn")}


def breaking(**edit: Any) -> Callable[[World], object]:
    """Record an item that breaks a rule."""
    return record(replace(META, **edit))


def change(
    kind: EventKind, body: MetaBody, reason: str, number: int | None = None, item: str = OTHER
) -> Callable[[World], object]:
    """Append a change of an item, or of the entry of a number."""

    def plant(world: World) -> None:
        entry = item_of(world, item).number if number is None else number

        def work(space: Space, writer: Writer, stream: int) -> None:
            event = draft(space.sources.entropy, kind, 1, body, reason=reason)
            writer.append(event, stream=stream, target=entry, refs={"turn": entry})

        within(world, work)

    return plant


def revised(reason: str = RevisionAction.CONFIRM, number: int | None = None, **edit: Any) -> Callable[[World], object]:
    body = ItemRevised(revision=Revision(**edit), request=REQUEST)
    return change(EventKind.ITEM_REVISED, body, reason, number)


def retired(
    cause: Retirement, reason: str = Transition.ARCHIVE, number: int | None = None, **more: Any
) -> Callable[[World], object]:
    return change(EventKind.ITEM_RETIRED, ItemRetired(request=REQUEST, cause=cause, **more), reason, number)


def restored(item: str) -> Callable[[World], object]:
    """Let an item be in use again, whatever is in its slot."""
    body = ItemRetired(request=REQUEST, cause=Retirement.RESTORED)
    return lambda world: within(world, lambda _space, writer, _stream: retire_item(writer, item_of(world, item), body))


def renamed(name: Callable[[World, Space], bytes]) -> Callable[[World], object]:
    """Take a name away."""
    return lambda world: within(world, lambda space, writer, _: writer.rename(name(world, space), bytes(16)))


def notebook_twice(world: World) -> None:
    def work(space: Space, writer: Writer, _stream: int) -> None:
        opened = NotebookOpened(subject=SUBJECT, plane=MemoryPlane.LONG_TERM)
        writer.append(draft(space.sources.entropy, EventKind.NOTEBOOK_OPENED, 1, opened), stream=None)

    within(world, work)


def policy(**refs: int) -> Callable[[World], object]:
    """Set a policy of memory whose words are in an entry of the notebook, or nowhere."""
    selector = PolicySelector(subject=SUBJECT, has_pattern=True)
    body = MemoryPolicySet(policy="p", action=PolicyAction.PAUSE, request=REQUEST, selector=selector)

    def work(space: Space, writer: Writer, stream: int) -> None:
        event = draft(space.sources.entropy, EventKind.MEMORY_POLICY_SET, 1, body)
        about = {"stream": stream} | refs
        writer.append(event, stream=SPACE_STREAM, target=WHOLE_CONVERSATION, refs=about)

    return lambda world: within(world, work)


def on_item(work: Callable[[Space, Writer, MemoryItem], object]) -> Callable[[World], object]:
    """Do something to a recorded item inside a transaction."""
    return lambda world: within(world, lambda space, writer, _: work(space, writer, item_of(world, OTHER)))


def words_destroyed(_space: Space, writer: Writer, item: MemoryItem) -> None:
    row = writer.tx.sealed(item.position)
    assert row is not None
    writer.destroy_content(row)


def record_damaged(space: Space, writer: Writer, item: MemoryItem) -> None:
    row = writer.tx.sealed(item.position)
    assert row is not None
    sealed = writer.sealed_envelope(row, OpenEnvelope(b"\xc1", space.ledger.open(row).key))
    writer.tx.put_envelopes([(item.position, sealed)])


def name_of_nothing(world: World) -> None:
    within(world, lambda _space, writer, _stream: writer.claim(bytes(16), SPACE_STREAM, 0))


def slot_of(world: World, space: Space) -> bytes:
    return space.notebooks.slot_of(item_of(world, OTHER))


PLANTED_IN_MEMORY: dict[str, Planted] = {
    "an item of a turn that is not there": Planted(Is.MISSING_SOURCE_TURN, resting(turn="turn-9")),
    "an item of a conversation that is not there": Planted(Is.MISSING_SOURCE_TURN, resting(conversation="nowhere")),
    "an item of a message that is not there": Planted(
        Is.MISSING_SOURCE_MESSAGE, resting(message=message_of("turn-1", 2)),
    ),
    "an item of a message of another turn": Planted(
        Is.MISSING_SOURCE_MESSAGE, resting(message=message_of("turn-2", 0)),
    ),
    "an item of another space": Planted(Is.MISMATCHED_SOURCE_KEY, resting(space="elsewhere"), "space"),
    "an item of words of somebody else": Planted(Is.MISMATCHED_SOURCE_SUBJECT, resting(subject="eve")),
    "an item without its reference": Planted(Is.REFERENCE_MISSING, resting()),
    "a confirmation without its reference": Planted(
        Is.REFERENCE_MISSING, revised(evidence=[source("turn-4")]),
    ),
    "a confirmation by a turn that is not there": Planted(
        Is.MISSING_SOURCE_TURN, revised(evidence=[source("turn-9")]),
    ),
    "a refutation by a turn that is not there": Planted(
        Is.MISSING_SOURCE_TURN, retired(Retirement.INVALIDATED, evidence=[source("turn-9")]),
    ),
    "an item without an id": Planted(Is.ITEM_MALFORMED, breaking(item=" "), "item"),
    "an item of nobody's making": Planted(Is.ITEM_MALFORMED, breaking(writer=""), "writer"),
    "an item of a kind of another plane": Planted(Is.ITEM_MALFORMED, breaking(kind=ItemKind.DIARY), "kind"),
    "an item with a name where topics are slots": Planted(
        Is.ITEM_MALFORMED, breaking(entry=NotebookEntry(named=NamedSlot(name="runtime_skill__go"))), "name",
    ),
    "an item with the slot of a proposal": Planted(
        Is.ITEM_MALFORMED, breaking(entry=NotebookEntry(slot="00")), "slot",
    ),
    "a proposal for no slot": Planted(
        Is.ITEM_MALFORMED, breaking(entry=NotebookEntry(role=EntryRole.PROPOSAL)), "slot",
    ),
    "an item with an audience of its own": Planted(
        Is.ITEM_MALFORMED, breaking(entry=NotebookEntry(audience=Audience(only=["eve"]))), "audience",
    ),
    "an item that is more than certain": Planted(Is.ITEM_MALFORMED, breaking(confidence=1001), "confidence"),
    "an item that is less than unimportant": Planted(Is.ITEM_MALFORMED, breaking(importance=-1), "importance"),
    "an item from before all time": Planted(Is.ITEM_MALFORMED, breaking(observed_ms=-1), "observed_ms"),
    "an item that ends after all time": Planted(Is.ITEM_MALFORMED, breaking(expires_ms=2**53), "expires_ms"),
    "a revision that is more than certain": Planted(
        Is.ITEM_MALFORMED, revised(RevisionAction.CORRECT, confidence=1001), "confidence",
    ),
    "an item used again, which its header retires": Planted(
        Is.ITEM_MALFORMED, retired(Retirement.RESTORED), "cause",
    ),
    "an item retired, which its header uses again": Planted(
        Is.ITEM_MALFORMED, retired(Retirement.EVICTED, Transition.RESTORE), "cause",
    ),
    "a revision of an item that is not there": Planted(Is.TARGET_MISSING, revised(number=9), "turn"),
    "a revision that does nothing known": Planted(Is.CORRUPT_RECORD, revised("dream"), "reason"),
    "a retirement of an item that is not there": Planted(
        Is.TARGET_MISSING, retired(Retirement.EVICTED, number=9), "turn",
    ),
    "a policy whose words are not there": Planted(Is.TARGET_MISSING, policy(turn=9)),
    "a policy with words in no notebook": Planted(Is.TARGET_MISSING, policy(stream=900, turn=1)),
    "an item twice": Planted(Is.DUPLICATE_ITEM, record(replace(META, item=OTHER), named=False)),
    "an item without its name": Planted(Is.LOOKUP_MISSING, record(named=False)),
    "an item whose name was taken away": Planted(
        Is.LOOKUP_MISSING, renamed(lambda _, space: space.notebooks.item_name(OTHER)),
    ),
    "a notebook whose name was taken away": Planted(
        Is.LOOKUP_MISSING, renamed(lambda _, space: space.notebooks.notebook_name(SUBJECT, MemoryPlane.LONG_TERM)),
    ),
    "a notebook twice": Planted(Is.LOOKUP_MISMATCH, notebook_twice),
    "a name that nothing has": Planted(Is.LOOKUP_DANGLING, name_of_nothing),
    "an item in no slot": Planted(Is.LOOKUP_MISSING, record(slot=False), "slot"),
    "an item whose slot was taken away": Planted(Is.LOOKUP_MISSING, renamed(slot_of), "slot"),
    "an item in a slot that is taken": Planted(
        Is.SLOT_IN_USE_TWICE, record(replace(META, kind=ItemKind.PROFILE), replace(SAYS, topic="Commute")),
    ),
    "an item used again in a slot that is taken": Planted(Is.SLOT_IN_USE_TWICE, restored(FORMER)),
    "an item whose words are gone": Planted(Is.CONTENT_MISSING, on_item(words_destroyed)),
    "a forgotten item that has its words": Planted(
        Is.CONTENT_LEFT, retired(Retirement.FORGOTTEN, Transition.ERASE),
    ),
    "an item that is no record": Planted(Is.RECORD_DAMAGED, on_item(record_damaged), "cell_malformed"),
}  # fmt: skip
