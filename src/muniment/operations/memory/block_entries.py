"""The entries of a block for a prompt: items, messages, hints about tools, and agent skills, each as one line."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.kernel.times import written
from muniment.memory.memory_block import BlockEntry
from muniment.operations.memory.recall_report import RecallHit, RecallPlane
from muniment.operations.memory.recent_messages import RecentMessage
from muniment.operations.memory.shown_item import ShownItem
from muniment.operations.skills.mounted_skills import OfferedSkills
from muniment.operations.tools.tool_hints import ToolHint


def entry_of_item(item: ShownItem) -> BlockEntry:
    """Return what an item says."""
    return BlockEntry(
        id=item.id,
        text=f"{item.topic}: {item.text}",
        date=written(item.observed_ms)[:10],
        state=item.state,
        confidence=item.confidence,
    )


def entry_of_hit(hit: RecallHit) -> BlockEntry:
    """Return what was said, and by whom."""
    return BlockEntry(
        id=hit.id, text=hit.text, source=_said_by(hit.role, hit.speaker), date=written(hit.observed_ms or 0)[:10]
    )


def entry_of_message(message: RecentMessage) -> BlockEntry:
    """Return what was said last, and by whom."""
    return BlockEntry(
        id=message.id,
        text=message.text,
        source=_said_by(message.role, message.speaker),
        date=written(message.observed_ms)[:16],
    )


def entry_of_hint(hint: ToolHint) -> BlockEntry:
    """Return what was observed how often; what a tool said is text from outside and stays outside."""
    seen = hint.observations
    return BlockEntry(
        id=hint.item,
        text=f"{hint.tool}: {hint.reason}, {seen.succeeded} of {seen.succeeded + seen.failed} calls succeeded",
        source=hint.registry,
        confidence=hint.confidence,
    )


def entries_of_skills(skills: OfferedSkills, hits: Sequence[RecallHit]) -> list[BlockEntry]:
    """Return agent skills as hints, those that were recalled before the others."""
    recalled = [hit.id for hit in hits if hit.plane is RecallPlane.AGENT_SKILL]
    place = {name: place for place, name in enumerate(recalled)}
    in_order = sorted(skills.packages, key=lambda package: place.get(package.name, len(place)))
    return [
        BlockEntry(id=each.name, text=f"{each.name}: {each.description}", source="agent skill") for each in in_order
    ]


def _said_by(role: str | None, speaker: str | None) -> str:
    return " ".join(filter(None, (role, speaker)))
