"""Memory items as a view shows them, with what is left of the turns that they rest on."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from msgspec import Struct

from muniment.events.identity import SubjectId
from muniment.events.memory_items import (
    Audience,
    Freshness,
    ItemKind,
    ItemPrivacy,
    ItemScope,
    ItemSourceType,
    MemoryPlane,
    Retirement,
    StaleHint,
)
from muniment.governance.detection.parts import marked_text
from muniment.governance.item_visibility import SHOWS_EVIDENCE, SHOWS_STATEMENTS
from muniment.governance.judgement import judge, needs_content
from muniment.governance.phases import Phase
from muniment.governance.views import Reason, View, withheld_by_phase
from muniment.log.port import Reader
from muniment.memory.audience import ALL, is_known_to
from muniment.memory.fold import EvidenceState, MemoryItem, evidence_state
from muniment.memory.kinds import RETELLING, WHOLE, ConfidenceBand
from muniment.operations.memory.source_phases import SourcePhases, SourcePlace
from muniment.operations.provenance.derived_refs import citation
from muniment.space.space import Space


class ShownEvidence(Struct, frozen=True, kw_only=True):
    """A turn that an item rests on, as people cite it, and whether its words are still shown to anybody."""

    citation: str
    phase: Phase


class ShownItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A memory item as a view shows it; `withheld` says why its words are missing.

    `confidence` and `importance` are from 0 to 1, `band` is the confidence in words, `state` how far a reader may rely
    on it. `revision` counts its revisions. `evidence` is listed for views that show where something came from, as are
    `writer`, `origin`, `audience` and `note`, to whoever owns the item; all others have `evidence_count` alone.
    """

    id: str
    subject: SubjectId
    plane: MemoryPlane
    kind: ItemKind
    confidence: float
    band: ConfidenceBand
    importance: float
    privacy: ItemPrivacy
    scope: ItemScope
    source_type: ItemSourceType
    freshness: Freshness
    state: EvidenceState
    observed_ms: int
    recorded_ms: int
    position: int
    revision: int
    evidence_count: int
    name: str | None = None
    topic: str | None = None
    text: str | None = None
    title: str | None = None
    summary: str | None = None
    note: str | None = None
    keywords: list[str] = []
    tags: list[str] = []
    entities: list[str] = []
    withheld: Reason | None = None
    disabled: bool = False
    stale: StaleHint = StaleHint.NONE
    pinned: bool = False
    confirmed_ms: int | None = None
    expires_ms: int | None = None
    retired: Retirement | None = None
    successor: str | None = None
    writer: str | None = None
    audience: Audience | None = None
    origin: str | None = None
    evidence: list[ShownEvidence] = []


