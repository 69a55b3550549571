"""Remember: candidates become items, or are refused, deferred or handed off, each for a reason.

What a candidate is by itself is decided by `memory.candidate`, what it does to its slot by `memory.merging`, inside the
transaction. An item, its links in the conversations of its evidence, and the retirement of the item that it replaces
are one transaction; so are all candidates of a request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.errors import Conflict, InvalidInput, LimitExceeded
from muniment.events.changes import LifecycleRequest, Transition
from muniment.events.identity import check_name
from muniment.events.memory import ItemContent, ItemKind, ItemMeta, ItemRetired, NotebookOpened, Retirement
from muniment.events.records import EventKind
from muniment.events.references import RefDerived
from muniment.governance.phases import MASKED_PHASES, Phase
from muniment.governance.views import View
from muniment.ledger.drafts import Change, draft, encoded
from muniment.ledger.ledger import Writer
from muniment.log.port import Reader
from muniment.memory.candidate import Candidate, ItemSource, Ruling, ruling
from muniment.memory.fold import MemoryItem
from muniment.memory.likeness import normalised
from muniment.memory.merging import Incoming, Merge, MergeOutcome, in_use, merged, sources_of
from muniment.memory.vocabulary import REFERENCES, WHOLE, kind_named
from muniment.operations.memory.shown_item import ItemShower, marked_text
from muniment.operations.provenance.derivations import (
    Derivation,
    PreparedDerivation,
    append_derivation,
    check_derivation,
    prepared_derivation,
)
from muniment.space.space import Space

EVIDENCE_HIDDEN = "evidence_hidden"
ALREADY_RECORDED = "already_recorded"


class RememberedCandidate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a candidate: what was decided, why, and the item that says it now.

    `replaces` is the item that it took the place of. `likeness` is the share of its words that it has in common with
    the item that was in its slot.
    """

    decision: Ruling
    reason: str
    changed: bool
    item: str | None = None
    position: int | None = None
    replaces: str | None = None
    likeness: float | None = None


class RememberReport(Struct, frozen=True, kw_only=True):
    """What became of each candidate, in their order; `recorded` of them are new items."""

    dry_run: bool
    recorded: int
    candidates: list[RememberedCandidate]


class PreparedItem(NamedTuple):
    """A candidate that is ready to be recorded, if its slot allows it."""

    candidate: Candidate
    kind: ItemKind
    slot: bytes
    meta: ItemMeta
    content: ItemContent
    derivations: list[PreparedDerivation]


def remember(
    session: Session, candidates: list[Candidate], requester: str, run: str | None, *, dry_run: bool
) -> RememberReport:
    """Decide about candidates and record what is accepted."""
    space, limit = session.space, session.space.limits.candidates_max
    if not candidates:
        raise InvalidInput(at="candidates", problem="empty")
    if len(candidates) > limit:
        raise LimitExceeded(at="candidates", problem="too_many", limit=limit, found=len(candidates))
    for at, name in (("requester", requester), ("run", run)):
        if name is not None:
            check_name(name, at=at)
    for number, candidate in enumerate(candidates):
        check_candidate(session, candidate, f"candidates[{number}]")
    recorder = ItemRecorder(session, requester, run)
    with space.ledger.reader() as reader:
        prepared = [
            recorder.prepared(reader, candidate, f"candidates[{number}]") for number, candidate in enumerate(candidates)
        ]
        if dry_run:
            decided = [_previewed(space, reader, one) for one in prepared]
            return RememberReport(dry_run=True, recorded=0, candidates=decided)

    def plan(writer: Writer) -> list[RememberedCandidate]:
        return [one if isinstance(one, RememberedCandidate) else recorder.merge(writer, one) for one in prepared]

    if all(isinstance(one, RememberedCandidate) for one in prepared):
        decided = [one for one in prepared if isinstance(one, RememberedCandidate)]
    else:
        decided = space.ledger.transact(plan)
    return RememberReport(dry_run=False, recorded=sum(one.changed for one in decided), candidates=decided)


def check_candidate(session: Session, candidate: Candidate, at: str) -> None:
    """Refuse malformed names, subjects that the caller may not speak for, and statements that are too long."""
    session.access.require_subjects(candidate.subject)
    for name, text in (("subject", candidate.subject), ("id", candidate.id)):
        if text is not None:
            check_name(text, at=f"{at}.{name}")
    limit, size = session.space.limits.item_bytes_max, sum(len(text.encode()) for text in _texts(candidate))
    if size > limit:
        raise LimitExceeded(at=at, problem="too_large", limit=limit, found=size)


