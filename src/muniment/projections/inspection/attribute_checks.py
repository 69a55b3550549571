"""Attributes by their own rules: id, key, kind, size, links and times. `reference_checks` looks for their turns.

Where the content is erased, the rules about the rest still apply.
"""

from __future__ import annotations

from muniment.errors import Corrupt
from muniment.events.attributes import AttributeContent, AttributeRecorded
from muniment.events.records import ContentBody
from muniment.governance.annotation import AttributeRefusal, flaw, flaw_without_content
from muniment.ledger.ledger import Ledger, OpenedEvent
from muniment.projections.inspection.findings import FindingKind, Findings
from muniment.projections.inspection.seen import ReadEvent


class AttributeChecks:
    """Looks at attributes one by one."""

    def __init__(self, ledger: Ledger, findings: Findings) -> None:
        self._ledger = ledger
        self._findings = findings

    def take(self, seen: ReadEvent) -> None:
        """Look at an event, if it is an attribute that could be read."""
        if seen.opened is None or seen.header is None or not isinstance(meta := seen.opened.meta, AttributeRecorded):
            return
        self._findings.attributes += 1
        if meta.attribute.message != seen.header.about.get("message"):
            self._findings.of(seen.row, FindingKind.ATTRIBUTE_TARGET_MISSING, "message_differs")
        content = self._content(seen.opened)
        refusal = flaw(meta, content) if isinstance(content, AttributeContent) else flaw_without_content(meta)
        if refusal is not None:
            is_large = refusal is AttributeRefusal.VALUE_TOO_LARGE
            kind = FindingKind.ATTRIBUTE_OVERSIZED if is_large else FindingKind.ATTRIBUTE_MALFORMED
            self._findings.of(seen.row, kind, refusal)

    def _content(self, opened: OpenedEvent) -> ContentBody | None:
        if opened.key is None or opened.row.content is None:
            return None
        try:
            return self._ledger.content(opened)[1]
        except Corrupt:  # found damaged already
            return None
