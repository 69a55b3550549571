"""Reading everything that a store can say: the measure of whether a change to its files was found, or changed nothing.

A change is *refused* when opening the store says that it is not sound, when any read ends with an error of ours, or
when an audit, an inspection or a diagnosis finds an issue. It is *harmless* when none of that happens and every answer
is what it was before: all pages of all conversations under every view, what a search for some of their words finds
there, the tables, the lists of conversations and of people, what is told of single turns, what is on record, the keys
that are alive, and the head of the log. It is *healed* when every view shows what it showed, and the log has grown by
itself: words that somebody put back were destroyed again, on record. Anything else is a silent change.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from muniment.errors import MunimentError, UnknownConversation
from muniment.events.identity import ConversationKey
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.operations.redactions.found_places import SoughtText
from muniment.operations.transcripts.hits import Hit
from muniment.runtime.runtime import Runtime
from replay.stores import opened, pages_of
from replay.words import key_of

SPACES = ("default", "other")
CONVERSATIONS = ("one", "two", "three")
QUESTION_CHARACTERS = 60
TABLES = ("conversations", "turns", "messages", "withheld", "links")


class Answers(NamedTuple):
    """Everything that a store answers, as digests: of what its views show, and of all else that it says; its events."""

    shown: bytes
    said: bytes
    events: int


class Verdict(StrEnum):
    """What a change to the files of a store came to."""

    REFUSED = "refused"
    HARMLESS = "harmless"
    HEALED = "healed"
    SILENT = "silent"


def verdict(before: Answers, after: Answers | str) -> Verdict:
    """Return what a change came to, by the answers before and after it (as text: how a read was refused)."""
    if isinstance(after, str):
        return Verdict.REFUSED
    if after == before:
        return Verdict.HARMLESS
    return Verdict.HEALED if after.shown == before.shown and after.events > before.events else Verdict.SILENT


def answers_of(
    home: Path, spaces: Sequence[str] = SPACES, conversations: Sequence[str] = CONVERSATIONS
) -> Answers | str:
    """Return everything that a store answers, or (as text) how one of its reads was refused."""
    shown, said, events = hashlib.sha256(), hashlib.sha256(), 0
    try:
        for space in spaces:
            with opened(home, space) as runtime:
                health = runtime.system.health()
                if not health.sound:
                    return f"unsound: {health.fault}"
                read = _read(runtime, [key_of(conversation) for conversation in conversations])
                if isinstance(read, str):
                    return read
                shown.update(msgspec.json.encode(read[0], order="sorted"))
                said.update(msgspec.json.encode(read[1:], order="sorted"))
                events += health.events
    except MunimentError as refused:
        return refused.code
    return Answers(shown.digest(), said.digest(), events)


def _read(runtime: Runtime, keys: list[ConversationKey]) -> list[object] | str:
    """Read all; first what most changes are in the way of."""
    transcripts, evidence = runtime.transcripts, runtime.evidence
    evidence.audit()
    read = {view: [pages_of(runtime, key, view) for key in keys] for view in View}
    whole = {
        view: [_placeless(msgspec.to_builtins([turn for page in pages for turn in page.turns])) for pages in each]
        for view, each in read.items()
    }
    report = evidence.inspect()
    if report.kinds:
        return "issues: " + ", ".join(report.kinds)
    diagnosed = runtime.system.doctor()
    if not diagnosed.healthy:
        return "diagnosed: " + ", ".join(finding.kind for finding in diagnosed.findings)
    signed = evidence.checkpoint()
    question = _question(whole[View.RAW_OWNER])
    return [
        [whole, [[_told(hit) for hit in transcripts.search(question, view).hits] for view in View]],
        [page.items for each in read.values() for pages in each for page in pages],
        [runtime.conversations.list_(lifecycle=lifecycle) for lifecycle in LifecycleFilter],
        [_asked(lambda key=key: transcripts.timeline(key).turns) for key in keys],  # type: ignore[misc]  # bound now
        [_asked(lambda key=key: transcripts.latest(key).turns) for key in keys],  # type: ignore[misc]  # as above
        [_told_of(runtime, key) for key in keys],
        [runtime.subjects.list_(lifecycle=lifecycle) for lifecycle in LifecycleFilter],
        [runtime.tables.query(f"SELECT * FROM {name}", view).rows for view in View for name in TABLES],  # noqa: S608 - ours
        runtime.approvals.list_().approvals,
        [_asked(lambda key=key: evidence.links(conversation=key, limit=500).links) for key in keys],  # type: ignore[misc]  # as above
        [signed.size, signed.root, signed.vkey],
        runtime.system.health().key_versions,
    ]


def _told_of(runtime: Runtime, key: ConversationKey) -> list[object]:
    """Return what else is told of a conversation: by its name, of its turns, of a text, of what was erased."""
    receipts = runtime.lifecycle.receipts(key).entries
    explained = [
        runtime.evidence.explain(turn, key.conversation)
        for page in pages_of(runtime, key, View.OPERATOR_AUDIT)
        for turn in {each.turn: None for each in (page.turns[:1] + page.turns[-1:])}
    ]
    return [
        receipts,
        [runtime.lifecycle.certificate(each.position).summary for each in receipts if each.transition == "erase"],
        [[one.views, one.history, one.received, one.contexts, one.memory] for one in explained],
        _asked(lambda: runtime.conversations.resolve(key.conversation)),
        _asked(lambda: runtime.redactions.find(SoughtText(text="the", conversation=key.conversation)).places),
    ]


def _question(conversations: list[list[dict[str, Any]]]) -> str:
    """Return the first words that each conversation shows, and one that is a word in any case."""
    parts = (
        [part for turn in turns for message in turn["messages"] for part in message.get("parts", ())]
        for turns in conversations
    )
    texts = [next((part["content"] for part in each if part["type"] == "text"), "") for each in parts]
    return " ".join(["remember", *re.findall(r"\w+", " ".join(text[:QUESTION_CHARACTERS] for text in texts))])


def _placeless(turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return turns without their places in the log, which recoveries may move."""
    return [{name: value for name, value in turn.items() if name != "position"} for turn in turns]


def _told(hit: Hit) -> list[object]:
    """Return a hit without its place in the log."""
    place = hit.place
    return [place.conversation.conversation, place.turn, place.message, hit.role, hit.speaker, hit.excerpt]


def _asked(ask: Callable[[], object]) -> object:
    """Return what is answered; that there is no such conversation is an answer, too."""
    try:
        return ask()
    except UnknownConversation as unknown:
        return unknown.code
