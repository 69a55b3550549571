"""Lines as the messages of an interface, and what each interface supports.

| shape | system text | results of tools | neighbours of one role |
|---|---|---|---|
| openai (chat completions) | messages, first | messages of the tool, behind the calls | stay apart |
| anthropic (messages) | the field `system` | blocks in the user's next message | are joined; the user begins |
| otel (semantic conventions of generative AI) | messages, first | messages of the tool, behind the calls | stay apart |

What a shape does not support is decided before (`ShapeFormat.carries`), so nothing is left out here.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from muniment.events.message import (
    AttachmentPart,
    BlobPart,
    FilePart,
    Part,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from muniment.operations.context.pairs import Carries
from muniment.operations.context.prompt import Shape
from muniment.operations.context.prompt_lines import Answered, FileTypes, Line, as_json, result_text

Message = dict[str, Any]

IMAGE = "image"
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
PDF = "application/pdf"
SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


class ShapeFormat(NamedTuple):
    """How a shape is written: its messages, its files (None for an unsupported one), the roles that may have files.

    `user_first`: the user has to begin. `system_field`: system text has a field of its own.
    """

    messages: Callable[[Sequence[Line]], list[Message]]
    file: Callable[[FileTypes], Message | None]
    file_roles: frozenset[Role]
    reasoning: bool = False
    user_first: bool = False
    system_field: bool = False

    def carries(self, *, files: bool) -> Carries:
        """Return what the shape supports, when files are kept or not."""
        return Carries(
            reasoning=self.reasoning,
            file=lambda role, part: files and role in self.file_roles and self.file(part) is not None,
        )


def _block(part: Part, file: Callable[[FileTypes], Message | None]) -> Message:
    """Return a part as a block of a shape that has text and files."""
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.content}
    assert isinstance(part, FileTypes), "everything else is a call, a result, or not carried"
    block = file(part)
    assert block is not None, "files that the shape does not support became text"
    return block


# --- OpenAI -----------------------------------------------------------------------------------------------------------


def _openai(lines: Sequence[Line]) -> list[Message]:
    return [message for line in lines for message in _openai_messages(line)]


def _openai_messages(line: Line) -> Iterator[Message]:
    message: Message = {"role": line.role.value, "content": _openai_content(line.parts)}
    if line.calls:
        message["tool_calls"] = [_openai_call(call) for call in line.calls]
    yield message
    for call in line.calls:
        yield {"role": "tool", "tool_call_id": call.id, "content": result_text(call.result)}


def _openai_content(parts: Sequence[Part]) -> str | list[Message] | None:
    if not parts:
        return None
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].content
    return [_block(part, _openai_file) for part in parts]


def _openai_call(call: Answered) -> Message:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": as_json(call.arguments)}}


def _openai_file(part: FileTypes) -> Message | None:
    if isinstance(part, FilePart):
        return {"type": "file", "file": {"file_id": part.file_id}}
    if isinstance(part, AttachmentPart):
        return None
    if not isinstance(part, BlobPart):
        return {"type": "image_url", "image_url": {"url": part.uri}} if _is_image(part) else None
    mime, data = part.mime_type or "", base64.b64encode(part.content).decode()
    if mime in SOUNDS:
        return {"type": "input_audio", "input_audio": {"data": data, "format": SOUNDS[mime]}}
    if mime in IMAGES:
        return {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}}
    if mime == PDF:
        return {"type": "file", "file": {"filename": "document.pdf", "file_data": f"data:{mime};base64,{data}"}}
    return None


# --- Anthropic --------------------------------------------------------------------------------------------------------


def _anthropic(lines: Sequence[Line]) -> list[Message]:
    messages: list[Message] = []
    for line in lines:
        for role, blocks in _anthropic_blocks(line):
            if messages and messages[-1]["role"] == role:
                messages[-1]["content"] += blocks
            else:
                messages.append({"role": role, "content": blocks})
    return messages


def _anthropic_blocks(line: Line) -> Iterator[tuple[str, list[Message]]]:
    """Yield the blocks of a line, then those with the results of its calls, each with who says them."""
    blocks = [_block(part, _anthropic_file) for part in line.parts]
    yield line.role.value, blocks + [_anthropic_call(call) for call in line.calls]
    if line.calls:
        yield Role.USER.value, [_anthropic_result(call) for call in line.calls]


def _anthropic_call(call: Answered) -> Message:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def _anthropic_result(call: Answered) -> Message:
    """Return a result; one that was imported as an error (`{"content", "is_error"}`) is one again."""
    result, failed = call.result, False
    if isinstance(result, dict) and result.keys() == {"content", "is_error"} and result["is_error"] is True:
        result, failed = result["content"], True
    block: Message = {"type": "tool_result", "tool_use_id": call.id, "content": result_text(result)}
    return {**block, "is_error": True} if failed else block


def _anthropic_file(part: FileTypes) -> Message | None:
    mime = part.mime_type or ""
    kind = IMAGE if _is_image(part) else "document"
    if isinstance(part, FilePart):
        return {"type": kind, "source": {"type": "file", "file_id": part.file_id}}
    if isinstance(part, AttachmentPart) or (kind == "document" and mime != PDF):
        return None
    if not isinstance(part, BlobPart):
        return {"type": kind, "source": {"type": "url", "url": part.uri}}
    if mime not in IMAGES and mime != PDF:
        return None
    data = base64.b64encode(part.content).decode()
    return {"type": kind, "source": {"type": "base64", "media_type": mime, "data": data}}


def _is_image(part: FileTypes) -> bool:
    return part.modality == IMAGE or (part.mime_type or "").startswith(f"{IMAGE}/")


# --- OpenTelemetry ----------------------------------------------------------------------------------------------------


def _otel(lines: Sequence[Line]) -> list[Message]:
    return [message for line in lines for message in _otel_messages(line)]


def _otel_messages(line: Line) -> Iterator[Message]:
    calls = [ToolCallPart(name=call.name, id=call.id, arguments=call.arguments) for call in line.calls]
    yield _otel_message(line.role, [*line.parts, *calls])
    for call in line.calls:
        yield _otel_message(Role.TOOL, [ToolCallResponsePart(response=call.result, id=call.id)])


def _otel_message(role: Role, parts: Sequence[Part]) -> Message:
    return {"role": role.value, "parts": [_otel_part(part) for part in parts]}


def _otel_part(part: Part) -> Message:
    built: Message = msgspec.to_builtins(part)
    if isinstance(part, ToolCallResponsePart):
        built.setdefault("response", None)  # a result may be null; it is never absent
    return built


WRITINGS: dict[Shape, ShapeFormat] = {
    Shape.OPENAI: ShapeFormat(_openai, _openai_file, frozenset({Role.USER})),
    Shape.ANTHROPIC: ShapeFormat(
        _anthropic, _anthropic_file, frozenset({Role.USER}), user_first=True, system_field=True
    ),
    Shape.OTEL: ShapeFormat(_otel, _otel_part, frozenset(Role), reasoning=True),
}  # fmt: skip
