"""Our own small files in every foreign format, and the samples beside the checkout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import muniment
from muniment.events.identity import ConversationId, ConversationKey
from muniment.events.message import BlobPart, TextPart
from muniment.formats.reading.import_format import Format
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.importing.golden import GOLDEN, golden_of, sources
from tests.shared import need_shared

SAMPLES = "corpora/import_samples"


def name_of(path: Path) -> str:
    return path.name


def opened() -> Runtime:
    return muniment.open("memory:", options=Options(sources=seeded_sources("golden")))


@pytest.mark.parametrize("source", sources(), ids=name_of)
def test_a_file_is_understood_as_it_was_before(source: Path) -> None:
    for name, text in golden_of(source).items():
        assert text == (GOLDEN / name).read_text(encoding="utf-8"), name


def test_every_golden_file_belongs_to_a_file() -> None:
    stems = {path.stem for path in sources()}
    assert {path.name.partition(".")[0] for path in GOLDEN.iterdir()} == stems


@pytest.mark.parametrize("source", sources(), ids=name_of)
def test_a_second_import_adds_nothing(source: Path) -> None:
    with opened() as runtime:
        first = runtime.spaces.import_(str(source))
        second = runtime.spaces.import_(str(source), Format(source.stem))
        assert first.format == source.stem
        assert second.turns_committed == 0
        assert second.turns_already_there == first.turns_committed > 0


@pytest.mark.parametrize("source", sources(), ids=name_of)
def test_what_is_not_known_is_shown_to_the_raw_owner_alone(source: Path) -> None:
    """RP-03: nobody can say whether it is an answer, a step or a thought; the words of users are their own."""
    with opened() as runtime:
        runtime.spaces.import_(str(source))
        for view in View:
            asides = [
                message.parts
                for each in sorted(runtime.conversations.list_().conversations, key=lambda one: one.conversation)
                for turn in runtime.transcripts.replay(ConversationKey(conversation=each.conversation), view).turns
                for message in turn.messages
                if message.speaker_id == "import"
            ]
            assert all(bool(parts) == (view is View.RAW_OWNER) for parts in asides)


@pytest.mark.parametrize(
    ("name", "format_", "conversations", "turns", "unknown"),
    [("chatgpt-sample-00.json", "chatgpt", 2, 2, 3), ("claude-ai-sample-00.json", "claude", 1, 2, 8)],
)
def test_a_sample_is_imported_whole_and_only_once(
    name: str, format_: str, conversations: int, turns: int, unknown: int
) -> None:
    """Their structure is that of real exports; their types are made up, and so all is content of unknown types."""
    file = need_shared(f"{SAMPLES}/{name}")
    with opened() as runtime:
        first, second = runtime.spaces.import_(str(file)), runtime.spaces.import_(str(file))
        assert (first.format, first.conversations, first.turns_committed) == (format_, conversations, turns)
        assert (first.lines_refused, first.messages_refused) == (0, 0)
        assert sum(first.kept_as_json.values()) == unknown
        assert (second.turns_committed, second.turns_already_there) == (0, turns)


def test_no_text_of_a_sample_is_lost() -> None:
    """What its users said is words; the rest is there to the last value."""
    sample = json.loads(need_shared(f"{SAMPLES}/chatgpt-sample-00.json").read_text())
    with opened() as runtime:
        runtime.spaces.import_(str(need_shared(f"{SAMPLES}/chatgpt-sample-00.json")))
        parts = [
            part
            for each in sorted(runtime.conversations.list_().conversations, key=lambda one: one.conversation)
            for turn in runtime.transcripts.replay(key(each.conversation), View.RAW_OWNER).turns
            for message in turn.messages
            for part in message.parts or []
        ]
    kept: list[object] = [part.content for part in parts if isinstance(part, TextPart)]
    for part in parts:
        if isinstance(part, BlobPart):
            kept += json.loads(part.content).values()
    for node in sample["mapping"].values():
        for value in node["message"]["content"].values():
            assert value in kept or all(each in kept for each in value)


def key(conversation: str) -> ConversationKey:
    return ConversationKey(conversation=ConversationId(conversation))


SECRET = "swordfish"
MALFORMED: dict[Format, list[object]] = {
    Format.CHATGPT: [
        {"id": SECRET, "mapping": {SECRET: SECRET}},
        {"id": "c", "mapping": {SECRET: {"message": {"author": {"role": SECRET, SECRET: 1}, "content": SECRET}}}},
        {"id": "d", "mapping": {SECRET: {"parent": SECRET, "message": SECRET}}},
    ],
    Format.CLAUDE: [{"uuid": "c", "chat_messages": [{"sender": SECRET}, {"text": 3, "sender": "human", SECRET: 1}]}],
    Format.ANTHROPIC: [{"messages": [{"role": SECRET}, {"role": "user", "content": {SECRET: 1}}]}, {SECRET: SECRET}],
    Format.LANGCHAIN: [{"messages": [{"type": SECRET}, {"type": "human", "content": {SECRET: SECRET}}]}],
}


@pytest.mark.parametrize("format_", MALFORMED)
def test_no_report_quotes_what_it_refuses(format_: Format, tmp_path: Path) -> None:
    """A report goes where words must not: it has places, codes and counts."""
    file = tmp_path / "file.json"
    file.write_text(json.dumps(MALFORMED[format_], indent=1))
    with opened() as runtime:
        report = runtime.spaces.import_(str(file), format_)
    assert report.refused_lines
    assert report.turns_committed == 0
    assert SECRET not in repr(report)
