"""Memory of a live log as requests that would lead to it again, in synthetic text: candidates, amendments, policies.

What an item says becomes text of the same shape. Its topic becomes one pseudonym for each slot, also where the words
are gone and only its successors tell which slot it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from muniment.errors import Corrupt, KeyMissing
from muniment.events.changes import LifecycleRequest, span_of
from muniment.events.memory_items import (
    Audience,
    ItemContent,
    ItemMeta,
    ItemRetired,
    ItemRevised,
    MemoryPlane,
    Observations,
    ObservedTool,
    Retirement,
    Revision,
    RevisionAction,
)
from muniment.events.references import SourceEvidence
from muniment.events.tool_registries import RegistryContent, ToolsRegistered
from muniment.log.port import Reader, StreamHead
from muniment.memory.experience import OBSERVATIONS_MAX, ReuseOutcome, ToolOutcome
from muniment.memory.governance_rules import is_weak_procedure
from muniment.memory.kinds import WHOLE, slot_topic
from muniment.memory.likeness import likeness
from muniment.memory.policies import ANY_TEXT
from muniment.memory.skills import SKILL_PREFIX
from muniment.replay.synthetic import Synthetic
from muniment.space.space import Space

LOST_PROCEDURE = "xxxxxxxxxx\nxxxxxxxxxx"
SUMMARY_CHARS_MAX = 250  # of an observation; a character has at most 4 bytes
TRIES_MAX = 8  # to draw a text that differs from the former one of a slot
ACCEPTED = {"decision": "accept"}
IN_ONE_SLOT = frozenset({Retirement.SUPERSEDED, Retirement.ACCEPTED})  # with their successors

Sources = Callable[[Iterable[SourceEvidence]], list[dict[str, Any]]]  # evidence -> as a request names it


class ForgetRequest(NamedTuple):
    """A request that had items of a notebook forgotten."""

    stream: int
    requester: str
    requested_ms: int

    @classmethod
    def of(cls, stream: int, request: LifecycleRequest) -> ForgetRequest:
        """Return the request for a notebook."""
        return cls(stream, request.requester, request.requested_ms)


class Owner(NamedTuple):
    """Whose items a notebook has, by pseudonym, and of which plane."""

    subject: str
    plane: MemoryPlane


class WholeMemory:
    """What has to be known of all memory of a log before the first item of it is restated.

    Pseudonyms of topics are the same for all items of a slot. `forgotten` are the numbers of the items that one request
    had forgotten, by notebook and request; `digests` the pseudonyms of topics by their keyed digests.
    """

    def __init__(self, space: Space, words: Synthetic) -> None:
        self._words = words
        self._root: dict[str, str] = {}
        self._known: dict[str, str] = {}
        self.digests: dict[str, str] = {}
        self.forgotten: dict[ForgetRequest, list[int]] = {}
        with space.ledger.reader() as reader:
            for head in space.notebooks.every_head(reader):
                self._notebook(space, reader, head)
        for item, topic in sorted(self._known.items()):
            self._known.setdefault(self._first(item), topic)
            self.digests[space.notebooks.topic_digest(topic)] = self.of_text(topic)

    def _notebook(self, space: Space, reader: Reader, head: StreamHead) -> None:
        """Take the topics of a notebook, and which of its items were in one slot."""
        entries: list[str] = []
        successors: list[tuple[int, str]] = []
        for row in reader.in_stream(head.stream, 2, head.seq):
            opened = space.ledger.open(row)
            if isinstance(opened.meta, ItemRetired):
                span = span_of(space.ledger.header(row)[0].about)
                if opened.meta.cause is Retirement.FORGOTTEN:
                    numbers = range(span.first, (span.last or len(entries)) + 1)
                    self.forgotten.setdefault(ForgetRequest.of(head.stream, opened.meta.request), []).extend(numbers)
                elif opened.meta.cause in IN_ONE_SLOT and opened.meta.successor is not None:
                    successors.append((span.first, opened.meta.successor))
            if not isinstance(opened.meta, ItemMeta):
                continue
            entries.append(opened.meta.item)
            self._root[opened.meta.item] = opened.meta.item
            try:
                content = space.ledger.content(opened)[1]
            except (KeyMissing, Corrupt):
                continue
            if isinstance(content, ItemContent) and slot_topic(content.topic):
                self._known[opened.meta.item] = content.topic
        for number, successor in successors:
            if successor in self._root:
                self._root[self._first(entries[number - 1])] = self._first(successor)

    def __contains__(self, item: str) -> bool:
        return item in self._root

    def of(self, item: str) -> str:
        """Return the pseudonym of the topic of an item."""
        first = self._first(item)
        known = self._known.get(item, self._known.get(first))
        return self._words.name("topic", f"\0{first}") if known is None else self.of_text(known)

    def of_text(self, topic: str) -> str:
        """Return the pseudonym of a topic."""
        return self._words.name("topic", slot_topic(topic))

    def _first(self, item: str) -> str:
        while self._root[item] != item:
            item = self._root[item]
        return item


class RestatedWords:
    """What items say, in synthetic text; no two that follow each other in a slot are alike."""

    def __init__(self, words: Synthetic) -> None:
        self._words = words
        self._last: dict[str, str] = {}

    def statement(self, text: str | None, plane: MemoryPlane, slot: str) -> str:
        """Return the text of an item of a slot: of the same shape, and not like the one before."""
        found = self._drawn(text, plane)
        for _ in range(TRIES_MAX):
            if likeness(found, self._last.get(slot, "")) < 1:
                break
            found = self._drawn(text, plane)
        else:
            found += self._words.lost()
        self._last[slot] = found
        return found

    def _drawn(self, text: str | None, plane: MemoryPlane) -> str:
        if plane is not MemoryPlane.RUNTIME_SKILL:
            return self._words.lost() if text is None or not text.strip() else self._words.text(text)
        found = self._words.text(LOST_PROCEDURE if text is None else text)
        if is_weak_procedure(found):  # its steps ended in signs, and signs are drawn
            middle = len(found) // 2
            found = f"{found[:middle].rstrip()}\n{found[middle:].lstrip()}"
        return self._words.text(LOST_PROCEDURE) if is_weak_procedure(found) else found

    def maybe(self, text: str | None) -> str | None:
        """Return a text that may be absent, in synthetic words."""
        return None if text is None else self._words.text(text) if text.strip() else text


class MemoryRequests:
    """Turns bodies of memory events into members of requests."""

    def __init__(self, words: Synthetic, moved: Callable[[int], int], sources: Sources, whole: WholeMemory) -> None:
        self._words = words
        self._moved = moved
        self._sources = sources
        self._whole = whole
        self._said = RestatedWords(words)

    def candidate(self, whose: Owner, meta: ItemMeta, content: ItemContent | None) -> dict[str, Any]:
        """Return a candidate that becomes this item."""
        topic, evidence, name = self._whole.of(meta.item), self._sources(meta.evidence), self._skill(meta)
        given: dict[str, Any] = {
            "subject": whose.subject,
            "kind": meta.kind,
            "topic": topic,
            "text": self._said.statement(
                None if content is None else content.text, whose.plane, f"{whose}{name or topic}"
            ),
            "name": name,
            "id": self._words.name("item", meta.item),
            "plane": whose.plane,
            "privacy": meta.privacy,
            "audience": self.audience(meta.entry.audience),
            "confidence": meta.confidence / WHOLE,
            "importance": meta.importance / WHOLE,
            "freshness": meta.freshness,
            "scope": meta.scope,
            "source_type": meta.source_type,
            "observed_ms": self._moved(meta.observed_ms),
            "expires_ms": self._moved(meta.expires_ms) if meta.expires_ms else None,
            "pinned": meta.pinned,
            "evidence": evidence,
            "attested": not evidence,
            "origin": self._words.maybe("origin", meta.entry.origin),
            "judgement": ACCEPTED,
        }
        if content is not None:
            given |= {name: self._said.maybe(getattr(content, name)) for name in ("title", "summary", "note")}
            for name in ("keywords", "tags", "entities"):
                given[name] = [self._words.text(word) for word in getattr(content, name)]
        return plain(given)

    def audience(self, audience: Audience) -> dict[str, list[str]]:
        """Return an audience by pseudonyms."""
        return {
            name: [self._words.name("subject", subject) for subject in getattr(audience, name)]
            for name in ("only", "hidden_from")
        }

    def amendment(self, item: str, whose: Owner, reason: str | None, body: ItemRevised) -> dict[str, Any]:
        """Return the amendment that makes this revision."""
        change = body.revision
        text = None if change.text is None else self._said.statement(change.text, whose.plane, self._whole.of(item))
        share = None if change.confidence is None else change.confidence / WHOLE
        members: dict[str, dict[str, Any]] = {
            RevisionAction.CORRECT: {"text": text, "confidence": share},
            RevisionAction.MARK_STALE: {"hint": change.stale},
            RevisionAction.CHANGE_SCOPE: {"scope": change.scope},
            RevisionAction.CHANGE_PRIVACY: {"privacy": change.privacy},
            RevisionAction.CHANGE_AUDIENCE: {"audience": self.audience(change.audience or Audience())},
            RevisionAction.PIN: {"pinned": change.pinned},
        }
        return plain({"type": reason} | members.get(reason or "", {}))

    def told_again(self, change: Revision) -> dict[str, Any]:
        """Return what of a candidate is another one when an item comes back; its words are those it was told in."""
        evidence = None if change.evidence is None else self._sources(change.evidence)
        return plain({
            "confidence": None if change.confidence is None else change.confidence / WHOLE,
            "privacy": change.privacy,
            "scope": change.scope,
            "pinned": change.pinned,
            "audience": None if change.audience is None else self.audience(change.audience),
            "evidence": evidence,
            "attested": None if evidence is None else not evidence,
        })  # fmt: skip

    def edit(self, item: str, whose: Owner, body: ItemRevised) -> dict[str, Any]:
        """Return the edit of a skill that makes this revision."""
        change = body.revision
        text = None if change.text is None else self._said.statement(change.text, whose.plane, self._whole.of(item))
        return plain({
            "procedure": text,
            "title": self._said.maybe(change.title),
            "topic": None if change.topic is None else self._whole.of_text(change.topic),
            "summary": self._said.maybe(change.summary),
        })  # fmt: skip

    def invalidation(self, body: ItemRetired) -> dict[str, Any]:
        """Return the amendment that retires an item as wrong."""
        return plain({"type": "invalidate", "ground": body.ground, "evidence": self._sources(body.evidence)})

    def pattern(self, pattern: str | None, policy: str) -> str:
        """Return the pattern of a policy: of a topic its pseudonym, else one that matches nothing but itself."""
        if pattern is None:
            return self._words.name("topic", f"\0{policy}")
        if ANY_TEXT not in pattern:
            return self._whole.of_text(pattern)
        return f"{self._words.name('pattern', slot_topic(pattern))}{ANY_TEXT}"

    def feedback(
        self,
        tool: ObservedTool,
        counts: Observations,
        evidence: Iterable[SourceEvidence],
        said: Mapping[str, str | None],
    ) -> dict[str, Any]:
        """Return feedback of one tool that comes to these observations; `said` are its text, summary and note."""
        outcomes = [ToolOutcome.SUCCEEDED] * counts.succeeded + [ToolOutcome.FAILED] * counts.failed
        text = said.get("text") or ""
        reuse = ReuseOutcome.HELPED if counts.helped else ReuseOutcome.MISLED if counts.misled else None
        return plain({
            "registry": {
                "registry": self._words.name("registry", tool.registry),
                "fingerprint": self._words.name("fingerprint", tool.fingerprint),
            },
            "observations": [
                {
                    "tool": self._words.name("tool", tool.tool),
                    "outcome": outcome,
                    "summary": self._words.text(text[:SUMMARY_CHARS_MAX]) if text.strip() else self._words.lost(),
                }
                for outcome in outcomes[:OBSERVATIONS_MAX]
            ],
            "evidence": self._sources(evidence),
            "visible_result": self._said.maybe(said.get("summary")),
            "reuse": reuse,
            "note": self._said.maybe(said.get("note")),
        })  # fmt: skip

    def snapshot(self, body: ToolsRegistered, content: RegistryContent | None) -> dict[str, Any]:
        """Return a snapshot of a tool registry."""
        record, names = body.registry, [None] * len(body.tools) if content is None else content.names
        return plain({
            "registry": self._words.name("registry", record.registry),
            "namespace": self._words.name("namespace", record.namespace),
            "owner": self._words.name("subject", record.owner),
            "scope": record.scope,
            "fingerprint": self._words.name("fingerprint", record.fingerprint),
            "tools": [
                {
                    "tool": self._words.name("tool", tool.tool),
                    "schema_fingerprint": self._words.name("fingerprint", tool.schema_fingerprint),
                    "display_name": self._said.maybe(name),
                    "version": self._words.maybe("version", tool.version),
                    "descriptor_fingerprint": self._words.maybe("fingerprint", tool.descriptor_fingerprint),
                    **{
                        kind: [self._words.name(kind.removesuffix("s"), tag) for tag in getattr(tool, kind)]
                        for kind in ("permissions", "risks", "groups")
                    },
                    "disabled": tool.disabled,
                }
                for tool, name in zip(body.tools, names, strict=True)
            ],
            "note": self._words.lost() if content is None else self._said.maybe(content.note),
        })  # fmt: skip

    def forgetting(self, whose: Owner, entries: Sequence[ItemMeta], ids: Sequence[object]) -> list[dict[str, Any]]:
        """Return what to forget for items of a notebook to go: their slot where they are of one, or each of them."""
        slots = {(entry.kind, self._slot(entry)) for entry in entries}
        if len(entries) == 1 or len(slots) > 1:
            return [{"item": name} for name in ids]
        ((kind, topic),) = slots
        return [plain({"topic": topic, "kind": kind, "plane": whose.plane})]

    def _slot(self, meta: ItemMeta) -> str:
        tool = None if meta.entry.named is None else meta.entry.named.tool
        if tool is None:
            return self._skill(meta) or self._whole.of(meta.item)
        kinds = (("registry", tool.registry), ("fingerprint", tool.fingerprint), ("tool", tool.tool))
        return " ".join(self._words.name(kind, name) for kind, name in kinds)

    def _skill(self, meta: ItemMeta) -> str | None:
        named = meta.entry.named
        return None if named is None or named.tool is not None else self.skill(named.name)

    def skill(self, name: str) -> str:
        """Return the pseudonym of a skill."""
        return SKILL_PREFIX + self._words.name("skill", name)


def plain(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return members of a request as JSON has them, without those that are absent."""
    told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(given))
    return {name: value for name, value in told.items() if value is not None and value not in ([], {})}