def _texts(candidate: Candidate) -> Iterator[str]:
    yield from (candidate.topic, candidate.text, *candidate.keywords, *candidate.tags, *candidate.entities)


class ItemRecorder:
    """Makes items of candidates, for one request."""

    def __init__(self, session: Session, requester: str, run: str | None) -> None:
        self._session = session
        self._space = session.space
        self._now_ms = session.space.sources.clock.now_ms()
        self._requester = requester
        self._run = run

    # --- before the transaction ---------------------------------------------------------------------------------------

    def prepared(self, reader: Reader, candidate: Candidate, at: str) -> PreparedItem | RememberedCandidate:
        """Return what would be recorded, or what was decided without a look at the slot."""
        decision, reason = ruling(candidate)
        if decision is not Ruling.ACCEPT:
            return RememberedCandidate(decision=decision, reason=reason, changed=False)
        kind = kind_named(candidate.kind)
        assert kind is not None, "a candidate of an unknown kind is refused"
        item = candidate.id or self._space.sources.ids.new_id()
        derivations = [
            self._derived(reader, candidate, item, source, f"{at}.evidence[{number}]")
            for number, source in enumerate(candidate.evidence)
        ]
        shower = ItemShower(self._space, reader, View.RAW_OWNER)
        phases = [shower.phase(derivation.body.source) for derivation in derivations]
        if any(phase is Phase.ERASED or phase in MASKED_PHASES for phase in phases):
            return RememberedCandidate(decision=Ruling.REFUSE, reason=EVIDENCE_HIDDEN, changed=False)
        return PreparedItem(
            candidate=candidate,
            kind=kind,
            slot=self._space.notebooks.slot_name(candidate.subject, candidate.plane, kind, candidate.topic),
            meta=self._meta(candidate, item, kind, derivations),
            content=self._content(candidate),
            derivations=derivations,
        )

    def _derived(
        self, reader: Reader, candidate: Candidate, item: str, source: ItemSource, at: str
    ) -> PreparedDerivation:
        given = Derivation(
            plane=REFERENCES[candidate.plane],
            key=item,
            subject=candidate.subject,
            conversation=source.conversation,
            turn=source.turn,
            message=source.message,
        )
        check_derivation(self._session, given, at)
        return prepared_derivation(self._space, reader, given, at, self._now_ms)

    def _meta(self, candidate: Candidate, item: str, kind: ItemKind, derivations: list[PreparedDerivation]) -> ItemMeta:
        return ItemMeta(
            item=item,
            kind=kind,
            writer=self._requester,
            observed_ms=self._now_ms if candidate.observed_ms is None else candidate.observed_ms,
            confidence=candidate.thousandths(),
            importance=round(candidate.importance * WHOLE),
            privacy=candidate.privacy,
            source_type=candidate.source_type,
            scope=candidate.scope,
            freshness=candidate.freshness,
            pinned=candidate.pinned,
            expires_ms=candidate.expires_ms or 0,
            evidence=[derivation.body.source for derivation in derivations],
            run=self._run,
        )

    def _content(self, candidate: Candidate) -> ItemContent:
        """Return what a candidate says, with markers where the store replaces something before commits."""
        detectors = self._space.detection.before_commit.detectors_beside(frozenset({candidate.subject}))

        def marked(words: list[str]) -> list[str]:
            return [marked_text(word, detectors) for word in words]

        topic, text = marked([candidate.topic, candidate.text])
        return ItemContent(
            topic=topic,
            text=text,
            keywords=marked(candidate.keywords),
            tags=marked(candidate.tags),
            entities=marked(candidate.entities),
        )

    # --- inside the transaction ---------------------------------------------------------------------------------------

    def merge(self, writer: Writer, prepared: PreparedItem) -> RememberedCandidate:
        """Decide on the present state of the slot, and record."""
        writer.flush()  # the slot may have been taken in the same request
        known = _known(self._space, writer.tx, prepared)
        if known is not None:
            return known
        history = self._space.notebooks.in_slot(writer.tx, prepared.slot)
        merge = merged(_incoming(prepared), history)
        if merge.outcome not in {MergeOutcome.RECORDED, MergeOutcome.SUPERSEDES}:
            return _merged(merge, history)
        return self.record(writer, prepared, history, merge)

    def record(
        self, writer: Writer, prepared: PreparedItem, history: list[MemoryItem], merge: Merge
    ) -> RememberedCandidate:
        """Record an item, and retire the one that is in its slot."""
        notebooks, space = self._space.notebooks, self._space
        stream = self._notebook(writer, prepared.candidate)
        positions: dict[tuple[int, RefDerived], int] = {}
        for derivation in prepared.derivations:
            append_derivation(space, writer, derivation, positions)
        event = draft(
            space.sources.entropy,
            EventKind.ITEM_RECORDED,
            self._now_ms,
            prepared.meta,
            content=encoded(prepared.content),
        )
        placed = writer.append(event, stream=stream)
        writer.claim(notebooks.item_name(prepared.meta.item), stream, placed.position)
        if history:
            writer.rename(prepared.slot, notebooks.former_name(prepared.slot, len(history)))
        writer.claim(prepared.slot, stream, placed.position)
        former = in_use(history)
        if former is not None:
            body = ItemRetired(
                request=LifecycleRequest(reason=merge.reason, requester=self._requester, requested_ms=self._now_ms),
                cause=Retirement.SUPERSEDED,
                successor=prepared.meta.item,
                run=self._run,
            )
            refs = {"turn": former.number}
            writer.change(Change(EventKind.ITEM_RETIRED, self._now_ms, body, refs, Transition.ARCHIVE), stream)
        return RememberedCandidate(
            decision=Ruling.ACCEPT,
            reason=merge.reason,
            changed=True,
            item=prepared.meta.item,
            position=placed.position,
            replaces=None if former is None else former.id,
            likeness=merge.likeness if history else None,
        )

    def _notebook(self, writer: Writer, candidate: Candidate) -> int:
        """Return the notebook of a subject and plane; the first item opens it."""
        name = self._space.notebooks.notebook_name(candidate.subject, candidate.plane)
        stream = writer.find(name)
        if stream is not None:
            return stream
        opened = NotebookOpened(subject=candidate.subject, plane=candidate.plane)
        event = draft(self._space.sources.entropy, EventKind.NOTEBOOK_OPENED, self._now_ms, opened)
        placed = writer.append(event, stream=None)
        writer.claim(name, placed.stream, placed.position)
        return placed.stream


