"""A turn explained, on a page: what each view shows, what happened, who received it, what it fed, and its proof."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from muniment.operations.evidence.disclosure_entries import DisclosureEntry
from muniment.operations.evidence.explain import ExplainedView, Explanation
from muniment.operations.evidence.turn_history import FedMemory, HistoryEntry
from muniment.operations.evidence.turn_proof import TurnProof
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle, on_one_line
from muniment.transports.cli.scalars import label, moment
from muniment.transports.cli.turn_page import message_words, withheld, withheld_field

Row = list[StyledText]


def _tell_explanation(told: Explanation, page: OutputPage) -> None:
    key = told.conversation
    page.heading(f"Turn {told.sequence}  {on_one_line(told.turn)}  {told.phase}")
    page.facts([
        ("conversation", StyledText(on_one_line(key.conversation))),
        ("channel", StyledText(on_one_line(key.channel))),
        ("position", StyledText(f"{told.position:,}")),
        ("committed", StyledText(moment(told.committed_ms))),
    ])  # fmt: skip
    page.heading("What each view shows")
    page.table(["view", "who", "content"], [row for shown in told.views for row in _view_rows(shown)])
    if not told.left_out:
        _tell_list("What happened", ["position", "when", "what", "by", "why"], map(_history_row, told.history), page)
        titles = ["position", "when", "what", "view", "who"]
        _tell_list("Who received it", titles, map(_received_row, told.received), page)
        _tell_list("Prompts that used it", titles, map(_received_row, told.contexts), page)
        titles = ["position", "when", "memory", "of", "from"]
        _tell_list("Memory derived from it", titles, map(_memory_row, told.memory), page)
    _tell_proof(told.proof, page)
    if told.left_out:
        parts = ", ".join(told.left_out)
        page.line(StyledText(f"not shown without raw_owner or operator_audit: {parts}", TextStyle.FAINT))
    if told.clipped:
        page.line(StyledText(f"only the newest entries are listed: {', '.join(told.clipped)}", TextStyle.FAINT))


def _view_rows(shown: ExplainedView) -> list[Row]:
    turn, items = shown.turn, shown.items
    rows: list[Row] = [
        [StyledText(shown.view), StyledText(message.role), _joined(message_words(message, items))]
        for message in turn.messages
    ]
    rows += [
        [StyledText(shown.view), StyledText("observation"), StyledText(f"{observed.tool} {observed.summary}".rstrip())]
        for observed in turn.tools or []
    ]
    rows += [
        [StyledText(shown.view), StyledText("refers to"), StyledText(on_one_line(f"{ref.type} {ref.id}"))]
        for ref in turn.host_refs
    ]
    of_fields = [item for item in items if item.message is None and item.attribute is None]
    rows += [[StyledText(shown.view), StyledText(""), withheld_field(item)] for item in of_fields]
    rows += [
        [StyledText(shown.view), StyledText("attribute"), StyledText(on_one_line(attribute.key))]
        for attribute in turn.attributes
    ]
    hidden = [item for item in items if item.attribute is not None]
    rows += [
        [StyledText(shown.view), StyledText("attribute"), withheld(on_one_line(item.attribute_key or ""), item)]
        for item in hidden
    ]
    return rows


def _joined(words: list[StyledText]) -> StyledText:
    only_faint = all(each.mood is TextStyle.FAINT for each in words)
    return StyledText("\n".join(each.text for each in words), TextStyle.FAINT if only_faint else TextStyle.PLAIN)


def _tell_list(title: str, columns: list[str], rows: Any, page: OutputPage) -> None:
    listed: list[Row] = list(rows)
    page.heading(title)
    if listed:
        page.table(columns, listed)
    else:
        page.line(StyledText("nothing on record", TextStyle.FAINT))


def _row(position: int, at_ms: int, *cells: str | None) -> Row:
    return [
        StyledText(f"{position:,}"),
        StyledText(moment(at_ms)),
        *(StyledText(on_one_line(each or "")) for each in cells),
    ]


def _history_row(entry: HistoryEntry) -> Row:
    what = " ".join(filter(None, (entry.kind, entry.action, entry.attribute_key)))
    if entry.message is not None:
        what += f" of message {entry.message}"
    if entry.views:
        what += f" ({', '.join(entry.views)})"
    return _row(entry.position, entry.at_ms, what, entry.requester, entry.reason)


def _received_row(entry: DisclosureEntry) -> Row:
    what = " ".join(filter(None, (entry.kind, entry.way, entry.operation)))
    if entry.scope is not None:
        what += f" {entry.scope.kind}, private {entry.private}"
    named = [("to", entry.recipient), ("by", entry.requester), ("subject", entry.subject), ("for", entry.purpose)]
    who = ", ".join(f"{name} {text}" for name, text in [*named, ("because", entry.reason)] if text is not None)
    return _row(entry.position, entry.at_ms, what, ", ".join(entry.views), who)


def _memory_row(fed: FedMemory) -> Row:
    last = "" if fed.last is None else f" to {fed.last}"
    source = f"turn {fed.first}{last}" + ("" if fed.message is None else f", message {fed.message}")
    return _row(fed.position, fed.created_ms, f"{fed.plane} {fed.key}", fed.subject, source)


def _tell_proof(proof: TurnProof, page: OutputPage) -> None:
    page.heading("Proof")
    if proof.included:
        page.line(StyledText("included in the signed checkpoint", TextStyle.GOOD))
    else:
        page.line(StyledText("not included in a signed checkpoint (see `evidence checkpoint`)", TextStyle.BAD))
    facts = {"position": f"{proof.position:,}", "leaf": proof.leaf, "pinned": "yes" if proof.pinned else "no"}
    if proof.checkpoint_size is not None:
        facts["checkpoint_size"] = f"{proof.checkpoint_size:,}"
    page.facts([(label(name), StyledText(text)) for name, text in facts.items()])


TELLERS: dict[type[Struct], Callable[[Any, OutputPage], None]] = {Explanation: _tell_explanation}
