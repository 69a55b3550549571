"""An event of Google's Agent Development Kit, as JSON, as an item of a history: words apart from all else.

| in the event | becomes |
|---|---|
| text, thoughts, transcriptions, the summary of a compaction | text and reasoning parts |
| calls of functions, code to run | calls; their answers, results |
| inline data, files | blobs, addresses |
| everything else: ids, actions, state, numbers | stays in the shape, which views do not show |

A string or a value of the shape that is the same as a part's is a reference to it: what hides the words hides them
there, too, as in a state value that is the whole answer; a state or metadata that are this as a whole are then empty.
Where anything of an event is withheld, what may repeat words of it is left out: grounding, log probabilities,
citations, the files of results. State is what code of the agent wrote: a value that only
contains such words is not reached.

Arguments of calls and what calls returned are values of JSON: the names in them come back sorted, 1.0 as 1.

Sessions, the state of users and that of apps are conversations of one channel: `APP/USER/SESSION`, `APP/USER`, `APP`.
Each turn has one item, which is one of these, with `keys` or `at` (`host.keyed_history`):

| item | is |
|---|---|
| `created` (seconds), `nonce`, `sets` | the begin of a session, with its first state; before it are older ones |
| `event`, an event | sets what its `state_delta` has without a prefix |
| `sets`, `updated` (seconds) | a change of state: of the state that sessions share; of a session that was imported |
| `deleted` | the end of a session; only there until the erasure that follows |
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from msgspec.structs import replace

from muniment.errors import NotCanonical
from muniment.events.message import (
    Authority,
    BlobPart,
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
    is_blank,
)
from muniment.formats.parted_items import Gap, Item, ItemShape, PartedItem, Path, Spelling
from muniment.formats.turn_items import messages_of_items
from muniment.governance.admission import OBSERVED_MS_MAX
from muniment.kernel.canonical import encode

EVENT = "event"
SETS, CREATED, UPDATED, DELETED, KEYS, AT = "sets", "created", "updated", "deleted", "keys", "at"
USER = "user"  # the author of what users say
SUMMARY: Path = ("actions", "compaction", "compacted_content", "parts")
CODE = "code_execution"  # the name of the call that a piece of code is
# what may repeat the words of an event: it is left out of one of which anything is withheld
REPEATS_WORDS = ("grounding_metadata", "logprobs_result", "citation_metadata", "live_session_resumption_update")
PART_FIELDS: Mapping[str, frozenset[str]] = {  # what is left of a part, and of what is in it
    "text": frozenset(),
    "thought": frozenset(),
    "function_call": frozenset({"id", "name", "args", "will_continue"}),
    "function_response": frozenset({"id", "name", "response", "scheduling", "will_continue"}),
    "executable_code": frozenset({"id", "language", "code"}),
    "code_execution_result": frozenset({"id", "outcome", "output"}),
    "inline_data": frozenset({"data", "mime_type"}),
    "file_data": frozenset({"file_uri", "mime_type"}),
}
# where code of an agent writes what it likes, perhaps words that it was given
WRITTEN_BY_AGENTS: tuple[Path, ...] = (
    ("actions", "state_delta"),
    ("actions", "agent_state"),
    ("actions", "set_model_response"),
    ("custom_metadata",),
    ("error_message",),
    ("output",),
)


def conversation_of(app: str, user: str | None = None, session: str | None = None) -> str:
    """Return the conversation of a session, or of the state of a user or an app."""
    names = [each.replace("%", "%25").replace("/", "%2F") for each in (app, user) if each is not None]
    return "/".join([*names, *([] if session is None else [session])])


def session_of(conversation: str) -> tuple[str, str, str] | None:
    """Return the app, the user and the session that a conversation is of; None for one of no session."""
    names = conversation.split("/", 2)
    return (unquote(names[0]), unquote(names[1]), names[2]) if len(names) == 3 else None


def state_of_session(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a state is kept with the session: the keys without a prefix of ADK."""
    return {key: value for key, value in state.items() if not key.startswith(("app:", "user:", "temp:"))}


def event_messages(parted: PartedItem, at_s: float, author: str | None = None) -> list[Message]:
    """Return the messages of the turn of an item. One that says nothing is shown to the owner alone."""
    ms = int(at_s * 1000)
    said, shape = messages_of_items([parted], [ms if 0 <= ms <= OBSERVED_MS_MAX else 0])
    if isinstance(parted.parts[0], BlobPart) and not parted.parts[0].content:
        return [replace(said, authority=Authority.OPERATOR_DIAGNOSTIC), shape]
    is_of_agent = parted.role is Role.ASSISTANT and author not in {None, "", USER}
    return [replace(said, speaker_id=author) if is_of_agent else said, shape]


def silent(item: Item) -> PartedItem:
    """Return an item that says nothing; a message has to say something."""
    return PartedItem(Role.SYSTEM, [BlobPart(content=b"")], ItemShape(item, (), 1), 0)


def parted_event(item: Item) -> PartedItem:
    """Take an item apart that has an event: its words become parts, all else the shape. The item is not to be used."""
    size = len(json.dumps(item))
    said = [one for one in _said(item[EVENT]) if not is_blank(one.part)]
    if not said:
        return silent(item)
    spelled = [Spelling.BASE64 if isinstance(one.part, BlobPart) else Spelling.PLAIN for one in said]
    gaps = [
        Gap((EVENT, *one.path), place, spelling)
        for place, (one, spelling) in enumerate(zip(said, spelled, strict=True))
        if one.value is not None
    ]
    for gap in gaps:
        _put(item, gap.path, None)
    for path in WRITTEN_BY_AGENTS:
        gaps += _references(_inside(item, (EVENT, *path)), (EVENT, *path), said, Spelling.MAPPING)
    for gap in gaps:
        _put(item, gap.path, None)
    return PartedItem(_role(item[EVENT]), [one.part for one in said], ItemShape(item, gaps, len(said)), size)


