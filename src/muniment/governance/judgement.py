"""The decision about one turn: what a view shows of each message, part, reference and label, and why not the rest.

`judge` decides once: first by phase, authority and the policy of the view, then by what was redacted for it, then by
what is looked for in what is still shown (`governance.detection`). `within` takes away what a budget has no room for.
`governance.slices` renders the decision for a page and for a proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from muniment.events.message import (
    DEFAULT_AUTHORITY,
    Authority,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    part_label,
)
from muniment.events.records import MessageHead, TurnContent, TurnMeta
from muniment.governance.annotation import AttributeRecord, AttributeState, is_erased
from muniment.governance.detection.detection import NOWHERE, ViewDetection
from muniment.governance.detection.parts import found_in, marked
from muniment.governance.detection.scan import Detector
from muniment.governance.phases import Phase
from muniment.governance.redaction import WHOLE_TURN, Causes, Redaction, WithheldRange, redacted, stretches, words_label
from muniment.governance.views import (
    BARRED,
    GONE,
    SHOWS,
    SHOWS_LABELS,
    SHOWS_ORIGIN,
    SHOWS_REFERENCES,
    TELLS_ANSWERS,
    TELLS_REDACTED_REASONING,
    Reason,
    View,
    withheld_by_authority,
    withheld_by_policy,
)


class TurnRecord(Struct, frozen=True, kw_only=True, gc=False):
    """A turn as the log has it: the fold of its commit and of what came later. `content` is None when not read.

    `mark` is that of its conversation in message ids. `erased` are the places of messages that were erased alone;
    `redactions` come in log order, `attributes` sorted (`attribute_visibility.order_of`) where they were read.
    """

    position: int
    sequence: int
    time_ms: int
    mark: str
    phase: Phase
    meta: TurnMeta
    content: TurnContent | None
    erased: frozenset[int] = frozenset()
    redactions: tuple[Redaction, ...] = ()
    attributes: tuple[AttributeRecord, ...] = ()


NOTHING_TOLD: Mapping[str, Any] = MappingProxyType({})


class Judgement(Struct, frozen=True, kw_only=True, gc=False):
    """The decision about one turn: a reason for what is withheld, None for what is shown.

    `causes` say more about what is withheld, by the label of a part or field, or `words_label` of a message; every
    label in it is withheld. `stretches` are withheld ranges of parts and fields that are shown, by their label;
    `marked` are such parts as they are shown.
    """

    authorities: list[Authority]
    messages: list[Reason | None]
    parts: list[list[Reason | None]]
    references: list[Reason | None]
    labels: list[bool]
    origin: bool
    summaries: bool
    causes: Mapping[str, Causes] = NOTHING_TOLD
    stretches: Mapping[str, tuple[WithheldRange, ...]] = NOTHING_TOLD
    marked: Mapping[str, Part] = NOTHING_TOLD


def needs_content(view: View, phase: Phase, meta: TurnMeta) -> bool:
    """Return whether judging and showing a turn takes its content; what is not needed is not decrypted."""
    if phase in GONE:
        return False
    return bool(SHOWS[view]) or bool(meta.tools) or bool(meta.host_refs)


def judge(view: View, record: TurnRecord, detection: ViewDetection = NOWHERE) -> Judgement:
    """Decide what a view shows of a turn. Where the words are not at hand nothing of them is shown."""
    judged = _by_policy(view, record)
    if record.redactions:
        judged = _redacted(judged, view, record)
    detectors = () if detection is NOWHERE else detection.detectors(record.meta)
    return _detected(judged, record, detectors) if detectors or judged.stretches else judged


def _by_policy(view: View, record: TurnRecord) -> Judgement:
    """Judge by phase, authority and policy of the view."""
    meta, content = record.meta, record.content
    gone = GONE.get(record.phase)
    words = content.parts if gone is None and content is not None else None
    authorities: list[Authority] = []
    whole: list[Reason | None] = []
    parts: list[list[Reason | None]] = []
    answer = _answer(meta, words, record.erased) if words is not None and view in TELLS_ANSWERS else None
    barred = BARRED[view]
    for place, head in enumerate(meta.messages):
        authority = head.authority or DEFAULT_AUTHORITY[head.role]
        reason = gone or barred.get(authority)
        if gone is None and place in record.erased:
            reason = Reason.ERASED
        inside: list[Reason | None] = []
        if reason is None and words is not None:
            policy = withheld_by_policy(view, head.role, place == answer)
            for part in words[place]:
                inside.append(policy[type(part)])  # noqa: PERF401 - a comprehension is a call, and this is each message
            reason = None if None in inside else Reason.VIEW_POLICY
        elif reason is None:
            reason = Reason.VIEW_POLICY
        authorities.append(authority)
        whole.append(reason)
        parts.append(inside)
    origin = view in SHOWS_ORIGIN
    references: list[Reason | None] = []
    labels: list[bool] = []
    if meta.host_refs:  # as few turns have
        shown, labelled = SHOWS_REFERENCES[view], SHOWS_LABELS[view]
        references = [None if ref.visibility in shown else Reason.HOST_REF_VISIBILITY for ref in meta.host_refs]
        labels = [words is not None and ref.visibility in labelled for ref in meta.host_refs]
    return Judgement(
        authorities=authorities,
        messages=whole,
        parts=parts,
        references=references,
        labels=labels,
        origin=origin,
        summaries=origin and words is not None,
    )


def _redacted(judged: Judgement, view: View, record: TurnRecord) -> Judgement:
    """Withhold what redactions name from what the policy of the view shows.

    In `TELLS_REDACTED_REASONING`, what the policy withholds keeps its reason, with the causes of redactions of it.
    """
    if record.content is None:
        return judged
    named = redacted(record.redactions, view)
    causes: dict[str, Causes] = {}
    ranges: dict[str, tuple[WithheldRange, ...]] = {}
    for place, inside in enumerate(judged.parts):
        hidden = judged.messages[place]
        if hidden is not None and not (hidden is Reason.VIEW_POLICY and view in TELLS_REDACTED_REASONING):
            continue
        whole = named.causes(WHOLE_TURN, words_label(place))
        for index, part in enumerate(record.content.parts[place]):
            label = part_label(place, index)
            by_policy = inside[index] is not None
            covered = stretches(Reason.REDACTED, named.ranges.get(label, ()))
            why = whole or named.causes(label)
            if covered and (by_policy or not isinstance(part, TextPart | ReasoningPart)):
                why = tuple(sorted({*why, *(cause for each in covered for cause in each.causes)}))
            if by_policy and view not in TELLS_REDACTED_REASONING:
                continue
            if why:
                inside[index], causes[label] = inside[index] or Reason.REDACTED, why
            elif covered:
                ranges[label] = covered
        if None not in inside:
            reason = judged.messages[place] = hidden or Reason.REDACTED
            labels = [part_label(place, index) for index, each in enumerate(inside) if each is reason]
            gone = {cause for label in labels for cause in causes.get(label, ())}
            if gone:
                causes[words_label(place)] = tuple(sorted(gone))
    for place, text in enumerate(record.content.labels):
        label = f"host_ref/{place}/label"
        if text is not None and judged.labels[place] and (why := named.causes(WHOLE_TURN, label)):
            judged.labels[place], causes[label] = False, why
    for place, summary in enumerate(record.content.summaries if judged.summaries else []):
        label = f"tools/{place}/summary"
        if summary and (why := named.causes(WHOLE_TURN, label)):
            causes[label] = why
    return replace(judged, causes=causes, stretches=ranges)


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
                rendered = marked(content.parts[place][index], detectors, ranges.get(label, ()))
                if rendered.stretches:
                    shown[label], ranges[label] = rendered
    texts = {
        f"host_ref/{place}/label": text
        for place, text in enumerate(content.labels)
        if text is not None and judged.labels[place]
    }
    if judged.summaries:
        texts |= {f"tools/{place}/summary": text for place, text in enumerate(content.summaries)}
    for label, text in texts.items():
        if label not in judged.causes and (stretches_found := found_in(text, detectors)):
            ranges[label] = stretches_found
    return replace(judged, stretches=ranges, marked=shown)


def authority_of(head: MessageHead) -> Authority:
    """Return the authority of a message; one that says none has that of its role."""
    return head.authority or DEFAULT_AUTHORITY[head.role]


def _answer(meta: TurnMeta, words: list[list[Part]], erased: frozenset[int]) -> int | None:
    """Return the place of the answer. An erased message may have been it, so none before it is taken for it."""
    for place in range(len(meta.messages) - 1, -1, -1):
        if meta.messages[place].role is Role.ASSISTANT:
            if place in erased:
                return place
            for part in words[place]:  # as `is_blank`, without a call for each turn of a page
                if isinstance(part, TextPart | ReasoningPart):
                    if part.content and not part.content.isspace():
                        return place
                elif not isinstance(part, ToolCallPart):
                    return place
    return None


def within(judged: Judgement, host_refs_max: int | None) -> Judgement:
    """Return a decision that shows at most so many host references: the first that it showed."""
    if host_refs_max is None or judged.references.count(None) <= host_refs_max:
        return judged
    shown = accumulate(reason is None for reason in judged.references)
    references = [
        Reason.PROFILE_BUDGET if reason is None and count > host_refs_max else reason
        for reason, count in zip(judged.references, shown, strict=True)
    ]
    return replace(judged, references=references)


def standing(record: TurnRecord, view: View, message: int | None) -> AttributeState:
    """Return the state, for a view, of the turn or message that an attribute is about."""
    phase = Phase.ERASED if is_erased(record.phase, message, record.erased) else record.phase
    whole = [WHOLE_TURN] if message is None else [WHOLE_TURN, words_label(message)]
    barred = bool(redacted(record.redactions, view).causes(*whole))
    if message is not None and message < len(record.meta.messages):
        authority = authority_of(record.meta.messages[message])
        barred = barred or withheld_by_authority(view, authority) is Reason.PRIVATE_AUTHORITY
    return AttributeState(phase, barred)
