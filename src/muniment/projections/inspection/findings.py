"""The kinds of findings of an inspection, as one table, and the list of findings.

A finding says what is wrong and where: kind, position, stream, the label of a field, a problem word. It never holds
content, keys or names. The list is cut at a budget; the counts are complete.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.log.port import EventRow


class FindingKind(StrEnum):
    """What is wrong."""

    # an event and what is sealed of it
    EVENT_MISSING = "event_missing"
    EVENT_UNREADABLE = "event_unreadable"
    EVENT_UNCOUNTED = "event_uncounted"
    HEADER_MISMATCH = "header_mismatch"
    KEYS_MISSING = "keys_missing"
    KEYS_DAMAGED = "keys_damaged"
    RECORD_DAMAGED = "record_damaged"
    RECORD_UNKNOWN = "record_unknown"
    CORRUPT_RECORD = "corrupt_record"
    CONTENT_MISSING = "content_missing"
    CONTENT_DAMAGED = "content_damaged"
    CONTENT_LEFT = "content_left"
    COMMITMENT_MISMATCH = "commitment_mismatch"
    ORPHAN_CELLS = "orphan_cells"
    # a conversation: order and names
    CHAIN_BROKEN = "chain_broken"
    DUPLICATE_SEQUENCE = "duplicate_sequence"
    DUPLICATE_TURN = "duplicate_turn"
    HEAD_MISSING = "head_missing"
    HEAD_MISMATCH = "head_mismatch"
    LOOKUP_MISSING = "lookup_missing"
    LOOKUP_MISMATCH = "lookup_mismatch"
    LOOKUP_DANGLING = "lookup_dangling"
    # what later events name
    TARGET_MISSING = "target_missing"
    HOLD_MISSING = "hold_missing"
    REDACTION_TARGET_MISSING = "redaction_target_missing"
    ATTRIBUTE_TARGET_MISSING = "attribute_target_missing"
    ATTRIBUTE_OVERSIZED = "attribute_oversized"
    ATTRIBUTE_MALFORMED = "attribute_malformed"
    ORPHAN_REFERENCE = "orphan_reference"
    MISSING_SOURCE_TURN = "missing_source_turn"
    MISSING_SOURCE_MESSAGE = "missing_source_message"
    MISMATCHED_SOURCE_KEY = "mismatched_source_key"
    MISMATCHED_SOURCE_SUBJECT = "mismatched_source_subject"
    MISMATCHED_SOURCE_DIGEST = "mismatched_source_digest"
    # memory items
    DUPLICATE_ITEM = "duplicate_item"
    ITEM_MALFORMED = "item_malformed"
    REFERENCE_MISSING = "reference_missing"
    SLOT_IN_USE_TWICE = "slot_in_use_twice"
    # the log as a whole
    TREE_MISMATCH = "tree_mismatch"
    CHECKPOINT_MISMATCH = "checkpoint_mismatch"
    ROLLED_BACK = "rolled_back"
    PROJECTION_MISMATCH = "projection_mismatch"
    UNATTESTED = "unattested"


# The guide's table is generated from this.
MEANS: dict[FindingKind, str] = {
    FindingKind.EVENT_MISSING: "a position that the tree counts has no event",
    FindingKind.EVENT_UNREADABLE: "the row of an event is malformed",
    FindingKind.EVENT_UNCOUNTED: "the tree does not count some events",
    FindingKind.HEADER_MISMATCH: "the header does not match its leaf hash",
    FindingKind.KEYS_MISSING: "the envelope of an event is missing, or the key that seals it is",
    FindingKind.KEYS_DAMAGED: "the envelope of an event does not open: it, or a column of the event, was edited",
    FindingKind.RECORD_DAMAGED: "the metadata of an event cannot be decoded",
    FindingKind.RECORD_UNKNOWN: "a newer release wrote the event",
    FindingKind.CORRUPT_RECORD: "an event lacks a required field, such as the turn id or the subject",
    FindingKind.CONTENT_MISSING: "content, or its key, is missing although no event erased it",
    FindingKind.CONTENT_DAMAGED: "content cannot be decrypted or decoded, or an attachment was changed or is missing",
    FindingKind.CONTENT_LEFT: "content, or its key, is still there although an event erased it",
    FindingKind.COMMITMENT_MISMATCH: "a field is missing, or does not match the commitment in the header",
    FindingKind.ORPHAN_CELLS: "keys or encrypted parts belong to no event",
    FindingKind.CHAIN_BROKEN: "an event does not follow the previous one of its conversation or notebook",
    FindingKind.DUPLICATE_SEQUENCE: "two events or entries of a conversation or notebook have the same sequence number",
    FindingKind.DUPLICATE_TURN: "two turns of a conversation have the same id",
    FindingKind.HEAD_MISSING: "a conversation or notebook has events and no head",
    FindingKind.HEAD_MISMATCH: "the head of a conversation or notebook is forged, or does not match its events",
    FindingKind.LOOKUP_MISSING: "a conversation, chat id, turn, notebook, item or slot cannot be found by its name",
    FindingKind.LOOKUP_MISMATCH: "a name cannot be proved, or leads to the wrong entry",
    FindingKind.LOOKUP_DANGLING: "a name belongs to no entry",
    FindingKind.TARGET_MISSING: "an event refers to turns, a message, items or events that do not exist",
    FindingKind.HOLD_MISSING: "a release names a hold that does not exist",
    FindingKind.REDACTION_TARGET_MISSING: "a redaction names something that its turn does not have",
    FindingKind.ATTRIBUTE_TARGET_MISSING: "an attribute is about a turn or message that does not exist",
    FindingKind.ATTRIBUTE_OVERSIZED: "the value of an attribute is larger than its own maximum",
    FindingKind.ATTRIBUTE_MALFORMED: "an attribute breaks the rules for its id, key, value, links or times",
    FindingKind.ORPHAN_REFERENCE: "a derived reference has no key: it belongs to no memory item",
    FindingKind.MISSING_SOURCE_TURN: "a derived reference or memory item names a turn that does not exist",
    FindingKind.MISSING_SOURCE_MESSAGE: "a derived reference or memory item names a message that is not in its turn",
    FindingKind.MISMATCHED_SOURCE_KEY: "a derived reference names another conversation, or a memory item another space",
    FindingKind.MISMATCHED_SOURCE_SUBJECT: "a derived reference or memory item has not the subject of its source",
    FindingKind.MISMATCHED_SOURCE_DIGEST: "the digest of a derived reference does not match its turns",
    FindingKind.DUPLICATE_ITEM: "two memory items have the same id",
    FindingKind.ITEM_MALFORMED: "a memory item, or a change of one, breaks the rules for its names, numbers or times",
    FindingKind.REFERENCE_MISSING: "a memory item rests on a turn that has no derived reference to it",
    FindingKind.SLOT_IN_USE_TWICE: "two memory items are in use in one slot",
    FindingKind.TREE_MISMATCH: "the stored tree does not match the events",
    FindingKind.CHECKPOINT_MISMATCH: "a checkpoint has no valid signature, or belongs to another tree",
    FindingKind.ROLLED_BACK: "the log is older than its pinned checkpoint, or is another log",
    FindingKind.PROJECTION_MISMATCH: "a projection updated incrementally differs from one rebuilt from the whole log",
    FindingKind.UNATTESTED: "the log fails its own check, and no other finding explains why",
}


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong: its kind, its position, stream and label, and the problem in one word."""

    kind: FindingKind
    position: int | None = None
    stream: int | None = None
    label: str | None = None
    problem: str | None = None
    found: int | None = None