def event_left(item: Item) -> Item:
    """Return the shape of an item without what repeats words of its event, for one of which some are withheld.

    The item is not to be used again.
    """
    event = item.get(EVENT)
    if event is None:
        return item
    for field in REPEATS_WORDS:
        event.pop(field, None)
    for field in ("input_transcription", "output_transcription"):
        for repeated in ("words", "speaker_label"):
            (event.get(field) or {}).pop(repeated, None)
    actions = event.get("actions") or {}
    actions.pop("render_ui_widgets", None)
    for confirmation in (actions.get("requested_tool_confirmations") or {}).values():
        for repeated in ("hint", "payload"):
            confirmation.pop(repeated, None)
    for parts in (parts_of_event(event), _inside(event, SUMMARY) or []):
        parts[:] = map(_part_left, parts)
    return item


def _part_left(part: Item) -> Item:
    return {
        field: {name: each for name, each in value.items() if name in PART_FIELDS[field]}
        if isinstance(value, dict)
        else value
        for field, value in part.items()
        if field in PART_FIELDS
    }


class _SaidPart(NamedTuple):
    """Words of an event: where they are in its JSON, what is there (None: nothing), and the part that they become."""

    path: Path
    value: Any
    part: Part


def _said(event: Item) -> Iterator[_SaidPart]:
    for place, part in enumerate(parts_of_event(event)):
        yield from _said_in_part(part, ("content", "parts", place))
    for field in ("input_transcription", "output_transcription"):
        text = (event.get(field) or {}).get("text")
        if text is not None:
            yield _SaidPart((field, "text"), text, TextPart(content=text))
    for place, part in enumerate(_inside(event, SUMMARY) or ()):
        yield from _said_in_part(part, (*SUMMARY, place))


def _said_in_part(part: Item, path: Path) -> Iterator[_SaidPart]:
    """Yield what a part of a content says: one thing, unless it is of a kind that says nothing."""
    if isinstance(text := part.get("text"), str):
        said = ReasoningPart(content=text) if part.get("thought") else TextPart(content=text)
        yield _SaidPart((*path, "text"), text, said)
    if (call := part.get("function_call")) is not None:
        value = call.get("args")
        asked = ToolCallPart(name=call.get("name") or "", id=call.get("id"), arguments=_kept(value))
        yield _SaidPart((*path, "function_call", "args"), value, asked)
    if (answer := part.get("function_response")) is not None:
        value = answer.get("response")
        given = ToolCallResponsePart(id=answer.get("id"), response=_kept(value))
        yield _SaidPart((*path, "function_response", "response"), value, given)
    if (code := part.get("executable_code")) is not None:
        value = code.get("code")
        yield _SaidPart((*path, "executable_code", "code"), value, ToolCallPart(name=CODE, arguments=value))
    if (result := part.get("code_execution_result")) is not None:
        value = result.get("output")
        yield _SaidPart((*path, "code_execution_result", "output"), value, ToolCallResponsePart(response=value))
    if (inline := part.get("inline_data")) is not None and inline.get("data"):
        blob = BlobPart(content=base64.urlsafe_b64decode(inline["data"]), mime_type=inline.get("mime_type"))
        yield _SaidPart((*path, "inline_data", "data"), inline["data"], blob)
    if (file := part.get("file_data")) is not None and file.get("file_uri"):
        uri = UriPart(uri=file["file_uri"], mime_type=file.get("mime_type"))
        yield _SaidPart((*path, "file_data", "file_uri"), file["file_uri"], uri)


def _references(
    value: Any, path: Path, said: Sequence[_SaidPart], of_object: Spelling = Spelling.OBJECT
) -> Iterator[Gap]:
    """Yield gaps for what is the same as the words of a part; `of_object` is how an object is spelled there."""
    if value in ("", None, [], {}):
        return
    if isinstance(value, str | dict | list):
        for place, one in enumerate(said):
            if one.value == value and not isinstance(one.part, BlobPart) and _kept(value) is value:
                if json.dumps(one.value, sort_keys=True) != json.dumps(value, sort_keys=True):
                    continue  # of another type: 1 is no True
                is_object, is_list = isinstance(value, dict), isinstance(value, list)
                yield Gap(path, place, of_object if is_object else Spelling.LIST if is_list else Spelling.PLAIN)
                return
    if isinstance(value, str):
        return
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for member, each in members:
        yield from _references(each, (*path, member), said)


def _role(event: Item) -> Role:
    if _inside(event, ("actions", "compaction")) is not None:
        return Role.SYSTEM
    if any("function_response" in part or "code_execution_result" in part for part in parts_of_event(event)):
        return Role.TOOL
    return Role.USER if event.get("author") == USER else Role.ASSISTANT


def parts_of_event(event: Mapping[str, Any]) -> list[Item]:
    """Return the parts of what an event says; what is put into them is put into the event."""
    parts: list[Item] = _inside(event, ("content", "parts")) or []
    return parts


def _inside(value: Any, path: Path) -> Any:
    """Return what is at a path, or None."""
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _put(item: Item, path: Path, value: Any) -> None:
    """Put a value into a place of an item."""
    inside: Any = item
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = value


def _kept(value: Any) -> Any:
    """Return a value as a part has it: itself, or its JSON where that has a number or a text that no part can have."""
    try:
        encode(value)
    except NotCanonical:
        return json.dumps(value)
    return value
