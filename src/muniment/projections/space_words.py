"""Words in the stream of the space about turns of a conversation: reveals, exports, refused erasures, approvals.

Such an event names the conversation by its stream, and perhaps a turn. What a person wrote in it is gone with the first
of the turns that it may be about and that is erased after it: the turns that it names, or any of the conversation. What
was said of a tool registry goes with that (`registry_words`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from muniment.events.approving import APPROVAL
from muniment.events.changes import TurnSpan, span_of
from muniment.events.records import CONTENT_BODIES, LIFECYCLES, EventKind
from muniment.events.wording import Words
from muniment.ledger.ledger import SPACE_STREAM, Ledger
from muniment.log.port import Reader, SealedRow
from muniment.projections.change_fold import NOTHING, Changes
from muniment.projections.registry_words import REGISTRY_KINDS, is_lost_with_registry

ChangesOf = Callable[[int], Changes | None]

IN_STREAMS = frozenset({*LIFECYCLES, EventKind.TURN_REDACTED, EventKind.ITEM_REVISED})
KINDS = [kind for kind, body in CONTENT_BODIES.items() if body is Words and kind not in {*IN_STREAMS, *REGISTRY_KINDS}]
ANY = TurnSpan(1, None)


def lost_in_space(ledger: Ledger, reader: Reader, changes_of: ChangesOf) -> Iterator[int]:
    """Yield the positions of the events of the space whose words are gone; without changes a stream has no erasure."""
    for kind in KINDS:
        for row in reader.of_kind(kind):
            if row.stream == SPACE_STREAM and is_lost(ledger, reader, row, changes_of):
                yield row.position


def is_lost(ledger: Ledger, reader: Reader, row: SealedRow, changes_of: ChangesOf) -> bool:
    """Tell whether the words of an event of the space are gone with a turn, or with a tool registry."""
    if row.kind in REGISTRY_KINDS:
        return is_lost_with_registry(ledger, reader, row)
    refs = _refs(ledger, reader, row)
    changes = changes_of(refs["stream"]) if "stream" in refs else None
    if changes is None:
        return False
    names_turns = "turn" in refs or row.target_seq is not None
    span, message = span_of(refs) if names_turns else ANY, refs.get("message")
    if message is not None and message in changes.erased.get(span.first, NOTHING):
        return True
    return any(erasure.position > row.position and erasure.span.overlaps(span) for erasure in changes.erasures)


def _refs(ledger: Ledger, reader: Reader, row: SealedRow) -> dict[str, int]:
    """Return what an event names; a decision names what its request does."""
    refs = ledger.header(row)[0].refs
    asked = reader.sealed(refs[APPROVAL]) if APPROVAL in refs else None
    return refs if asked is None else ledger.header(asked)[0].refs
