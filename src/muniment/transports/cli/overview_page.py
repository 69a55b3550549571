"""What a space holds and what may be done in it: conversations, activity, disclosures, capabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from muniment.events.identity import spelled
from muniment.operations.conversations.activity import Activity
from muniment.operations.conversations.glance import Preview
from muniment.operations.conversations.listed import ConversationEntry, Conversations
from muniment.operations.evidence.disclosure_log import Disclosures
from muniment.operations.place import Place
from muniment.operations.system.system import Capabilities, Capability, ViewCapability
from muniment.operations.tables import QueryResult, TableDescriptions
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle, on_one_line
from muniment.transports.cli.scalars import label, moment, said, tell_budget, tell_cursors
from muniment.transports.cli.struct_page import NONE, members, tell_struct

WORDS = frozenset({"title", "tags", "first", "last"})


def _tell_conversations(listing: Conversations, page: OutputPage) -> None:
    """Write the conversations as one table, without digests, which are for machines; then their words.

    The name of each is what every command takes as a conversation.
    """
    left_out = {"digest", "channel", "conversation", *WORDS}
    names = [name for name in ConversationEntry.__struct_fields__ if name not in left_out]
    rows = [
        [_spelled(one), *(_on_one_line(said(name, getattr(one, name))) for name in names)]
        for one in listing.conversations
    ]
    if rows:
        page.table(["conversation", *map(label, names)], rows, "conversations")
        for one in listing.conversations:
            _tell_words(one, page)
    else:
        page.line(StyledText("no conversations", TextStyle.FAINT))
    tell_budget(listing.budget_applied, page)
    tell_cursors([("next cursor", listing.next_cursor)], page)


def _tell_words(one: ConversationEntry, page: OutputPage) -> None:
    """Write the title, the tags and the ends of a conversation, as far as they are shown."""
    words = [StyledText(on_one_line(one.title), TextStyle.STRONG)] if one.title else []
    words += [StyledText(f"#{on_one_line(tag)}") for tag in one.tags]
    previews = [each for each in (one.first, one.last if one.last != one.first else None) if each is not None]
    if words or previews:
        page.line(_spelled(one), *words)
        for preview in previews:
            page.line(_preview(preview), indent=2)


def _preview(preview: Preview) -> StyledText:
    return StyledText(on_one_line(f"{preview.role}: {preview.text}"), TextStyle.FAINT)


def _spelled(one: ConversationEntry) -> StyledText:
    return StyledText(on_one_line(spelled(one.channel, one.conversation)))


def _tell_result(result: QueryResult, page: OutputPage) -> None:
    """Write rows as a table, and whether there are more."""
    rows = [[StyledText("" if value is None else str(value)) for value in row] for row in result.rows]
    if rows:
        page.table(result.columns, rows)
    else:
        page.line(StyledText("no rows", TextStyle.FAINT))
    if result.is_cut:
        page.line(StyledText("There are more rows: raise --limit, or narrow the statement.", TextStyle.STRONG))


def _tell_tables(described: TableDescriptions, page: OutputPage) -> None:
    for table in described.tables:
        page.line(StyledText(table.name, TextStyle.STRONG), StyledText(table.summary))
        page.line(StyledText(", ".join(table.columns), TextStyle.FAINT), indent=2)


def _tell_activity(activity: Activity, page: OutputPage) -> None:
    rows = [
        [
            StyledText(moment(interval.from_ms)),
            StyledText(moment(interval.until_ms)),
            StyledText(f"{interval.turns:,}"),
            *[StyledText("" if place is None else place_words(place)) for place in (interval.first, interval.last)],
        ]
        for interval in activity.ranges
    ]
    page.table(["from", "until", "turns", "first", "last"], rows, "activity")


def place_words(place: Place) -> str:
    """Return a place as text: conversation, sequence, time."""
    key = place.conversation
    return f"{on_one_line(spelled(key.channel, key.conversation))} {place.sequence} {moment(place.observed_ms)}"


def _on_one_line(words: StyledText) -> StyledText:
    return StyledText(on_one_line(words.text), words.mood)


def _tell_disclosures(disclosures: Disclosures, page: OutputPage) -> None:
    """Write each disclosure in two lines: what it was, then its details."""
    for entry in disclosures.disclosures:
        told = {"position", "kind", "at_ms", "conversation"}
        known = {name: getattr(entry, name) for name in entry.__struct_fields__ if name not in told}
        if entry.conversation is not None:
            key = entry.conversation
            known = {"conversation": spelled(key.channel, key.conversation), **known}
        page.line(
            StyledText(f"{entry.position}"), StyledText(entry.kind, TextStyle.STRONG), StyledText(moment(entry.at_ms))
        )
        page.line(StyledText(on_one_line(members(known))), indent=2)
    if not disclosures.disclosures:
        page.line(StyledText("no disclosures", TextStyle.FAINT))
    tell_cursors([("next cursor", disclosures.next_cursor)], page)


def _tell_capabilities(told: Capabilities, page: OutputPage) -> None:
    """Write what is visible and, where something is not, the reason."""
    policies = ", ".join(told.policies)
    page.facts([("version", StyledText(told.version)), ("policies", StyledText(policies) if policies else NONE)])
    page.table(
        ["operation", "effect", "needs key", "visible", "summary"],
        [
            [
                StyledText(capability.operation),
                StyledText(_rights(capability)),
                said("", capability.needs_key),
                _visible(capability),
                StyledText(capability.summary),
            ]
            for capability in told.operations
        ],
        "operations",
    )
    page.table(["view", "visible"], [[StyledText(view.view), _visible(view)] for view in told.views], "views")
    if told.budget is not None:
        page.heading("budget")
        tell_struct(told.budget, page)


def _rights(capability: Capability) -> str:
    """Return the effect and the second rights of an operation; in brackets those that only some requests need."""
    rights = [str(capability.effect)]
    for second in capability.also:
        name = str(second.effect or "view")
        rights.append(name if second.when is None else f"({name})")
    return ", ".join(rights)


def _visible(told: Capability | ViewCapability) -> StyledText:
    return StyledText("yes") if told.visible else StyledText(f"no: {told.policy or told.hidden}", TextStyle.FAINT)


TELLERS: dict[type[Struct], Callable[[Any, OutputPage], None]] = {
    Activity: _tell_activity,
    Capabilities: _tell_capabilities,
    Conversations: _tell_conversations,
    Disclosures: _tell_disclosures,
    QueryResult: _tell_result,
    TableDescriptions: _tell_tables,
}
