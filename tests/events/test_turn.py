"""The vocabulary of messages and turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from muniment.events.message import (
    DEFAULT_AUTHORITY,
    Authority,
    BlobPart,
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    is_blank,
)
from muniment.events.references import Relation, Visibility
from muniment.events.turn import Attribution, Delivery, Ingress, Protocol, attributed, input_of_history
from tests.turns import asked, attributions, messages

VOCABULARY = {
    Role: "user assistant tool system",
    Authority: (
        "user_asserted assistant_utterance assistant_self_claim runtime_observation world_observation "
        "program_memory_canonical archive_evidence subject_projection soul_governance private_garden_internal "
        "operator_diagnostic external_content legacy_transcript"
    ),
    Delivery: "delivered user_only upstream_failed cancelled incomplete_stream rejected_by_policy",
    Ingress: "user system",
    Protocol: "openai_chat openai_responses ollama_chat ollama_generate native",
    Relation: "origin evidence_for trigger related",
    Visibility: "internal host_ui model_context operator_audit export",
}


@pytest.mark.parametrize("words", VOCABULARY, ids=lambda words: words.__name__)
def test_the_words_of_the_vocabulary_are_spelt_as_the_catalogue_spells_them(words: type[Role]) -> None:
    """TR-02, TR-03, TR-05, HR-01: wire spellings never change once released."""
    assert [word.value for word in words] == VOCABULARY[words].split()


def test_every_role_has_its_default_authority() -> None:
    """TR-06: user → user_asserted; assistant → assistant_utterance; any other → legacy_transcript."""
    assert {
        Role.USER: Authority.USER_ASSERTED,
        Role.ASSISTANT: Authority.ASSISTANT_UTTERANCE,
        Role.TOOL: Authority.LEGACY_TRANSCRIPT,
        Role.SYSTEM: Authority.LEGACY_TRANSCRIPT,
    } == DEFAULT_AUTHORITY


def test_plain_text_is_one_text_part() -> None:
    assert asked("hello").parts() == [TextPart(content="hello")]
    inside: list[Part] = [BlobPart(content=b"x")]
    assert Message(role=Role.USER, content=inside).parts() == inside


@pytest.mark.parametrize(
    ("part", "blank"),
    [
        (TextPart(content=""), True), (TextPart(content=" \n\u2003"), True), (TextPart(content="."), False),
        (ReasoningPart(content="\t"), True), (ReasoningPart(content="so"), False), (ToolCallPart(name=""), False),
        (ToolCallResponsePart(), False), (BlobPart(content=b""), False),
    ],
)  # fmt: skip
def test_only_text_without_a_visible_character_is_blank(part: Part, blank: bool) -> None:
    assert is_blank(part) is blank


# --- attribution ------------------------------------------------------------------------------------------------------


def test_without_attribution_every_identity_is_the_subject() -> None:
    """AC-02: the speaker kind is "subject", and nothing is said to have triggered the turn."""
    assert asdict(attributed(Attribution(subject="ada"))) == {
        "speaker_id": "ada", "speaker_kind": "subject", "subject": "ada", "acting_subject": "ada",
        "mounted_subject": "ada", "agent_id": "ada", "trigger": None,
    }  # fmt: skip


@given(attributions, st.text(min_size=1))
def test_given_identities_are_kept_apart_and_absent_ones_filled(actor: Attribution, subject: str) -> None:
    """AC-01, AC-02: each of the seven values is what was given, or the default where nothing was."""
    given_values = {**asdict(actor), "subject": subject}
    full = asdict(attributed(replace(actor, subject=subject)))
    for name, value in given_values.items():
        default = {"speaker_kind": "subject", "trigger": value}.get(name, subject)
        assert full[name] == (value or default)


# --- this turn's input ------------------------------------------------------------------------------------------------


@given(st.lists(messages))
def test_the_input_is_the_user_messages_after_the_last_assistant_entry(history: list[Message]) -> None:
    """TR-08: whatever that entry says, be it nothing; no state is kept."""
    expected: list[Message] = []
    for message in history:
        if message.role is Role.ASSISTANT:
            expected = []
        elif message.role is Role.USER:
            expected.append(message)
    assert input_of_history(history) == input_of_history(history) == expected


@pytest.mark.parametrize("boundary", ["", [], [ToolCallPart(name="look")]], ids=["empty", "no parts", "call"])
def test_an_empty_entry_and_a_tool_call_are_boundaries_too(boundary: str | list[Part]) -> None:
    """TR-08: the worked example."""
    history = [asked("old"), Message(role=Role.ASSISTANT, content=boundary), asked("new"), asked("newer")]
    assert input_of_history(history) == history[2:]
