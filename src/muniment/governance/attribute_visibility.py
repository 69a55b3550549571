"""Who sees an attribute: by view, and by what became of its turn.

The first rule that fits decides:

1. The view does not show what was recorded for its visibility; or the attribute is about a message of a private plane,
   about something that a redaction withholds from this view, or is not valid any more → `attr_visibility`.
   What describes a conversation (a title, tags) is words, whatever its visibility: a view that shows no words does not
   show it, and every other view shows what is for the host's interface.
2. Its policy does not let the view see it in this phase → `attr_lifecycle_policy`. Where the policy leaves the fact to
   an auditor, a replacement is shown instead of the value.

3. What the view looks for and finds in the value or in the reason of an attribute is withheld there: `marked`.

`shown` renders the decision for a page, `disclosed_attribute_labels` for an export; both read the same judgement.
guide/attributes.md is generated from the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from muniment.events.attributes import (
    DESCRIPTIVE,
    AttributeGovernance,
    AttributeLink,
    AttributeOrigin,
    AttributePolicy,
    AttributeRecorded,
    AttributeScope,
    ValueKind,
    link_label,
)
from muniment.events.references import Visibility
from muniment.governance.annotation import AttributeRecord, AttributeState, flaw
from muniment.governance.detection.parts import found_in, marked_json
from muniment.governance.detection.scan import Detector
from muniment.governance.phases import Phase
from muniment.governance.redaction import WithheldRange, replaced
from muniment.governance.views import SHOWS, SHOWS_ORIGIN, Reason, View


class ShownValue(StrEnum):
    """What a view shows of an attribute."""

    VALUE = "value"
    REPLACEMENT = "replacement"
    NOTHING = "nothing"


# view -> the visibilities of attributes it shows; an export also asks whether the attribute may leave
SHOWS_ATTRIBUTES: dict[View, frozenset[Visibility]] = {
    View.RAW_OWNER: frozenset(Visibility),
    View.MODEL_CONTEXT: frozenset({Visibility.MODEL_CONTEXT}),
    View.HOST_UI: frozenset({Visibility.HOST_UI}),
    View.OPERATOR_AUDIT: frozenset({Visibility.HOST_UI, Visibility.OPERATOR_AUDIT, Visibility.EXPORT}),
    View.EXPORT: frozenset({Visibility.EXPORT}),
}

ALL: dict[View, ShownValue] = dict.fromkeys(View, ShownValue.VALUE)
NONE: dict[View, ShownValue] = dict.fromkeys(View, ShownValue.NOTHING)
AUDIT: dict[View, ShownValue] = NONE | {
    View.RAW_OWNER: ShownValue.REPLACEMENT,
    View.OPERATOR_AUDIT: ShownValue.REPLACEMENT,
}

# policy -> phase of the turn -> what each view shows that the visibility lets see it
AFTER: dict[AttributePolicy, dict[Phase, dict[View, ShownValue]]] = {
    AttributePolicy.FOLLOW_TRANSCRIPT: {
        Phase.ACTIVE: ALL,
        Phase.ARCHIVED: ALL,
        Phase.MASKED: NONE,
        Phase.MASKED_ARCHIVED: NONE,
        Phase.ERASED: NONE,
    },
    AttributePolicy.METADATA_SURVIVES_MASK: {
        Phase.ACTIVE: ALL,
        Phase.ARCHIVED: ALL,
        Phase.MASKED: ALL,
        Phase.MASKED_ARCHIVED: ALL,
        Phase.ERASED: NONE,
    },
    AttributePolicy.OPERATOR_AUDIT_ONLY_AFTER_MASK: {
        Phase.ACTIVE: ALL,
        Phase.ARCHIVED: ALL,
        Phase.MASKED: AUDIT,
        Phase.MASKED_ARCHIVED: AUDIT,
        Phase.ERASED: AUDIT,
    },
}

REASON_PATH = "reason"  # no JSON pointer, which is empty or begins with a slash
REPLACEMENT_SCHEMA = "muniment.attribute.redacted"
REPLACEMENT: dict[str, Any] = {"redacted": True, "reason": "transcript lifecycle"}


class SliceAttribute(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """An attribute as a view shows it. `redacted`: the value is a replacement for the one that was recorded.

    `source`, `reason`, `visibility` and `governance` are there in the views that show origin; a reason only beside its
    value.
    """

    id: str
    key: str
    kind: ValueKind
    value: Any
    created_ms: int
    updated_ms: int
    scope: AttributeScope = AttributeScope.TURN
    message: str | None = None
    schema: str | None = None
    links: list[AttributeLink] = []
    redacted: bool = False
    source: AttributeOrigin | None = None
    reason: str | None = None
    visibility: Visibility | None = None
    governance: AttributeGovernance | None = None


def judge_attribute(view: View, standing: AttributeState, meta: AttributeRecorded) -> tuple[ShownValue, Reason | None]:
    """Decide what a view shows of an attribute, by its meta data alone; a reason for what is withheld."""
    allowed = view is not View.EXPORT or meta.governance.export_allowed
    if not _is_for(view, meta) or not allowed or standing.barred:
        return ShownValue.NOTHING, Reason.ATTR_VISIBILITY
    shown = AFTER[meta.governance.policy][standing.phase][view]
    return shown, None if shown is ShownValue.VALUE else Reason.ATTR_LIFECYCLE_POLICY


def _is_for(view: View, meta: AttributeRecorded) -> bool:
    """Return whether a view shows what was recorded for this visibility."""
    if meta.attribute.key not in DESCRIPTIVE:
        return meta.visibility in SHOWS_ATTRIBUTES[view]
    return bool(SHOWS[view]) and (meta.visibility is Visibility.HOST_UI or meta.visibility in SHOWS_ATTRIBUTES[view])


def judge(view: View, standing: AttributeState, record: AttributeRecord) -> tuple[ShownValue, Reason | None]:
    """Decide what a view shows of an attribute whose value is at hand where it is shown."""
    shown, reason = judge_attribute(view, standing, record.meta)
    if shown is ShownValue.VALUE and (record.content is None or flaw(record.meta, record.content) is not None):
        return ShownValue.NOTHING, Reason.ATTR_VISIBILITY
    return shown, reason


def order_of(record: AttributeRecord) -> tuple[int, int, str]:
    """Return what attributes of a turn are ordered by: those of the turn, then message, creation time, id."""
    head = record.meta.attribute
    return (-1 if head.message is None else head.message, head.created_ms, head.id)


def shown(view: View, message: str | None, record: AttributeRecord, as_what: ShownValue) -> SliceAttribute:
    """Return an attribute, of a message where one is named, of which a view shows the value, or a replacement."""
    meta, head = record.meta, record.meta.attribute
    content = record.content if as_what is ShownValue.VALUE else None
    origin = view in SHOWS_ORIGIN
    return SliceAttribute(
        id=head.id,
        key=head.key,
        kind=ValueKind.OBJECT if content is None else head.kind,
        value=REPLACEMENT if content is None else content.value,
        created_ms=head.created_ms,
        updated_ms=head.updated_ms,
        scope=AttributeScope.TURN if head.message is None else AttributeScope.MESSAGE,
        message=message,
        schema=REPLACEMENT_SCHEMA if content is None else head.schema,
        links=[] if content is None else content.links,
        redacted=content is None,
        source=meta.source if origin else None,
        reason=content.reason if origin and content is not None else None,
        visibility=meta.visibility if origin else None,
        governance=meta.governance if origin else None,
    )


def marked(
    attribute: SliceAttribute, detectors: Sequence[Detector]
) -> tuple[SliceAttribute, tuple[WithheldRange, ...]]:
    """Return an attribute with markers for what is found in its value and reason; a replacement is left as it is.

    A number that is withheld makes the value a string.
    """
    if attribute.redacted:
        return attribute, ()
    value, ranges = marked_json(attribute.value, detectors)
    if ranges:
        kind = ValueKind.STRING if isinstance(value, str) else attribute.kind
        attribute = replace(attribute, value=value, kind=kind)
    if attribute.reason is not None and (in_reason := found_in(attribute.reason, detectors)):
        attribute = replace(attribute, reason=replaced(attribute.reason, in_reason))
        ranges += tuple(stretch._replace(path=REASON_PATH) for stretch in in_reason)
    return attribute, ranges


def disclosed_attribute_labels(
    view: View, standing: AttributeState, record: AttributeRecord, detectors: Sequence[Detector] = ()
) -> set[str]:
    """Return the labels of an attribute that an export for a view discloses: exactly what `shown` shows."""
    as_what, _ = judge(view, standing, record)
    if as_what is ShownValue.NOTHING:
        return set()
    labels = {"attribute"}
    if view in SHOWS_ORIGIN:
        labels |= {"source", "visibility", "governance"}
    if as_what is ShownValue.VALUE and record.content is not None:
        if not marked_json(record.content.value, detectors)[1]:
            labels.add("value")
        labels.update(link_label(place) for place in range(len(record.content.links)))
        if view in SHOWS_ORIGIN and not found_in(record.content.reason, detectors):
            labels.add("reason")
    return labels
