"""What somebody wants forgotten: an item, a slot, what rests on a turn, or whatever has some words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.identity import DEFAULT_CHANNEL, Channel, ConversationId, TurnId, check_name
from muniment.events.memory_items import ItemKind, MemoryPlane
from muniment.log.port import Reader
from muniment.memory.fold import MemoryItem, folded
from muniment.memory.kinds import NAMED_PLANES, kind_named
from muniment.memory.likeness import words_in
from muniment.operations.memory.kept_words import kept_words
from muniment.operations.memory.selection import ItemFilter, ItemSelection, items_of
from muniment.projections.notebooks import ItemGroup

DERIVED_PLANES = (MemoryPlane.LONG_TERM, MemoryPlane.SHARED_FACT)
# the one thing that a target names -> what may be said beside it
BESIDE: dict[str, tuple[str, ...]] = {
    "item": (),
    "topic": ("kind",),
    "turn": ("conversation", "channel"),
    "words": ("token",),
}


class ForgetTarget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What to forget: exactly one of `item`, `topic`, `turn` and `words`.

    `item`: one item. `topic` with `kind`: everything that is, or was, said in that slot of the plane; the slot of a
    skill is its name, which is given instead of the topic. `turn` with `conversation`: the one item of the planes
    `long_term` and `shared_fact` that rests on the turn; several are listed, and none is guessed. `words`: every item
    that has all of them, or had them before it was changed, which takes the `token` of a dry run.
    """

    item: Annotated[str | None, Meta(description="Id of an item.")] = None
    topic: Annotated[str | None, Meta(description="Everything said of this topic; needs the kind.")] = None
    kind: Annotated[str | None, Meta(description="Kind of the items of the topic.")] = None
    plane: Annotated[MemoryPlane, Meta(description="Plane of the topic.")] = MemoryPlane.LONG_TERM
    turn: Annotated[TurnId | None, Meta(description="The item that rests on this turn; needs the conversation.")] = None
    conversation: Annotated[ConversationId | None, Meta(description="Conversation of the turn.")] = None
    channel: Annotated[
        Channel | None, Meta(description="Channel of the conversation. Without it: the default channel.")
    ] = None
    words: Annotated[str | None, Meta(description="Every item that has, or had, all these words.")] = None
    token: Annotated[str | None, Meta(description="Token of a dry run with the same words.")] = None

    def check(self) -> None:
        """Refuse a target that says too little or too much."""
        given = [name for name in BESIDE if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidInput(at="target", problem="not_one_of_these" if given else "missing_field", choices=[*BESIDE])
        for main, others in BESIDE.items():
            for name in others:
                if main not in given and getattr(self, name) is not None:
                    raise InvalidInput(at=f"target.{name}", problem="not_taken")
        for main, name in (("topic", "kind"), ("turn", "conversation")):
            if main in given and getattr(self, name) is None:
                raise InvalidInput(at=f"target.{name}", problem="missing_field")
        for name in ("item", "turn", "conversation", "channel"):
            if getattr(self, name) is not None:
                check_name(getattr(self, name), at=f"target.{name}")


def items_meant(session: Session, reader: Reader, subject: str, target: ForgetTarget) -> Iterator[MemoryItem]:
    """Yield the items that a target, which was checked, names; forgotten ones too."""
    notebooks = session.space.notebooks
    if target.item is not None:
        item = notebooks.item(reader, target.item)
        if item is not None and item.subject == subject:
            yield item
    elif target.topic is not None:
        yield from notebooks.in_slot(reader, _slot(session, subject, target, target.topic))
    elif target.turn is not None:
        named = (target.channel or DEFAULT_CHANNEL, target.conversation, target.turn)
        for item in _all(session, reader, subject, DERIVED_PLANES):
            if any((source.channel, source.conversation, source.turn) == named for source in item.evidence):
                yield item
    else:
        words = words_in(target.words)
        if not words:
            raise InvalidInput(at="target.words", problem="empty")
        yield from (item for item in _all(session, reader, subject, ()) if _ever_said(session, reader, item, words))


def proposals_behind(
    session: Session, reader: Reader, subject: str, target: ForgetTarget, items: list[MemoryItem]
) -> Iterator[MemoryItem]:
    """Yield the proposals that say what is to be forgotten: those that these items were accepted from.

    Of a topic, every proposal for its slot, whatever became of it.
    """
    names, notebooks = {item.id for item in items}, session.space.notebooks
    slot = None if target.topic is None else _slot(session, subject, target, target.topic).hex()
    planes = {item.plane for item in items} | ({target.plane} if slot is not None else set())
    for plane in sorted(planes):
        head = notebooks.head(reader, subject, plane)
        for entry in [] if head is None else notebooks.items(reader, head):
            is_of_slot = slot is not None and entry.meta.entry.slot == slot
            if not entry.is_item and entry.id not in names and (is_of_slot or entry.successor in names):
                yield entry


def _slot(session: Session, subject: str, target: ForgetTarget, topic: str) -> bytes:
    """Return the slot that a target names: by its topic, or in a plane of named items by the name."""
    kind = kind_named(target.kind or "")
    if kind is None:
        raise InvalidInput(at="target.kind", problem="unknown_word", choices=[*ItemKind])
    name, kept = topic if target.plane in NAMED_PLANES else None, kept_words(session.space, subject)(topic)
    return session.space.notebooks.slot_name(ItemGroup(subject, target.plane, kind), kept, name)


def _all(session: Session, reader: Reader, subject: str, planes: tuple[MemoryPlane, ...]) -> Iterator[MemoryItem]:
    selection = ItemSelection(planes=list(planes), state=ItemFilter.ALL)
    return items_of(session.space, reader, subject, selection)


def _ever_said(session: Session, reader: Reader, item: MemoryItem, words: set[str]) -> bool:
    """Tell whether an item has all of some words, or had them before it was changed: those are in the log, too."""
    if words <= _words(item):
        return True
    if not item.revision:
        return False
    recorded, changes = session.space.notebooks.history_at(reader, item.position)
    return any(
        words <= _words(then)
        for then in accumulate(changes, lambda one, change: folded(one, [change]), initial=recorded)
    )


def _words(item: MemoryItem) -> set[str]:
    """Return the words of an item."""
    if item.content is None or item.text is None:
        return set()
    said = item.content
    named = (said.topic, item.text, said.title, said.summary, said.note)
    return words_in(*named, *said.keywords, *said.tags, *said.entities)
