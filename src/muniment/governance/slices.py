"""What a view yields of a turn: the slice, and a report of everything that was withheld.

`judge` decides, once, for every message, part, reference and label of a turn; `cut` renders its decision as a
`SliceTurn` and `disclosed_labels` as the set of fields that an export may disclose. Both read the same judgement, so
that what a proof shows is what a page shows. Content that is withheld is absent, never an empty string or a
placeholder; only where a range of a text is withheld, the text has a marker in its place
(`governance.redaction`). A commitment covers a whole part, so a part with such a range is shown and not disclosed.
What is looked for in a view (`governance.detection`) is looked for in what all other rules leave. A budget may leave
host references out of a slice; it bounds pages and reports, never a proof (decision 0080).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from muniment.events.attributes import AttributeRecorded
from muniment.events.identity import TurnId, message_id
from muniment.events.message import DEFAULT_AUTHORITY, PART, Authority, Part, Role, TextPart, part_label
from muniment.events.records import ReferenceRecord
from muniment.events.references import HostReference
from muniment.events.turn import Attribution, Delivery, Source, ToolObservation, attributed
from muniment.governance import attribute_visibility as attributes
from muniment.governance.attribute_visibility import ShownValue, SliceAttribute
from muniment.governance.detection.detection import NOWHERE, ViewDetection
from muniment.governance.detection.scan import Coverage
from muniment.governance.judgement import Judgement, TurnRecord, judge, standing, within
from muniment.governance.phases import Phase
from muniment.governance.redaction import Causes, WithheldRange, replaced, words_label
from muniment.governance.shown_speaker import shown_speakers, usual_speakers
from muniment.governance.views import GONE, SHOWS_DIALOGUE, SHOWS_ORIGIN, Reason, View

# what withholds the label of a host reference that is shown, or a range of it
OF_LABELS = frozenset({Reason.HOST_REF_LABEL, Reason.REDACTED, Reason.DETECTED, Reason.DETECTION_FAILED})


class SliceMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A message as a view shows it. `parts` is empty when the whole content is withheld, and `redacted` says so."""

    id: str
    role: Role
    authority: Authority
    speaker_id: str
    speaker_kind: str
    observed_ms: int
    redacted: bool = False
    parts: list[Annotated[Part, PART]] = []


