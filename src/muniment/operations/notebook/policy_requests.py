"""Policies of memory: which future writes stop, and which items go with the turns that they rest on.

A policy is an event of the space. The words of one about a subject (its pattern) are an entry of the subject's notebook
and are destroyed with it, as the reason of the event is; the policy has then ended. One about all subjects keeps no
words but its reason: it knows one topic by a keyed digest, and takes no pattern.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from muniment.declaration.session import Session
from muniment.errors import AccessDenied, InvalidInput, LimitExceeded
from muniment.events.changes import LifecycleRequest
from muniment.events.identity import (
    DEFAULT_CHANNEL,
    Channel,
    ConversationId,
    ConversationKey,
    SubjectId,
    check_given,
    check_name,
)
from muniment.events.memory_governance import MemoryPolicySet, PolicyAction, PolicySelector
from muniment.events.memory_items import (
    EntryRole,
    ItemContent,
    ItemKind,
    ItemMeta,
    ItemScope,
    MemoryPlane,
    NotebookEntry,
)
from muniment.events.records import EventKind
from muniment.governance.access import Effect
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import Writer
from muniment.memory.kinds import kind_named, slot_topic
from muniment.memory.policies import ANY_TEXT, ENDS, MemoryPolicy, in_force
from muniment.operations.approvals.gate import GuardedAct, GuardedRequest
from muniment.operations.memory.item_writes import WHOLE_SPACE, UnrecordedEntry, record_entry
from muniment.operations.memory.prepared_items import Writing

PATTERN_BYTES_MAX = 1024
NOTHING_IN_FORCE, ALREADY_IN_FORCE = "nothing_in_force", "already_in_force"


class MemorySelector(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a policy is about. What is left out is not looked at; all memory of the space takes `everything`.

    `topic` is compared as slots compare topics; `*` in it stands for any text, and takes a `subject`.
    """

    subject: Annotated[SubjectId | None, Meta(description="Statements about this subject.")] = None
    kind: Annotated[str | None, Meta(description="Statements of this kind.")] = None
    topic: Annotated[str | None, Meta(description="Statements about this topic; `*` stands for any text.")] = None
    conversation: Annotated[
        ConversationId | None, Meta(description="Statements that rest on a turn of this conversation.")
    ] = None
    channel: Annotated[
        Channel | None, Meta(description="Channel of the conversation. Without it: the default channel.")
    ] = None
    scope: Annotated[ItemScope | None, Meta(description="Statements that hold for this.")] = None
    everything: Annotated[bool, Meta(description="All memory of the space, of every subject.")] = False

    def check(self) -> None:
        """Refuse a selector that says nothing: nobody stops all memory by leaving something out."""
        is_about_some = self != MemorySelector(everything=self.everything)
        if not is_about_some and not self.everything:
            raise InvalidInput(at="selector", problem="says_nothing")
        if is_about_some and self.everything:
            raise InvalidInput(at="selector.everything", problem="not_taken")


UNSAID = MemorySelector()


class MemoryPolicyReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a request for a policy. `policy` is the id of the one in force now, `ended` are those that ended.

    One that changes nothing has a `reason`.
    """

    changed: bool
    action: PolicyAction
    policy: str | None = None
    ended: list[str] = []
    reason: str | None = None
    position: int | None = None


class MemoryPolicyInForce(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A policy in force. `has_topic`: it is about all subjects and one topic, of which only a digest is kept."""

    policy: str
    action: PolicyAction
    position: int
    requester: str
    requested_ms: int
    reason: str
    subject: SubjectId | None = None
    kind: ItemKind | None = None
    topic: str | None = None
    has_topic: bool | None = None
    conversation: ConversationKey | None = None
    scope: ItemScope | None = None
    until_ms: int | None = None


class PoliciesInForce(Struct, frozen=True, kw_only=True):
    """The policies in force, in the order in which they were set."""

    policies: list[MemoryPolicyInForce]


