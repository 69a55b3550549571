"""Sessions of the OpenAI Agents SDK (`openai-agents`), kept in a store.

    session = MunimentSession("support-42", "/var/lib/muniment", subject="ada")
    result = await Runner.run(agent, "Where is my parcel?", session=session)

`MunimentSession` implements the protocol `Session` of the SDK. A session is a conversation. What the SDK saves at once
is a turn: a run saves its input first, and then, after each answer of the model, this answer with the calls in it and
what they returned. So a run of one question that calls a tool is three turns: the question, the calls with their
results, and the answer. All turns of a run name its trace (`source.request_id`). Each is durable when it is saved, and
a run that breaks off leaves what it saved.

| item of the Responses API | message of the turn |
|---|---|
| message | user, assistant or system: text, files as blobs or addresses |
| reasoning, compaction | assistant: reasoning, also what the provider encrypted |
| any `..._call` | assistant: a tool call, with its result where the provider ran it |
| any `..._call_output` | tool: a tool call response |
| any other | as `formats.parted_items` takes it apart |

Items come back exactly as they were saved, unknown kinds too, but what was redacted or erased: `item_history` says how
they look then, and how `pop_item` and `clear_session` are recorded. Nothing is ever deleted by them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from agents import SessionSettings, get_current_trace
from agents.memory.session_settings import coerce_session_settings
from msgspec.structs import replace

from muniment.events.name_types import DEFAULT_CHANNEL, Channel, ConversationId, SubjectId, TurnId
from muniment.events.turn import Protocol, Source, Turn
from muniment.formats.responses_items import FIELDS_OF_ITEMS, words_of_item
from muniment.host.adapted_store import AdaptedStore, StoreGiven
from muniment.host.histories.item_history import ItemHistory
from muniment.host.off_loop import off_loop

if TYPE_CHECKING:
    from agents import RunContextWrapper, TResponseInputItem

NO_TRACE = "no-op"


class RunPlace(NamedTuple):
    """Whose words a run saves, and in which conversation. What is None is that of the session."""

    subject: str | None = None
    conversation: str | None = None


class MunimentSession:
    """A session of the OpenAI Agents SDK. Thread-safe; any number of them, in any loops, may share a store.

    `store` is a runtime that stays yours, or the path of a store that is opened here, and closed by `close`. `subject`
    is the person whose words these are. `place`, if given, is asked with the context of a run
    (`RunContextWrapper.context`) and tells its subject and conversation, so that one session object serves many people.
    The access needs the rights to read as owner, to append and to erase.
    """

    def __init__(
        self,
        session_id: str,
        store: StoreGiven,
        *,
        subject: str,
        channel: str = DEFAULT_CHANNEL,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        place: Callable[[Any], RunPlace] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or {})
        self._place = place
        self._like = Turn(
            turn=TurnId("session"),
            subject=SubjectId(subject),
            conversation=ConversationId(session_id),
            channel=Channel(channel),
            messages=[],
            source=Source(provider="openai-agents", protocol=Protocol.OPENAI_RESPONSES),
        )
        self._store = AdaptedStore(store)

    async def get_items(
        self, limit: int | None = None, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> list[TResponseInputItem]:
        """Return the newest `limit` items, oldest first; all, without a limit here and in `session_settings`.

        A negative limit is none.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        items = await off_loop(self._history(wrapper).newest, None if limit is not None and limit < 0 else limit)
        return cast("list[TResponseInputItem]", items)

    async def add_items(
        self, items: list[TResponseInputItem], *, wrapper: RunContextWrapper[Any] | None = None
    ) -> None:
        """Save items as one turn; when this returns they are durable, also when the caller is cancelled meanwhile.

        Raises `request.invalid` for what is no JSON, `request.limit_exceeded` for an item that is too large.
        """
        trace = get_current_trace()
        run = None if trace is None or trace.trace_id == NO_TRACE else trace.trace_id
        history = self._history(wrapper, run)
        await off_loop(history.append, cast("list[dict[str, Any]]", items))

    async def pop_item(self, *, wrapper: RunContextWrapper[Any] | None = None) -> TResponseInputItem | None:
        """Take the newest item out of the session and return it; None when there is none.

        It is hidden, not deleted: the owner still sees it, or can unmask its turn.
        """
        return cast("TResponseInputItem | None", await off_loop(self._history(wrapper).pop))

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Mask every turn that the session has now. `Runtime.lifecycle.erase` destroys them."""
        await off_loop(self._history(wrapper).clear)

    def close(self) -> None:
        """Close the store, where it was opened here."""
        self._store.close()

    def _history(self, wrapper: RunContextWrapper[Any] | None, run: str | None = None) -> ItemHistory:
        like = self._like
        if run is not None:
            like = replace(like, source=replace(like.source, request_id=run))
        if self._place is not None and wrapper is not None:
            subject, conversation = self._place(wrapper.context)
            like = replace(
                like,
                subject=like.subject if subject is None else SubjectId(subject),
                conversation=like.conversation if conversation is None else ConversationId(conversation),
            )
        return ItemHistory(self._store.runtime, like, words_of=words_of_item, fields_of_form=FIELDS_OF_ITEMS)
