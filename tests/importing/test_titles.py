"""Imported conversations keep the title that the file gives them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.events.changes import Transition
from muniment.events.identity import ConversationId, ConversationKey
from muniment.governance.detection.detection import Detect
from muniment.governance.detection.scan import DetectedType
from muniment.kernel.sources import seeded_sources
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options

FILES = Path("fixtures/imports")


def node(name: str, parent: str | None, role: str, text: str) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    return {"id": name, "parent": parent, "message": {"author": {"role": role}, "content": content}}


MAPPING = {"q": node("q", None, "user", "hello"), "a": node("a", "q", "assistant", "yes")}
CHAT = {"conversation_id": "c", "current_node": "a", "mapping": MAPPING}


def space(detect: Detect | None = None) -> Runtime:
    options = Options(sources=seeded_sources("titles"), detect=detect or Detect())
    return muniment.open("memory:", options=options)


def titles(runtime: Runtime) -> dict[str, str | None]:
    return {one.conversation: one.title for one in runtime.conversations.list_(limit=500).conversations}


def file_of(title: Any) -> io.BytesIO:
    return io.BytesIO(json.dumps([{**CHAT, "title": title}]).encode())


@pytest.mark.parametrize(("name", "title"), [("chatgpt", "Seeds for the window box"), ("claude", "Fence paint")])
def test_a_title_is_kept_and_a_repeat_adds_nothing(name: str, title: str) -> None:
    with space() as runtime:
        runtime.spaces.import_(FILES / f"{name}.json")
        found = titles(runtime)
        assert title in found.values()
        events = runtime.spaces.usage().events
        runtime.spaces.import_(FILES / f"{name}.json")
        assert (titles(runtime), runtime.spaces.usage().events) == (found, events)
        assert runtime.evidence.inspect().findings == []


def test_a_title_that_somebody_gave_since_stays() -> None:
    key = ConversationKey(conversation=ConversationId("c"))
    with space() as runtime:
        runtime.spaces.import_(file_of("first"))
        runtime.conversations.describe(key, "mine")
        runtime.spaces.import_(file_of("second"))
        assert titles(runtime) == {"c": "mine"}
        runtime.lifecycle.request(key, Transition.ERASE, "why", "who")
        runtime.spaces.import_(file_of("third"))
        assert "third" not in str(runtime.transcripts.replay(key, muniment.View.RAW_OWNER))


@pytest.mark.parametrize(
    ("given", "kept"),
    [(None, None), (7, None), ({"a": 1}, None), ("", None), (" a \n b ", "a b"), ("ä" * 2000, "ä" * 512)],
)
def test_what_is_no_title_is_left_out_and_a_long_one_is_cut(given: Any, kept: str | None) -> None:
    with space() as runtime:
        report = runtime.spaces.import_(file_of(given))
        assert (report.turns_committed, report.lines_refused) == (1, 0)
        assert titles(runtime) == {"c": kept}


def test_what_is_detected_before_commits_is_in_no_title() -> None:
    with space(Detect(before_commit=frozenset({DetectedType.EMAIL}))) as runtime:
        runtime.spaces.import_(file_of("mail to ada@example.org now"))
        runtime.conversations.describe(ConversationKey(conversation=ConversationId("c")), tags=["ada@example.org"])
        (entry,) = runtime.conversations.list_().conversations
        assert "ada@example.org" not in f"{entry.title} {entry.tags}"
        assert entry.title is not None
        assert entry.title.startswith("mail to [")
