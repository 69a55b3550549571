"""What a view yields of a turn: the slice, and a report of everything that was withheld.

`judge` decides, once, for every message, part, reference and label of a turn; `cut` renders its decision as a
`SliceTurn` and `disclosed_labels` as the set of fields that an export may disclose. Both read the same judgement, so
that what a proof shows is what a page shows. Content that is withheld is absent, never an empty string or a
placeholder (RP-04); only where a range of a text is withheld, the text has a marker in its place
(`governance.redaction`). A commitment covers a whole part, so a part with such a range is shown and not disclosed.
What is looked for in a view (`governance.detection`) is looked for in what all other rules leave. A budget may leave
host references out of a slice (BG-03); it bounds pages and reports, never a proof (decision 0080).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from muniment.events.identity import TurnId, message_id
from muniment.events.labels import part_label
from muniment.events.message import (
    DEFAULT_AUTHORITY,
    Authority,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    is_blank,
)
from muniment.events.records import MessageHead, ReferenceRecord, TurnContent, TurnMeta
from muniment.events.turn import (
    SUBJECT_SPEAKS,
    Attribution,
    Delivery,
    HostReference,
    Source,
    ToolObservation,
    attributed,
)
from muniment.governance.detection.parts import found_in, marked
from muniment.governance.detection.policy import NOWHERE, Looking
from muniment.governance.detection.scan import Coverage, Detector
from muniment.governance.lifecycle import Phase
from muniment.governance.redaction import (
    WHOLE_TURN,
    Causes,
    Redaction,
    Stretch,
    redacted,
    replaced,
    stretches,
    words_label,
)
from muniment.governance.views import (
    SHOWS,
    SHOWS_LABELS,
    SHOWS_ORIGIN,
    SHOWS_REFERENCES,
    Reason,
    View,
    withheld_by_authority,
    withheld_by_phase,
    withheld_by_policy,
)


class TurnRecord(Struct, frozen=True, kw_only=True, gc=False):
    """A turn as the log has it: the fold of its commit and of what came later. `content` is None when not read.

    `erased` are the places of messages that were erased alone; `redactions` come in log order.
    """

    position: int
    sequence: int
    time_ms: int
    phase: Phase
    meta: TurnMeta
    content: TurnContent | None
    erased: frozenset[int] = frozenset()
    redactions: tuple[Redaction, ...] = ()


class SliceMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A message as a view shows it. `parts` is absent when the whole content is withheld, and `redacted` says so."""

    id: str
    role: Role
    authority: Authority
    speaker_id: str
    speaker_kind: str
    observed_ms: int
    redacted: bool = False
    parts: list[Part] | UnsetType = UNSET


