"""The vocabulary of a log: every kind of event that was ever written to it, with the versions of its bodies.

A release that meets an event that it does not know cannot tell what it must not overlook: a change that hides words, or
content that an erasure has to reach. So it goes on reading what it knows, and writes nothing (`StoreNewer`). To know
that without reading every event, the log keeps its vocabulary in a named value, which the first event of a kind extends
in its own transaction: a MAC (32 bytes) and the entries in canonical JSON, sorted.

An entry is `[kind, version of the meta body, version of the content body]`, with 0 where the kind has no content. A log
whose vocabulary has `space.erased` has ended.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from muniment.errors import Corrupt, SpaceErased, StoreNewer
from muniment.events.records import CONTENT_BODIES, META_BODIES, VERSIONS, EventKind
from muniment.kernel.canonical import encode_plain
from muniment.kernel.digest import DIGEST_BYTES, KeyedDigest, framed
from muniment.log.port import Reader, Transaction

VOCABULARY = "vocabulary"  # the named value


class WrittenKind(NamedTuple):
    """A kind of event with the versions of its bodies, as it was written."""

    kind: str
    meta: int
    content: int

    @property
    def is_known(self) -> bool:
        """Tell whether this release reads such events."""
        known = PRESENT.get(self.kind)
        return known is not None and self.meta <= known.meta and self.content <= known.content


def _present(kind: EventKind) -> WrittenKind:
    content = CONTENT_BODIES.get(kind)
    return WrittenKind(kind.value, VERSIONS[META_BODIES[kind]], 0 if content is None else VERSIONS[content])


# kind -> what this release writes
PRESENT: dict[str, WrittenKind] = {kind.value: _present(kind) for kind in META_BODIES}

_decoder = msgspec.json.Decoder(list[WrittenKind])


class Written(NamedTuple):
    """What was written to a log: all entries, the unknown ones, and the kinds as this release writes them."""

    entries: frozenset[WrittenKind] = frozenset()
    unknown: tuple[WrittenKind, ...] = ()
    present: frozenset[str] = frozenset()

    @classmethod
    def of(cls, entries: Iterable[WrittenKind]) -> Written:
        """Return the vocabulary of these entries."""
        whole = frozenset(entries)
        unknown = tuple(sorted(entry for entry in whole if not entry.is_known))
        return cls(whole, unknown, frozenset(entry.kind for entry in whole if PRESENT.get(entry.kind) == entry))

    @property
    def has_ended(self) -> bool:
        """Tell whether the whole space was erased."""
        return EventKind.SPACE_ERASED in self.present

    @property
    def unknown_kinds(self) -> list[str]:
        """The kinds of which this release does not read every event."""
        return sorted({entry.kind for entry in self.unknown})

    def require_writable(self) -> None:
        """Raise `StoreNewer` when this release does not know all of it, and `SpaceErased` for a log that has ended."""
        for entry in self.unknown:
            raise StoreNewer(at=entry.kind, problem="unknown_version" if entry.kind in PRESENT else "unknown_kind")
        if self.has_ended:
            raise SpaceErased


class LogVocabulary:
    """What was written to one log, as a state of it says."""

    def __init__(self, keyed: KeyedDigest) -> None:
        self._keyed = keyed
        self._last: tuple[bytes | None, Written] = (None, Written())  # what is read again by every plan

    def of(self, reader: Reader) -> Written:
        """Return what was written; raises `Corrupt` when nobody with the key wrote the value."""
        stored = reader.meta(VOCABULARY)
        known, written = self._last
        if stored is None:
            if reader.frontier().size:
                raise Corrupt(at=VOCABULARY, problem="missing")
            return Written()
        if stored != known:
            written = self.parsed(stored)
            self._last = stored, written
        return written

    def parsed(self, stored: bytes) -> Written:
        """Return what a stored value says; raises `Corrupt`."""
        tag, listed = stored[:DIGEST_BYTES], stored[DIGEST_BYTES:]
        if not hmac.compare_digest(tag, self._tag(listed)):
            raise Corrupt(at=VOCABULARY, problem="not_authentic")
        return Written.of(_decoder.decode(listed))

    def extended(self, tx: Transaction, written: Written, kinds: Iterable[str]) -> Written:
        """Store what is written when events of these kinds follow; return it."""
        more = Written.of([*written.entries, *(PRESENT[kind] for kind in kinds)])
        listed = encode_plain(sorted(more.entries))
        tx.put_meta(VOCABULARY, self._tag(listed) + listed)
        return more

    def _tag(self, listed: bytes) -> bytes:
        return self._keyed.of(framed(VOCABULARY, listed))