class ItemShower:
    """Shows the items of a space through one view, in one state of its log, to a subject or (None) to anybody."""

    def __init__(
        self, space: Space, reader: Reader, view: View, to: str | None = None, sources: SourcePhases | None = None
    ) -> None:
        self.space = space
        self.reader = reader
        self._to = to
        self.view = view
        self.sources = SourcePhases(space, reader) if sources is None else sources
        self._now_ms = space.sources.clock.now_ms()
        self._reasons: dict[tuple[int, int], tuple[Reason | None, ...]] = {}

    def shown(self, item: MemoryItem) -> ShownItem:
        """Return an item as the view shows it."""
        meta, phases = item.meta, self.sources.left(item)
        tells_origin = self.tells_origin(item)
        words = self._words(item, phases)
        return ShownItem(
            id=item.id,
            subject=item.subject,
            plane=item.plane,
            kind=meta.kind,
            confidence=item.confidence / WHOLE,
            band=item.band,
            importance=meta.importance / WHOLE,
            privacy=item.privacy,
            scope=item.scope,
            source_type=meta.source_type,
            freshness=meta.freshness,
            state=evidence_state(item, self._now_ms, is_source_gone=self.sources.rests_on_lost(item.evidence)),
            observed_ms=meta.observed_ms,
            recorded_ms=item.recorded_ms,
            position=item.position,
            revision=item.revision,
            evidence_count=len(item.evidence),
            name=item.name,
            topic=words.topic,
            text=words.text,
            title=words.title,
            summary=words.summary,
            note=words.note if tells_origin else None,
            keywords=words.keywords,
            tags=words.tags,
            entities=words.entities,
            withheld=words.withheld,
            disabled=item.disabled,
            stale=item.stale,
            pinned=item.pinned,
            confirmed_ms=item.confirmed_ms or None,
            expires_ms=meta.expires_ms or None,
            retired=item.retired,
            successor=self.known(item.successor),
            writer=meta.writer if tells_origin else None,
            audience=item.audience if tells_origin and item.audience != ALL else None,
            origin=meta.entry.origin if tells_origin else None,
            evidence=[
                ShownEvidence(citation=citation(source), phase=phase)
                for source, phase in zip(item.evidence, phases, strict=True)
                if tells_origin
            ],
        )

    def is_owner(self, item: MemoryItem) -> bool:
        """Tell whether an item is one of whom it is shown to."""
        return self._to in {None, item.subject}

    def tells_origin(self, item: MemoryItem) -> bool:
        """Tell whether the view shows who wrote an item, when somebody asked for what, and what it rests on.

        To others than its owner that is shown in no view: where something shared was said is the owner's business.
        """
        return self.view in SHOWS_EVIDENCE and self.is_owner(item)

    def text(self, words: str, subject: str) -> str:
        """Return words with markers in the place of what the view detects."""
        return marked_text(words, self.space.detection.view(self.view).detectors_beside(frozenset({subject})))

    def known(self, item: str | None) -> str | None:
        """Return the id of an item that is named beside another one, if whom this is shown to may know of it."""
        if item is None or self._to is None:
            return item
        named = self.space.notebooks.item(self.reader, item)
        return item if named is not None and is_known_to(named, self._to) else None

    def hides_words(self, item: MemoryItem) -> bool:
        """Tell whether the words of an item are withheld because those of a turn that it tells again are."""
        return _withheld(item, self.sources.left(item)) is not None

    def reasons_of(self, turn: SourcePlace) -> tuple[Reason | None, ...]:
        """Return why the view does not show each message of a turn, None for what it shows."""
        at = (turn.conversation.head.stream, turn.sequence)
        if at not in self._reasons:
            wanted = partial(needs_content, self.view)
            page = self.space.transcript.page(self.reader, turn.conversation.head, turn.sequence, turn.sequence, wanted)
            [read] = page
            self._reasons[at] = tuple(judge(self.view, read.record, self.space.detection.view(self.view)).messages)
        return self._reasons[at]

    def _words(self, item: MemoryItem, phases: Iterable[Phase]) -> ItemWords:
        if item.content is None or item.text is None:
            return ItemWords(withheld=Reason.ERASED)
        withheld = _withheld(item, phases)
        if withheld is not None:
            return ItemWords(withheld=withheld)
        if self.view not in SHOWS_STATEMENTS:
            return ItemWords(withheld=Reason.VIEW_POLICY)
        said, subject = item.content, item.subject
        return ItemWords(
            topic=self.text(said.topic, subject),
            text=self.text(item.text, subject),
            keywords=[self.text(word, subject) for word in said.keywords],
            tags=[self.text(word, subject) for word in said.tags],
            entities=[self.text(word, subject) for word in said.entities],
            title=None if said.title is None else self.text(said.title, subject),
            summary=None if said.summary is None else self.text(said.summary, subject),
            note=None if said.note is None else self.text(said.note, subject),
        )


def _withheld(item: MemoryItem, phases: Iterable[Phase]) -> Reason | None:
    """Return why nobody is shown what an item says, by the phases of its turns: it tells again what one of them says.

    Of several reasons it is the one of the turn that has least left.
    """
    if item.plane not in RETELLING:
        return None
    reasons = {reason for phase in phases if (reason := withheld_by_phase(phase)) is not None}
    return Reason.ERASED if Reason.ERASED in reasons else next(iter(reasons), None)


class ItemWords(Struct, frozen=True, kw_only=True):
    """What a view shows of what an item says, or why it shows nothing."""

    topic: str | None = None
    text: str | None = None
    title: str | None = None
    summary: str | None = None
    note: str | None = None
    keywords: list[str] = []
    tags: list[str] = []
    entities: list[str] = []
    withheld: Reason | None = None
