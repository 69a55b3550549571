"""Disclosures: content shown beyond a caller's views, refused access, and issued context, in the stream of the space.

`content.revealed` names the turn in its references (`{"stream": s, "turn": n}`, with `"message": m` one message of it).
`access.denied` names none, because nothing was read. `context.issued` names a conversation (`"stream"`, as of its event
`"through"`) and the turns that the context contains, `"first"` to `"last"`.
"""

from __future__ import annotations

from msgspec import Struct

from muniment.events.changes import LifecycleRequest


class Caller(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The access of a caller: its views, and the subject that it acted for."""

    views: list[str]
    subject: str | None = None


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
