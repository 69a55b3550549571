"""Disclosures: content that was revealed, read, exported or put into a prompt, refused access and refused erasures.

They are in the stream of the space and hold no content, no query and no name of a file. `content.revealed` names the
turn in its references (`{"stream": s, "turn": n}`, with `"message": m` one message of it). `access.denied` names none,
because nothing was read. `erasure.refused` names the turns that were kept, `"first"` to `"through"` of a conversation
(`"stream"`), or none where it was about the whole space. `context.issued` names a conversation (`"stream"`, as of its
event `"through"`) and the turns that the context contains, `"first"` to `"last"`. `content.read` names the conversation
that was asked for, if it was one, and `"through"` where it may be about any turn before that position.
`content.exported` names a conversation up to its event `"through"`, one turn of it (`"turn"`), or, without a
`"stream"`, the events of the log up to the position `"through"`.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.events.caller import Caller
from muniment.events.changes import LifecycleRequest


class ContentRevealed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Content was shown to a caller whose views do not show it."""

    request: LifecycleRequest
    caller: Caller


class Denial(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What was refused: the operation, the missing right, and the policy when a policy refused.

    `attempts` counts the refusals of this operation and right since `since_ms`, including this one; the earlier ones
    have no events of their own. `subject` is the one that the caller of the last attempt acted for.
    """

    operation: str
    right: str
    policy: str | None = None
    subject: str | None = None
    attempts: int = 1
    since_ms: int = 0


class AccessRefused(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A caller requested what its access does not include."""

    denial: Denial


class ErasureRefusal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What was kept of an erasure: how many turns, and the positions of the holds and policies that keep them."""

    turns: int
    kept_by: list[int]


class ErasureRefused(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Somebody requested an erasure of content that a hold or a legal minimum keeps."""

    request: LifecycleRequest
    refusal: ErasureRefusal


class ContextGrant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The facts of a composed prompt context, without its content: interface, size and source turns.

    `digest` is the source digest over the leaves of the turns that `refs` names (`evidence.verifier.source_digest`).
    `quoted` has the positions of the quoted turns, best match first.
    """

    view: str
    shape: str
    budget_tokens: int
    tokens: int
    counter: str
    messages: int
    digest: str | None = None
    quoted: list[int] = []


class ContextIssued(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Context for a prompt was issued under a view of the caller."""

    context: ContextGrant
    caller: Caller


class ReadSpan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Consecutive turns that were read, by their sequences, both ends included."""

    first: int
    last: int


class ReadGrant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What one call of a reading operation returned: `turns` of them, under these views.

    `spans` are turns of the conversation that `refs.stream` names. `found` has the positions of
    other turns. The query of a search is content, and left out.
    """

    operation: str
    views: list[str] = []
    turns: int = 0
    spans: list[ReadSpan] = []
    found: list[int] = []


class ContentRead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Content was read; recorded where a policy asks for it."""

    read: ReadGrant
    caller: Caller


class ExportWay(StrEnum):
    """How content left the store, other than as a certified export or an archive, which have events of their own."""

    BUNDLE = "bundle"
    RECEIPT = "receipt"
    DOCUMENT = "document"
    BACKUP = "backup"
    ATTACHMENT = "attachment"


class ContentGrant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What left the store, by which way; a backup holds whatever there is, under no view."""

    way: ExportWay
    turns: int | None = None
    view: str | None = None
    recipient: str | None = None
    purpose: str | None = None


class ContentExported(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Content left the store."""

    export: ContentGrant
    caller: Caller
