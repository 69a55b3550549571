"""What a derived reference says to a reader: its citation, what is left of its source, and whom a change concerns."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple
from urllib.parse import quote

from msgspec import Struct

from muniment.events.changes import RedactionTarget, TurnSpan
from muniment.events.records import EventKind
from muniment.events.references import Plane, RefDerived, SourceEvidence
from muniment.governance.phases import MASKED_PHASES, Phase, runs
from muniment.log.port import Reader, StreamHead
from muniment.memory.kinds import LINKED, LinkedPlane
from muniment.projections.change_fold import Changes, NotedChange
from muniment.space.space import Space

CITED = "transcript"


def citation(source: SourceEvidence) -> str:
    """Return a source as people cite it; for showing, never to be read again."""
    place = "/".join(quote(part, safe="") for part in (source.space, source.channel, source.conversation))
    named = {"turn": source.turn, "through": source.through, "message": source.message}
    marks = "".join(f"#{name}={quote(text, safe='')}" for name, text in named.items() if text is not None)
    return f"{CITED}:{place}{marks}"


class DerivedRef(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item of memory that was derived from turns that a change concerns; somebody may want to decide about it."""

    position: int
    plane: LinkedPlane
    key: str
    subject: str
    citation: str


class ConcernedRefs(NamedTuple):
    """Derived references that a change concerns: those listed, how many are shown, and how many are withheld."""

    listed: list[DerivedRef]
    total: int
    redacted: int


class AffectedTurns(NamedTuple):
    """Turns of a conversation that something happens to, or one message of the one turn."""

    head: StreamHead
    spans: Sequence[TurnSpan]
    message: int | None = None

    def concerns(self, change: NotedChange) -> bool:
        """Tell whether a change is about any of them; what is about a whole turn is about each of its messages."""
        if None not in {self.message, change.message} and self.message != change.message:
            return False
        return any(change.span.overlaps(span) for span in self.spans)


def derived_refs(
    space: Space, reader: Reader, affected: AffectedTurns, planes: Container[Plane], limit: int
) -> ConcernedRefs:
    """Return the references of some planes whose sources are among the affected turns, as many as fit."""
    noted = space.transcript.changes(reader, affected.head).noted.get(EventKind.REF_DERIVED, ())
    concerned = list(filter(affected.concerns, noted))
    listed: list[DerivedRef] = []
    redacted = 0
    for change in concerned:
        row = reader.sealed(change.position)
        assert row is not None, "it was read when the changes were folded"
        meta = space.ledger.open(row).meta
        assert isinstance(meta, RefDerived), "rows of this kind have this body"
        if meta.plane not in planes:
            redacted += 1
            continue
        if len(listed) >= limit:
            continue
        listed.append(
            DerivedRef(
                position=change.position,
                plane=LINKED[meta.plane],
                key=meta.key,
                subject=meta.subject,
                citation=citation(meta.source),
            )
        )
    return ConcernedRefs(listed, len(concerned) - redacted, redacted)


# --- what is left of a source ----------------------------------------------------------------------------------------


class SourceState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is left of a source: how many turns it has and in which phase they are.

    `messages_erased` counts messages of the source that were erased alone, `redactions` those that withhold something
    of it from one view or another.
    """

    turns: int
    active: int = 0
    archived: int = 0
    masked: int = 0
    erased: int = 0
    messages_erased: int = 0
    redactions: int = 0


def state_of(head: StreamHead, changes: Changes, span: TurnSpan, message: int | None) -> SourceState:
    """Count what is left of a source."""
    last = head.turns if span.last is None else min(span.last, head.turns)
    phases: dict[Phase, int] = dict.fromkeys(Phase, 0)
    for run in runs(head.turns, changes.steps):
        phases[run.phase] += max(0, min(run.last, last) - max(run.first, span.first) + 1)
    erased = [messages for turn, messages in changes.erased.items() if span.includes(turn)]
    targets = [
        redaction.target
        for turn, redactions in changes.redactions.items()
        if span.includes(turn)
        for redaction in redactions
    ]
    return SourceState(
        turns=sum(phases.values()),
        active=phases[Phase.ACTIVE],
        archived=phases[Phase.ARCHIVED],
        masked=sum(phases[phase] for phase in MASKED_PHASES),
        erased=phases[Phase.ERASED],
        messages_erased=sum(len(places) if message is None else message in places for places in erased),
        redactions=sum(message is None or _concerns(target, message) for target in targets),
    )


def _concerns(target: RedactionTarget, message: int) -> bool:
    """Tell whether a redaction withholds something of a message: it names the message, or the whole turn."""
    return target.field is None and target.message in {None, message}
