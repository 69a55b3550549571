"""What an inspection may find, as one table, and the list that it keeps.

An issue says what is wrong and where: kind, position, stream, the label of a field, a word of our own. It never holds
content, keys or names. The list is cut at a budget; the counts are whole.
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
    COLUMN_MISMATCH = "column_mismatch"
    KEYS_MISSING = "keys_missing"
    KEYS_DAMAGED = "keys_damaged"
    RECORD_MISSING = "record_missing"
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
    ORPHAN_REFERENCE = "orphan_reference"
    MISSING_SOURCE_TURN = "missing_source_turn"
    MISSING_SOURCE_MESSAGE = "missing_source_message"
    MISMATCHED_SOURCE_KEY = "mismatched_source_key"
    MISMATCHED_SOURCE_SUBJECT = "mismatched_source_subject"
    MISMATCHED_SOURCE_DIGEST = "mismatched_source_digest"
    # the log as a whole
    TREE_MISMATCH = "tree_mismatch"
    CHECKPOINT_MISMATCH = "checkpoint_mismatch"
    ROLLED_BACK = "rolled_back"
    PROJECTION_MISMATCH = "projection_mismatch"
    UNATTESTED = "unattested"


# The guide's table is generated from this.
MEANS: dict[FindingKind, str] = {
    FindingKind.EVENT_MISSING: "the log has no event at a position that its tree counts",
    FindingKind.EVENT_UNREADABLE: "the row of an event has not the shape of one",
    FindingKind.EVENT_UNCOUNTED: "there are events that the tree does not count",
    FindingKind.HEADER_MISMATCH: "the header is not what the leaf was made of",
    FindingKind.COLUMN_MISMATCH: "the columns of an event say something else than its header",
    FindingKind.KEYS_MISSING: "the keys of an event are gone, or the version of the space key that wraps them",
    FindingKind.KEYS_DAMAGED: "the keys of an event do not unwrap: they, or a column of the event, were edited",
    FindingKind.RECORD_MISSING: "what an event says is gone, or its key is",
    FindingKind.RECORD_DAMAGED: "what an event says does not open or cannot be decoded",
    FindingKind.RECORD_UNKNOWN: "the event was written by a newer release",
    FindingKind.CORRUPT_RECORD: "an event lacks what it must say, such as the id of a turn, or whose turn it is",
    FindingKind.CONTENT_MISSING: "words are gone, or their key is, and no event erased them",
    FindingKind.CONTENT_DAMAGED: "words do not open or cannot be decoded",
    FindingKind.CONTENT_LEFT: "words, or their key, are there although an event erased them",
    FindingKind.COMMITMENT_MISMATCH: "a field is not the one that the header commits to, or is not there",
    FindingKind.ORPHAN_CELLS: "there are keys or sealed parts that belong to no event",
    FindingKind.CHAIN_BROKEN: "an event does not follow the one before it in its conversation",
    FindingKind.DUPLICATE_SEQUENCE: "an event or a turn takes a place in its conversation that is taken",
    FindingKind.DUPLICATE_TURN: "two turns of a conversation have the same id",
    FindingKind.HEAD_MISSING: "there are events of a conversation and no head that accounts for them",
    FindingKind.HEAD_MISMATCH: "the head of a conversation is forged, or accounts for other events than there are",
    FindingKind.LOOKUP_MISSING: "a conversation, a chat id or a turn is there and cannot be found by its name",
    FindingKind.LOOKUP_MISMATCH: "a name leads to something else than what has it",
    FindingKind.LOOKUP_DANGLING: "there are names that nothing has",
    FindingKind.TARGET_MISSING: "an event is about turns, or a message, or events that are not there",
    FindingKind.HOLD_MISSING: "a release names a hold that is not there",
    FindingKind.REDACTION_TARGET_MISSING: "a redaction names something that its turn does not have",
    FindingKind.ORPHAN_REFERENCE: "a derived reference has no key: it belongs to no item of memory",
    FindingKind.MISSING_SOURCE_TURN: "a derived reference names a turn that is not there",
    FindingKind.MISSING_SOURCE_MESSAGE: "a derived reference names a message that its turn does not have",
    FindingKind.MISMATCHED_SOURCE_KEY: "a derived reference names another conversation than the one it is stored under",
    FindingKind.MISMATCHED_SOURCE_SUBJECT: "a derived reference has no subject, or another one than its source",
    FindingKind.MISMATCHED_SOURCE_DIGEST: "the digest of a derived reference is not that of its turns",
    FindingKind.TREE_MISMATCH: "the tree at rest is not the tree over the events",
    FindingKind.CHECKPOINT_MISMATCH: "a checkpoint is not signed by the log, or is of another tree",
    FindingKind.ROLLED_BACK: "the log is behind the checkpoint that is pinned outside the store, or another one",
    FindingKind.PROJECTION_MISMATCH: "what was folded from the log bit by bit is not what a fold of the whole gives",
    FindingKind.UNATTESTED: "the log does not account for itself, and nothing above says why",
}


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong: where in the log, in which stream, under which label, and in a word why."""

    kind: FindingKind
    position: int | None = None
    stream: int | None = None
    label: str | None = None
    problem: str | None = None
    found: int | None = None


class Findings:
    """What an inspection has found and looked at so far. `issues` is cut at the budget, `counts` is whole."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.findings: list[Finding] = []
        self.counts: dict[FindingKind, int] = {}
        self._told: set[tuple[FindingKind, int]] = set()
        self.events = self.turns = self.derived_refs = self.lookups = self.checkpoints = 0
        self.unread = 0  # events that may have a name, which could not be read

    @property
    def total(self) -> int:
        """How many issues there are."""
        return sum(self.counts.values())

    def add(self, finding: Finding) -> None:
        """Take an issue."""
        self.counts[finding.kind] = self.counts.get(finding.kind, 0) + 1
        if len(self.findings) < self._most:
            self.findings.append(finding)

    def of_stream(self, stream: int, kind: FindingKind, problem: str | None = None) -> None:
        """Take an issue of a stream as such; it is told once."""
        if (kind, stream) not in self._told:
            self._told.add((kind, stream))
            self.add(Finding(kind=kind, stream=stream, problem=problem))

    def of(self, row: EventRow, kind: FindingKind, problem: str | None = None, label: str | None = None) -> None:
        """Take an issue of an event."""
        self.add(Finding(kind=kind, position=row.position, stream=row.stream, problem=problem, label=label))
