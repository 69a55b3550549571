"""What a space holds and what may be done in it: conversations, activity, disclosures, capabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from muniment.operations.evidence.disclosure_log import Disclosures
from muniment.operations.place import Place
from muniment.operations.system.system import Capabilities, Capability, ViewCapability
from muniment.operations.transcripts.activity import Activity
from muniment.operations.transcripts.conversations import ConversationEntry, Conversations
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle, on_one_line
from muniment.transports.cli.scalars import label, moment, said, tell_budget, tell_cursors
from muniment.transports.cli.struct_page import NONE, members, tell_struct


def _tell_conversations(listing: Conversations, page: OutputPage) -> None:
    """Write the conversations as one table, without digests, which are for machines."""
    names = [name for name in ConversationEntry.__struct_fields__ if name != "digest"]
    rows = [[_on_one_line(said(name, getattr(one, name))) for name in names] for one in listing.conversations]
    if rows:
        page.table([label(name) for name in names], rows, "conversations")
    else:
        page.line(StyledText("no conversations", TextStyle.FAINT))
    tell_budget(listing.budget_applied, page)
    tell_cursors([("next cursor", listing.next_cursor)], page)


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
    return f"{on_one_line(place.conversation.conversation)} {place.sequence} {moment(place.observed_ms)}"


def _on_one_line(words: StyledText) -> StyledText:
    return StyledText(on_one_line(words.text), words.mood)


def _tell_disclosures(disclosures: Disclosures, page: OutputPage) -> None:
    """Write each disclosure in two lines: what it was, then its details."""
    for entry in disclosures.disclosures:
        told = {"position", "kind", "at_ms", "conversation"}
        known = {name: getattr(entry, name) for name in entry.__struct_fields__ if name not in told}
        if entry.conversation is not None:
            known = {"conversation": f"{entry.conversation.channel}/{entry.conversation.conversation}", **known}
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
}
