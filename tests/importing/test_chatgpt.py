"""Conversations of ChatGPT: trees, and what their messages say."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.message import (
    BlobPart,
    FilePart,
    Message,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from muniment.events.references import HostReference, Relation, Visibility
from muniment.formats.reading import chatgpt as module
from muniment.formats.reading.chatgpt import chatgpt
from muniment.formats.reading.chatgpt_message import read_message
from muniment.formats.reading.parsed_item import ParsedItem, ParsingNotes

Tree = dict[str, str | None]  # node -> parent, oldest first


def chat(tree: Tree, current: str | None = None, *, children: bool = True) -> ParsedItem:
    """Read a conversation whose nodes each say their own name; the first of them are empty roots."""
    mapping = {
        name: {
            "parent": parent,
            "children": [each for each, of in tree.items() if of == name] if children else None,
            "message": said(name),
        }
        for name, parent in tree.items()
    }
    return chatgpt(json.dumps({"id": "c", "mapping": mapping, "current_node": current}).encode())


def said(text: str) -> dict[str, Any]:
    return {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}}


def words(spoken: ParsedItem) -> list[str]:
    return [part.content for message in spoken.messages for part in message.parts() if isinstance(part, TextPart)]


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Draw a forest: every node names one that is older, or none."""
    tree: Tree = {}
    for number in range(draw(st.integers(1, 12))):
        tree[f"n{number}"] = draw(st.none() | st.sampled_from(sorted(tree))) if tree else None
    return tree


@given(trees(), st.data(), st.booleans())
def test_every_message_is_imported_once_and_the_main_path_leads_to_the_current_node(
    tree: Tree, data: st.DataObject, children: bool
) -> None:
    """The main branch is the path to `current_node`; it and the branches share nothing, and together are the tree."""
    current = data.draw(st.sampled_from(sorted(tree)))
    spoken = chat(tree, current, children=children)
    path = [current]
    while (parent := tree[path[0]]) is not None:
        path.insert(0, parent)
    assert words(spoken) == path
    assert sorted([*path, *(word for branch in spoken.branches for word in words(branch))]) == sorted(tree)
    for branch in spoken.branches:
        nodes = words(branch)
        assert branch.conversation == f"c~{nodes[0]}"
        assert all(tree[node] == before for before, node in pairwise(nodes))
        assert not [node for node, parent in tree.items() if parent == nodes[-1]]


def test_a_branch_refers_to_the_conversation_and_the_message_that_it_departs_from() -> None:
    """HR-01: as its origin."""
    (branch,) = chat({"a": None, "b": "a", "c": "a"}, "b").branches
    assert branch.origin == tuple(
        HostReference(host="chatgpt", type=kind, id=name, relation=Relation.ORIGIN, visibility=Visibility.HOST_UI)
        for kind, name in (("conversation", "c"), ("message", "a"))
    )
    (other_root,) = chat({"a": None, "b": None}, "a").branches
    assert [reference.type for reference in other_root.origin] == ["conversation"]


def test_without_a_current_node_the_newest_path_is_the_conversation() -> None:
    tree: Tree = {"a": None, "b": "a", "c": "a", "d": "c"}
    assert words(chat(tree)) == words(chat(tree, "gone")) == ["a", "c", "d"]
    assert chatgpt(b'{"id":"c","mapping":{}}').messages == []


def test_nodes_below_the_current_node_are_a_branch() -> None:
    spoken = chat({"a": None, "b": "a", "c": "b"}, "a")
    assert [words(spoken), *map(words, spoken.branches)] == [["a"], ["b", "c"]]


def test_the_order_of_children_is_what_their_parent_says() -> None:
    mapping = {
        "a": {"parent": None, "children": ["c", "b", "c", "gone", "a"], "message": None},
        "b": {"parent": "a", "message": said("b")},
        "c": {"parent": "a", "message": said("c")},
    }
    spoken = chatgpt(json.dumps({"id": "c", "mapping": mapping}).encode())
    assert [words(spoken), *map(words, spoken.branches)] == [["b"], ["c"]]


def test_branches_that_say_nothing_are_no_conversations() -> None:
    mapping = {"a": {"message": said("a")}, "b": {"parent": "a", "message": None}, "c": {"parent": "a"}}
    spoken = chatgpt(json.dumps({"id": "c", "mapping": mapping, "current_node": "a"}).encode())
    assert (words(spoken), spoken.branches) == (["a"], ())


