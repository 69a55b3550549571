"""What somebody wants forgotten: an item, a slot, what rests on a turn, or whatever has some words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.identity import ConversationKey, TurnId, check_name
from muniment.events.memory import MemoryPlane
from muniment.log.port import Reader
from muniment.memory.fold import MemoryItem
from muniment.memory.likeness import normalised
from muniment.memory.vocabulary import kind_named
from muniment.operations.memory.selection import ItemFilter, ItemSelection, items_of

DERIVED_PLANES = (MemoryPlane.LONG_TERM, MemoryPlane.SHARED_FACT)
_WORD = re.compile(r"\w+")


class ForgetItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="item"):
    """One item by its id."""

    item: Annotated[str, Meta(description="Id of the item.")]


class ForgetSlot(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="slot"):
    """Everything that is, or was, said in a slot."""

    kind: Annotated[str, Meta(description="Kind of the items.")]
    topic: Annotated[str, Meta(description="Their topic.")]
    plane: Annotated[MemoryPlane, Meta(description="Their plane.")] = MemoryPlane.LONG_TERM


class ForgetDerived(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="derived"):
    """The one item of the planes `long_term` and `shared_fact` that rests on a turn; of several none is guessed."""

    conversation: Annotated[ConversationKey, Meta(description="Conversation of the turn.")]
    turn: Annotated[TurnId, Meta(description="Id of the turn.")]


class ForgetQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="query"):
    """Every item that has all these words. A dry run returns the token that the request needs."""

    words: Annotated[str, Meta(description="Words that the items have.")]
    token: Annotated[str | None, Meta(description="Token of the dry run of the same query.")] = None


ForgetTarget = ForgetItem | ForgetSlot | ForgetDerived | ForgetQuery


def items_meant(session: Session, reader: Reader, subject: str, target: ForgetTarget) -> Iterator[MemoryItem]:
    """Yield the items that a target names, forgotten ones too."""
    notebooks = session.space.notebooks
    match target:
        case ForgetItem():
            check_name(target.item, at="target.item")
            item = notebooks.item(reader, target.item)
            if item is not None and item.subject == subject:
                yield item
        case ForgetSlot():
            kind = kind_named(target.kind)
            if kind is None:
                raise InvalidInput(at="target.kind", problem="unknown")
            yield from notebooks.in_slot(reader, notebooks.slot_name(subject, target.plane, kind, target.topic))
        case ForgetDerived():
            session.check_key(target.conversation)
            key = target.conversation
            for item in _all(session, reader, subject, DERIVED_PLANES):
                named = ((source.channel, source.conversation, source.turn) for source in item.meta.evidence)
                if (key.channel, key.conversation, target.turn) in named:
                    yield item
        case ForgetQuery():
            wanted = set(_WORD.findall(normalised(target.words)))
            if not wanted:
                raise InvalidInput(at="target.words", problem="empty")
            yield from (item for item in _all(session, reader, subject, ()) if wanted <= _words(item))


def _all(session: Session, reader: Reader, subject: str, planes: tuple[MemoryPlane, ...]) -> Iterator[MemoryItem]:
    selection = ItemSelection(planes=list(planes), state=ItemFilter.ALL)
    return items_of(session.space, reader, subject, selection)


def _words(item: MemoryItem) -> set[str]:
    """Return the words of an item."""
    if item.content is None or item.text is None:
        return set()
    said = item.content
    texts = (said.topic, item.text, *said.keywords, *said.tags, *said.entities)
    return {word for text in texts for word in _WORD.findall(normalised(text))}
