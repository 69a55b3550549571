"""Anthropic content blocks, in the Messages API and in exports of Claude; LangChain uses some of them.

| block | part |
|---|---|
| text | text; citations are omitted |
| thinking, redacted_thinking | reasoning (redacted data unchanged); signatures and summaries are omitted |
| tool_use, server_tool_use, mcp_tool_use | tool call |
| tool_result and the results of server tools | tool call response; an error is wrapped with `is_error` |
| image, document | blob, uri or file, by their source; text of a document is text |
| container_upload | file |

Any other block is kept as JSON (`parsed_item.kept_as_json`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from muniment.events.message import (
    BlobPart,
    FilePart,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from muniment.formats.reading.parsed_item import ParsedParts, ParsingNotes, from_base64, kept_as_json, read_or_none

CONTENT_BLOCK = "content_block"
CITATION = "citation"
SIGNATURE = "signature"
THINKING_SUMMARY = "thinking_summary"
TITLE = "title"

Many = list[msgspec.Raw] | None


class TextBlock(Struct, frozen=True, kw_only=True, tag="text"):
    """Text."""

    text: str
    citations: Many = None


class ThinkingBlock(Struct, frozen=True, kw_only=True, tag="thinking"):
    """Reasoning of the model."""

    thinking: str
    signature: str | None = None
    summaries: Many = None


class RedactedThinkingBlock(Struct, frozen=True, kw_only=True, tag="redacted_thinking"):
    """Reasoning, encrypted by the provider."""

    data: str


class ToolUse(Struct, frozen=True, kw_only=True, tag="tool_use"):
    """A call."""

    name: str
    input: Any = None
    id: str | None = None


class ServerToolUse(ToolUse, frozen=True, kw_only=True, tag="server_tool_use"):
    """A call of a tool that the provider runs."""


class McpToolUse(ToolUse, frozen=True, kw_only=True, tag="mcp_tool_use"):
    """A call of a tool of an MCP server."""


class ToolResult(Struct, frozen=True, kw_only=True, tag="tool_result"):
    """The result of a call."""

    tool_use_id: str | None = None
    content: Any = None
    is_error: bool | None = None


class McpToolResult(ToolResult, frozen=True, kw_only=True, tag="mcp_tool_result"):
    """The result of a call of a tool of an MCP server."""


class WebSearchResult(ToolResult, frozen=True, kw_only=True, tag="web_search_tool_result"):
    """The result of a search."""


class WebFetchResult(ToolResult, frozen=True, kw_only=True, tag="web_fetch_tool_result"):
    """The result of a fetch."""


class CodeExecutionResult(ToolResult, frozen=True, kw_only=True, tag="code_execution_tool_result"):
    """The result of executed code."""


class Base64Source(Struct, frozen=True, kw_only=True, tag="base64"):
    """Bytes."""

    data: str
    media_type: str | None = None


class PlainTextSource(Struct, frozen=True, kw_only=True, tag="text"):
    """The text of a document."""

    data: str


class UrlSource(Struct, frozen=True, kw_only=True, tag="url"):
    """The address of a document or image."""

    url: str


class FileSource(Struct, frozen=True, kw_only=True, tag="file"):
    """A file that the provider keeps."""

    file_id: str


BlockSource = Base64Source | PlainTextSource | UrlSource | FileSource


class ImageBlock(Struct, frozen=True, kw_only=True, tag="image"):
    """An image."""

    source: BlockSource


class DocumentBlock(Struct, frozen=True, kw_only=True, tag="document"):
    """A document. Its context is text."""

    source: BlockSource
    title: str | None = None
    context: str | None = None


class ContainerUpload(Struct, frozen=True, kw_only=True, tag="container_upload"):
    """A file in the container that runs code."""

    file_id: str


AnyToolUse = ToolUse | ServerToolUse | McpToolUse
AnyToolResult = ToolResult | McpToolResult | WebSearchResult | WebFetchResult | CodeExecutionResult
Block = (
    TextBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | AnyToolUse
    | AnyToolResult
    | ImageBlock
    | DocumentBlock
    | ContainerUpload
)


def read_blocks(raws: Iterable[msgspec.Raw], role: Role, notes: ParsingNotes) -> ParsedParts:
    """Return the parts of blocks, and the unknown blocks as JSON."""
    parsed = ParsedParts([], [])
    for raw in raws:
        block: Block | None = read_or_none(raw, Block)
        if block is None:
            parsed.extend(kept_as_json(raw, role, notes, CONTENT_BLOCK))
        else:
            parsed.parts.extend(parts_of(block, notes))
    return parsed


def parts_of(block: Block, notes: ParsingNotes) -> list[Part]:
    """Return the parts of a block."""
    if isinstance(block, TextBlock):
        notes.left_out[CITATION] += len(block.citations or [])
        return [TextPart(content=block.text)]
    if isinstance(block, ThinkingBlock):
        notes.left_out[SIGNATURE] += bool(block.signature)
        notes.left_out[THINKING_SUMMARY] += len(block.summaries or [])
        return [ReasoningPart(content=block.thinking)]
    if isinstance(block, RedactedThinkingBlock):
        return [ReasoningPart(content=block.data)]
    if isinstance(block, ToolUse):
        return [ToolCallPart(id=block.id, name=block.name, arguments=block.input)]
    if isinstance(block, ToolResult):
        response = {"content": block.content, "is_error": True} if block.is_error else block.content
        return [ToolCallResponsePart(id=block.tool_use_id, response=response)]
    if isinstance(block, ImageBlock):
        return [_source_part(block.source, "image")]
    if isinstance(block, ContainerUpload):
        return [FilePart(file_id=block.file_id)]
    notes.left_out[TITLE] += bool(block.title)
    context: list[Part] = [TextPart(content=block.context)] if block.context else []
    return [*context, _source_part(block.source, "document")]


def _source_part(source: BlockSource, modality: str) -> Part:
    if isinstance(source, Base64Source):
        return BlobPart(content=from_base64(source.data), mime_type=source.media_type, modality=modality)
    if isinstance(source, PlainTextSource):
        return TextPart(content=source.data)
    if isinstance(source, UrlSource):
        return UriPart(uri=source.url, modality=modality)
    return FilePart(file_id=source.file_id, modality=modality)
