"""Messages of LangChain as items of a history, and back: exactly, by `messages_to_dict` and `messages_from_dict`.

Words and calls are parts of messages as `Turn.from_langchain` reads them. What a provider tells of its answer, such as
the name of the model, is its form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict

from muniment.errors import InvalidInput
from muniment.events.message import Role, ToolCallResponsePart
from muniment.events.turn import Turn
from muniment.formats.parted_items import FIELDS_OF_FORM, Item, SpokenItem, named_below, words_by_role
from muniment.formats.turns import read_messages
from muniment.host.histories.item_history import ItemHistory
from muniment.runtime.runtime import Runtime

LANGCHAIN = "langchain"
METADATA = "response_metadata"
TYPE_OF_METADATA = "langchain.response_metadata"
OF_MESSAGE = FIELDS_OF_FORM | {"chunk_position", "tool_call_id"}
OF_METADATA = FIELDS_OF_FORM | {"model_provider", "outcome", "service_tier", "system_fingerprint"}
OF_CALL = ("id", "name")
OF_BLOCK = ("detail", "file_id", "id", "index", "media_type", "mime_type", "tool_call_id", "tool_use_id")
FORM = (
    FIELDS_OF_FORM
    | named_below("data", OF_MESSAGE)
    | named_below(f"data.{METADATA}", OF_METADATA)
    | named_below("data.tool_calls", OF_CALL)
    | named_below("data.invalid_tool_calls", OF_CALL)
    | named_below("data.tool_call_chunks", OF_CALL)
    | named_below("data.content", OF_BLOCK)
    | named_below("data.content.source", ("media_type",))
)


def langchain_history(store: Runtime, turn: Turn) -> ItemHistory:
    """Return the history of messages of LangChain in the conversation of a turn."""
    return ItemHistory(store, turn, words_of=words_of_message, fields_of_form=FORM, requester=LANGCHAIN)


def items_of(messages: Iterable[BaseMessage]) -> list[Item]:
    """Return messages as items. Metadata say what they are, so that short values in them are form."""
    items = []
    for message in messages:
        item = message_to_dict(message)
        data = item["data"]
        items.append({**item, "data": {**data, METADATA: {"type": TYPE_OF_METADATA, **data[METADATA]}}})
    return items


def messages_of(items: Sequence[Item]) -> list[BaseMessage]:
    """Return the messages that items are of."""
    for item in items:
        metadata = item["data"].get(METADATA, {})
        if metadata.get("type") == TYPE_OF_METADATA:
            del metadata["type"]
    return messages_from_dict(list(items))


def words_of_message(item: Item) -> SpokenItem:
    """Return who says an item, and the parts of it."""
    data = item["data"]
    if item["type"] == "tool":
        return SpokenItem(Role.TOOL, [ToolCallResponsePart(id=data["tool_call_id"], response=data["content"])])
    try:
        messages, _ = read_messages(LANGCHAIN, [item])
    except InvalidInput:  # of a kind of its own: its texts are kept
        return words_by_role(data)
    return SpokenItem(messages[-1].role, messages[-1].parts())