class AskedPolicy(Struct, frozen=True, kw_only=True):
    """A policy that somebody asks for: what it does, what about, until when (0: until it is ended), who and why."""

    action: PolicyAction
    selector: PolicySelector
    pattern: str | None
    until_ms: int
    request: LifecycleRequest

    def is_same(self, policy: MemoryPolicy, action: PolicyAction) -> bool:
        """Tell whether a policy does this with the same things."""
        pattern = None if policy.pattern is None else slot_topic(policy.pattern)
        own = None if self.pattern is None else slot_topic(self.pattern)
        return (policy.event.action, policy.event.selector, pattern) == (action, self.selector, own)


def asked_policy(
    session: Session, action: PolicyAction, selector: MemorySelector, until_ms: int | None, request: LifecycleRequest
) -> AskedPolicy:
    """Return a policy that somebody asks for, checked."""
    selector.check()
    if selector.topic is not None and (action is PolicyAction.FOLLOW or ENDS.get(action) is PolicyAction.FOLLOW):
        raise InvalidInput(at="selector.topic", problem="not_taken")
    if until_ms is not None and action in {*ENDS, PolicyAction.FOLLOW}:
        raise InvalidInput(at="until_ms", problem="not_taken")
    if until_ms is not None and until_ms <= request.requested_ms:
        raise InvalidInput(at="until_ms", problem="past")
    kind = None if selector.kind is None else kind_named(selector.kind)
    if selector.kind is not None and kind is None:
        raise InvalidInput(at="selector.kind", problem="unknown_word", choices=[*ItemKind])
    for name in ("subject", "conversation", "channel"):
        check_given((f"selector.{name}", getattr(selector, name)))
    if selector.channel is not None and selector.conversation is None:
        raise InvalidInput(at="selector.channel", problem="not_taken")
    if session.access.subject not in {None, selector.subject}:
        raise AccessDenied(at="subject")
    topic = _checked_topic(selector)
    has_pattern = topic is not None and selector.subject is not None
    digest = None if topic is None or has_pattern else session.space.notebooks.topic_digest(topic)
    channel = None if selector.conversation is None else selector.channel or DEFAULT_CHANNEL
    kept = PolicySelector(
        subject=selector.subject,
        kind=kind,
        scope=selector.scope,
        channel=channel,
        conversation=selector.conversation,
        topic=digest,
        has_pattern=has_pattern,
    )
    pattern = topic if has_pattern else None
    return AskedPolicy(action=action, selector=kept, pattern=pattern, until_ms=until_ms or 0, request=request)


def _checked_topic(selector: MemorySelector) -> str | None:
    topic = selector.topic
    if topic is None:
        return None
    if not slot_topic(topic):
        raise InvalidInput(at="selector.topic", problem="empty")
    if (size := len(topic.encode())) > PATTERN_BYTES_MAX:
        raise LimitExceeded(at="selector.topic", problem="too_long", limit=PATTERN_BYTES_MAX, found=size)
    if ANY_TEXT in topic and selector.subject is None:
        raise InvalidInput(at="selector.topic", problem="without_subject")
    return topic


def set_policy(session: Session, asked: AskedPolicy) -> MemoryPolicyReport:
    """Let a policy begin, or end those that are about the same, and report."""
    guarded = _guarded(session, asked) if asked.action is PolicyAction.FOLLOW else None
    if guarded is not None:
        with session.space.ledger.reader() as reader:
            known = in_force(session.space.notebooks.policies(reader), asked.request.requested_ms)
        if not any(asked.is_same(policy, asked.action) for policy in known):
            guarded.ask()
    return session.space.ledger.transact(lambda writer: _set(session, writer, asked, guarded))


def _guarded(session: Session, asked: AskedPolicy) -> GuardedRequest:
    """Return the request for a policy under which items are erased: an erasure to come, so it takes what one takes."""
    session.access.require(Effect.ERASE)
    selector = asked.selector
    names: dict[str, str | None] = {"subject": selector.subject, "kind": selector.kind, "scope": selector.scope}
    names |= {"channel": selector.channel, "conversation": selector.conversation}
    about = {"memory_policy": "follow"} | {name: str(value) for name, value in names.items() if value is not None}
    return GuardedRequest(session=session, act=GuardedAct.ERASE, about=about, request=asked.request)


