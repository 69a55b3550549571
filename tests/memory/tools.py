"""Tools to test with: a registry of a desk, and what was observed of its tools."""

from __future__ import annotations

from typing import Any

from muniment.events.identity import TurnId
from muniment.events.tool_registries import RegistryScope
from muniment.memory.candidate import ItemSource
from muniment.memory.experience import ObservedOutcome, ToolFeedback, ToolOutcome
from muniment.memory.tool_registry import RegistryReference, RegistrySnapshot, ToolDescription
from tests.turns import TALK
from tests.worlds import key_of

TOOLS = [
    ToolDescription(tool="search", schema_fingerprint="s1", display_name="Look up", permissions=["orders:read"]),
    ToolDescription(tool="mail.send", schema_fingerprint="m1", risks=["sends"], version="2.0", groups=["office"]),
]


def registry(fingerprint: str = "f1", **more: Any) -> RegistrySnapshot:
    """Return a registry; other members by name."""
    fields: dict[str, Any] = {"registry": "desk", "namespace": "acme", "owner": "host", "scope": RegistryScope.GLOBAL}
    return RegistrySnapshot(**fields | {"tools": TOOLS, "fingerprint": fingerprint} | more)


def reference(fingerprint: str = "f1", registry: str = "desk") -> RegistryReference:
    """Return a reference to it."""
    return RegistryReference(registry=registry, fingerprint=fingerprint)


def saw(
    tool: str = "search", outcome: ToolOutcome = ToolOutcome.SUCCEEDED, summary: str = "found it"
) -> ObservedOutcome:
    """Return what was observed of a tool."""
    return ObservedOutcome(tool=tool, outcome=outcome, summary=summary)


def feedback(*observations: ObservedOutcome, turn: int = 1, fingerprint: str = "f1", **more: Any) -> ToolFeedback:
    """Return feedback from a plain turn; without observations: that the search found something."""
    evidence = [ItemSource(conversation=key_of(TALK), turn=TurnId(f"turn-{turn}"))]
    fields: dict[str, Any] = {"registry": reference(fingerprint), "evidence": evidence}
    return ToolFeedback(**fields | {"observations": list(observations) or [saw()]} | more)