class SliceTurn(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A turn as a view shows it. `source`, `tools` and `external` are there in the views that show origin (RP-11)."""

    turn: str
    sequence: int
    position: int
    phase: Phase
    delivery: Delivery
    committed_ms: int
    actor: Attribution
    messages: list[SliceMessage]
    host_refs: list[HostReference] = []
    source: Source | UnsetType = UNSET
    tools: list[ToolObservation] | UnsetType = UNSET
    external: bool | UnsetType = UNSET


class RedactionItem(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One thing withheld: where, why, and from which view (BEHAVIOUR RP-06). Places count from 0 within the turn.

    `start` and `end` are there when of the text of a part only a range is withheld: code points of the text as it was
    committed, the end not included; a marker stands in the text that is shown, and no proof discloses the part to this
    view. `causes` say more about the reason: why somebody redacted it, what was detected, which detectors failed.
    `tool` is the place of an observation whose summary is withheld, or a range of it; so is `host_ref` for a label.
    `path` says in which string of what a call was given or gave back the range is: a JSON pointer.
    """

    turn: str
    reason: Reason
    view: View
    message: str | None = None
    part: int | None = None
    host_ref: int | None = None
    authority: Authority | None = None
    tool: int | None = None
    start: int | None = None
    end: int | None = None
    causes: Causes = ()
    path: str = ""


# reasons for which a host reference is not there; for any other it is shown, and something of its label is not
HIDES_REFERENCES = frozenset({Reason.HOST_REF_VISIBILITY, Reason.PROFILE_BUDGET})


class SliceAudit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was read and withheld, in numbers (BEHAVIOUR RP-07).

    `coverage` is there when the view looks for something: what was looked for, never more than that.
    """

    view: View
    turns_read: int
    turns_returned: int
    messages_redacted: int
    host_refs_redacted: int
    reasons: list[Reason]
    coverage: list[Coverage] = []


class Judgement(NamedTuple):
    """The decision about one turn: a reason for what is withheld, None for what is shown.

    `causes` say more about what is withheld, by the label of a part or field, or `words_label` of a message; every
    label in it is withheld. `stretches` are withheld ranges of parts and fields that are shown, by their label;
    `marked` are such parts as they are shown.
    """

    messages: list[Reason | None]
    parts: list[list[Reason | None]]
    references: list[Reason | None]
    labels: list[bool]
    origin: bool
    summaries: bool
    causes: Mapping[str, Causes] = {}
    stretches: Mapping[str, tuple[Stretch, ...]] = {}
    marked: Mapping[str, Part] = {}


def needs_content(view: View, phase: Phase, meta: TurnMeta) -> bool:
    """Tell whether judging and showing a turn takes its words; what is not needed is not decrypted."""
    if withheld_by_phase(phase) is not None:
        return False
    return bool(SHOWS[view]) or bool(meta.tools) or bool(meta.host_refs)


def judge(view: View, record: TurnRecord, looking: Looking = NOWHERE) -> Judgement:
    """Decide what a view shows of a turn. Where the words are not at hand nothing of them is shown."""
    judged = _by_policy(view, record)
    if record.redactions:
        judged = _redacted(judged, view, record)
    detectors = looking.detectors(record.meta)
    return _detected(judged, record, detectors) if detectors or judged.stretches else judged


def _by_policy(view: View, record: TurnRecord) -> Judgement:
    """Judge by phase, authority and policy of the view."""
    meta, content = record.meta, record.content
    gone = withheld_by_phase(record.phase)
    words = content.parts if gone is None and content is not None else None
    readable = words is not None
    whole: list[Reason | None] = []
    parts: list[list[Reason | None]] = []
    answer = _answer(meta, words, record.erased) if words is not None else None
    for place, head in enumerate(meta.messages):
        reason = gone or withheld_by_authority(view, authority_of(head))
        if gone is None and place in record.erased:
            reason = Reason.RAW_DELETED
        inside: list[Reason | None] = []
        if reason is None and words is not None:
            policy = withheld_by_policy(view, head.role, place == answer)
            inside = [policy[type(part)] for part in words[place]]
            reason = None if None in inside else Reason.VIEW_POLICY
        elif reason is None:
            reason = Reason.VIEW_POLICY
        whole.append(reason)
        parts.append(inside)
    origin = view in SHOWS_ORIGIN
    if not meta.host_refs:  # as most turns are
        return Judgement(whole, parts, [], [], origin, origin and readable)
    references = [
        None if ref.visibility in SHOWS_REFERENCES[view] else Reason.HOST_REF_VISIBILITY for ref in meta.host_refs
    ]
    labels = [readable and ref.visibility in SHOWS_LABELS[view] for ref in meta.host_refs]
    return Judgement(whole, parts, references, labels, origin, origin and readable)


def _redacted(judged: Judgement, view: View, record: TurnRecord) -> Judgement:
    """Withhold what redactions name from what the policy of the view shows."""
    if record.content is None:
        return judged
    named = redacted(record.redactions, view)
    causes: dict[str, Causes] = {}
    ranges: dict[str, tuple[Stretch, ...]] = {}
    for place, inside in enumerate(judged.parts):
        if judged.messages[place] is not None:
            continue
        whole = named.causes(WHOLE_TURN, words_label(place))
        for index, part in enumerate(record.content.parts[place]):
            label = part_label(place, index)
            covered = stretches(Reason.REDACTED, named.ranges.get(label, ()))
            why = whole or named.causes(label)
            if covered and not isinstance(part, TextPart | ReasoningPart):
                why = tuple(sorted({*why, *(cause for each in covered for cause in each.causes)}))
            if inside[index] is not None:
                continue
            if why:
                inside[index], causes[label] = Reason.REDACTED, why
            elif covered:
                ranges[label] = covered
        if None not in inside:
            judged.messages[place] = Reason.REDACTED
            gone = {cause for index in range(len(inside)) for cause in causes.get(part_label(place, index), ())}
            causes[words_label(place)] = tuple(sorted(gone))
    for place, text in enumerate(record.content.labels):
        label = f"host_ref/{place}/label"
        if text is not None and judged.labels[place] and (why := named.causes(WHOLE_TURN, label)):
            judged.labels[place], causes[label] = False, why
    for place, summary in enumerate(record.content.summaries if judged.summaries else []):
        label = f"tools/{place}/summary"
        if summary and (why := named.causes(WHOLE_TURN, label)):
            causes[label] = why
    return judged._replace(causes=causes, stretches=ranges)


def _detected(judged: Judgement, record: TurnRecord, detectors: Sequence[Detector]) -> Judgement:
    """Put markers where ranges are withheld, and where something is found in what is still shown."""
    content = record.content
    if content is None:
        return judged
    ranges = dict(judged.stretches)
    shown: dict[str, Part] = {}
    for place, inside in enumerate(judged.parts):
        for index, reason in enumerate(inside if judged.messages[place] is None else []):
            if reason is None:
                label = part_label(place, index)
                one = marked(content.parts[place][index], detectors, ranges.get(label, ()))
                if one.stretches:
                    shown[label], ranges[label] = one
    texts = {
        f"host_ref/{place}/label": text
        for place, text in enumerate(content.labels)
        if text is not None and judged.labels[place]
    }
    if judged.summaries:
        texts |= {f"tools/{place}/summary": text for place, text in enumerate(content.summaries)}
    for label, text in texts.items():
        if label not in judged.causes and (found := found_in(text, detectors)):
            ranges[label] = found
    return judged._replace(stretches=ranges, marked=shown)


def authority_of(head: MessageHead) -> Authority:
    """Return the authority of a message; one that says none has that of its role (BEHAVIOUR TR-06)."""
    return head.authority or DEFAULT_AUTHORITY[head.role]


def _answer(meta: TurnMeta, words: list[list[Part]], erased: frozenset[int]) -> int | None:
    """Return the place of the answer. An erased message may have been it, so none before it is taken for it."""
    for place in range(len(meta.messages) - 1, -1, -1):
        if meta.messages[place].role is Role.ASSISTANT:
            if place in erased:
                return place
            for part in words[place]:
                if not isinstance(part, ToolCallPart) and not is_blank(part):
                    return place
    return None


def cut(
    record: TurnRecord, view: View, host_refs_max: int | None = None, *, looking: Looking = NOWHERE
) -> tuple[SliceTurn, list[RedactionItem]]:
    """Return the turn as the view shows it, and an item for everything withheld; at most so many host references."""
    meta = record.meta
    judged = judge(view, record, looking)
    items: list[RedactionItem] = []
    turn = SliceTurn(
        turn=meta.delivery.turn,
        sequence=record.sequence,
        position=record.position,
        phase=record.phase,
        delivery=meta.delivery.status,
        committed_ms=record.time_ms,
        actor=attributed(meta.actor),
        messages=[_message(record, place, view, judged, items) for place in range(len(meta.messages))],
        host_refs=_references(record, view, within(judged, host_refs_max), items) if meta.host_refs else [],
        source=meta.source if judged.origin else UNSET,
        tools=_tools(record, view, judged, items) if judged.origin else UNSET,
        external=meta.external if judged.origin else UNSET,
    )
    return turn, items


def _message(record: TurnRecord, place: int, view: View, judged: Judgement, items: list[RedactionItem]) -> SliceMessage:
    head, actor = record.meta.messages[place], record.meta.actor
    authority = authority_of(head)
    turn = record.meta.delivery.turn
    name = message_id(TurnId(turn), place)
    whole = judged.messages[place]
    shown: list[Part] | UnsetType = UNSET
    if whole is not None:
        why = judged.causes.get(words_label(place), ()) if judged.causes else ()
        items.append(RedactionItem(turn=turn, message=name, reason=whole, authority=authority, view=view, causes=why))
    elif judged.stretches or any(judged.parts[place]):
        shown = list(_parts(record, place, view, judged, items))
    else:
        assert record.content is not None, "nothing is shown of words that are not at hand"
        shown = record.content.parts[place]
    return SliceMessage(
        id=name,
        role=head.role,
        authority=authority,
        speaker_id=head.speaker_id or actor.speaker_id or actor.subject or "",
        speaker_kind=head.speaker_kind or actor.speaker_kind or SUBJECT_SPEAKS,
        observed_ms=head.observed_ms or record.time_ms,
        redacted=whole is not None,
        parts=shown,
    )


def within(judged: Judgement, host_refs_max: int | None) -> Judgement:
    """Return a decision that shows no more than so many host references: the first that it showed (BG-03)."""
    if host_refs_max is None or judged.references.count(None) <= host_refs_max:
        return judged
    shown = accumulate(reason is None for reason in judged.references)
    references = [
        Reason.PROFILE_BUDGET if reason is None and count > host_refs_max else reason
        for reason, count in zip(judged.references, shown, strict=True)
    ]
    return judged._replace(references=references)


def _parts(record: TurnRecord, place: int, view: View, judged: Judgement, items: list[RedactionItem]) -> Iterator[Part]:
    """Yield the parts of a message that are shown, with markers for their withheld ranges; report all the others."""
    assert record.content is not None, "nothing is shown of words that are not at hand"
    turn, authority = record.meta.delivery.turn, authority_of(record.meta.messages[place])
    name = message_id(TurnId(turn), place)

    def item(part: int, reason: Reason, causes: Causes) -> RedactionItem:
        return RedactionItem(
            turn=turn, message=name, part=part, reason=reason, authority=authority, view=view, causes=causes
        )

    for index, (part, reason) in enumerate(zip(record.content.parts[place], judged.parts[place], strict=True)):
        label = part_label(place, index)
        if reason is not None:
            items.append(item(index, reason, judged.causes.get(label, ())))
            continue
        items += [_ranged(item(index, each.reason, each.causes), each) for each in judged.stretches.get(label, ())]
        yield judged.marked.get(label, part)


def _ranged(item: RedactionItem, stretch: Stretch) -> RedactionItem:
    """Return an item as one about a range of a text."""
    return replace(item, start=stretch.start, end=stretch.end, path=stretch.path)


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
        found = judged.stretches.get(f"host_ref/{place}/label", ())
        for each in found:
            item = RedactionItem(turn=turn, host_ref=place, reason=each.reason, view=view, causes=each.causes)
            items.append(_ranged(item, each))
        told = replaced(label, found) if label is not None and found else label
        shown.append(with_label(reference, told if judged.labels[place] else None))
    return shown


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
        causes, found = judged.causes.get(label, ()), judged.stretches.get(label, ())
        if causes:
            items.append(RedactionItem(turn=turn, tool=place, reason=Reason.REDACTED, view=view, causes=causes))
        for each in found:
            item = RedactionItem(turn=turn, tool=place, reason=each.reason, view=view, causes=each.causes)
            items.append(_ranged(item, each))
        told = "" if causes else replaced(summary, found)
        shown.append(ToolObservation(id=tool.id, tool=tool.tool, external=tool.external, summary=told))
    return shown


def audit(view: View, turns: list[SliceTurn], items: list[RedactionItem], looking: Looking = NOWHERE) -> SliceAudit:
    """Count what a page read, returned and withheld; say what was looked for."""
    return SliceAudit(
        view=view,
        turns_read=len(turns),
        turns_returned=len(turns),
        messages_redacted=sum(message.redacted for turn in turns for message in turn.messages),
        host_refs_redacted=hidden_references(items),
        reasons=sorted({item.reason for item in items}),
        coverage=looking.coverage,
    )


def hidden_references(items: Iterable[RedactionItem]) -> int:
    """Count the host references that are withheld; one that only lost its label is shown."""
    return sum(item.host_ref is not None and item.reason in HIDES_REFERENCES for item in items)


def disclosed_labels(record: TurnRecord, view: View, looking: Looking = NOWHERE) -> set[str]:
    """Return the labels of a turn that an export for a view discloses: exactly what `cut` shows, no more."""
    judged = judge(view, record, looking)
    labels = {"actor", "delivery", *(f"message/{place}" for place in range(len(record.meta.messages)))}
    if judged.origin:
        labels.update({"source", "tools", "external"})
    for place, (whole, inside) in enumerate(zip(judged.messages, judged.parts, strict=True)):
        if whole is None:
            labels.update(part_label(place, index) for index, reason in enumerate(inside) if reason is None)
    labels.update(f"host_ref/{place}" for place, hidden in enumerate(judged.references) if hidden is None)
    labels.update(
        f"host_ref/{place}/label"
        for place, (hidden, labelled) in enumerate(zip(judged.references, judged.labels, strict=True))
        if hidden is None and labelled
    )
    if judged.summaries:
        labels.update(f"tools/{place}/summary" for place in range(len(record.meta.tools)))
    labels.difference_update(judged.causes, judged.stretches)
    return labels