def _previewed(space: Space, reader: Reader, prepared: PreparedItem | RememberedCandidate) -> RememberedCandidate:
    """Return what would become of a candidate now."""
    if isinstance(prepared, RememberedCandidate):
        return prepared
    known = _known(space, reader, prepared)
    if known is not None:
        return known
    history = space.notebooks.in_slot(reader, prepared.slot)
    return _merged(merged(_incoming(prepared), history), history)


def _known(space: Space, reader: Reader, prepared: PreparedItem) -> RememberedCandidate | None:
    """Return what a repeat gets: the item of its id, if that says the same; another one is a `Conflict`."""
    item = space.notebooks.item(reader, prepared.meta.item)
    if item is None:
        return None
    content, told = item.content, prepared.content
    if content is not None and (content.topic, normalised(content.text)) != (told.topic, normalised(told.text)):
        raise Conflict(at="id", problem="taken")
    return RememberedCandidate(
        decision=Ruling.ACCEPT if content is not None else Ruling.REFUSE,
        reason=ALREADY_RECORDED,
        changed=False,
        item=item.id,
        position=item.position,
    )


def _merged(merge: Merge, history: list[MemoryItem]) -> RememberedCandidate:
    """Return what a merge decided, where nothing is recorded."""
    present = in_use(history)
    return RememberedCandidate(
        decision=Ruling.REFUSE if merge.outcome is MergeOutcome.REFUSED else Ruling.ACCEPT,
        reason=merge.reason,
        changed=False,
        item=present.id if present is not None and merge.outcome is MergeOutcome.DUPLICATE else None,
        replaces=present.id if present is not None and merge.outcome is MergeOutcome.SUPERSEDES else None,
        likeness=merge.likeness if history else None,
    )


def _incoming(prepared: PreparedItem) -> Incoming:
    meta = prepared.meta
    return Incoming(
        text=prepared.content.text,
        observed_ms=meta.observed_ms,
        confidence=meta.confidence,
        privacy=meta.privacy,
        sources=sources_of(meta.evidence),
    )
