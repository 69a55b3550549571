"""What later events name: turns, messages, holds, parts and fields, sources. Everything that is named must be there.

One function for each kind of event that names something; a kind without one names nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from muniment.errors import Corrupt, KeyMissing, StoreNewer
from muniment.events.changes import Custody, Transition, TurnRedacted
from muniment.events.records import LIFECYCLES, EventKind, TurnContent, TurnMeta
from muniment.events.references import RefDerived
from muniment.evidence.header import Header
from muniment.governance.change_rules import ChangeFlaw, StreamState, flaws_of, has_target
from muniment.governance.views import View
from muniment.ledger.ledger import SPACE_STREAM, Ledger, OpenedEvent
from muniment.log.port import Reader, SealedRow
from muniment.projections.evidence_links import reference_of
from muniment.projections.inspection.event_checks import EventChecks
from muniment.projections.inspection.findings import FindingKind, Findings
from muniment.projections.inspection.seen import ReadEvent, StreamTail
from muniment.projections.link_checks import LinkFault, faults_of
from muniment.projections.transcript import Transcript

# flaw of a change -> what an inspection finds, and the problem that it names
CHANGE_FINDINGS: dict[ChangeFlaw, tuple[FindingKind, str | None]] = {
    ChangeFlaw.REASON: (FindingKind.CORRUPT_RECORD, "reason"),
    ChangeFlaw.HOLD: (FindingKind.HOLD_MISSING, None),
    ChangeFlaw.TURN: (FindingKind.TARGET_MISSING, "turn"),
    ChangeFlaw.MESSAGE: (FindingKind.TARGET_MISSING, "message"),
}

# the same of an attribute
ATTRIBUTE_FINDINGS: dict[ChangeFlaw, tuple[FindingKind, str | None]] = {
    **CHANGE_FINDINGS,
    ChangeFlaw.TURN: (FindingKind.ATTRIBUTE_TARGET_MISSING, "turn"),
    ChangeFlaw.MESSAGE: (FindingKind.ATTRIBUTE_TARGET_MISSING, "message"),
}

# kinds in the stream of the space that name another stream; a certificate always does
NAME_STREAMS = frozenset({
    EventKind.EXPORT_ISSUED,
    EventKind.CONTENT_EXPORTED,
    EventKind.CONTENT_READ,
    EventKind.CONTENT_REVEALED,
    EventKind.CONTEXT_ISSUED,
    EventKind.MEMORY_POLICY_SET,
})  # fmt: skip

LINK_FINDINGS: dict[LinkFault, FindingKind] = {
    LinkFault.ORPHAN: FindingKind.ORPHAN_REFERENCE,
    LinkFault.SOURCE_KEY: FindingKind.MISMATCHED_SOURCE_KEY,
    LinkFault.SOURCE_SUBJECT: FindingKind.MISMATCHED_SOURCE_SUBJECT,
    LinkFault.TURN_MISSING: FindingKind.MISSING_SOURCE_TURN,
    LinkFault.MESSAGE_MISSING: FindingKind.MISSING_SOURCE_MESSAGE,
    LinkFault.DIGEST: FindingKind.MISMATCHED_SOURCE_DIGEST,
}


class NamingEvent(NamedTuple):
    """An event that names something: what could be read of it, and its stream up to it."""

    reader: Reader
    row: SealedRow
    header: Header
    opened: OpenedEvent
    tail: StreamTail


class ReferenceChecks:
    """Looks at what events name."""

    def __init__(
        self, ledger: Ledger, transcript: Transcript, rows: EventChecks, findings: Findings, space: str
    ) -> None:
        self._ledger = ledger
        self._transcript = transcript
        self._rows = rows
        self._findings = findings
        self._space = space
        self._looks: dict[str, Callable[[NamingEvent], None]] = {
            **dict.fromkeys(LIFECYCLES, self._lifecycle),
            EventKind.TURN_REDACTED: self._redaction,
            EventKind.ITEM_REVISED: self._revision,
            EventKind.ATTR_RECORDED: self._attribute,
            EventKind.REF_DERIVED: self._reference,
        }

    def take(self, reader: Reader, seen: ReadEvent, tail: StreamTail) -> None:
        """Look at what an event names; one that could not be read is a finding already."""
        look = self._looks.get(seen.row.kind)
        if look is not None and seen.header is not None and seen.opened is not None:
            look(NamingEvent(reader, seen.row, seen.header, seen.opened, tail))

    def exports(self, seen: ReadEvent, tails: Mapping[int, StreamTail]) -> None:
        """Look at what a certificate in the space's own stream names: how far another stream goes."""
        if seen.header is None:
            return
        if seen.row.kind == EventKind.ARCHIVE_IMPORTED:
            first, last = (seen.header.about.get(end, 0) for end in ("first", "last"))
            if not first <= last < max(seen.row.position, 1):
                self._findings.of(seen.row, FindingKind.TARGET_MISSING)
        if seen.row.kind not in NAME_STREAMS or (
            seen.row.kind != EventKind.EXPORT_ISSUED and "stream" not in seen.header.about
        ):
            return
        tail = tails.get(seen.header.about.get("stream", -1))
        about = seen.header.about
        if tail is None or tail.seq < about.get("through", 0) or tail.turns < about.get("turn", 0):
            self._findings.of(seen.row, FindingKind.TARGET_MISSING)

    # --- by kind ------------------------------------------------------------------------------------------------------

    def _lifecycle(self, event: NamingEvent) -> None:
        if event.header.reason == Custody.HOLD:
            event.tail.holds.add(event.row.position)
        self._findings.erasures += event.header.reason == Transition.ERASE
        self._has_its_turns(event)

    def _has_its_turns(
        self,
        event: NamingEvent,
        kinds: Mapping[ChangeFlaw, tuple[FindingKind, str | None]] = CHANGE_FINDINGS,
    ) -> bool:
        """Look at what the header of a change names; return whether its turns are there."""
        tail, header, row = event.tail, event.header, event.row

        def messages_of(turn: int) -> int | None:
            read = self._turn(event, turn)
            return None if read is None else len(read[0].messages)

        state = StreamState(tail.turns, tail.holds, messages_of, is_space=row.stream == SPACE_STREAM)
        flaws = list(flaws_of(row.kind, header.reason, header.about, state))
        for change_flaw in flaws:
            kind, problem = kinds[change_flaw]
            self._findings.of(row, kind, problem)
        return ChangeFlaw.TURN not in flaws

    def _redaction(self, event: NamingEvent) -> None:
        meta = event.opened.meta
        assert isinstance(meta, TurnRedacted), "rows of this kind have this body"
        if set(meta.views) - set(View):
            self._findings.of(event.row, FindingKind.CORRUPT_RECORD, "views")
        if not self._has_its_turns(event):
            return
        turn = self._turn(event, event.header.about["turn"])
        if turn is not None and not has_target(meta.target, *turn):
            self._findings.of(event.row, FindingKind.REDACTION_TARGET_MISSING)

    def _revision(self, event: NamingEvent) -> None:
        self._has_its_turns(event)

    def _attribute(self, event: NamingEvent) -> None:
        self._has_its_turns(event, ATTRIBUTE_FINDINGS)

    def _reference(self, event: NamingEvent) -> None:
        meta = event.opened.meta
        assert isinstance(meta, RefDerived), "rows of this kind have this body"
        self._findings.derived_refs += 1
        reference = reference_of(event.row, event.header.about, meta)
        try:
            faults = faults_of(self._transcript, event.reader, self._ledger.log, self._space, reference)
        except (Corrupt, KeyMissing, StoreNewer) as unread:  # the turns that it names are damaged
            self._findings.of(event.row, FindingKind.MISSING_SOURCE_TURN, unread.problem or unread.code)
            return
        for fault in faults:
            self._findings.of(event.row, LINK_FINDINGS[fault])

    def _turn(self, event: NamingEvent, turn: int) -> tuple[TurnMeta, TurnContent | None] | None:
        """Return a turn with its content, as far as it can be read, or None; other checks report what is wrong."""
        try:
            for row in event.reader.turns(event.row.stream, turn, turn):
                opened = self._ledger.open(row)
                if isinstance(opened.meta, TurnMeta):
                    changes = self._rows.changes(event.reader, row.stream)
                    is_whole = opened.key is not None and row.content is not None
                    is_known = is_whole and changes is not None and turn not in changes.erased
                    return opened.meta, self._ledger.words(opened)[1] if is_known else None
        except (Corrupt, KeyMissing, StoreNewer):
            pass
        return None
