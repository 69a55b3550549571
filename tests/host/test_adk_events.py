"""Events of Google's Agent Development Kit in a store: exact, and words where words belong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("google.adk", reason="google-adk is not installed")

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.genai import types

import muniment
from muniment import Passage, Runtime, View
from muniment.events.changes import RedactionReason
from muniment.host.adk_sessions import MunimentSessions
from muniment.host.histories.adk_places import SessionName
from tests.host.adk import APP, USER, begun, read, run, said


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """Open a store in memory."""
    with muniment.open("memory:") as opened:
        yield opened


WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(WORDS, JSON, max_size=3)


def made(model: Callable[..., Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for models with these fields."""
    return st.fixed_dictionaries(fields).map(lambda values: model(**values))


PARTS = st.one_of(
    made(types.Part, text=WORDS),
    made(types.Part, text=WORDS, thought=st.just(True), thought_signature=st.binary(max_size=5)),
    made(types.Part, inline_data=made(types.Blob, data=st.binary(max_size=9), mime_type=st.just("image/png"))),
    made(types.Part, file_data=made(types.FileData, file_uri=st.just("gs://b/c"), mime_type=st.just("a/b"))),
    made(types.Part, function_call=made(types.FunctionCall, id=st.just("1"), name=WORDS, args=OBJECTS)),
    made(types.Part, function_call=made(types.FunctionCall, name=st.just("f"))),
    made(types.Part, function_response=made(types.FunctionResponse, id=st.just("1"), name=WORDS, response=OBJECTS)),
    made(
        types.Part,
        executable_code=made(types.ExecutableCode, code=WORDS, language=st.just(types.Language.PYTHON)),
    ),
    made(
        types.Part,
        code_execution_result=made(types.CodeExecutionResult, output=WORDS, outcome=st.just(types.Outcome.OUTCOME_OK)),
    ),
)
CONTENTS = st.none() | made(
    types.Content, role=st.sampled_from(["user", "model"]), parts=st.none() | st.lists(PARTS, max_size=4)
)
ACTIONS = made(
    EventActions,
    state_delta=st.dictionaries(WORDS.filter(lambda key: not key.startswith("temp:")), JSON, max_size=3),
    agent_state=st.none() | OBJECTS,
    transfer_to_agent=st.none() | WORDS,
    compaction=st.none()
    | made(
        EventCompaction,
        start_timestamp=st.just(1.5),
        end_timestamp=st.just(2.25),
        compacted_content=CONTENTS.filter(lambda content: content is not None),
    ),
)
EVENTS = made(
    Event,
    author=st.sampled_from(["user", "clerk"]),
    invocation_id=st.sampled_from(["", "e-1"]),
    content=CONTENTS,
    actions=ACTIONS,
    output=st.none() | JSON,
    long_running_tool_ids=st.none() | st.sets(WORDS, max_size=2),
    branch=st.none() | WORDS,
    timestamp=st.floats(0, 4e9),
    custom_metadata=st.none() | OBJECTS,
    error_message=st.none() | WORDS,
    output_transcription=st.none() | made(types.Transcription, text=WORDS, finished=st.just(True)),
)