@pytest.mark.parametrize(
    ("given", "at", "problem"),
    [
        ({"mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}}, "mapping", "cyclic"),
        ({"mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}, "current_node": "a"}, "mapping", "cyclic"),
        ({"mapping": {"a": {}, "b": {"parent": "b"}}, "current_node": "a"}, "mapping", "cyclic"),
        ({"mapping": {"a": {}, "b": 3}}, "mapping[1]", "wrong_type"),
        ({"mapping": {}, "id": None}, "conversation_id", "missing_field"),
        ({"mapping": []}, "mapping", "wrong_type"),
    ],
)
def test_a_tree_that_is_none_is_refused(given: dict[str, Any], at: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        chatgpt(json.dumps({"id": "c", **given}).encode())
    assert (refusal.value.at, refusal.value.problem) == (at, problem)


def test_the_number_of_nodes_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TREE_NODES_MAX", 2)
    with pytest.raises(LimitExceeded) as refusal:
        chat({"a": None, "b": "a", "c": "b"})
    assert (refusal.value.limit, refusal.value.found) == (2, 3)


def test_a_message_without_a_time_has_that_of_the_one_before() -> None:
    """TR-22 gives the time of the import otherwise."""
    mapping = {
        "a": {"message": said("a")},
        "b": {"parent": "a", "message": said("b") | {"create_time": 1_700_000_001.5}},
        "c": {"parent": "b", "message": said("c") | {"create_time": "never"}},
        "d": {"parent": "c", "message": said("d") | {"create_time": -5}},
        "e": {"parent": "d", "message": said("d") | {"create_time": [1]}},
    }
    spoken = chatgpt(json.dumps({"id": "c", "create_time": 1_700_000_000, "mapping": mapping}).encode())
    assert [message.observed_ms for message in spoken.messages] == [1_700_000_000_000, *[1_700_000_001_500] * 4]
    assert spoken.notes is not None
    assert spoken.notes.left_out["time"] == 3


# --- messages ---------------------------------------------------------------------------------------------------------


def read(content: Any, role: str = "assistant", notes: ParsingNotes | None = None, **members: Any) -> list[Message]:
    given = {"author": {"role": role}, "content": content, "recipient": "all", **members}
    return read_message(json.dumps(given).encode(), notes or ParsingNotes())


IMAGE = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1", "width": 3}
SOUND = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_2", "format": "wav"}


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ({"content_type": "text", "parts": ["a", "b"]}, [TextPart(content="a"), TextPart(content="b")]),
        ({"content_type": "code", "text": "x = 1", "language": "python"}, [TextPart(content="x = 1")]),
        (
            {"content_type": "multimodal_text", "parts": [IMAGE, "a", SOUND]},
            [
                UriPart(uri="sediment://file_1", modality="image"),
                TextPart(content="a"),
                UriPart(uri="sediment://file_2", modality="audio"),
            ],
        ),
        (
            {
                "content_type": "multimodal_text",
                "parts": [
                    {"content_type": "audio_transcription", "text": "aloud", "direction": "in"},
                    {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": SOUND},
                ],
            },
            [TextPart(content="aloud"), UriPart(uri="sediment://file_2", modality="audio")],
        ),
        ({"content_type": "execution_output", "text": "4"}, [ToolCallResponsePart(response="4")]),
        (
            {"content_type": "tether_quote", "url": "u", "domain": "d", "text": "t", "title": None},
            [ToolCallResponsePart(response={"url": "u", "domain": "d", "text": "t"})],
        ),
        (
            {"content_type": "tether_browsing_display", "result": "r", "summary": "s", "assets": None},
            [ToolCallResponsePart(response={"result": "r", "summary": "s"})],
        ),
        (
            {"content_type": "system_error", "name": "E", "text": "t"},
            [ToolCallResponsePart(response={"name": "E", "text": "t"})],
        ),
        (
            {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}, {"content": "d"}]},
            [ReasoningPart(content="s\n\nc"), ReasoningPart(content="d")],
        ),
        ({"content_type": "reasoning_recap", "content": "for 3 s"}, [ReasoningPart(content="for 3 s")]),
    ],
)
def test_content_becomes_parts_by_its_type(content: dict[str, Any], parts: list[Any]) -> None:
    (message,) = read(content)
    assert message.parts() == parts
    assert (message.role, message.speaker_id, message.speaker_kind) == (Role.ASSISTANT, "assistant", "assistant")


def test_what_an_assistant_says_to_a_tool_is_a_call() -> None:
    (call,) = read({"content_type": "code", "text": '{"q": 1}'}, recipient="search")
    assert call.parts() == [ToolCallPart(name="search", arguments={"q": 1})]
    (call,) = read({"content_type": "text", "parts": ["print(", "1)"]}, recipient="python")
    assert call.parts() == [ToolCallPart(name="python", arguments="print(1)")]
    (words_of_user,) = read({"content_type": "text", "parts": ["a"]}, "user", recipient="python")
    assert words_of_user.parts() == [TextPart(content="a")]


def test_what_a_tool_says_is_a_response() -> None:
    content = {"content_type": "multimodal_text", "parts": ["done", IMAGE]}
    (message,) = read(content, author={"role": "tool", "name": "painter"})
    assert message.parts() == [
        ToolCallResponsePart(response="done"),
        UriPart(uri="sediment://file_1", modality="image"),
    ]
    assert (message.role, message.speaker_id) == (Role.TOOL, "painter")


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ({"content_type": "user_editable_context", "user_profile": "p", "user_instructions": "i"}, ["p", "i"]),
        ({"content_type": "user_editable_context", "user_profile": "", "user_instructions": "i"}, ["i"]),
        ({"content_type": "model_editable_context", "model_set_context": "m"}, ["m"]),
    ],
)
def test_text_inserted_before_a_user_message_is_not_attributed_to_the_user(
    content: dict[str, Any], texts: list[str]
) -> None:
    """It must not start a turn, nor be shown as their words."""
    (message,) = read(content, "user")
    assert (message.role, message.speaker_kind) == (Role.SYSTEM, "user")
    assert message.parts() == [TextPart(content=each) for each in texts]


