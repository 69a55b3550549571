"""Files to import: conversations as lines, and worlds that import them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.governance.views import View
from muniment.runtime.runtime import Runtime

Line = dict[str, Any]


class Pipe(io.BytesIO):
    """A stream that cannot go back, like standard input."""

    def seekable(self) -> bool:
        """Say that it cannot."""
        return False

    def seek(self, *_: Any) -> int:
        """Refuse, as a pipe does."""
        raise io.UnsupportedOperation

    tell = seek


def line(conversation: str, role: str, text: str) -> Line:
    """Return a message in OpenTelemetry parts."""
    return {"conversation_id": conversation, "role": role, "parts": [{"type": "text", "content": text}]}


def talk(conversation: str, turns: int, steps: int = 0) -> list[Line]:
    """Return a conversation: system text, then turns of question, steps and answer."""
    lines = [line(conversation, "system", f"rules of {conversation}")]
    for turn in range(1, turns + 1):
        lines.append(line(conversation, "user", f"question {turn} of {conversation}"))
        lines += [line(conversation, "tool", f"step {step} of {turn}") for step in range(steps)]
        lines.append(line(conversation, "assistant", f"answer {turn} of {conversation}"))
    return lines


def written(path: Path, lines: Iterable[Line | str | bytes]) -> str:
    """Write lines to a file and return its path."""
    data = b""
    for one in lines:
        data += one if isinstance(one, bytes) else one.encode() if isinstance(one, str) else json.dumps(one).encode()
        data += b"\n"
    path.write_bytes(data)
    return str(path)


def turns_in(runtime: Runtime, conversation: str) -> list[list[tuple[str, str]]]:
    """Return every turn of a conversation as roles and texts."""
    key = ConversationKey(conversation=ConversationId(conversation), channel=Channel("default"))
    page = runtime.transcripts.replay(key, View.RAW_OWNER, 500)
    return [[(str(message.role), _text(message.parts or [])) for message in turn.messages] for turn in page.turns]


def _text(parts: Sequence[Any]) -> str:
    return "|".join(part.content for part in parts)


def names_in(runtime: Runtime) -> list[str]:
    """Return the conversations of the space, sorted."""
    return sorted(one.conversation for one in runtime.conversations.list_(limit=500).conversations)
