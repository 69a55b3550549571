"""Drafts: everything about an event that does not depend on its place, made before the write transaction.

A draft has the commitments of the event's fields, its packed meta body and its packed content with a fresh key. An
event about other events is a `Change` first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from muniment.crypto.cell import CONTENT_KEY_BYTES, ContentKey, Squeezed, squeeze
from muniment.events.cells import SEED_BYTES
from muniment.events.cells import pack as pack_cell
from muniment.events.labels import content_fields, meta_fields
from muniment.events.records import CHANGES, WORDS, ContentBody, EventKind, MetaBody
from muniment.events.wording import bare, words_of
from muniment.evidence.header import commit_fields, salts_of
from muniment.governance.change_rules import ChangeFlaw, StreamState, flaws_of
from muniment.log.port import WHOLE_CONVERSATION

if TYPE_CHECKING:
    from muniment.kernel.sources import Entropy


class EncodedContent(NamedTuple):
    """Content with the canonical JSON of its fields, by label.

    `own_salts` are there where attachments bring salts and keys along (`ledger.attached_files`).
    """

    body: ContentBody
    fields: Sequence[tuple[str, bytes]]
    own_salts: Mapping[str, bytes] | None = None


def encoded(body: ContentBody, own_salts: Mapping[str, bytes] | None = None) -> EncodedContent:
    """Return content with its fields."""
    return EncodedContent(body, content_fields(body), own_salts)


class Draft(NamedTuple):
    """An event without a place: what can be made of it before the write transaction."""

    kind: EventKind
    time_ms: int
    reason: str | None
    fields: dict[str, str]
    meta: bytes  # packed
    content: tuple[ContentKey, Squeezed] | None  # under a fresh key


NO_REFS: dict[str, int] = {}


class Change(NamedTuple):
    """An event that speaks of others: of turns, or (in the stream of the space) of the space or another conversation.

    `refs` names what it is about, see `events.changes`. `content` comes with its fields, already encoded.
    """

    kind: EventKind
    time_ms: int
    meta: MetaBody
    refs: dict[str, int] = NO_REFS
    reason: str | None = None
    content: EncodedContent | None = None

    def drafted(self, entropy: Entropy) -> Draft:
        """Return the event without a place."""
        return draft(entropy, self.kind, self.time_ms, self.meta, reason=self.reason, content=self.content)

    @property
    def target(self) -> int | None:
        """The turn that it changes, or `WHOLE_CONVERSATION`; None for what changes no turns."""
        if self.kind not in CHANGES:
            return None
        return self.refs.get("turn", WHOLE_CONVERSATION) if "stream" not in self.refs else WHOLE_CONVERSATION

    def flaws(self, turns: int, *, is_space: bool) -> list[ChangeFlaw]:
        """Return what of it is not valid for a stream with so many turns."""
        return list(flaws_of(self.kind, self.reason, self.refs, StreamState(turns, is_space=is_space)))


def draft(
    entropy: Entropy,
    kind: EventKind,
    time_ms: int,
    meta: MetaBody,
    *,
    reason: str | None = None,
    content: EncodedContent | None = None,
) -> Draft:
    """Return an event without a place. `content` comes with its fields, which the caller has already encoded.

    The words of a body that has any are its content.
    """
    apart = WORDS.get(type(meta))
    if apart is not None:
        words, meta = words_of(meta, apart), bare(meta, apart)
        content = None if words is None else encoded(words)
    chance = entropy.take(SEED_BYTES if content is None else SEED_BYTES + CONTENT_KEY_BYTES)
    seed, sealing = chance[:SEED_BYTES], None
    fields = commit_fields(seed, meta_fields(meta))
    if content is not None:
        body, listed, own = content
        key = ContentKey(chance[SEED_BYTES:])
        salts = None if own is None else salts_of(key.salts(), (label for label, _ in listed)) | dict(own)
        fields.update(commit_fields(key.salts() if salts is None else salts, listed))
        sealing = key, squeeze(pack_cell(salts, body))
    return Draft(kind, time_ms, reason, fields, pack_cell(seed, meta), sealing)
