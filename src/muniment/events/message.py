"""Messages and their parts: the OpenTelemetry GenAI vocabulary, with roles and authorities.

Part types follow the OpenTelemetry semantic conventions for generative AI (`text`, `reasoning`, `tool_call`,
`tool_call_response`, `blob`, `file`, `uri`); `attachment` is our own. Each role has a default authority.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct


class Role(StrEnum):
    """Who speaks in the protocol between host and model."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class Authority(StrEnum):
    """How far a statement can be relied on, and for whom it is intended."""

    USER_ASSERTED = "user_asserted"
    ASSISTANT_UTTERANCE = "assistant_utterance"
    ASSISTANT_SELF_CLAIM = "assistant_self_claim"
    RUNTIME_OBSERVATION = "runtime_observation"
    WORLD_OBSERVATION = "world_observation"
    PROGRAM_MEMORY_CANONICAL = "program_memory_canonical"
    ARCHIVE_EVIDENCE = "archive_evidence"
    SUBJECT_PROJECTION = "subject_projection"
    SOUL_GOVERNANCE = "soul_governance"
    PRIVATE_GARDEN_INTERNAL = "private_garden_internal"
    OPERATOR_DIAGNOSTIC = "operator_diagnostic"
    EXTERNAL_CONTENT = "external_content"
    LEGACY_TRANSCRIPT = "legacy_transcript"


DEFAULT_AUTHORITY: dict[Role, Authority] = {
    Role.USER: Authority.USER_ASSERTED,
    Role.ASSISTANT: Authority.ASSISTANT_UTTERANCE,
    Role.TOOL: Authority.LEGACY_TRANSCRIPT,
    Role.SYSTEM: Authority.LEGACY_TRANSCRIPT,
}


class TextPart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False, tag="text"):
    """Text."""

    content: str


class ReasoningPart(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False, tag="reasoning"
):
    """What a model wrote for itself before it answered."""

    content: str


class ToolCallPart(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False, tag="tool_call"
):
    """A call that the model requested. `arguments` is any JSON value."""

    name: str
    id: str | None = None
    arguments: Any = None


class ToolCallResponsePart(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    gc=False,
    tag="tool_call_response",
):
    """What a call returned. `response` is any JSON value; `id` is that of the call."""

    response: Any = None
    id: str | None = None


class BlobPart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False, tag="blob"):
    """Bytes given inline; in JSON they are base64."""

    content: bytes
    mime_type: str | None = None
    modality: str | None = None


class FilePart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False, tag="file"):
    """A file that a provider keeps under an id."""

    file_id: str
    mime_type: str | None = None
    modality: str | None = None


class UriPart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False, tag="uri"):
    """A resource at an address. The store never fetches it."""

    uri: str
    mime_type: str | None = None
    modality: str | None = None


class AttachmentPart(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False, tag="attachment"
):
    """A file that the store keeps beside the turn, up to 1 GiB: an image, a recording, a document.

    `attachments.add` takes the bytes and returns the part, with an `upload`; `transcripts.commit` takes the part and
    keeps it without. `size` is in bytes; `root` commits to the bytes (`evidence.verifier.attachment_root`).
    """

    size: Annotated[int, Meta(ge=0)]
    root: Annotated[bytes, Meta(min_length=32, max_length=32)]
    mime_type: str | None = None
    modality: str | None = None
    name: str | None = None
    upload: str | None = None

    def __str__(self) -> str:
        """Return what it is in a line, as where a page cannot show the file."""
        named = [self.name] if self.name else []
        return ", ".join([*named, self.mime_type or self.modality or "data", f"{self.size:,} bytes"])


Part = TextPart | ReasoningPart | ToolCallPart | ToolCallResponsePart | BlobPart | FilePart | UriPart | AttachmentPart
PART = Meta(title="Part")  # its name in schemas

TEXT_PARTS = (TextPart, ReasoningPart)


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """One message of a turn, as a host hands it over.

    `content` is text or a list of parts. `authority` and the speaker default by role. `observed_ms` (UTC milliseconds)
    is what the host claims, 0 means the time of the commit; retention never counts from it.
    """

    role: Role
    content: str | list[Annotated[Part, PART]]
    authority: Authority | None = None
    speaker_id: str | None = None
    speaker_kind: str | None = None
    observed_ms: int = 0

    def parts(self) -> list[Part]:
        """Return the content as parts; plain text is one text part."""
        return [TextPart(content=self.content)] if isinstance(self.content, str) else self.content


def is_blank(part: Part) -> bool:
    """Return whether a part is text without a visible character. A call, a result or a file is never blank."""
    return isinstance(part, TEXT_PARTS) and (not part.content or part.content.isspace())


def part_label(message: int, part: int) -> str:
    """Return the label of one part of one message."""
    return f"message/{message}/content/{part}"
