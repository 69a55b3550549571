"""Attributes to test with: one by hand, one of each visibility and policy, and strategies for any."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from muniment.events.attributes import (
    Attribute,
    AttributeGovernance,
    AttributeLink,
    AttributePolicy,
    AttributeScope,
    AttributeSource,
    AttributeTarget,
    SourceKind,
    ValueKind,
)
from muniment.events.identity import TurnId
from muniment.events.references import Visibility
from muniment.governance.views import View

RAW, MODEL, UI, OPERATOR, EXPORT = View
GATEWAY = AttributeSource(writer="gateway", kind=SourceKind.GATEWAY_COUNTED, reason="monthly bill")
RULED = [(visibility, policy) for visibility in Visibility for policy in AttributePolicy]


def of_turn(number: int = 1, message: int | None = None) -> AttributeTarget:
    """Return the target that is a plain turn by its number, or a message of it."""
    turn = TurnId(f"turn-{number}")
    if message is None:
        return AttributeTarget(turn=turn)
    return AttributeTarget(turn=turn, scope=AttributeScope.MESSAGE, message=f"{turn}#{message}")


def attribute(
    name: str = "a", value: Any = "the value words", target: AttributeTarget | None = None, **other: Any
) -> Attribute:
    """Return an attribute of a plain turn; the kind is that of its value."""
    known = {dict: ValueKind.OBJECT, list: ValueKind.ARRAY, str: ValueKind.STRING, bool: ValueKind.BOOLEAN}
    kind = known.get(type(value), ValueKind.NUMBER)
    given: dict[str, Any] = {"id": name, "key": "host.billing.tokens", "kind": kind, "source": GATEWAY} | other
    return Attribute(value=value, target=target or of_turn(), **given)


def ruled(name: str, visibility: Visibility, policy: AttributePolicy, number: int = 1) -> Attribute:
    """Return an attribute of a visibility and a policy that may leave in exports, its words have its name."""
    return attribute(
        name,
        f"value of {name}",
        of_turn(number),
        visibility=visibility,
        governance=AttributeGovernance(policy=policy, export_allowed=True),
        links=[AttributeLink(relation="of", kind="case", id=f"link of {name}")],
        source=AttributeSource(writer="gateway", kind=SourceKind.HOST_REPORTED, reason=f"reason of {name}"),
    )


# Who sees a value of which visibility, once more by hand (BEHAVIOUR AT-14); exports where it may leave.
SEES: dict[Visibility, set[View]] = {
    Visibility.INTERNAL: {RAW},
    Visibility.HOST_UI: {RAW, UI, OPERATOR},
    Visibility.MODEL_CONTEXT: {RAW, MODEL},
    Visibility.OPERATOR_AUDIT: {RAW, OPERATOR},
    Visibility.EXPORT: {RAW, OPERATOR, EXPORT},
}

# policy -> what is left of a masked and of an erased turn (AT-16 to AT-18)
LEFT: dict[AttributePolicy, tuple[str, str]] = {
    AttributePolicy.FOLLOW_TRANSCRIPT: ("nothing", "nothing"),
    AttributePolicy.METADATA_SURVIVES_MASK: ("value", "nothing"),
    AttributePolicy.OPERATOR_AUDIT_ONLY_AFTER_MASK: ("replacement", "replacement"),
}


def expected(view: View, visibility: Visibility, policy: AttributePolicy, state: str) -> str:
    """Return what a view shows of an attribute: "value", "replacement" or "nothing"."""
    if view not in SEES[visibility]:
        return "nothing"
    left = {"active": "value", "masked": LEFT[policy][0], "erased": LEFT[policy][1]}[state]
    return "nothing" if left == "replacement" and view not in {RAW, OPERATOR} else left


values = st.one_of(
    st.booleans(),
    st.integers(-5, 5),
    st.text(max_size=5),
    st.lists(st.integers(-9, 9), max_size=2),
    st.just({"a": [None]}),
)
