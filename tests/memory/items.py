"""Memory items to test with: what is recorded of one, and the candidates that become one."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from muniment.events.identity import TurnId
from muniment.events.memory_items import ItemContent, ItemKind, ItemMeta, ItemPrivacy, ItemScope, MemoryPlane
from muniment.events.references import SourceEvidence
from muniment.memory.candidate import Candidate, ItemSource, Ruling, SemanticJudgement
from muniment.memory.fold import MemoryItem
from tests.turns import SUBJECT, TALK
from tests.worlds import key_of

FOLDED = {"privacy", "scope", "pinned", "confidence", "audience"}  # what revisions change
USE_THE_LIFT = "Go to the lift.\nPress the button of the floor."
ACCEPTED = SemanticJudgement(decision=Ruling.ACCEPT)


def candidate(text: str = "Lives in Oslo", turn: int | None = 1, **more: Any) -> Candidate:
    """Return a candidate that rests on a plain turn (None: that is attested); other members by name."""
    evidence = [] if turn is None else [ItemSource(conversation=key_of(TALK), turn=TurnId(f"turn-{turn}"))]
    fields: dict[str, Any] = {"subject": SUBJECT, "kind": "profile", "topic": "home city", "text": text}
    fields |= {"evidence": evidence, "attested": turn is None, "judgement": ACCEPTED}
    return Candidate(**fields | more)


def skill(name: str = "use_the_lift", text: str = USE_THE_LIFT, **more: Any) -> dict[str, Any]:
    """Return what makes a candidate a runtime skill."""
    kind = {"kind": "procedure", "plane": MemoryPlane.RUNTIME_SKILL, "topic": "stairs"}
    return kind | {"name": f"runtime_skill__{name}", "text": text} | more


def item(text: str | None = "Lives in Oslo", **more: Any) -> MemoryItem:
    """Return an item as it was recorded; members of it, and of its meta body, by name."""
    of_meta = {name: more.pop(name) for name in ItemMeta.__struct_fields__ if name in more and name not in FOLDED}
    told: dict[str, Any] = {"item": "i-1", "kind": ItemKind.PROFILE, "writer": "host", "observed_ms": 1000}
    meta = ItemMeta(**told | {"confidence": 900} | of_meta)
    content = None if text is None else ItemContent(topic="home city", text=text)
    fields: dict[str, Any] = {"subject": SUBJECT, "plane": MemoryPlane.LONG_TERM, "number": 1, "position": 9}
    fields |= {"recorded_ms": 1000, "meta": meta, "content": content, "text": text, "confidence": meta.confidence}
    fields |= {"privacy": ItemPrivacy.SHARED_WITH_SUBJECT, "scope": ItemScope.USER}
    return MemoryItem(**fields | more)


def source(turn: str = "turn-1", message: str | None = None) -> SourceEvidence:
    """Return a turn that an item rests on."""
    return SourceEvidence(space="default", channel="default", conversation=TALK, turn=turn, message=message)


shares = st.floats(min_value=0, max_value=1)
statements = st.text(st.characters(categories=["L", "N", "Zs"]), min_size=1, max_size=40).filter(str.strip)