class Findings:
    """The findings of an inspection and its progress. `findings` is cut at the budget, `counts` is complete."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.findings: list[Finding] = []
        self.counts: dict[FindingKind, int] = {}
        self._told: set[tuple[FindingKind, int]] = set()
        self.events = self.turns = self.items = self.derived_refs = self.lookups = self.checkpoints = 0
        self.attributes = self.erasures = self.erased_turns = self.erased_messages = 0
        self.unread = 0  # events that may have a name, which could not be read

    @property
    def total(self) -> int:
        """How many findings there are."""
        return sum(self.counts.values())

    def add(self, finding: Finding) -> None:
        """Add a finding."""
        self.counts[finding.kind] = self.counts.get(finding.kind, 0) + 1
        if len(self.findings) < self._most:
            self.findings.append(finding)

    def of_stream(self, stream: int, kind: FindingKind, problem: str | None = None) -> None:
        """Add a finding about a whole stream, once."""
        if (kind, stream) not in self._told:
            self._told.add((kind, stream))
            self.add(Finding(kind=kind, stream=stream, problem=problem))

    def of(self, row: EventRow, kind: FindingKind, problem: str | None = None, label: str | None = None) -> None:
        """Add a finding about an event."""
        self.add(Finding(kind=kind, position=row.position, stream=row.stream, problem=problem, label=label))
