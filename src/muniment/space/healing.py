"""Healing: content that the log calls erased and that is there again is destroyed at every opening.

Somebody who puts rows of an older state back into a log brings content back that an event of this log calls erased. So
each erasure is read again, and what it names is checked:

- the content of each entry, of changes that are about one of them (`change_fold.lost_in_conversation`), and of what the
  stream of the space says of one (`space_words`), must not be there; nor what was said of an erased tool registry;
- of a message that was erased alone, the content of its turn must hold no part, and no digest of the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from muniment.errors import Corrupt, KeyMissing
from muniment.events.changes import TurnSpan, span_of
from muniment.events.records import TurnContent
from muniment.ledger.attached_files import left_of
from muniment.ledger.erasures import erasures
from muniment.ledger.ledger import Ledger, Writer
from muniment.log.port import Reader, SealedRow
from muniment.projections.change_fold import Changes, lost_in_conversation
from muniment.projections.registry_words import lost_with_registries
from muniment.projections.space_words import lost_in_space
from muniment.projections.transcript import Transcript

BATCH = 500


class ReturnedContent(NamedTuple):
    """Content that came back: all of an event's (no `messages`), or these messages of a turn."""

    position: int
    messages: frozenset[int] = frozenset()


class Healing:
    """Finds and destroys what came back in one log."""

    def __init__(self, ledger: Ledger, transcript: Transcript) -> None:
        self._ledger = ledger
        self._transcript = transcript

    def returned(self, reader: Reader) -> list[ReturnedContent]:
        """Return what came back, in log order."""
        whole: set[int] = set()
        alone: dict[int, frozenset[int]] = {}
        streams: Counter[int] = Counter()
        for row, header in erasures(self._ledger, reader):
            span, message = span_of(header.about), header.refs.get("message")
            streams[row.stream] += message is None  # the reason of one of a message goes with the turn
            if message is None:
                whole.update(turn.position for turn in turns_in(reader, row.stream, span) if turn.content is not None)
            else:
                for turn in reader.turns(row.stream, span.first, span.first):
                    if self.holds(turn, message):
                        alone[turn.position] = alone.get(turn.position, frozenset()) | {message}
        for stream, count in streams.items():
            whole.update(self._lost(reader, stream, count))
        whole.update(self._told(reader, streams.keys()))
        returned = [ReturnedContent(position) for position in whole]
        returned += [ReturnedContent(place, messages) for place, messages in alone.items() if place not in whole]
        return sorted(returned)

    def destroy(self, writer: Writer, returned: list[ReturnedContent]) -> None:
        """Destroy again what was found."""
        for position, messages in returned:
            row = writer.tx.sealed(position)
            if row is None:
                continue
            if messages:
                erase_messages(self._ledger, writer, row, messages)
            else:
                erase_content(writer, row)

    def holds(self, row: SealedRow, message: int) -> bool:
        """Tell whether the content of a turn still has words of a message, or a digest that would confirm a guess.

        Content that does not open, whatever was done to it, holds nothing that could be read.
        """
        if row.content is None:
            return False
        try:
            _, words = self._ledger.words(self._ledger.open(row))
        except (Corrupt, KeyMissing):
            return False
        return bool(words.parts[message] or words.digest)

    def _told(self, reader: Reader, streams: Collection[int]) -> Iterator[int]:
        def changes_of(stream: int) -> Changes | None:
            return (
                self._transcript.changes(reader, self._transcript.head(reader, stream)) if stream in streams else None
            )

        with_turns = lost_in_space(self._ledger, reader, changes_of) if streams else ()
        for position in chain(with_turns, lost_with_registries(self._ledger, reader)):
            row = reader.sealed(position)
            if row is not None and row.content is not None:
                yield position

    def _lost(self, reader: Reader, stream: int, erasures: int) -> Iterator[int]:
        head = self._transcript.head(reader, stream)
        if head.changes == erasures:
            return
        for position in lost_in_conversation(self._transcript.changes(reader, head)):
            row = reader.sealed(position)
            if row is not None and row.content is not None:
                yield position


def turns_in(reader: Reader, stream: int, span: TurnSpan) -> Iterator[SealedRow]:
    """Yield the turns of an erasure that are there, in bounded batches."""
    assert span.last is not None, "what is erased was there"
    for start in range(span.first, span.last + 1, BATCH):
        yield from reader.turns(stream, start, min(span.last, start + BATCH - 1))


def erase_content(writer: Writer, row: SealedRow) -> tuple[bool, bool]:
    """Destroy the content of an event; return whether there was any, and whether its keys could not be read."""
    try:
        return writer.destroy_content(row), False
    except (Corrupt, KeyMissing):
        return writer.destroy_unreadable(row), True


def erase_messages(ledger: Ledger, writer: Writer, row: SealedRow, messages: frozenset[int]) -> None:
    """Encrypt the content of a turn again without these messages, and without the digest that knows their words."""
    opened = ledger.open(row)
    if opened.key is None:
        return
    salts, words = ledger.words(opened)
    writer.reseal_content(row, left_of(writer.tx, row, salts, without(words, messages)))


def without(words: TurnContent, messages: frozenset[int]) -> TurnContent:
    """Return what is left of a turn without some of its messages (decision 0007: no digest of the whole)."""
    left = [[] if place in messages else parts for place, parts in enumerate(words.parts)]
    return replace(words, parts=left, digest=b"")