class SliceTurn(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A turn as a view shows it.

    In the views that do not show origin, `source` and `external` are None and `tools` is empty.
    """

    turn: str
    sequence: int
    position: int
    phase: Phase
    delivery: Delivery
    committed_ms: int
    actor: Attribution
    messages: list[SliceMessage]
    host_refs: list[HostReference] = []
    attributes: list[SliceAttribute] = []
    source: Source | None = None
    tools: list[ToolObservation] = []
    external: bool | None = None


class RedactionItem(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One thing withheld: where, why, and from which view. Places count from 0 within the turn.

    An attribute is named by its id and its key alone: an item with a message is about the words of that message.
    `start` and `end` are there when of the text of a part only a range is withheld: code points of the text as it was
    committed, the end not included; a marker is in the text that is shown, and no proof discloses the part to this
    view. `causes` say more about the reason: why somebody redacted it, what was detected, which detectors failed.
    `tool` is the place of an observation whose summary is withheld, or a range of it; so is `host_ref` for a label.
    `path` says in which string of what a call was given or gave back, or of the value of an attribute, the range is: a
    JSON pointer; `reason` is the reason of an attribute.
    """

    turn: str
    reason: Reason
    view: View
    message: str | None = None
    part: int | None = None
    host_ref: int | None = None
    authority: Authority | None = None
    attribute: str | None = None
    attribute_key: str | None = None
    tool: int | None = None
    start: int | None = None
    end: int | None = None
    causes: Causes = ()
    path: str | None = None


class SliceAudit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was read and withheld, in numbers.

    `coverage` is there when the view looks for something: what was looked for, never more than that.
    """

    view: View
    turns_read: int
    turns_returned: int
    messages_redacted: int
    host_refs_redacted: int
    reasons: list[Reason]
    coverage: list[Coverage] = []


def cut(
    record: TurnRecord,
    view: View,
    host_refs_max: int | None = None,
    attributes_max: int | None = None,
    *,
    detection: ViewDetection = NOWHERE,
) -> tuple[SliceTurn, list[RedactionItem]]:
    """Return the turn as the view shows it, and an item for everything withheld.

    Shows at most so many host references, and so many attributes of the turn and of each of its messages.
    """
    meta = record.meta
    items: list[RedactionItem] = []
    references: list[HostReference] = []
    tools: list[ToolObservation] = []
    messages = None if meta.host_refs or meta.tools or detection is not NOWHERE else plain_dialogue(record, view)
    if messages is None:
        judged = judge(view, record, detection)
        messages = _messages(record, view, judged, items)
        references = _references(record, view, within(judged, host_refs_max), items)
        tools = _tools(record, view, judged, items) if judged.origin else []
    origin = view in SHOWS_ORIGIN
    shown = SliceTurn(
        turn=meta.delivery.turn,
        sequence=record.sequence,
        position=record.position,
        phase=record.phase,
        delivery=meta.delivery.status,
        committed_ms=record.time_ms,
        actor=attributed(meta.actor),
        messages=messages,
        host_refs=references,
        attributes=_attributes(record, view, attributes_max, detection, items) if record.attributes else [],
        source=meta.source if origin else None,
        tools=tools,
        external=meta.external if origin else None,
    )
    return shown, items


def plain_dialogue(record: TurnRecord, view: View) -> list[SliceMessage] | None:
    """Return the messages of a turn of which the view withholds nothing, or None where `judge` has to decide.

    The short way for the turn that most pages are made of: users say texts, the assistant says one, and nothing was
    changed later.
    """
    meta, content = record.meta, record.content
    if view not in SHOWS_DIALOGUE or content is None or record.phase in GONE or record.redactions or record.erased:
        return None
    turn, mark, committed_ms, usual = meta.delivery.turn, record.mark, record.time_ms, usual_speakers(meta.actor)
    messages: list[SliceMessage] = []
    answers = 0
    for place, head in enumerate(meta.messages):
        role, parts = head.role, content.parts[place]
        if head.authority is not None or len(parts) != 1 or type(parts[0]) is not TextPart:
            return None
        if role is Role.ASSISTANT:
            answers += 1
            if answers > 1 or parts[0].content.isspace():
                return None
        elif role is not Role.USER:
            return None
        speaker, kind = usual[role]
        messages.append(
            SliceMessage(
                id=f"{turn}#{place}@{mark}",
                role=role,
                authority=DEFAULT_AUTHORITY[role],
                speaker_id=head.speaker_id or speaker,
                speaker_kind=head.speaker_kind or kind,
                observed_ms=head.observed_ms or committed_ms,
                parts=parts,
            )
        )
    return messages


def _messages(record: TurnRecord, view: View, judged: Judgement, items: list[RedactionItem]) -> list[SliceMessage]:
    """Return the messages of a turn as they were judged; report what of them is withheld."""
    meta = record.meta
    turn = meta.delivery.turn
    messages: list[SliceMessage] = []
    speakers = shown_speakers(meta.messages, meta.actor)
    for place, head in enumerate(meta.messages):
        name = f"{turn}#{place}@{record.mark}"  # as `message_id`, without a call for each message of a page
        authority, whole = judged.authorities[place], judged.messages[place]
        parts: list[Part] = []
        if whole is not None:
            why = judged.causes.get(words_label(place), ())
            items.append(
                RedactionItem(turn=turn, message=name, reason=whole, authority=authority, view=view, causes=why)
            )
        elif judged.stretches or any(judged.parts[place]):
            parts = list(_parts(record, place, view, judged, items))
        else:
            assert record.content is not None, "nothing is shown of words that are not at hand"
            parts = record.content.parts[place]
        speaker, kind = speakers[place]
        messages.append(
            SliceMessage(
                id=name,
                role=head.role,
                authority=authority,
                speaker_id=speaker,
                speaker_kind=kind,
                observed_ms=head.observed_ms or record.time_ms,
                redacted=whole is not None,
                parts=parts,
            )
        )
    return messages


def uncovered(record: TurnRecord) -> tuple[SliceTurn, list[RedactionItem]]:
    """Return all that is left of a turn, whatever was hidden of it; nothing is looked for."""
    return cut(replace(record, phase=Phase.ACTIVE, redactions=()), View.RAW_OWNER, detection=NOWHERE)


def _parts(record: TurnRecord, place: int, view: View, judged: Judgement, items: list[RedactionItem]) -> Iterator[Part]:
    """Yield the parts of a message that are shown, with markers for their withheld ranges; report all the others."""
    assert record.content is not None, "nothing is shown of words that are not at hand"
    turn, authority = record.meta.delivery.turn, judged.authorities[place]
    name = message_id(record.mark, turn, place)

    def item(part: int, reason: Reason, causes: Causes) -> RedactionItem:
        return RedactionItem(
            turn=turn, message=name, part=part, reason=reason, authority=authority, view=view, causes=causes
        )

    for index, (part, reason) in enumerate(zip(record.content.parts[place], judged.parts[place], strict=True)):
        label = part_label(place, index)
        if reason is not None:
            items.append(item(index, reason, judged.causes.get(label, ())))
            continue
        items += [
            _ranged(item(index, stretch.reason, stretch.causes), stretch) for stretch in judged.stretches.get(label, ())
        ]
        yield judged.marked.get(label, part)


def _ranged(item: RedactionItem, stretch: WithheldRange) -> RedactionItem:
    """Return an item as one about a range of a text."""
    return replace(item, start=stretch.start, end=stretch.end, path=stretch.path or None, causes=stretch.causes)


def _references(record: TurnRecord, view: View, judged: Judgement, items: list[RedactionItem]) -> list[HostReference]:
    turn = record.meta.delivery.turn
    labels = record.content.labels if record.content is not None else []
    shown: list[HostReference] = []
    for place, reference in enumerate(record.meta.host_refs):
        hidden = judged.references[place]
        if hidden is not None:
            items.append(RedactionItem(turn=turn, host_ref=place, reason=hidden, view=view))
            continue
        label = labels[place] if labels else None
        if label is not None and not judged.labels[place]:
            causes = judged.causes.get(f"host_ref/{place}/label", ())
            reason = Reason.REDACTED if causes else Reason.HOST_REF_LABEL
            items.append(RedactionItem(turn=turn, host_ref=place, reason=reason, view=view, causes=causes))
        ranges = judged.stretches.get(f"host_ref/{place}/label", ())
        for stretch in ranges:
            item = RedactionItem(turn=turn, host_ref=place, reason=stretch.reason, view=view, causes=stretch.causes)
            items.append(_ranged(item, stretch))
        text = replaced(label, ranges) if label is not None and ranges else label
        shown.append(with_label(reference, text if judged.labels[place] else None))
    return shown


def _attributes(
    record: TurnRecord, view: View, attributes_max: int | None, detection: ViewDetection, items: list[RedactionItem]
) -> list[SliceAttribute]:
    turn = TurnId(record.meta.delivery.turn)
    attributes_shown: list[SliceAttribute] = []
    shown: Counter[int | None] = Counter()  # of the turn, and of each message
    for attribute in record.attributes:
        message = attribute.meta.attribute.message
        as_what, reason = attributes.judge(view, standing(record, view, message), attribute)
        if as_what is not ShownValue.NOTHING and attributes_max is not None and shown[message] >= attributes_max:
            as_what, reason = ShownValue.NOTHING, Reason.ATTR_VALUE_BUDGET
        if reason is not None:
            items.append(attribute_item(turn, attribute.meta, reason, view))
        if as_what is not ShownValue.NOTHING:
            shown[message] += 1
            name = None if message is None else message_id(record.mark, turn, message)
            rendered, ranges = attributes.marked(
                attributes.shown(view, name, attribute, as_what), detection.detectors(record.meta)
            )
            items += [
                _ranged(attribute_item(turn, attribute.meta, stretch.reason, view), stretch) for stretch in ranges
            ]
            attributes_shown.append(rendered)
    return attributes_shown


def attribute_item(turn: TurnId, meta: AttributeRecorded, reason: Reason, view: View) -> RedactionItem:
    """Return the item for an attribute of which a view does not show the value; its id says which one."""
    head = meta.attribute
    return RedactionItem(turn=turn, reason=reason, view=view, attribute=head.id, attribute_key=head.key)


def with_label(reference: ReferenceRecord, label: str | None) -> HostReference:
    """Return a recorded reference as hosts know it."""
    return HostReference(
        host=reference.host,
        type=reference.type,
        id=reference.id,
        relation=reference.relation,
        visibility=reference.visibility,
        label=label,
    )


def _tools(record: TurnRecord, view: View, judged: Judgement, items: list[RedactionItem]) -> list[ToolObservation]:
    meta, content = record.meta, record.content
    summaries = content.summaries if judged.summaries and content is not None else [""] * len(meta.tools)
    shown: list[ToolObservation] = []
    for place, (tool, summary) in enumerate(zip(meta.tools, summaries, strict=True)):
        label, turn = f"tools/{place}/summary", meta.delivery.turn
        causes, ranges = judged.causes.get(label, ()), judged.stretches.get(label, ())
        if causes:
            items.append(RedactionItem(turn=turn, tool=place, reason=Reason.REDACTED, view=view, causes=causes))
        for stretch in ranges:
            item = RedactionItem(turn=turn, tool=place, reason=stretch.reason, view=view, causes=stretch.causes)
            items.append(_ranged(item, stretch))
        text = "" if causes else replaced(summary, ranges)
        shown.append(ToolObservation(id=tool.id, tool=tool.tool, external=tool.external, summary=text))
    return shown


def audit(
    view: View, turns: list[SliceTurn], items: list[RedactionItem], detection: ViewDetection = NOWHERE
) -> SliceAudit:
    """Count what a page read, returned and withheld; say what was looked for.

    Attributes are left out for the profile's sake alone.
    """
    reasons = {item.reason for item in items}
    if Reason.ATTR_VALUE_BUDGET in reasons:
        reasons.add(Reason.PROFILE_BUDGET)
    messages_redacted = 0
    for turn in turns:
        for message in turn.messages:
            messages_redacted += message.redacted
    return SliceAudit(
        view=view,
        turns_read=len(turns),
        turns_returned=len(turns),
        messages_redacted=messages_redacted,
        host_refs_redacted=hidden_references(items),
        reasons=sorted(reasons),
        coverage=detection.coverage,
    )


def hidden_references(items: Iterable[RedactionItem]) -> int:
    """Count the host references that are withheld; one that only lost its label is shown."""
    return sum(item.host_ref is not None and item.reason not in OF_LABELS for item in items)


def disclosed_labels(
    record: TurnRecord, view: View, detection: ViewDetection = NOWHERE, judged: Judgement | None = None
) -> set[str]:
    """Return the labels of a turn that an export for a view discloses: exactly what `cut` shows.

    Who has judged the turn already hands the judgement over.
    """
    judged = judge(view, record, detection) if judged is None else judged
    labels = {"actor", "delivery"}
    if judged.origin:
        labels |= {"source", "tools", "external"}
    for place, (whole, inside) in enumerate(zip(judged.messages, judged.parts, strict=True)):
        labels.add(f"message/{place}")
        if whole is None:
            for index, reason in enumerate(inside):
                if reason is None:
                    labels.add(f"message/{place}/content/{index}")
    for place, (hidden, labelled) in enumerate(zip(judged.references, judged.labels, strict=True)):
        if hidden is None:
            labels.add(f"host_ref/{place}")
            if labelled:
                labels.add(f"host_ref/{place}/label")
    if judged.summaries:
        labels.update(f"tools/{place}/summary" for place in range(len(record.meta.tools)))
    labels.difference_update(judged.causes, judged.stretches)
    return labels
