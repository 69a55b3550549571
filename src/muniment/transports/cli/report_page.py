"""Reports in words, by the shape of their structs; what leads through conversations is told by hand.

| in a report | on the page |
|---|---|
| a scalar | a line `name  value`, aligned with its neighbours |
| a small struct of scalars, a dictionary, a list of scalars | its members beside its name |
| another struct | its members under its name |
| a list of structs | a table |
| what is absent, or empty as it is by default | nothing |

Times (`..._ms`) are told in UTC, periods in the largest unit that they are whole in. A text of several lines inside a
table is only counted; `--json` has all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from muniment.events.message import BlobPart, FilePart, Part, ReasoningPart, TextPart, ToolCallPart, UriPart
from muniment.governance.attribute_visibility import SliceAttribute
from muniment.governance.slices import OF_LABELS, RedactionItem, SliceMessage, SliceTurn
from muniment.governance.views import Reason
from muniment.operations.context.prompt import Context
from muniment.operations.disclosure import Revealed
from muniment.operations.evidence.disclosure_log import Disclosures
from muniment.operations.evidence.inspect import InspectionReport
from muniment.operations.place import Place
from muniment.operations.provenance.derived_refs import SourceState
from muniment.operations.provenance.links import LinkPage
from muniment.operations.system.system import Capabilities, Capability, ViewCapability
from muniment.operations.transcripts.activity import Activity
from muniment.operations.transcripts.conversations import ConversationEntry, Conversations
from muniment.operations.transcripts.hits import SearchPage
from muniment.operations.transcripts.replay import Slice
from muniment.operations.transcripts.timeline import Timeline
from muniment.projections.inspection.findings import MEANS, FindingKind
from muniment.transports.cli.hit_page import tell_found
from muniment.transports.cli.labels import label, moment, said, tell_budget, tell_cursors
from muniment.transports.cli.page import Page, StyledText, TextStyle, on_one_line
from muniment.transports.cli.prompts import told_messages

SMALL_MEMBERS = 4
NONE = StyledText("none", TextStyle.FAINT)


def tell(report: Struct, page: Page) -> None:
    """Say a report on a page."""
    by_hand = BY_HAND.get(type(report))
    if by_hand is not None:
        by_hand(report, page)
    else:
        _tell_struct(report, page)


def _tell_struct(report: Struct, page: Page) -> None:
    absent = _left_out_when_empty(report)
    named = [(name, getattr(report, name)) for name in report.__struct_fields__]
    members = [(name, value) for name, value in named if value or name not in absent]
    facts = sorted((one for one in members if _is_fact(one[1])), key=lambda one: isinstance(one[1], Struct))
    page.facts([(label(name), _fact(name, value)) for name, value in facts])
    for name, value in members:
        if isinstance(value, list) and not _is_fact(value):
            _tell_table(name, value, page)
        elif isinstance(value, Struct) and not _is_fact(value):
            page.heading(label(name))
            _tell_struct(value, page)


def _left_out_when_empty(report: Struct) -> set[str]:
    """Return the members that a report leaves out for machines, too, when there is nothing in them."""
    if not report.__struct_config__.omit_defaults:
        return set()
    return {
        each.name
        for each in msgspec.structs.fields(report)
        if each.default_factory is list or (type(each.default) in (int, str) and not each.default)
    }


def _is_fact(value: object) -> bool:
    """Tell whether a member has room beside its name."""
    if isinstance(value, list | tuple):
        return not any(isinstance(one, Struct) for one in value)
    if isinstance(value, Struct):
        members = [getattr(value, name) for name in value.__struct_fields__]
        return len(members) <= SMALL_MEMBERS and not any(
            isinstance(one, list | tuple | Mapping | Struct) for one in members
        )
    return _is_there(value)


def _fact(name: str, value: Any) -> StyledText:
    if isinstance(value, list | tuple | Mapping) and not value:
        return NONE
    if isinstance(value, list | tuple):
        return StyledText("\n".join(said(name, one).text for one in value))
    return StyledText(_members(value)) if isinstance(value, Mapping) else _cell(name, value, folded=False)


def _tell_table(name: str, rows: list[Struct], page: Page) -> None:
    columns = [
        column for column in rows[0].__struct_fields__ if any(_says_something(getattr(row, column)) for row in rows)
    ]
    cells = [[_cell(column, getattr(row, column)) for column in columns] for row in rows]
    page.table([label(column) for column in columns], cells, label(name))


def _cell(name: str, value: Any, *, folded: bool = True) -> StyledText:
    if isinstance(value, Struct):
        return StyledText(_members({each: getattr(value, each) for each in value.__struct_fields__}))
    if isinstance(value, list | tuple):
        inside = any(isinstance(one, Struct) for one in value)
        return StyledText(str(len(value)) if inside else " ".join(said(name, one).text for one in value))
    told = said(name, value)
    if folded and "\n" in told.text:
        return StyledText(f"({len(told.text.splitlines())} lines)", TextStyle.FAINT)
    return told


def _members(values: Mapping[str, Any]) -> str:
    known = {name: _cell(name, value).text for name, value in values.items() if _says_something(value)}
    return ", ".join(f"{label(name)} {text}" for name, text in known.items())


def _is_there(value: object) -> bool:
    return value is not None and value is not UNSET


def _says_something(value: object) -> bool:
    return _is_there(value) and value not in ([], ())


# --- a page of a conversation -----------------------------------------------------------------------------------------


def _tell_slice(page_of_turns: Slice, page: Page) -> None:
    _tell_turns(page_of_turns, page)
    tell_cursors([("next cursor", page_of_turns.next_cursor)], page)


def _tell_timeline(timeline: Timeline, page: Page) -> None:
    _tell_turns(timeline, page)
    if timeline.anchor is not None:
        place = timeline.anchor
        page.line(StyledText(f"laid against {place.sequence}"), StyledText(on_one_line(place.message or place.turn)))
    tell_cursors([("older cursor", timeline.older_cursor), ("newer cursor", timeline.newer_cursor)], page)


def _tell_turns(shown: Slice | Timeline, page: Page) -> None:
    for turn in shown.turns:
        _tell_turn(turn, [item for item in shown.items if item.turn == turn.turn], page)
    counts = shown.audit
    page.line(
        StyledText(f"view {counts.view}"),
        StyledText(f"turns {counts.turns_returned}"),
        StyledText(f"withheld: messages {counts.messages_redacted}, references {counts.host_refs_redacted}"),
        StyledText(", ".join(counts.reasons), TextStyle.FAINT),
    )
    tell_budget(shown.budget_applied, page)


def _tell_turn(turn: SliceTurn, items: list[RedactionItem], page: Page) -> None:
    page.heading(
        f"{turn.sequence}  {on_one_line(turn.turn)}  {turn.phase}  {turn.delivery}  {moment(turn.committed_ms)}"
    )
    for message in turn.messages:
        role = message.role
        speaker = on_one_line(message.speaker_id)
        page.line(
            StyledText(role if speaker == role else f"{role} {speaker}", TextStyle.STRONG),
            StyledText(moment(message.observed_ms)),
        )
        for words in message_words(message, items):
            page.line(words, indent=2)
    for observed in turn.tools or []:
        page.line(
            StyledText("observed", TextStyle.STRONG),
            StyledText(f"{observed.tool} {observed.id} {observed.summary}".rstrip()),
        )
    for reference in turn.host_refs:
        named = f"{reference.host}/{reference.type}/{reference.id} ({reference.relation})"
        page.line(
            StyledText("refers to", TextStyle.STRONG), StyledText(on_one_line(named)), StyledText(reference.label or "")
        )
    for item in items:
        if item.message is None and item.attribute is None:
            page.line(withheld_field(item))
    for attribute in turn.attributes:
        place = "" if attribute.message is None else f" of {attribute.message}"
        named = on_one_line(f"{attribute.key}{place}")
        page.line(StyledText("noted", TextStyle.STRONG), StyledText(named), attribute_words(attribute))
    shown = {attribute.id for attribute in turn.attributes}
    for item in items:
        if item.attribute is not None and item.attribute not in shown:
            page.line(withheld(f"attribute {on_one_line(item.attribute_key or '')}", item))


def message_words(message: SliceMessage, items: list[RedactionItem]) -> list[StyledText]:
    """Return what a view shows of a message, part by part, with a marker for everything withheld."""
    of_it = [item for item in items if item.message == message.id]
    whole = {item.part: item for item in of_it if item.start is None}
    if message.redacted:
        return [withheld("words", whole.get(None))]
    shown = iter(message.parts or [])
    said: list[StyledText] = []
    for place in range(len(whole) + len(message.parts or [])):
        said.append(withheld("part", whole[place]) if place in whole else part_words(next(shown)))
        ranges = [item for item in of_it if item.part == place and item.start is not None]
        said += [withheld(_range(item), item) for item in ranges]
    return said


def _range(item: RedactionItem) -> str:
    """Return which characters of a text an item is about, and of which text where there are several."""
    return f"characters {item.start:,} to {item.end:,}" + (f" of {on_one_line(item.path)}" if item.path else "")


def withheld(what: str, item: RedactionItem | Reason | None) -> StyledText:
    """Return the marker for something that a view does not show; a budget may have left its item out."""
    if item is None:
        return StyledText(f"[{what} withheld]", TextStyle.FAINT)
    if isinstance(item, Reason):
        return StyledText(f"[{what} withheld: {item}]", TextStyle.FAINT)
    why = f" ({', '.join(item.causes)})" if item.causes else ""
    return StyledText(f"[{what} withheld: {item.reason}{why}]", TextStyle.FAINT)


def withheld_field(item: RedactionItem) -> StyledText:
    """Return the marker for a host reference, its label, or a tool summary that a view does not show."""
    of_it = "" if item.start is None else f"{_range(item)} of the "
    if item.tool is not None:
        return withheld(f"{of_it}summary of observation {item.tool}", item)
    what = "label of reference" if of_it or item.reason in OF_LABELS else "reference"
    return withheld(f"{of_it}{what} {item.host_ref}", item)


def attribute_words(attribute: SliceAttribute) -> StyledText:
    """Return the value of an attribute as words, or the marker for one that was replaced."""
    if attribute.redacted:
        return withheld("value", Reason.ATTR_LIFECYCLE_POLICY)
    return StyledText(on_one_line(_json(attribute.value)))


def part_words(part: Part) -> StyledText:
    """Return a part of a message as words."""
    if isinstance(part, TextPart):
        return StyledText(part.content)
    if isinstance(part, ReasoningPart):
        return StyledText(f"(thinks) {part.content}", TextStyle.FAINT)
    if isinstance(part, ToolCallPart):
        return StyledText(f"calls {part.name} {_json(part.arguments)}")
    if isinstance(part, BlobPart):
        return StyledText(f"{part.mime_type or part.modality or 'data'}, {len(part.content):,} bytes")
    if isinstance(part, FilePart):
        return StyledText(f"file {part.file_id}")
    if isinstance(part, UriPart):
        return StyledText(f"at {part.uri}")
    return StyledText(f"returned {_json(part.response)}")


def _json(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


# --- finding one's way ------------------------------------------------------------------------------------------------


def _tell_conversations(listing: Conversations, page: Page) -> None:
    """Say what is there in one table; digests are for machines."""
    names = [name for name in ConversationEntry.__struct_fields__ if name != "digest"]
    rows = [[_on_one_line(said(name, getattr(one, name))) for name in names] for one in listing.conversations]
    if rows:
        page.table([label(name) for name in names], rows, "conversations")
    else:
        page.line(StyledText("no conversations", TextStyle.FAINT))
    tell_budget(listing.budget_applied, page)
    tell_cursors([("next cursor", listing.next_cursor)], page)


def _tell_activity(activity: Activity, page: Page) -> None:
    rows = [
        [
            StyledText(moment(each.from_ms)),
            StyledText(moment(each.until_ms)),
            StyledText(f"{each.turns:,}"),
            *[StyledText("" if place is None else place_words(place)) for place in (each.first, each.last)],
        ]
        for each in activity.ranges
    ]
    page.table(["from", "until", "turns", "first", "last"], rows, "activity")


def place_words(place: Place) -> str:
    """Return a place as words: conversation, sequence, time."""
    return f"{on_one_line(place.conversation.conversation)} {place.sequence} {moment(place.observed_ms)}"


# --- evidence ---------------------------------------------------------------------------------------------------------


def _tell_links(shown: LinkPage, page: Page) -> None:
    for link in shown.links:
        page.heading(on_one_line(f"{link.plane}  {link.key}  of {link.subject}  {moment(link.created_ms)}"))
        page.line(StyledText("derived from", TextStyle.STRONG), StyledText(on_one_line(link.citation)))
        proved = (
            StyledText("its source is proved")
            if link.verified
            else StyledText("its source is NOT proved", TextStyle.STRONG)
        )
        page.line(proved, StyledText(f"position {link.position}"), StyledText(f"digest {link.digest}", TextStyle.FAINT))
        page.line(StyledText(_left(link.state)))
    if not shown.links:
        page.line(StyledText("no links", TextStyle.FAINT))
    tell_budget(shown.budget_applied, page)
    tell_cursors([("next cursor", shown.next_cursor)], page)


def _left(state: SourceState) -> str:
    """Return what is left of a source as words; what there is none of is not told."""
    counted = {name: getattr(state, name) for name in SourceState.__struct_fields__}
    turns = f"{counted.pop('turns'):,} turn{'s' * (state.turns != 1)}"
    return f"{turns}: " + (", ".join(f"{label(name)} {count:,}" for name, count in counted.items() if count) or "none")


def _tell_inspection(report: InspectionReport, page: Page) -> None:
    """Say what was looked at, then each kind of finding with its meaning, then the findings."""
    members = [
        name for name in InspectionReport.__struct_fields__ if name not in {"findings", "kinds", "budget_applied"}
    ]
    facts = [(name, getattr(report, name)) for name in members]
    page.facts([(label(name), _cell(name, value)) for name, value in facts if _is_there(value)])
    if report.kinds:
        kinds = [
            [StyledText(kind), StyledText(f"{count:,}"), StyledText(MEANS[FindingKind(kind)])]
            for kind, count in report.kinds.items()
        ]
        page.table(["kind", "findings", "means"], kinds, "kinds")
        _tell_table("findings", list(report.findings), page)
    tell_budget(report.budget_applied, page)


def _on_one_line(words: StyledText) -> StyledText:
    return StyledText(on_one_line(words.text), words.mood)


# --- what may be done -------------------------------------------------------------------------------------------------


def _tell_capabilities(told: Capabilities, page: Page) -> None:
    """Say what is visible, and in the same place why something is not."""
    policies = ", ".join(told.policies)
    page.facts([("version", StyledText(told.version)), ("policies", StyledText(policies) if policies else NONE)])
    page.table(
        ["operation", "effect", "needs key", "visible", "summary"],
        [
            [
                StyledText(each.operation),
                StyledText(_rights(each)),
                said("", each.needs_key),
                _visible(each),
                StyledText(each.summary),
            ]
            for each in told.operations
        ],
        "operations",
    )
    page.table(["view", "visible"], [[StyledText(each.view), _visible(each)] for each in told.views], "views")
    if told.budget is not None:
        page.heading("budget")
        _tell_struct(told.budget, page)


def _rights(capability: Capability) -> str:
    """Return the effect and the second rights of an operation; in brackets what only some requests take."""
    rights = [str(capability.effect)]
    for second in capability.also:
        name = str(second.effect or "view")
        rights.append(name if second.when is None else f"({name})")
    return ", ".join(rights)


def _visible(told: Capability | ViewCapability) -> StyledText:
    return StyledText("yes") if told.visible else StyledText(f"no: {told.policy or told.hidden}", TextStyle.FAINT)


# --- contexts ---------------------------------------------------------------------------------------------------------


def _tell_context(context: Context, page: Page) -> None:
    for role, words in told_messages(context):
        page.line(StyledText(role, TextStyle.STRONG))
        for each in words:
            page.line(StyledText(each), indent=2)
    of_all = f"turns {context.turns} of {context.turns + context.turns_before}"
    bound = "" if context.cut_by is None else f"cut by {context.cut_by}"
    page.line(
        StyledText(f"view {context.view}"),
        StyledText(f"shape {context.shape}"),
        StyledText(of_all),
        StyledText(bound, TextStyle.FAINT),
    )
    counted = {"withheld": context.withheld, "left out": context.left_out}
    page.facts(
        [
            ("tokens", StyledText(f"{context.tokens:,} of {context.budget_tokens:,}, counted by {context.counter}")),
            *(
                (each.part, StyledText(f"{each.tokens:,}" if each.miss is None else each.miss))
                for each in context.sections
            ),
            *((name, StyledText(_members(counts))) for name, counts in counted.items() if counts),
            *([] if context.recorded is None else [("recorded", StyledText(f"{context.recorded:,}"))]),
        ]
    )
    tell_budget(context.budget_applied, page)


# --- disclosures ------------------------------------------------------------------------------------------------------


def _tell_revealed(revealed: Revealed, page: Page) -> None:
    page.facts([
        (label(name), said(name, getattr(revealed, name)))
        for name in ("position", "reason", "requester", "requested_ms")
    ])  # fmt: skip
    _tell_turn(revealed.turn, revealed.items, page)


def _tell_disclosures(disclosures: Disclosures, page: Page) -> None:
    """Say each in two lines: what it was, and the rest of what is known."""
    for entry in disclosures.disclosures:
        told = {"position", "kind", "at_ms", "conversation"}
        known = {name: getattr(entry, name) for name in entry.__struct_fields__ if name not in told}
        if entry.conversation is not None:
            known = {"conversation": f"{entry.conversation.channel}/{entry.conversation.conversation}", **known}
        page.line(
            StyledText(f"{entry.position}"), StyledText(entry.kind, TextStyle.STRONG), StyledText(moment(entry.at_ms))
        )
        page.line(StyledText(on_one_line(_members(known))), indent=2)
    if not disclosures.disclosures:
        page.line(StyledText("no disclosures", TextStyle.FAINT))
    tell_cursors([("next cursor", disclosures.next_cursor)], page)


BY_HAND: dict[type[Struct], Callable[[Any, Page], None]] = {
    Activity: _tell_activity,
    Capabilities: _tell_capabilities,
    Context: _tell_context,
    Conversations: _tell_conversations,
    Disclosures: _tell_disclosures,
    SearchPage: tell_found,
    Revealed: _tell_revealed,
    LinkPage: _tell_links,
    InspectionReport: _tell_inspection,
    Slice: _tell_slice,
    Timeline: _tell_timeline,
}
