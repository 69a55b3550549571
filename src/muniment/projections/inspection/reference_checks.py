"""What later events name: turns, messages, holds, parts and fields, sources. Everything that is named must be there.

One function for each kind of event that names something; a kind without one names nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from muniment.errors import Corrupt, KeyMissing, StoreNewer
from muniment.events.changes import Custody, RedactionReason, RedactionTarget, Transition, TurnRedacted, span_of
from muniment.events.message import ReasoningPart, TextPart
from muniment.events.records import EventKind, TurnContent, TurnMeta
from muniment.events.references import RefDerived
from muniment.evidence.header import Header
from muniment.governance.views import View
from muniment.ledger.ledger import CONTENT, SPACE_STREAM, Ledger, OpenedEvent
from muniment.log.port import Reader, SealedRow
from muniment.projections.evidence_links import LinkFault, faults_of, reference_of
from muniment.projections.inspection.event_checks import EventChecks, ReadEvent
from muniment.projections.inspection.findings import FindingKind, Findings
from muniment.projections.inspection.stream_checks import StreamTail
from muniment.projections.transcript import Transcript

STEPS = frozenset(Transition)
CUSTODY = frozenset(Custody)
FIELD = re.compile(r"(tools)/(\d+)/summary|(host_ref)/(\d+)/label")

LINK_ISSUES: dict[LinkFault, FindingKind] = {
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
            EventKind.TURN_LIFECYCLE: self._lifecycle,
            EventKind.TURN_REDACTED: self._redaction,
            EventKind.REF_DERIVED: self._reference,
        }

    def take(self, reader: Reader, seen: ReadEvent, tail: StreamTail) -> None:
        """Look at what an event names; one that could not be read is an issue already."""
        look = self._looks.get(seen.row.kind)
        if look is not None and seen.header is not None and seen.opened is not None:
            look(NamingEvent(reader, seen.row, seen.header, seen.opened, tail))

    def exports(self, seen: ReadEvent, tails: Mapping[int, StreamTail]) -> None:
        """Look at what a certificate in the space's own stream names: how far another stream goes."""
        if seen.header is None:
            return
        if seen.row.kind == EventKind.ARCHIVE_IMPORTED:
            first, last = (seen.header.refs.get(end, 0) for end in ("first", "last"))
            if not first <= last < max(seen.row.position, 1):
                self._findings.of(seen.row, FindingKind.TARGET_MISSING)
        if seen.row.kind != EventKind.EXPORT_ISSUED:
            return
        tail = tails.get(seen.header.refs.get("stream", -1))
        if tail is None or tail.seq < seen.header.refs.get("through", 0):
            self._findings.of(seen.row, FindingKind.TARGET_MISSING)

    # --- by kind ------------------------------------------------------------------------------------------------------

    def _lifecycle(self, one: NamingEvent) -> None:
        reason, refs = one.header.reason, one.header.refs
        if reason not in STEPS | CUSTODY:
            self._findings.of(one.row, FindingKind.CORRUPT_RECORD, "reason")
        if reason == Custody.HOLD:
            one.tail.holds.add(one.row.position)
        if reason == Custody.RELEASE and refs.get("hold") not in one.tail.holds:
            self._findings.of(one.row, FindingKind.HOLD_MISSING)
        if one.row.stream == SPACE_STREAM and reason in STEPS:
            self._findings.of(one.row, FindingKind.TARGET_MISSING, "turn")  # the space has no turns of its own
        if one.row.stream != SPACE_STREAM and self._turns_are_there(one) and "message" in refs:
            turn = self._turn(one, refs.get("turn", 0))
            if turn is not None and refs["message"] >= len(turn[0].messages):
                self._findings.of(one.row, FindingKind.TARGET_MISSING, "message")

    def _turns_are_there(self, one: NamingEvent) -> bool:
        first, last = span_of(one.header.refs)
        is_there = first >= 1 and (last is None or first <= last <= one.tail.turns or last == one.tail.turns == 0)
        if last is None:
            is_there = is_there and one.header.reason in CUSTODY  # of turns that are still to come
        if not is_there:
            self._findings.of(one.row, FindingKind.TARGET_MISSING, "turn")
        return is_there

    def _redaction(self, one: NamingEvent) -> None:
        meta = one.opened.meta
        assert isinstance(meta, TurnRedacted), "rows of this kind have this body"
        if set(meta.views) - set(View) or one.header.reason not in frozenset(RedactionReason):
            self._findings.of(one.row, FindingKind.CORRUPT_RECORD, "views" if set(meta.views) - set(View) else "reason")
        if not self._turns_are_there(one):
            return
        turn = self._turn(one, one.header.refs.get("turn", 0))
        if turn is not None and not has(meta.target, *turn):
            self._findings.of(one.row, FindingKind.REDACTION_TARGET_MISSING)

    def _reference(self, one: NamingEvent) -> None:
        meta = one.opened.meta
        assert isinstance(meta, RefDerived), "rows of this kind have this body"
        self._findings.derived_refs += 1
        reference = reference_of(one.row, one.header.refs, meta)
        try:
            faults = faults_of(self._transcript, one.reader, self._ledger.log, self._space, reference)
        except (Corrupt, KeyMissing, StoreNewer) as fault:  # the turns that it names are damaged
            self._findings.of(one.row, FindingKind.MISSING_SOURCE_TURN, fault.problem or fault.code)
            return
        for found in faults:
            self._findings.of(one.row, LINK_ISSUES[found])

    def _turn(self, one: NamingEvent, turn: int) -> tuple[TurnMeta, TurnContent | None] | None:
        """Return a turn with its words, as far as they can be read, or None; what is wrong with it is told there."""
        try:
            for row in one.reader.turns(one.row.stream, turn, turn):
                opened = self._ledger.open(row)
                if isinstance(opened.meta, TurnMeta):
                    changes = self._rows.changes(one.reader, row.stream)
                    is_whole = CONTENT in opened.keys and row.content is not None
                    is_known = is_whole and changes is not None and turn not in changes.erased
                    return opened.meta, self._ledger.words(opened)[1] if is_known else None
        except (Corrupt, KeyMissing, StoreNewer):
            pass
        return None


def has(target: RedactionTarget, meta: TurnMeta, content: TurnContent | None) -> bool:
    """Tell whether a turn has what a redaction names; of words that were erased nothing can be told."""
    if target.field is not None:
        named = FIELD.fullmatch(target.field)
        return named is not None and (
            int(named[2]) < len(meta.tools) if named[1] else int(named[4]) < len(meta.host_refs)
        )
    if target.message is None:
        return target.part is None and target.start is None
    if target.message >= len(meta.messages):
        return False
    if target.part is None or content is None:
        return target.part is not None or target.start is None
    parts = content.parts[target.message]
    if target.part >= len(parts):
        return False
    if target.start is None or target.end is None:
        return target.start is None and target.end is None
    part = parts[target.part]
    return isinstance(part, TextPart | ReasoningPart) and 0 <= target.start < target.end <= len(part.content)
