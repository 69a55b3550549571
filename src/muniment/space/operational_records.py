"""Operational records of an open store: typed values, sealed on their way into the operational file.

See `log.operational_file` for what such a record is and is not, and `crypto.record_cipher` for how it is sealed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from muniment.crypto.record_cipher import RecordCipher
from muniment.crypto.store import StoreKeys
from muniment.errors import Corrupt
from muniment.kernel.locks import new_lock
from muniment.kernel.sources import Clock, SystemEntropy
from muniment.log.operational_file import FILE, OperationalFile

Value = TypeVar("Value", bound=Struct)
REMEMBERED_MAX = 1024  # answers that `remembered` keeps in memory


class RecordKind(Generic[Value]):
    """A kind of record: its name in the file, the type of its values, and how long one counts (None: no end)."""

    def __init__(self, name: str, value: type[Value], *, ttl_ms: int | None = None) -> None:
        self.name = name
        self.ttl_ms = ttl_ms
        self.decoder = msgspec.json.Decoder(value)


class OperationalRecords:
    """The records of one open store. Thread-safe.

    They are no part of a log, so sealing one draws nothing that a replay of the log would have to draw again.
    """

    def __init__(self, file: OperationalFile, cipher: RecordCipher, clock: Clock) -> None:
        self._file = file
        self._cipher = cipher
        self._clock = clock
        self._entropy = SystemEntropy()
        self._remembered: OrderedDict[bytes, tuple[tuple[int, int], Any]] = OrderedDict()
        self._lock = new_lock()

    def find(self, kind: RecordKind[Value], *name: str) -> Value | None:
        """Return the record of this name, or None."""
        place = self._cipher.name(kind.name, *name)
        sealed = self._file.get(kind.name, place, self._clock.now_ms())
        return None if sealed is None else self._opened(kind, place, sealed)

    def remembered(
        self, about: bytes, kinds: Collection[RecordKind[Any]], read: Callable[[], Value | None]
    ) -> Value | None:
        """Return what `read` finds in records of some kinds; it reads again only when one of them may have changed.

        So a change counts at once, whichever process makes it. That nothing is found is not remembered.
        """
        version = self._version(kinds)  # first: a change while reading is noticed next time
        found: Value | None = self._known(about, version)
        if found is not None:
            return found
        found = read()
        with self._lock:
            self._remembered.pop(about, None)
            if found is not None and version is not None:
                self._remembered[about] = version, found
            while len(self._remembered) > REMEMBERED_MAX:
                self._remembered.popitem(last=False)
        return found

    def at_once(self, about: bytes, kinds: Collection[RecordKind[Any]]) -> Any | None:
        """Return what `remembered` would, where that neither reads nor waits; else None."""
        return self._known(about, self._version(kinds, waits=False))

    def _version(self, kinds: Collection[RecordKind[Any]], *, waits: bool = True) -> tuple[int, int] | None:
        return self._file.version([kind.name for kind in kinds], waits=waits)

    def _known(self, about: bytes, version: tuple[int, int] | None) -> Any | None:
        """Return what is remembered and still true."""
        with self._lock:
            known = self._remembered.get(about)
            if known is None or known[0] != version:
                return None
            self._remembered.move_to_end(about)
            return known[1]

    def all_of(self, kind: RecordKind[Value]) -> list[Value]:
        """Return all records of a kind, in no order that tells anything."""
        found = self._file.all_of(kind.name, self._clock.now_ms())
        return [self._opened(kind, place, sealed) for place, sealed in found]

    def change(
        self,
        kind: RecordKind[Value],
        change: Callable[[Value | None], Value | None],
        *name: str,
        is_flushed: bool = True,
    ) -> None:
        """Replace a record by what `change` makes of it, alone among all processes; None deletes it.

        A power cut may undo a change that is not flushed.
        """
        place = self._cipher.name(kind.name, *name)
        now_ms = self._clock.now_ms()
        expires_ms = None if kind.ttl_ms is None else now_ms + kind.ttl_ms

        def sealed(kept: bytes | None) -> bytes | None:
            after = change(None if kept is None else self._opened(kind, place, kept))
            if after is None:
                return None
            return self._cipher.seal(kind.name, place, msgspec.json.encode(after), self._entropy)

        self._file.change(kind.name, place, now_ms, sealed, expires_ms, is_flushed=is_flushed)

    def digest(self, purpose: str, *parts: str) -> bytes:
        """Return a keyed digest for comparing what may not be kept."""
        return self._cipher.name(purpose, *parts)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _opened(self, kind: RecordKind[Value], place: bytes, sealed: bytes) -> Value:
        try:
            return kind.decoder.decode(self._cipher.open(kind.name, place, sealed))
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Corrupt(at=kind.name, problem="malformed") from None


def records_in(directory: Path | None, keys: StoreKeys, clock: Clock) -> OperationalRecords:
    """Return the records of the store in a directory, or of one that is in memory alone."""
    file = OperationalFile(None if directory is None else directory / FILE)
    return OperationalRecords(file, keys.record_cipher(), clock)
