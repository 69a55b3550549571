"""An event of a live log that is restated."""

from __future__ import annotations

from typing import NamedTuple

from muniment.evidence.header import Header
from muniment.ledger.ledger import OpenedEvent
from muniment.log.port import SealedRow


class LiveEvent(NamedTuple):
    """An event of the live log, opened."""

    row: SealedRow
    header: Header
    opened: OpenedEvent