@pytest.mark.parametrize(
    ("content", "texts", "rest"),
    [
        ({"content_type": "new", "parts": ["a", "b"], "x": 1}, ["a", "b"], {"content_type": "new", "x": 1}),
        ({"content_type": "new", "text": "a", "parts": [1]}, ["a"], {"content_type": "new", "parts": [1]}),
        ({"content_type": "new", "text": ""}, [], {"content_type": "new", "text": ""}),
        ({"content_type": "text", "parts": [3]}, [], {"content_type": "text", "parts": [3]}),
        (["bare"], [], ["bare"]),
    ],
)
def test_unknown_content_of_a_user_is_imported_as_text_and_the_rest_as_json(
    content: Any, texts: list[str], rest: Any
) -> None:
    notes = ParsingNotes()
    (message,) = read(content, "user", notes)
    *found, blob = message.parts()
    assert found == [TextPart(content=each) for each in texts]
    assert isinstance(blob, BlobPart)
    assert (json.loads(blob.content), blob.mime_type) == (rest, "application/json")
    assert notes.kept_as_json == {"content_type": 1}


def test_unknown_content_of_an_assistant_stands_beside_and_that_of_a_tool_in_its_place() -> None:
    notes = ParsingNotes()
    content = {"content_type": "new", "parts": ["a"]}
    aside, message = read(content, "assistant", notes)
    assert (aside.role, aside.authority, aside.speaker_id) == (Role.SYSTEM, "operator_diagnostic", "import")
    (blob,) = aside.parts()
    assert isinstance(blob, BlobPart)
    assert (json.loads(blob.content), message.parts()) == (content, [])
    (result,) = read(content, "tool", notes)
    assert [type(part) for part in result.parts()] == [BlobPart]
    piece = {"content_type": "multimodal_text", "parts": ["a", {"content_type": "new"}]}
    aside, message = read(piece, "assistant", notes)
    assert message.parts() == [TextPart(content="a")]
    assert notes.kept_as_json == {"content_type": 2, "content_part": 1}


def test_files_that_were_attached_are_named_once() -> None:
    notes = ParsingNotes()
    metadata = {
        "attachments": [{"id": "file_1"}, {"id": "file-3", "mimeType": "text/csv"}],
        "citations": [{}, {}],
        "model_slug": "m",
    }
    content = {"content_type": "multimodal_text", "parts": [IMAGE]}
    (message,) = read(content, "user", notes, metadata=metadata)
    assert message.parts()[1:] == [FilePart(file_id="file-3", mime_type="text/csv")]
    (message,) = read(content, "user", notes, metadata={"attachments": 3})
    assert len(message.parts()) == 1
    assert notes.left_out == {"citation": 2, "metadata": 1}


def test_content_that_is_no_json_refuses_its_message() -> None:
    raw = b'{"author":{"role":"user"},"content":{"content_type":"text","parts":["\xff"]}}'
    with pytest.raises(InvalidInput, match="not json"):
        read_message(raw, ParsingNotes())