def _set(session: Session, writer: Writer, asked: AskedPolicy, guarded: GuardedRequest | None) -> MemoryPolicyReport:
    notebooks, action, now_ms = session.space.notebooks, asked.action, asked.request.requested_ms
    known = in_force(notebooks.policies(writer.tx), now_ms)
    same = [policy for policy in known if asked.is_same(policy, ENDS.get(action, action))]
    ended = [policy.id for policy in same]
    if action in ENDS and not same:
        return MemoryPolicyReport(changed=False, action=action, reason=NOTHING_IN_FORCE)
    if action not in ENDS and any(policy.event.until_ms == asked.until_ms for policy in same):
        return MemoryPolicyReport(changed=False, action=action, policy=ended[-1], reason=ALREADY_IN_FORCE)
    if guarded is not None:
        guarded.spend(writer)
    if action in ENDS:
        entry, refs = same[-1].id, _refs(session, writer, same[-1].id)
    else:
        entry = session.space.sources.ids.new_id()
        _record_words(session, writer, asked, entry)
        refs = _refs(session, writer, entry)
    body = MemoryPolicySet(
        policy=entry if action not in ENDS else session.space.sources.ids.new_id(),
        action=action,
        request=asked.request,
        selector=asked.selector,
        until_ms=asked.until_ms,
        ends=ended,
    )
    position = writer.change(Change(EventKind.MEMORY_POLICY_SET, now_ms, body, refs)).position
    in_force_now = None if action in ENDS else entry
    return MemoryPolicyReport(changed=True, action=action, policy=in_force_now, ended=ended, position=position)


def _record_words(session: Session, writer: Writer, asked: AskedPolicy, entry: str) -> None:
    """Record the words of a policy about a subject as an entry of its notebook; without a subject there are none."""
    if asked.selector.subject is None:
        return
    requester, now_ms = asked.request.requester, asked.request.requested_ms
    kind = ItemKind(asked.selector.kind or ItemKind.FACT)
    meta = ItemMeta(
        item=entry,
        kind=kind,
        writer=requester,
        observed_ms=now_ms,
        confidence=0,
        entry=NotebookEntry(role=EntryRole.POLICY),
    )
    content = ItemContent(topic=asked.pattern or "", text="")
    plane = MemoryPlane.LONG_TERM
    words = UnrecordedEntry(asked.selector.subject, plane, meta, content)
    record_entry(session.space, writer, words, Writing(requester, None, now_ms))
    writer.flush()  # the event names it by its number


def _refs(session: Session, writer: Writer, entry: str) -> dict[str, int]:
    """Return the references to the entry that has the words of a policy, or to the space where there is none."""
    position = writer.find(session.space.notebooks.item_name(entry))
    row = None if position is None else writer.tx.sealed(position)
    if row is None or row.turn_seq is None:
        return WHOLE_SPACE
    return {"stream": row.stream, "turn": row.turn_seq}


def policies_in_force(session: Session, subject: SubjectId | None) -> PoliciesInForce:
    """Return the policies in force: all, or those about a subject; a caller for one subject sees those alone."""
    space = session.space
    if subject is not None:
        check_name(subject, at="subject")
        session.access.require_subjects(subject)
    only = session.access.subject if subject is None else subject
    with space.ledger.reader() as reader:
        known = in_force(space.notebooks.policies(reader), space.sources.clock.now_ms())
    return PoliciesInForce(policies=list(_shown(known, only)))


def _shown(policies: list[MemoryPolicy], subject: str | None) -> Iterator[MemoryPolicyInForce]:
    for policy in policies:
        event, selector = policy.event, policy.event.selector
        if subject not in {None, selector.subject}:
            continue
        told = MemoryPolicyInForce(
            policy=policy.id,
            action=event.action,
            position=policy.position,
            requester=event.request.requester,
            requested_ms=event.request.requested_ms,
            reason=event.request.reason,
            subject=None if selector.subject is None else SubjectId(selector.subject),
            kind=None if selector.kind is None else ItemKind(selector.kind),
            topic=policy.pattern,
            has_topic=True if selector.topic is not None else None,
            scope=None if selector.scope is None else ItemScope(selector.scope),
            until_ms=event.until_ms or None,
        )
        yield told if selector.conversation is None else replace(told, conversation=_key(selector))


def _key(selector: PolicySelector) -> ConversationKey:
    return ConversationKey(
        conversation=ConversationId(selector.conversation or ""), channel=Channel(selector.channel or "")
    )
