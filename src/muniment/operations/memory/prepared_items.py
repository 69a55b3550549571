"""Accepted candidates, ready to be recorded: checked, with their evidence, and with what they say as it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from muniment.events.memory_items import ItemContent, ItemKind, ItemMeta, NamedSlot, NotebookEntry
from muniment.log.port import Reader
from muniment.memory.candidate import Candidate, Ruling, RulingReason, ruling
from muniment.memory.fold import MemoryItem
from muniment.memory.governance_rules import governed
from muniment.memory.kinds import WHOLE, kind_named
from muniment.memory.merging import Incoming, is_repeat, rests_on
from muniment.memory.policies import Statement
from muniment.operations.memory.item_sources import Derived, derived_from
from muniment.operations.memory.kept_words import kept_words
from muniment.operations.memory.source_phases import SourcePhases, is_gone
from muniment.operations.provenance.derivations import PreparedDerivation
from muniment.projections.notebooks import ItemGroup
from muniment.space.space import Space

if TYPE_CHECKING:
    from muniment.declaration.session import Session

EVIDENCE_HIDDEN = "evidence_hidden"


class Undecided(NamedTuple):
    """A candidate that is not accepted, and why."""

    ruling: Ruling
    reason: RulingReason


class Writing(NamedTuple):
    """Who records something in which run, and when."""

    writer: str
    run: str | None
    now_ms: int


class PreparedItem(NamedTuple):
    """A candidate that is ready to be recorded, if its slot allows it."""

    candidate: Candidate
    slot: bytes
    meta: ItemMeta
    content: ItemContent
    derivations: list[PreparedDerivation]

    def is_same(self, item: MemoryItem) -> bool:
        """Tell whether an item says the same of the same subject in the same slot; one that is forgotten may have."""
        return is_repeat(item, self.candidate, self.meta, self.content)

    @property
    def rested_on_nothing_hidden(self) -> bool:
        """Whether that was so in the state of the log in which it was prepared."""
        return not any(is_gone(phase) for link in self.derivations for phase in link.phases)

    def rests_on_nothing_hidden(self, space: Space, reader: Reader) -> bool:
        """Tell whether the words of all turns that it rests on are still shown to somebody."""
        sources = SourcePhases(space, reader)
        return not sources.hides(self.candidate.plane, (link.body.source for link in self.derivations))

    @property
    def sources(self) -> frozenset[tuple[str, ...]]:
        """What it was learned from."""
        return rests_on(self.meta)

    def incoming(self, now_ms: int) -> Incoming:
        """Return what a merge looks at."""
        return Incoming(
            now_ms=now_ms,
            text=self.content.text,
            observed_ms=self.meta.observed_ms,
            confidence=self.meta.confidence,
            privacy=self.meta.privacy,
            audience=self.meta.entry.audience,
            sources=self.sources,
        )

    @property
    def statement(self) -> Statement:
        """What policies look at."""
        given = self.candidate
        rests = frozenset((source.channel, source.conversation) for source in self.meta.evidence)
        return Statement(given.subject, self.meta.kind, given.scope, given.topic, rests)


def prepared_item(
    session: Session,
    reader: Reader,
    candidate: Candidate,
    writing: Writing,
    at: str,
    observed: NamedSlot | None = None,
) -> PreparedItem | Undecided:
    """Return what would be recorded of a candidate, or why nothing is, whatever is in its slot.

    `observed` is what feedback says of a tool; without it a candidate for experience is refused.
    """
    space = session.space
    decision, reason = ruling(candidate)
    if decision is Ruling.ACCEPT:
        decision, reason = governed(candidate, is_feedback=observed is not None) or (decision, reason)
    if decision is not Ruling.ACCEPT:
        return Undecided(decision, reason)
    kind = kind_named(candidate.kind)
    assert kind is not None, "a candidate of an unknown kind is refused"
    named = observed if candidate.name is None else NamedSlot(name=candidate.name)
    item = candidate.id or space.sources.ids.new_id()
    whose = Derived(item, candidate.plane, candidate.subject, is_new=candidate.id is None)
    links = [
        derived_from(session, reader, whose, source, f"{at}.evidence[{number}]", writing.now_ms)
        for number, source in enumerate(candidate.evidence)
    ]
    derivations = list({link.body.source: link for link in links}.values())
    content, group = _content(space, candidate), ItemGroup(candidate.subject, candidate.plane, kind)
    return PreparedItem(
        candidate=candidate,
        slot=space.notebooks.slot_name(group, content.topic, None if named is None else named.name),
        meta=_meta(whose, candidate, kind, derivations, writing, named),
        content=content,
        derivations=derivations,
    )


def _meta(
    whose: Derived,
    candidate: Candidate,
    kind: ItemKind,
    derivations: list[PreparedDerivation],
    writing: Writing,
    named: NamedSlot | None,
) -> ItemMeta:
    return ItemMeta(
        item=whose.item,
        kind=kind,
        writer=writing.writer,
        observed_ms=writing.now_ms if candidate.observed_ms is None else candidate.observed_ms,
        confidence=candidate.thousandths(),
        importance=round(candidate.importance * WHOLE),
        privacy=candidate.privacy,
        source_type=candidate.source_type,
        scope=candidate.scope,
        freshness=candidate.freshness,
        pinned=candidate.pinned,
        expires_ms=candidate.expires_ms or 0,
        evidence=[derivation.body.source for derivation in derivations],
        run=writing.run,
        entry=NotebookEntry(audience=candidate.audience.kept(), origin=candidate.origin, named=named),
    )


def _content(space: Space, candidate: Candidate) -> ItemContent:
    """Return what a candidate says, with markers where the store replaces something before commits."""
    marked = kept_words(space, candidate.subject)
    return ItemContent(
        topic=marked(candidate.topic),
        text=marked(candidate.text),
        keywords=[marked(word) for word in candidate.keywords],
        tags=[marked(word) for word in candidate.tags],
        entities=[marked(word) for word in candidate.entities],
        title=None if candidate.title is None else marked(candidate.title),
        summary=None if candidate.summary is None else marked(candidate.summary),
        note=None if candidate.note is None else marked(candidate.note),
    )
