"""Several pins of the same logs, each in a place of its own: who rolls a store back must reach all of them.

Each place is read and each is written. The farthest checkpoint stands for all, and the log must have grown from every
one (`ledger.attest`). A place that cannot be reached is an error or a warning, as `failure` says; one that is written
at last is required either way. What a place says that *can* be reached is never only a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import TypeVar

from muniment.errors import Corrupt, MunimentError, RolledBack, StoreFault, StoreFull, StoreReadOnly
from muniment.evidence.pin import Pin
from muniment.evidence.verifier import Refused, parse_checkpoint, parse_note

UNREACHABLE = (StoreFault, StoreFull, StoreReadOnly)

T = TypeVar("T")

_log = logging.getLogger("muniment")


class PinFailure(StrEnum):
    """What it is when one of several places cannot be reached."""

    ERROR = "error"
    WARNING = "warning"


class Pins:
    """Pins in several places, used as one."""

    def __init__(self, places: Sequence[Pin], *, failure: PinFailure = PinFailure.ERROR) -> None:
        assert places, "a pin has a place"
        self.places = tuple(places)
        self._failure = failure

    @classmethod
    def of(cls, pin: Pin | None) -> Pins | None:
        """Return a pin as one of several places, none where there is none."""
        return pin if pin is None or isinstance(pin, cls) else cls([pin])

    def notes(self, origin: str) -> list[str | None]:
        """Return the signed note of this origin at each place that can be reached, None where there is none."""
        return list(self._each(lambda place: place.read(origin)))

    def read(self, origin: str) -> str | None:
        """Return the note of this origin that knows most, or None."""
        known = [note for note in self.notes(origin) if note is not None]
        return max(known, key=_size_of, default=None)

    def write(self, origin: str, note: str) -> None:
        """Pin this note everywhere; raises what a place raises, after all were tried."""
        overtaken: list[RolledBack] = []

        def write(place: Pin) -> None:
            try:
                place.write(origin, note)
            except RolledBack as behind:
                overtaken.append(behind)

        for _ in self._each(write):
            pass
        if overtaken:
            raise overtaken[0]

    def replace(self, origin: str, former: str, note: str) -> None:
        """Pin this note everywhere instead of what a restore has abandoned, of which `former` knows most."""
        if not {former, note}.intersection(self.notes(origin)):
            raise Corrupt(at="pin", problem="not_the_former")

        def replace(place: Pin) -> None:
            own = place.read(origin)
            if own is None:
                place.write(origin, note)
            else:
                place.replace(origin, own, note)

        for _ in self._each(replace):
            pass

    def _each(self, work: Callable[[Pin], T]) -> Iterator[T]:
        """Yield what is done at each place; in the end, raise or tell what could not be reached."""
        failed: list[MunimentError] = []
        for place in self.places:
            try:
                outcome = work(place)
            except UNREACHABLE as failure:
                failed.append(failure)
            else:
                yield outcome
        if failed and (self._failure is PinFailure.ERROR or len(failed) == len(self.places)):
            raise failed[0]
        for each in failed:
            _log.warning("one of %d places for pins cannot be reached: %s", len(self.places), each)


def _size_of(note: str) -> int:
    try:
        return parse_checkpoint(parse_note(note).text).size
    except Refused:
        raise Corrupt(at="pin", problem="malformed") from None
