"""Who was shown what beyond their views, and who was refused: events of the stream of the space.

`content.revealed` names the turn in its references (`{"stream": s, "turn": n}`, or with `"message": m` one message of
it). `access.denied` names none: what was refused was not looked at. `context.issued` names a conversation that is
there (`"stream"`, as it was at its event `"through"`) and those of its turns that were given, `"first"` to `"last"`.
"""

from __future__ import annotations

from msgspec import Struct

from muniment.events.changes import LifecycleRequest


class Caller(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What the access of a caller was: the views it had, and the subject that it spoke for."""

    views: list[str]
    subject: str | None = None


class ContentRevealed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Words were shown to somebody whose views do not show them."""

    request: LifecycleRequest
    caller: Caller


class Denial(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What was refused: the operation, the right that was missing, and the policy when it was one that refused.

    `attempts` counts those of this operation and right since `since_ms`, this one included; the others are in no event
    of their own. `subject` is the one that the access of this one speaks for.
    """

    operation: str
    right: str
    policy: str | None = None
    subject: str | None = None
    attempts: int = 1
    since_ms: int = 0


class AccessRefused(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Somebody asked for what their access does not include."""

    denial: Denial


class ContextGrant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What was put together for a prompt: for which interface, how large, of which turns, and never a word of it.

    `digest` is the source digest over the leaves of the turns that `refs` names (`evidence.verifier.source_digest`);
    `quoted` are the positions of the turns of which something was quoted, the best first.
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
    """Words were handed out for a prompt, under a view of the caller."""

    context: ContextGrant
    caller: Caller