PLENTY = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class TestEvents:
    @PLENTY
    @given(events=st.lists(EVENTS, min_size=1, max_size=4))
    def test_an_event_comes_back_exactly(self, events: list[Event]) -> None:
        """What is appended is what is read, whatever it says; names in what calls were given come back sorted."""

        async def play() -> None:
            with muniment.open("memory:") as runtime:
                service = MunimentSessions(runtime)
                session = await begun(service)
                given_events = [event.model_copy(deep=True) for event in events]
                for event in events:
                    await service.append_event(session, event)
                stored = await read(service, session)
                assert stored is not None
                assert stored.events == given_events

        run(play())

    def test_words_are_evidence_and_nothing_else_is_shown(self, runtime: Runtime) -> None:
        async def play() -> None:
            service = MunimentSessions(runtime)
            session = await begun(service, secret="opening")
            await service.append_event(session, said("What is a muniment?", secret="shelf"))
            await service.append_event(session, said("A document kept as evidence.", "clerk", answer="It is kept."))

        run(play())
        key = SessionName(APP, USER, "s").key
        for view in (View.HOST_UI, View.EXPORT, View.MODEL_CONTEXT):
            turns = runtime.transcripts.replay(key, view).turns
            shown = [part for turn in turns for message in turn.messages for part in message.parts]
            assert [getattr(part, "content", None) for part in shown] == [
                "What is a muniment?", "A document kept as evidence."
            ]  # fmt: skip
        hits = runtime.transcripts.search("muniment", View.HOST_UI).hits
        assert [hit.is_context for hit in hits] == [False, True]
        assert runtime.transcripts.search("shelf", View.HOST_UI).hits == []

    @pytest.mark.parametrize("state", [{"city": "Rome"}, {"there": {"city": "Rome"}}, {"all": [{"city": "Rome"}]}])
    def test_a_session_is_read_when_a_state_that_is_a_result_is_redacted(self, runtime: Runtime, state: Any) -> None:
        """A state is a mapping, whatever is withheld of it."""
        key = SessionName(APP, USER, "s").key

        async def play() -> None:
            service = MunimentSessions(runtime)
            session = await begun(service)
            answer = types.FunctionResponse(id="1", name="where", response={"city": "Rome"})
            content = types.Content(role="user", parts=[types.Part(function_response=answer)])
            actions = EventActions(state_delta=dict(state))
            meta = {"city": "Rome"}
            event = Event(author="clerk", content=content, actions=actions, custom_metadata=meta)
            await service.append_event(session, event)
            before = await read(service, session)
            assert before is not None
            assert before.state == state
            _withhold(runtime, key)
            after = await read(service, session)
            assert after is not None
            assert "Rome" not in repr(after)
            assert len(after.events) == 1

        run(play())

    def test_what_repeats_withheld_words_is_left_out(self, runtime: Runtime) -> None:
        key = SessionName(APP, USER, "s").key
        segment = types.Segment(text="hunter2")
        picture = types.FunctionResponsePart(
            inline_data=types.FunctionResponseBlob(data=b"hunter2", mime_type="image/png")
        )
        event = Event(
            author="clerk",
            content=types.Content(
                role="model",
                parts=[
                    types.Part(text="It is hunter2", thought_signature=b"hunter2"),
                    types.Part(function_response=types.FunctionResponse(id="1", name="f", parts=[picture])),
                    types.Part(inline_data=types.Blob(data=b"hunter2", mime_type="image/png")),
                ],
            ),
            grounding_metadata=types.GroundingMetadata(grounding_supports=[types.GroundingSupport(segment=segment)]),
            logprobs_result=types.LogprobsResult(chosen_candidates=[types.LogprobsResultCandidate(token="hunter2")]),
        )

        async def play() -> None:
            service = MunimentSessions(runtime)
            session = await begun(service)
            given_event = event.model_copy(deep=True)
            await service.append_event(session, event)
            before = await read(service, session)
            assert before is not None
            assert before.events == [given_event]
            _withhold(runtime, key)
            after = await read(service, session)
            assert after is not None
            assert "hunter2" not in repr(after)
            (shown,) = after.events
            assert (shown.author, shown.id) == (given_event.author, given_event.id)

        run(play())


def _withhold(runtime: Runtime, key: Any) -> None:
    """Redact the message of the newest turn of a conversation for models."""
    turn = runtime.transcripts.replay(key, View.RAW_OWNER).turns[-1].turn
    passage = Passage(turn=turn, message=0)
    runtime.transcripts.redact(key, passage, [View.MODEL_CONTEXT], RedactionReason.LEGAL, "host")
