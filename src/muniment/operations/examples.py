"""Examples of what requests hold, as plain data: the help shows them, schemas have them, and a test binds each."""

from __future__ import annotations

from typing import Any

Example = dict[str, Any]

PLACE: Example = {"conversation": {"conversation": "chat-1"}, "turn": "turn-1"}
REGISTRY: Example = {"registry": "desk", "fingerprint": "9f02"}
TURN: Example = {
    "turn": "turn-1",
    "subject": "ada",
    "conversation": "chat-1",
    "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good morning"}],
}
ATTRIBUTE: Example = {
    "id": "tokens-1",
    "target": {"turn": "turn-1"},
    "key": "host.billing.tokens",
    "kind": "number",
    "value": 412,
    "source": {"writer": "gateway", "kind": "gateway_counted", "reason": "monthly bill"},
}
TIME_RANGE: Example = {"from_ms": 1767225600000, "until_ms": 1767312000000}
CANDIDATE: Example = {
    "subject": "ada",
    "kind": "preference",
    "topic": "tea",
    "text": "Likes green tea.",
    "evidence": [PLACE],
    "judgement": {"decision": "accept"},
}
AMENDMENT: Example = {"type": "correct", "text": "Likes black tea."}
DERIVATION: Example = {"plane": "long_term", "key": "tea", "subject": "ada", **PLACE}
SNAPSHOT: Example = {
    **REGISTRY,
    "namespace": "shop",
    "owner": "desk",
    "scope": "global",
    "tools": [{"tool": "orders.search", "schema_fingerprint": "5d1c"}],
}
FEEDBACK: Example = {
    "registry": REGISTRY,
    "observations": [{"tool": "orders.search", "outcome": "succeeded", "summary": "found by number"}],
    "evidence": [PLACE],
}
# of what takes one of several members: the one that the shortest call of a command names
FORGET_TARGET: Example = {"item": "tea"}
SKILL_EDIT: Example = {"procedure": "Run the build.\nCopy the folder to the server."}
MEMORY_SELECTOR: Example = {"subject": "ada"}
SCOPE: Example = {"conversation": "chat-1"}
TITLE = "A refund"
