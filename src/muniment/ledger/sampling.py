"""A sample of a log, read whole: whether what is sealed still opens, and is what its header committed to.

Attesting a log at opening proves that no row is missing and that the newest were made with its keys. It does not open
the older ones: that would take as long as the log. A sample of them is read whole instead, so that files that somebody
exchanged do not stay unnoticed until their events are read. Which events it is follows from the state of the log and
from its key: another state has another sample, and nobody without the key can tell which events are in it.
"""

from __future__ import annotations

from typing import NamedTuple

from muniment.errors import Corrupt, KeyMissing, MunimentError, StoreNewer
from muniment.evidence.header import disclosures
from muniment.ledger.ledger import Ledger
from muniment.ledger.worded import readable_fields
from muniment.log.port import Reader

SAMPLE_EVENTS = 4  # a tenth of what an opening takes


class Sample(NamedTuple):
    """How many events were read whole, and what was wrong with the first that was not sound."""

    events: int = 0
    fault: MunimentError | None = None


def sample_of(ledger: Ledger, count: int = SAMPLE_EVENTS) -> Sample:
    """Read some events whole, all of them where there are no more than `count`."""
    with ledger.reader() as reader:
        size, state = reader.frontier().size, reader.log_seal().hex()
        chosen, number = set[int](), 0
        while len(chosen) < min(size, count):
            chosen.add(int.from_bytes(ledger.name_digest("sample", state, str(number))) % size)
            number += 1
        for read, position in enumerate(sorted(chosen), start=1):
            try:
                require_whole(ledger, reader, position)
            except (Corrupt, KeyMissing) as fault:
                return Sample(read, fault)
            except StoreNewer:  # what a newer release wrote is for that to read
                continue
        return Sample(len(chosen))


def require_whole(ledger: Ledger, reader: Reader, position: int) -> None:
    """Raise `Corrupt` or `KeyMissing` unless everything that is left of an event is what was committed.

    Only a holder of the keys can have made an envelope that opens for this place and this leaf. Content is left as long
    as there is a key to it; whether what is gone was erased is not asked.
    """
    row = reader.sealed(position)
    if row is None:
        raise Corrupt(at=f"position {position}", problem="rows_missing")
    header, _ = ledger.header(row)
    if row.envelope is None and row.content is None:  # it did not open any more, and was erased unread
        return
    opened = ledger.open(row)
    if opened.key is None and row.content is not None:
        raise KeyMissing(at=f"position {position}")
    disclosures(header, readable_fields(ledger, opened))
