"""The slots of notebooks, after the last event: whether each is found by its name, and has at most one item in use.

What is in use is what the fold of each item says. Of a forgotten item nobody knows the slot, unless that is a name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import partial

from muniment.errors import Corrupt, KeyMissing, StoreNewer
from muniment.ledger.ledger import Ledger
from muniment.log.port import Reader
from muniment.memory.fold import MemoryItem
from muniment.projections.inspection.findings import Finding, FindingKind, Findings
from muniment.projections.inspection.seen import StreamTail
from muniment.projections.notebooks import ItemGroup, Notebooks
from muniment.projections.transcript import Transcript

UNREAD = (Corrupt, KeyMissing, StoreNewer)


class SlotChecks:
    """Looks at notebooks as a whole."""

    def __init__(self, ledger: Ledger, transcript: Transcript, findings: Findings) -> None:
        self._ledger = ledger
        self._notebooks = Notebooks(ledger, transcript)
        self._findings = findings

    def finish(self, reader: Reader, tails: Iterable[StreamTail]) -> None:
        """Look at the slots of every notebook; in the snapshot in which the last event was read."""
        for tail in tails:
            if tail.notebook is not None:
                self._notebook(reader, tail.stream)

    def _notebook(self, reader: Reader, stream: int) -> None:
        try:
            self._slots(reader, stream)
        except UNREAD:
            try:  # a rotation may have retired the keys of the snapshot
                with self._ledger.store.reader() as present:
                    self._slots(present, stream)
            except UNREAD as fault:
                if not self._findings.total:  # else what prevents it is a finding already
                    self._findings.of_stream(stream, FindingKind.UNATTESTED, fault.problem)

    def _slots(self, reader: Reader, stream: int) -> None:
        slots: defaultdict[bytes, dict[int, bool]] = defaultdict(dict)  # the items of each: position -> is in use
        for item in self._notebooks.items(reader, self._notebooks.transcript.head(reader, stream)):
            if item.is_item and (item.name is not None or item.content is not None):
                slots[self._slot(item)][item.position] = item.is_active
        found: list[Finding] = []
        for slot, items in slots.items():
            named = set(self._notebooks.slot_positions(partial(self._ledger.names.find, reader), slot))
            found += [
                Finding(kind=FindingKind.LOOKUP_MISSING, position=position, stream=stream, problem="slot")
                for position in items.keys() - named
            ]
            used = sorted(position for position in items.keys() & named if items[position])
            found += [
                Finding(kind=FindingKind.SLOT_IN_USE_TWICE, position=position, stream=stream) for position in used[1:]
            ]
        for finding in sorted(found, key=lambda finding: finding.position or 0):
            self._findings.add(finding)

    def _slot(self, item: MemoryItem) -> bytes:
        whose = ItemGroup(item.subject, item.plane, item.meta.kind)
        return self._notebooks.slot_name(whose, "" if item.content is None else item.content.topic, item.name)
