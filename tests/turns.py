"""Turns to test with: a plain one, one with everything that a turn can hold, and strategies for any."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.events.identity import (
    DEFAULT_CHANNEL,
    ChatId,
    ConversationId,
    SubjectId,
    TurnId,
    conversation_mark,
    message_id,
)
from muniment.events.message import (
    Authority,
    BlobPart,
    FilePart,
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from muniment.events.records import DeliveryRecord, MessageHead, ReferenceRecord, ToolRecord, TurnContent, TurnMeta
from muniment.events.references import HostReference, Relation, Visibility
from muniment.events.turn import Attribution, Delivery, Ingress, Protocol, Source, ToolObservation, Turn
from muniment.governance.judgement import TurnRecord
from muniment.governance.phases import Phase

SUBJECT = SubjectId("ada")
TALK = ConversationId("talk")
RICH = TurnId("rich")
MARK = conversation_mark(DEFAULT_CHANNEL, TALK)


def message_of(turn: str, place: int, conversation: str = TALK, channel: str = DEFAULT_CHANNEL) -> str:
    """Return the whole id of a message."""
    return message_id(conversation_mark(channel, conversation), turn, place)


def short(message: str | None) -> str:
    """Return the id of a message for short, as requests take it that name the conversation."""
    assert message is not None, "a message is named"
    return message.rpartition("@")[0]


# --- by hand ----------------------------------------------------------------------------------------------------------


def asked(text: str) -> Message:
    """Return a message of the user."""
    return Message(role=Role.USER, content=text)


def answered(text: str) -> Message:
    """Return a message of the assistant."""
    return Message(role=Role.ASSISTANT, content=text)


def question(number: int) -> str:
    """Return what the user says in the plain turn of this number."""
    return f"question {number:04d} of the user"


def answer(number: int) -> str:
    """Return what the assistant says in the plain turn of this number."""
    return f"answer {number:04d} of the assistant"


def plain_turn(number: int, conversation: str = TALK) -> Turn:
    """Return a turn of a question and an answer."""
    return Turn(
        turn=TurnId(f"turn-{number}"),
        subject=SUBJECT,
        conversation=ConversationId(conversation),
        messages=[asked(question(number)), answered(answer(number))],
    )


def five_references() -> list[HostReference]:
    """Return one host reference of each visibility, each with a label (BEHAVIOUR HR-03)."""
    return [
        HostReference(
            host="crm", type="case", id=f"id of {visibility}", relation=relation, visibility=visibility,
            label=f"label of {visibility}",
        )
        for visibility, relation in zip(Visibility, [*Relation, Relation.RELATED], strict=True)
    ]  # fmt: skip


def rich_turn() -> Turn:
    """Return a turn with a value in every field, every kind of part, every role and every visibility."""
    return Turn(
        turn=RICH,
        subject=SUBJECT,
        conversation=TALK,
        chat=ChatId("chat-7"),
        messages=[
            Message(role=Role.SYSTEM, content="the system words"),
            Message(role=Role.USER, content="the user words", speaker_id="ada", speaker_kind="person", observed_ms=7),
            Message(
                role=Role.ASSISTANT,
                content=[
                    ReasoningPart(content="the reasoning words"),
                    ToolCallPart(name="look", id="call-1", arguments={"größe": 1.5, "deep": [None, True, "argument"]}),
                ],
            ),
            Message(role=Role.TOOL, content=[ToolCallResponsePart(response={"words": "the response"}, id="call-1")]),
            Message(role=Role.ASSISTANT, content="the diagnostic words", authority=Authority.OPERATOR_DIAGNOSTIC),
            Message(role=Role.ASSISTANT, content="the private words", authority=Authority.SOUL_GOVERNANCE),
            Message(
                role=Role.ASSISTANT,
                content=[
                    TextPart(content="the answer words"),
                    BlobPart(content=b"\x00\xffbytes", mime_type="image/png", modality="image"),
                    FilePart(file_id="file-1", mime_type="text/plain", modality="text"),
                    UriPart(uri="https://example.org/x", mime_type="text/html", modality="text"),
                ],
            ),
        ],
        source=Source(
            ingress=Ingress.SYSTEM, channel="mail", provider="prov", protocol=Protocol.OPENAI_CHAT, endpoint="/v1",
            model_alias="fast", model="fast-1", request_id="req-1", conversation_hint="hint",
        ),
        actor=Attribution(
            speaker_id="ada", speaker_kind="person", subject=SUBJECT, acting_subject="bob", mounted_subject=SUBJECT,
            agent_id="agent", trigger="mail",
        ),
        tools=[ToolObservation(id="obs-1", tool="look", summary="the summary words", external=True)],
        host_refs=five_references(),
        external=True,
        candidates=["candidate-1"],
    )  # fmt: skip


# --- any --------------------------------------------------------------------------------------------------------------

words = st.text(max_size=12)
names = st.text(st.characters(codec="ascii", exclude_categories=["Cc", "Zs"]), min_size=1, max_size=8)
maybe = st.none() | words
# Whole floats between 2**64 and 1e21 are written without an exponent and come back as integers beyond 64 bits.
finite = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not 2**63 <= abs(x) < 1e21)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | finite | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, content=words),
    st.builds(ReasoningPart, content=words),
    st.builds(ToolCallPart, name=words, id=maybe, arguments=json_values),
    st.builds(ToolCallResponsePart, response=json_values, id=maybe),
    st.builds(BlobPart, content=st.binary(max_size=8), mime_type=maybe, modality=maybe),
    st.builds(FilePart, file_id=words, mime_type=maybe, modality=maybe),
    st.builds(UriPart, uri=words, mime_type=maybe, modality=maybe),
)
times_ms = st.integers(0, 253_402_300_799_999)
messages = st.builds(
    Message,
    role=st.sampled_from(Role),
    content=words | st.lists(parts, max_size=4),
    authority=st.none() | st.sampled_from(Authority),
    speaker_id=maybe,
    speaker_kind=maybe,
    observed_ms=times_ms,
)
heads = st.builds(
    MessageHead,
    role=st.sampled_from(Role),
    authority=st.none() | st.sampled_from(Authority),
    speaker_id=maybe,
    speaker_kind=maybe,
    observed_ms=times_ms,
)
attributions = st.builds(
    Attribution,
    speaker_id=maybe,
    speaker_kind=maybe,
    subject=words,
    acting_subject=maybe,
    mounted_subject=maybe,
    agent_id=maybe,
    trigger=maybe,
)
sources = st.builds(
    Source, ingress=st.sampled_from(Ingress), channel=maybe, protocol=st.sampled_from(Protocol), model=maybe
)
references = st.builds(
    HostReference,
    host=words,
    type=words,
    id=words,
    relation=st.sampled_from(Relation),
    visibility=st.sampled_from(Visibility),
    label=maybe,
)
observations = st.builds(ToolObservation, id=words, tool=words, summary=words, external=st.booleans())
turns = st.builds(
    Turn,
    turn=names.map(TurnId),
    subject=names.map(SubjectId),
    conversation=names.map(ConversationId),
    messages=st.lists(messages, max_size=5),
    delivery=st.sampled_from(Delivery),
    source=sources,
    actor=st.none() | attributions.map(lambda actor: replace(actor, subject=None)),
    tools=st.lists(observations, max_size=3),
    host_refs=st.lists(references, max_size=5),
    external=st.booleans(),
    candidates=st.lists(words, max_size=2),
)


@st.composite
def committed(draw: st.DrawFn) -> tuple[TurnMeta, TurnContent]:
    """Draw the two bodies of a committed turn that belong together."""
    spoken = draw(st.lists(st.tuples(heads, st.lists(parts, min_size=1, max_size=4)), min_size=1, max_size=5))
    tools = draw(st.lists(observations, max_size=3))
    host_refs = draw(st.lists(references, max_size=5))
    meta = TurnMeta(
        actor=draw(attributions),
        source=draw(sources),
        delivery=DeliveryRecord(turn=draw(names), status=draw(st.sampled_from(Delivery))),
        messages=[head for head, _ in spoken],
        tools=[ToolRecord(id=tool.id, tool=tool.tool, external=tool.external) for tool in tools],
        host_refs=[
            ReferenceRecord(host=ref.host, type=ref.type, id=ref.id, relation=ref.relation, visibility=ref.visibility)
            for ref in host_refs
        ],
        external=draw(st.booleans()),
        candidates=draw(st.lists(words, max_size=2)),
    )
    content = TurnContent(
        parts=[inside for _, inside in spoken],
        digest=draw(st.binary(min_size=32, max_size=32)),
        summaries=[tool.summary for tool in tools],
        labels=[ref.label for ref in host_refs] if any(ref.label for ref in host_refs) else [],
    )
    return meta, content


@st.composite
def turn_records(draw: st.DrawFn) -> TurnRecord:
    """Draw a turn as the log has it, in any phase, with its words at hand."""
    meta, content = draw(committed())
    return TurnRecord(
        position=draw(st.integers(0, 2**53 - 1)),
        sequence=draw(st.integers(1, 2**53 - 1)),
        time_ms=draw(times_ms),
        mark=MARK,
        phase=draw(st.sampled_from(Phase)),
        meta=meta,
        content=content,
    )
