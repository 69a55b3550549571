"""Destroying what turns and items say, and what was said about them, inside the transaction of an erasure."""

from __future__ import annotations

from collections.abc import Iterator

from muniment.events.memory_items import MemoryPlane
from muniment.ledger.ledger import Writer
from muniment.operations.lifecycle.guard import Judgements
from muniment.operations.lifecycle.scope import NotebookKey
from muniment.operations.lifecycle.targets import turns_of
from muniment.projections.change_fold import Changes, lost_in_conversation
from muniment.projections.space_words import lost_in_space
from muniment.space.healing import erase_content, erase_messages
from muniment.space.space import Space


def destroy_contents(space: Space, writer: Writer, judgements: Judgements) -> Iterator[str]:
    """Destroy the content of turns; yield a word for each thing that was destroyed."""
    stream, message, key = judgements.turns.head.stream, judgements.turns.message, judgements.turns.key
    for span in judgements.spans:
        for row in turns_of(writer.tx, stream, span):
            if message is not None:
                erase_messages(space.ledger, writer, row, frozenset({message}))
                yield "message"
                continue
            is_destroyed, is_blind = erase_content(writer, row)
            if is_destroyed:
                yield "content" if judgements.turns.conversation else "item"
                if isinstance(key, NotebookKey) and key.plane is MemoryPlane.TOOL_EXPERIENCE:
                    yield "experience"
            if is_blind:
                yield "blind"


def destroy_lost_words(space: Space, writer: Writer, after: dict[int, Changes]) -> Iterator[bool]:
    """Destroy what was said about turns that are gone now; yield whether there was anything, event by event."""
    told = lost_in_space(space.ledger, writer.tx, after.get)
    for position in (*(lost for changes in after.values() for lost in lost_in_conversation(changes)), *told):
        row = writer.tx.sealed(position)
        yield row is not None and writer.destroy_content(row)
