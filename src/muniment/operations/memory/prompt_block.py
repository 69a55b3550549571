"""What memory holds of a subject, as a block for a prompt: items, recalled evidence and recent messages, in sections.

1. Without a question the items of a section come in the order of their standing (`memory.standing`), which the index
   knows. They are read only as far as they may fit, so the length of a memory does not matter.
2. With one, what a recall finds comes first: items in their sections, messages as evidence.
3. Messages of the conversation that goes on are the newest ones that the view shows.
4. `memory.memory_block` chooses and writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muniment.declaration.session import Session
from muniment.errors import InvalidInput
from muniment.events.identity import SubjectId, check_given
from muniment.governance.views import View
from muniment.memory.memory_block import BlockSection, Offer, TextCounter, memory_block
from muniment.operations.context.cost import counter_name, counter_or_estimate
from muniment.operations.memory.block_entries import (
    ItemEntries,
    JoinedEntries,
    entries_of_skills,
    entry_of_hint,
    entry_of_hit,
    entry_of_message,
)
from muniment.operations.memory.offered_items import OfferedItems, offered_items
from muniment.operations.memory.prompt_report import AskedBlock, PromptBlock
from muniment.operations.memory.recall import recall
from muniment.operations.memory.recall_report import (
    BESIDE_ITEMS,
    AskedRecall,
    RecallHit,
    RecallPlane,
    RecallRanking,
    RecallScope,
)
from muniment.operations.memory.recent_messages import RecentMessage, recent_messages
from muniment.operations.skills.mounted_skills import OfferedSkills, offered_skills
from muniment.operations.tools.tool_hints import ToolHints, tool_hints


def prompt_block(session: Session, asked: AskedBlock, view: View) -> PromptBlock:
    """Return the block of a subject."""
    composition = asked.composition
    check_given(("subject", asked.subject))
    session.access.require_subjects(asked.subject)
    session.access.require_view(view)
    if asked.budget_tokens < 0:
        raise InvalidInput(at="budget_tokens", problem="negative", found=asked.budget_tokens)
    check_given(("composition.channel", composition.channel), ("composition.conversation", composition.conversation))
    skills = offered_skills(session, view)
    hits = _recalled(session, asked, view, skills)
    recent = (
        [] if composition.key is None else recent_messages(session, composition.key, view, composition.recent_messages)
    )
    with offered_items(session, asked.subject, view) as items:
        of_items = _item_entries(items, hits)
        hints = tool_hints(session, items.shower.reader, SubjectId(asked.subject), view, asked.registries)
        offers = _offers(of_items, hits, recent)
        offers[BlockSection.SKILLS] = JoinedEntries(of_items[BlockSection.SKILLS], entries_of_skills(skills, hits))
        offers[BlockSection.TOOL_HINTS] = list(map(entry_of_hint, hints.hints))
        block = memory_block(offers, asked.budget_tokens, _counter(session, asked.budget_tokens))
    positions = _positions(hits, recent, hints, of_items.values())
    return PromptBlock(
        text=block.text,
        tokens=block.size,
        chars=len(block.text),
        budget_tokens=asked.budget_tokens,
        counter=counter_name(session.token_counter),
        cut=block.cut,
        withheld=items.withheld,
        recalled=len(hits),
        sections=block.sections,
        positions=sorted({positions[name] for section in block.sections for name in section.ids if name in positions}),
        registries=hints.refused,
    )


def _positions(
    hits: Sequence[RecallHit], recent: Sequence[RecentMessage], hints: ToolHints, of_items: Iterable[ItemEntries]
) -> dict[str, int]:
    """Return where what a block may hold is recorded, by id."""
    positions = {hit.id: hit.position for hit in hits if hit.position is not None}
    positions |= {message.id: message.position for message in recent}
    positions |= {hint.item: hint.position for hint in hints.hints}
    for entries in of_items:
        positions |= entries.positions
    return positions


def _recalled(session: Session, asked: AskedBlock, view: View, skills: OfferedSkills) -> list[RecallHit]:
    """Return what a question recalls; a question that has no words recalls nothing."""
    if asked.query is None:
        return []
    composition = asked.composition
    scope = RecallScope(conversation=composition.conversation, channel=composition.channel)
    ranking = RecallRanking(preset=composition.preset)
    wanted = AskedRecall(
        subject=asked.subject,
        query=asked.query,
        scope=scope,
        ranking=ranking,
        limit=composition.hits,
        registries=asked.registries,
    )
    return recall(session, wanted, view, skills).hits


def _item_entries(items: OfferedItems, hits: Sequence[RecallHit]) -> dict[BlockSection, ItemEntries]:
    named = [items.named(hit.id) for hit in hits if hit.plane not in BESIDE_ITEMS]
    return {
        section: ItemEntries(items, section, [found[1] for found in named if found is not None and found[0] is section])
        for section in BlockSection
        if section is not BlockSection.MESSAGES
    }


def _offers(
    of_items: dict[BlockSection, ItemEntries], hits: Sequence[RecallHit], recent: Sequence[RecentMessage]
) -> dict[BlockSection, Offer]:
    shown = {message.id for message in recent}
    quoted = [hit for hit in hits if hit.plane is RecallPlane.TRANSCRIPT and hit.id not in shown]
    offers: dict[BlockSection, Offer] = {**of_items}
    offers[BlockSection.EVIDENCE] = JoinedEntries(list(map(entry_of_hit, quoted)), of_items[BlockSection.EVIDENCE])
    offers[BlockSection.MESSAGES] = [entry_of_message(message) for message in recent]
    return offers


def _counter(session: Session, budget_tokens: int) -> TextCounter:
    """Return what counts a text: its tokens, or more than the budget where the profile allows fewer characters."""
    counter, chars_max = counter_or_estimate(session.token_counter), session.budget().rendered_chars

    def counted(text: str) -> int:
        return counter(text) if chars_max is None or len(text) <= chars_max else budget_tokens + 1

    return counted
