"""The record of a context: which turns were in which prompt, without their content (decision 0108).

`context.issued` is in the stream of the space. It names the turns by stream, sequences and position, and what they
were by their leaves, which commit to every word under salts: what was given can be made again from the log as long as
the words are there, and when they are erased the record tells nothing of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from muniment.declaration.session import Session
from muniment.errors import AccessDenied
from muniment.events.caller import Caller
from muniment.events.disclosures import ContextGrant, ContextIssued
from muniment.events.records import EventKind
from muniment.evidence.verifier import source_digest
from muniment.ledger.drafts import draft
from muniment.ledger.ledger import SPACE_STREAM, Writer
from muniment.operations.context.prompt import Context


def issue(session: Session, context: Context, stream: int | None, leaves: Mapping[int, bytes]) -> int:
    """Append the record of a context; return its position when it is durable.

    `leaves` are those of the turns of the conversation's stream by their sequence.
    """
    space, first, last = session.space, context.first_sequence, context.last_sequence
    refs: dict[str, int] = {} if stream is None else {"stream": stream, "through": context.revision}
    digest = None
    if first is not None and last is not None:
        if any(turn not in leaves for turn in range(first, last + 1)):
            raise AccessDenied(at="composition.record")  # what is recorded is turns without a gap
        refs |= {"first": first, "last": last}
        digest = source_digest(space.ledger.log, [leaves[turn] for turn in range(first, last + 1)])
    grant = ContextGrant(
        view=context.view,
        shape=context.shape,
        budget_tokens=context.budget_tokens,
        tokens=context.tokens,
        counter=context.counter,
        messages=len(context.messages),
        digest=digest,
        quoted=list(dict.fromkeys(quoted.place.position for quoted in context.quoted)),
    )
    body = ContextIssued(
        context=grant, caller=Caller(views=sorted(session.access.views), subject=session.access.subject)
    )
    event = draft(space.sources.entropy, EventKind.CONTEXT_ISSUED, space.sources.clock.now_ms(), body)

    def plan(writer: Writer) -> int:
        return writer.append(event, stream=SPACE_STREAM, refs=refs).position

    return space.ledger.transact(plan)
