"""Fields: which labels an event has, and the canonical bytes that stand under each."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given

from muniment.errors import NotCanonical
from muniment.events.approving import (
    ApprovalDecided,
    ApprovalRequested,
    ApprovalRule,
    ApprovalSet,
    ExactRequest,
    GuardedAct,
)
from muniment.events.archive import (
    ArchiveExport,
    ArchiveExported,
    ArchiveImport,
    ArchiveImported,
    ArchiveScope,
    ImportMode,
    PrivateMaterial,
    ScopeKind,
)
from muniment.events.attributes import (
    AttributeContent,
    AttributeGovernance,
    AttributeHead,
    AttributeLink,
    AttributeOrigin,
    AttributeRecorded,
    SourceKind,
    ValueKind,
    link_label,
)
from muniment.events.caller import Caller
from muniment.events.changes import (
    LifecycleRequest,
    PolicySet,
    RedactionTarget,
    RetentionPolicy,
    TurnLifecycle,
    TurnRedacted,
)
from muniment.events.disclosures import (
    AccessRefused,
    ContentExported,
    ContentGrant,
    ContentRead,
    ContentRevealed,
    ContextGrant,
    ContextIssued,
    Denial,
    ErasureRefusal,
    ErasureRefused,
    ExportWay,
    ReadGrant,
    ReadSpan,
)
from muniment.events.labels import content_fields, encode_part, meta_fields
from muniment.events.memory_governance import MemoryPolicySet, PolicyAction, PolicySelector, RunRecorded
from muniment.events.memory_items import (
    Audience,
    EntryRole,
    Freshness,
    InvalidityGround,
    ItemKind,
    ItemMeta,
    ItemPrivacy,
    ItemRetired,
    ItemRevised,
    ItemScope,
    ItemSourceType,
    MemoryPlane,
    NamedSlot,
    NotebookEntry,
    NotebookOpened,
    Observations,
    ObservedTool,
    Retirement,
    Revision,
)
from muniment.events.message import Part, ToolCallPart, ToolCallResponsePart, UriPart, part_label
from muniment.events.records import (
    META_BODIES,
    WORDS,
    AliasRecorded,
    BackupRestore,
    ConversationOpened,
    ExportGrant,
    ExportIssued,
    KeyRotated,
    MetaBody,
    SignerAnnounced,
    SpaceErasure,
    SpaceOpened,
    SpaceRestored,
    TurnContent,
    TurnMeta,
    worded_no_more,
)
from muniment.events.references import Plane, RefDerived, SourceEvidence, Visibility
from muniment.events.tool_registries import (
    RegisteredTool,
    RegistryRecord,
    RegistryScope,
    ToolsRegistered,
    ToolsRemoved,
)
from muniment.events.wording import bare, with_words, without_words, words_of
from muniment.governance.admission import AdmittedTurn, admit
from muniment.governance.limits import Limits
from muniment.kernel.canonical import DEPTH_MAX, encode, encode_plain
from tests.turns import committed, json_values, parts, plain_turn, rich_turn

LABEL = re.compile(r"[a-z_]+(/\d+(/[a-z_]+(/\d+)?)?)?", re.ASCII)

REQUEST = LifecycleRequest(reason="asked", requester="ada", requested_ms=7)
REGISTRY = RegistryRecord(
    registry="desk", namespace="acme", owner="ada", scope=RegistryScope.OWNER, fingerprint="1a", revision=1
)
TOOL = RegisteredTool(tool="search", schema_fingerprint="2b")
SOURCE = SourceEvidence(space="home", channel="mail", conversation="talk", turn="turn-1")
SMALL_BODIES: list[MetaBody] = [
    SpaceOpened(name="größe"),
    ConversationOpened(channel="mail", conversation="talk"),
    AliasRecorded(subject="ada", channel="mail", chat="7"),
    TurnLifecycle(request=LifecycleRequest(reason="asked", requester="ada", requested_ms=7)),
    TurnRedacted(
        target=RedactionTarget(message=1, part=0, start=2, end=4),
        views=["export"],
        request=LifecycleRequest(reason="asked", requester="ada", requested_ms=7),
    ),
    AttributeRecorded(
        attribute=AttributeHead(
            id="größe", key="host.a.b", kind=ValueKind.OBJECT, created_ms=7, updated_ms=8, message=1, schema="s"
        ),
        source=AttributeOrigin(writer="gateway", kind=SourceKind.HOST_REPORTED, written_ms=9, request="r"),
        visibility=Visibility.EXPORT,
        governance=AttributeGovernance(export_allowed=True),
    ),
    RefDerived(
        plane=Plane.LONG_TERM,
        key="größe",
        subject="ada",
        source=SourceEvidence(space="home", channel="mail", conversation="talk", turn="turn-1", through="turn-2"),
        created_ms=7,
        digest="d",
    ),
    KeyRotated(version=2),
    ExportIssued(export=ExportGrant(view="export", recipient="court", purpose="case")),
    SpaceRestored(restore=BackupRestore(events=7, former="note")),
    SignerAnnounced(announcement="note"),
    ArchiveExported(
        archive=ArchiveExport(
            scope=ArchiveScope(kind=ScopeKind.SUBJECT, subject="ada"), private=PrivateMaterial.INCLUDE, digest="ab"
        )
    ),
    ArchiveImported(
        archive=ArchiveImport(
            scope=ArchiveScope(kind=ScopeKind.CONVERSATION, channel="mail", conversation="talk"),
            private=PrivateMaterial.EXCLUDE,
            digest="ab",
            mode=ImportMode.RESTORE,
            into="copy",
            erased=2,
        )
    ),
    PolicySet(policy=RetentionPolicy(channel="mail", erase_after_ms=7), request=REQUEST),
    SpaceErasure(request=REQUEST),
    ContentRevealed(
        request=LifecycleRequest(reason="asked", requester="ada", requested_ms=7), caller=Caller(views=["export"])
    ),
    ContextIssued(
        context=ContextGrant(
            view="export", shape="openai", budget_tokens=9, tokens=7, counter="estimate", messages=1, quoted=[3]
        ),
        caller=Caller(views=["export"]),
    ),
    ErasureRefused(request=REQUEST, refusal=ErasureRefusal(turns=2, kept_by=[7])),
    ApprovalSet(rule=ApprovalRule(acts=[GuardedAct.ERASE], within_ms=60_000), request=REQUEST),
    ApprovalRequested(
        act=GuardedAct.REVEAL,
        about={"turn": "t"},
        exact=ExactRequest(digest="abcdef"),
        expires_ms=9,
        request=REQUEST,
        caller=Caller(views=[]),
    ),
    ApprovalDecided(request=REQUEST, caller=Caller(views=["export"], subject="ada")),
    ContentRead(
        read=ReadGrant(
            operation="transcripts.search", views=["export"], turns=3, spans=[ReadSpan(first=1, last=2)], found=[9]
        ),
        caller=Caller(views=["export"]),
    ),
    ContentExported(export=ContentGrant(way=ExportWay.BUNDLE, purpose="case"), caller=Caller(views=["export"])),
    AccessRefused(denial=Denial(operation="disclosure.reveal", right="reveal", since_ms=7)),
    NotebookOpened(subject="größe", plane=MemoryPlane.DIARY),
    ItemMeta(
        item="i-1",
        kind=ItemKind.PROFILE,
        writer="host",
        observed_ms=7,
        confidence=900,
        importance=100,
        privacy=ItemPrivacy.PUBLIC_RUNTIME,
        source_type=ItemSourceType.IMPORTED,
        scope=ItemScope.CHAT,
        freshness=Freshness.VOLATILE,
        pinned=True,
        expires_ms=8,
        evidence=[SOURCE],
        run="night-1",
        entry=NotebookEntry(
            role=EntryRole.PROPOSAL,
            slot="0a1b",
            audience=Audience(only=["bob"]),
            named=NamedSlot(
                name="desk 1a search",
                tool=ObservedTool(registry="desk", fingerprint="1a", tool="search"),
                observations=Observations(succeeded=1),
            ),
        ),
    ),
    ToolsRegistered(registry=REGISTRY, tools=[TOOL], requester="host"),
    ToolsRemoved(registry="desk", revision=2, request=REQUEST),
    ItemRevised(revision=Revision(text="Lives in Oslo", confidence=100), request=REQUEST, run="night-1"),
    ItemRetired(
        request=REQUEST,
        cause=Retirement.INVALIDATED,
        successor="i-2",
        ground=InvalidityGround.INTEGRITY_VIOLATION,
        evidence=[SOURCE],
        run="night-1",
    ),
    MemoryPolicySet(
        policy="p-1",
        action=PolicyAction.SUPPRESS,
        request=REQUEST,
        selector=PolicySelector(subject="ada"),
        until_ms=7,
        ends=["p-0"],
    ),
    RunRecorded(run="r", writer="host", recorded=["i-1"], retired=["i-2"], revised=["i-3"], decisions={"accept": 1}),
]


def kept_of_rich() -> tuple[TurnMeta, TurnContent]:
    kept = admit(rich_turn(), Limits(), 1000)
    assert isinstance(kept, AdmittedTurn)
    return kept.meta, TurnContent(parts=kept.parts, digest=b"", summaries=kept.summaries, labels=kept.labels)


def fields_of(meta: TurnMeta, content: TurnContent) -> list[tuple[str, bytes]]:
    return [*meta_fields(meta), *content_fields(content)]


def test_a_turn_has_the_fields_that_the_table_names() -> None:
    """Every label of the theory of operation, from a turn that has a value everywhere."""
    meta, content = kept_of_rich()
    assert sorted(label for label, _ in meta_fields(meta)) == sorted(
        ["actor", "candidates", "delivery", "external", "source", "tools"]
        + [f"host_ref/{place}" for place in range(5)]
        + [f"message/{place}" for place in range(7)]
    )
    counts = [1, 1, 2, 1, 1, 1, 4]
    assert sorted(label for label, _ in content_fields(content)) == sorted(
        ["tools/0/summary"]
        + [f"host_ref/{place}/label" for place in range(5)]
        + [part_label(place, index) for place, count in enumerate(counts) for index in range(count)]
    )


def test_a_turn_that_says_little_has_few_fields() -> None:
    """The usual source, absent observations, flags, candidates and labels make no field."""
    kept = admit(plain_turn(1), Limits(), 1000)
    assert isinstance(kept, AdmittedTurn)
    content = TurnContent(parts=kept.parts, digest=b"", labels=[None])
    assert [label for label, _ in fields_of(kept.meta, content)] == [
        "actor", "delivery", "message/0", "message/1", "message/0/content/0", "message/1/content/0",
    ]  # fmt: skip


def test_nothing_that_somebody_wrote_is_in_the_meta_cell() -> None:
    """Parts, summaries and labels of references are destroyed with the content cell; nothing in `meta` repeats them."""
    meta, _ = kept_of_rich()
    public = b"".join(value for _, value in meta_fields(meta)).decode()
    for word in ["words", "argument", "response", "label of", "bytes"]:
        assert word not in public


@given(committed())
def test_labels_are_plain_and_no_two_fields_share_one(bodies: tuple[TurnMeta, TurnContent]) -> None:
    """Labels are ASCII, spelt without escapes, and injective over a turn."""
    labels = [label for label, _ in fields_of(*bodies)]
    assert len(set(labels)) == len(labels)
    assert all(LABEL.fullmatch(label) and label.isascii() for label in labels)


@given(committed())
def test_every_field_is_the_canonical_form_of_its_value(bodies: tuple[TurnMeta, TurnContent]) -> None:
    """RFC 8785: reading the bytes of a field and encoding them again gives the same bytes."""
    meta, content = bodies
    for _, value in fields_of(meta, content):
        assert encode(json.loads(value)) == value
    read = {label: json.loads(value) for label, value in fields_of(meta, content)}
    assert [read[f"message/{place}"] for place in range(len(meta.messages))] == msgspec.to_builtins(meta.messages)


@given(parts)
def test_a_part_is_encoded_as_any_json_value_would_be(part: Part) -> None:
    """Fast road and wide road give the bytes of the general encoder: floats, foreign keys and all."""
    assert encode_part(part) == encode(msgspec.to_builtins(part))


@given(json_values)
def test_the_value_of_an_attribute_is_one_field_and_so_is_each_link(value: Any) -> None:
    """Value, reason and links are each committed alone, as the canonical JSON of what they are."""
    links = [AttributeLink(relation="of", kind="memory", id=str(place)) for place in range(2)]
    fields = dict(content_fields(AttributeContent(value=value, reason="größe", links=links)))
    assert list(fields) == ["value", "reason", "link/0", "link/1"]
    assert fields["value"] == encode(value)
    assert fields["reason"] == '"größe"'.encode()
    assert [json.loads(fields[link_label(place)]) for place in range(2)] == msgspec.to_builtins(links)
    assert all(LABEL.fullmatch(label) for label in fields)


@given(json_values)
def test_arguments_and_results_keep_whatever_a_tool_was_given(value: Any) -> None:
    """Any JSON value comes back out of its field as it went in (a large whole float as the integer it is)."""
    call = ToolCallPart(name="look", id="1", arguments=value)
    response = ToolCallResponsePart(response=value)
    assert encode(json.loads(encode_part(call)).get("arguments")) == encode(value)
    assert encode(json.loads(encode_part(response)).get("response")) == encode(value)


def test_members_are_in_the_order_of_their_names_including_the_type() -> None:
    """`type` sorts before `uri`: the tag is a member like any other."""
    assert encode_part(UriPart(uri="u", modality="m")) == b'{"modality":"m","type":"uri","uri":"u"}'
    assert (
        encode_part(ToolCallPart(name="n", arguments={"ü": 1.0}))
        == '{"arguments":{"ü":1},"name":"n","type":"tool_call"}'.encode()
    )
    assert (
        encode_part(ToolCallResponsePart(id="1", response=0.5))
        == b'{"id":"1","response":0.5,"type":"tool_call_response"}'
    )
    assert (
        encode_part(ToolCallPart(id="1", name="n", arguments=1e30))
        == b'{"arguments":1e+30,"id":"1","name":"n","type":"tool_call"}'
    )
    assert encode_part(ToolCallResponsePart(response=1e30)) == b'{"response":1e+30,"type":"tool_call_response"}'


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": 2**64}, {1: 2}, b"x"], ids=repr)
def test_a_value_without_canonical_form_is_refused_as_a_field(value: Any) -> None:
    for part in (ToolCallPart(name="look", arguments=value), ToolCallResponsePart(response=value)):
        with pytest.raises(NotCanonical):
            encode_part(part)


def test_a_value_nested_beyond_the_limit_is_refused_as_a_field() -> None:
    deep: Any = "bottom"
    for _ in range(DEPTH_MAX + 1):
        deep = [deep]
    with pytest.raises(NotCanonical) as refused:
        encode_part(ToolCallPart(name="look", arguments=deep))
    assert refused.value.problem == "too_deep"


@pytest.mark.parametrize("body", SMALL_BODIES, ids=lambda body: type(body).__name__)
def test_the_other_kinds_have_one_field_for_each_member(body: MetaBody) -> None:
    fields, words = dict(meta_fields(body)), WORDS.get(type(body), {})
    assert {label: json.loads(value) for label, value in fields.items()} == msgspec.to_builtins(bare(body, words))
    assert all(encode_plain(json.loads(value)) == value for value in fields.values())


@pytest.mark.parametrize(
    "body", [body for body in SMALL_BODIES if type(body) in WORDS], ids=lambda body: type(body).__name__
)
def test_words_stand_apart_and_come_back(body: MetaBody) -> None:
    """What is bare has no word of it; with its words it is what it was; without them it says that they are gone."""
    fields = WORDS[type(body)]
    words = words_of(body, fields)
    assert words is not None
    apart = bare(body, fields)
    assert not any(str(word) in msgspec.json.encode(apart).decode() for word in words.words.values())
    assert with_words(apart, words) == body
    assert without_words(apart, fields, words.words.keys()) == without_words(body, fields) == worded_no_more(body)
    assert words_of(worded_no_more(body), fields) is None
    assert {label: json.loads(value) for label, value in content_fields(words)} == words.words


def test_a_body_without_words_loses_none() -> None:
    assert worded_no_more(KeyRotated(version=2)) == KeyRotated(version=2)


def test_every_kind_of_event_is_looked_at_here() -> None:
    assert {type(body) for body in SMALL_BODIES} | {TurnMeta} == set(META_BODIES.values())
