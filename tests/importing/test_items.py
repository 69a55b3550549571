"""Files as items, whatever their shape, and what the first of them tells about the format."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import muniment
from muniment.errors import LimitExceeded, MunimentError
from muniment.events.identity import ConversationId, ConversationKey
from muniment.formats.reading import items, lines
from muniment.formats.reading.import_format import Format, sniff
from muniment.formats.reading.items import Items
from muniment.formats.reading.json_list import ListSplitter
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.operations.importing.import_report import ImportReport
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options


def chat(name: str, text: str = "q") -> dict[str, Any]:
    return {"uuid": name, "chat_messages": [{"sender": "human", "text": text}]}


def file_of(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "file"
    path.write_bytes(data)
    return path


def read(path: Path) -> list[Any]:
    """Return the items of a file: their values, or the problem in their place."""
    with path.open("rb") as file, Items(file) as found:
        return [one.problem if isinstance(one, MunimentError) else json.loads(one) for _, one in found]


MANY = [chat("a"), chat("b")]


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(MANY),
        json.dumps(MANY, indent=2),
        "\ufeff" + json.dumps(MANY, indent=1),
        "\n \n" + json.dumps(MANY, indent=1),
        "\n".join(json.dumps(each) for each in MANY),
        "\ufeff" + "\r\n".join(json.dumps(each) for each in MANY) + "\r\n",
        f"[{json.dumps(MANY[0])},\n{json.dumps(MANY[1])}\n]\n",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_list_and_lines_have_the_same_items(data: str, packed: bool, tmp_path: Path) -> None:
    raw = data.encode()
    assert read(file_of(tmp_path, gzip.compress(raw) if packed else raw)) == MANY


@pytest.mark.parametrize("indent", [None, 1])
def test_one_document_is_one_item(indent: int | None, tmp_path: Path) -> None:
    assert read(file_of(tmp_path, json.dumps(chat("a"), indent=indent).encode())) == [chat("a")]


@pytest.mark.parametrize("element", [{"role": "user", "content": "q"}, {"type": "human", "data": {}}, {"lc": 1}])
def test_a_list_of_messages_is_one_chat(element: dict[str, Any], tmp_path: Path) -> None:
    wanted = {"messages": [element, element]}
    for data in (json.dumps([element] * 2, indent=1), json.dumps([element] * 2)):
        assert read(file_of(tmp_path, data.encode())) == [wanted]
    lines_of_lists = "\n".join([json.dumps([element] * 2)] * 2)
    assert read(file_of(tmp_path, lines_of_lists.encode())) == [wanted] * 2


def test_a_list_of_messages_that_name_their_conversation_are_items(tmp_path: Path) -> None:
    messages = [{"session_id": "s", "role": "user", "content": "q"}]
    assert read(file_of(tmp_path, json.dumps(messages, indent=1).encode())) == messages
    assert read(file_of(tmp_path, b"[]")) == []
    assert read(file_of(tmp_path, b"[\n3]")) == [3]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"[\n" + b"[" * 100_000, ["not_json"]),
        (b"[1,\n2", [1, "not_json"]),
        (b"[1,\n2] 3", [1, 2, "not_json"]),
        (b'[1,\n"a\\", [2]', [1, "not_json"]),
    ],
)
def test_what_was_read_before_a_list_breaks_off_stands(data: bytes, found: list[Any], tmp_path: Path) -> None:
    assert read(file_of(tmp_path, data)) == found


def test_an_element_that_is_no_json_is_handed_on_for_its_reader_to_refuse(tmp_path: Path) -> None:
    with file_of(tmp_path, b'[{"a": 1},\n{"b": }, ]').open("rb") as file, Items(file) as found:
        assert [one for _, one in found] == [b'{"a": 1}', b'{"b": }', b""]


@given(st.lists(st.recursive(st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(
    st.text(), inner), max_leaves=8), max_size=6), st.integers(1, 9), st.sampled_from([None, 1]))  # fmt: skip
def test_a_list_in_pieces_has_its_elements(values: list[Any], size: int, indent: int | None) -> None:
    """However it is cut, and whatever its strings hold."""
    data = json.dumps(values, indent=indent, ensure_ascii=False).encode()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    found = list(ListSplitter(10_000).elements(pieces))
    assert [json.loads(one) for one in found if isinstance(one, bytes)] == values
    assert len(found) == len(values)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=6), st.integers(1, 9), st.integers(1, 40))
def test_an_element_above_the_limit_is_skipped_alone(texts: list[str], size: int, limit: int) -> None:
    wanted = [json.dumps(text, ensure_ascii=False).encode() for text in texts]
    data = b"[" + b",".join(wanted) + b"]"
    found = list(ListSplitter(limit).elements(data[at : at + size] for at in range(0, len(data), size)))
    assert [one if isinstance(one, bytes) else None for one in found] == [
        one if len(one) <= limit else None for one in wanted
    ]


@pytest.mark.parametrize("first", [b'{"a": 1', b"{", b'{"a":\n3', b"{broken", b"[" * 100_000])
def test_lines_are_lines_though_the_first_is_broken(first: bytes, tmp_path: Path) -> None:
    with file_of(tmp_path, first + b'\n{"b": 1}\n{"b": 2}').open("rb") as file, Items(file) as found:
        good = [one for _, one in found if not isinstance(one, MunimentError)]
    assert [json.loads(one) for one in good[-2:]] == [{"b": 1}, {"b": 2}]


def test_each_conversation_of_a_list_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = json.dumps([chat("a", "x" * 50), chat("b", "y" * 500), chat("c")], indent=1).encode()
    monkeypatch.setattr(items, "ITEM_BYTES_MAX", 300)
    assert read(file_of(tmp_path, many)) == [chat("a", "x" * 50), "too_large", chat("c")]


@pytest.mark.parametrize("data", [chat("a", "x" * 500), [{"role": "user", "content": "x" * 80}] * 5])
def test_a_document_that_is_one_conversation_is_limited(
    data: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "ITEM_BYTES_MAX", 300)
    with file_of(tmp_path, json.dumps(data, indent=1).encode()).open("rb") as file, Items(file) as found:
        ((number, refusal),) = found
    assert isinstance(refusal, LimitExceeded)
    assert (number, refusal.at, refusal.problem, refusal.limit) == (1, "conversation", "too_large", 300)


def test_a_line_longer_than_lines_may_be_is_read_as_a_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LINE_BYTES_MAX", 30)
    assert read(file_of(tmp_path, json.dumps(MANY).encode())) == MANY
    assert read(file_of(tmp_path, json.dumps(MANY[0]).encode())) == [MANY[0]]


@pytest.mark.parametrize("keep", [0.5, 0.02])
def test_a_damaged_document_is_reported_as_damaged(keep: float, tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(40_000).hex()
    whole = gzip.compress(json.dumps([chat("a", noise)], indent=1).encode())
    path = file_of(tmp_path, whole[: int(len(whole) * keep)])
    with path.open("rb") as file, Items(file) as found:
        assert [one.problem if isinstance(one, MunimentError) else "?" for _, one in found] == ["gzip_damaged"]
        assert found.damaged


def test_lists_before_a_damage_are_kept(tmp_path: Path) -> None:
    noise = "".join(chr(33 + each * 7919 % 90) for each in range(40_000))
    message = {"role": "user", "content": noise}
    whole = gzip.compress("\n".join([json.dumps([message])] * 4).encode(), 0)
    with file_of(tmp_path, whole[: len(whole) // 2]).open("rb") as file, Items(file) as found:
        told = [one.problem if isinstance(one, MunimentError) else json.loads(one) for _, one in found]
    assert (told[0], told[-1]) == ({"messages": [message]}, "gzip_damaged")


# --- formats ----------------------------------------------------------------------------------------------------------

HUMAN = {"type": "human", "content": "q"}
ASKED = {"role": "user", "content": "q"}
CALL = {"type": "tool_use", "name": "f"}


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ({"id": "c", "mapping": {}}, Format.CHATGPT),
        (chat("a"), Format.CLAUDE),
        ({"messages": [HUMAN]}, Format.LANGCHAIN),
        ({"session_id": "s", **HUMAN}, Format.LANGCHAIN),
        ({"messages": [ASKED]}, Format.OPENAI),
        ({"messages": [ASKED], "system": "s"}, Format.ANTHROPIC),
        ({"messages": [ASKED, {"role": "assistant", "content": [CALL]}]}, Format.ANTHROPIC),
        ({"request": {"messages": [ASKED]}}, Format.ANTHROPIC),
        ({"session_id": "s", "type": "message", **ASKED}, Format.ANTHROPIC),
        ({"conversation_id": "c", "role": "user", "parts": [], "system": "s"}, Format.OTEL),
    ],
)  # fmt: skip
def test_the_first_item_tells_the_format(item: dict[str, Any], found: Format) -> None:
    assert sniff(json.dumps(item).encode())[0] is found


# --- requests that repeat their conversation --------------------------------------------------------------------------


def imported(tmp_path: Path, log: list[dict[str, Any]]) -> tuple[Runtime, ImportReport]:
    path = file_of(tmp_path, "\n".join(json.dumps(each) for each in log).encode())
    runtime = muniment.open("memory:", options=Options(sources=seeded_sources("log")))
    return runtime, runtime.spaces.import_(str(path), Format.ANTHROPIC)


def told(runtime: Runtime, name: str) -> list[list[str]]:
    key = ConversationKey(conversation=ConversationId(name))
    turns = runtime.transcripts.replay(key, View.RAW_OWNER, 100).turns
    return [
        [str(getattr(part, "content", "")) for message in turn.messages for part in message.parts or []]
        for turn in turns
    ]


def asks(*texts: str, **members: object) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)], **members}


def answers(text: str, **members: object) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "text", "text": text}], **members}


def test_requests_that_go_on_are_one_conversation(tmp_path: Path) -> None:
    log = [asks("1"), answers("2"), asks("1", "2", "3"), answers("4"), asks("other"), asks("other", "2", "3")]
    with imported(tmp_path, log)[0] as runtime:
        assert told(runtime, "file#1") == [["1", "2"], ["3", "4"]]
        assert told(runtime, "file#5") == [["other", "2"], ["3"]]


def test_requests_of_named_conversations_may_be_interleaved(tmp_path: Path) -> None:
    log = [
        asks("1", session_id="a"), asks("x", session_id="b"), answers("2", session_id="a"),
        answers("y", session_id="b"), asks("1", "2", "3", session_id="a"), answers("4", session_id="a"),
    ]  # fmt: skip
    runtime, report = imported(tmp_path, log)
    with runtime:
        assert (told(runtime, "a"), told(runtime, "b")) == ([["1", "2"], ["3", "4"]], [["x", "y"]])
        assert (report.turns_committed, report.lines_refused) == (3, 0)


def test_system_text_is_kept_again_where_it_changed(tmp_path: Path) -> None:
    log = [asks("1", system="s"), answers("2"), asks("1", "2", "3", system="s"), answers("4"),
           asks("1", "2", "3", "4", "5", system="t")]  # fmt: skip
    with imported(tmp_path, log)[0] as runtime:
        assert told(runtime, "file#1") == [["s", "1", "2"], ["3", "4", "t"], ["5"]]


def test_thoughts_that_a_host_leaves_out_later_stay(tmp_path: Path) -> None:
    thought = {"type": "message", "role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "2"}]}  # fmt: skip
    with imported(tmp_path, [asks("1"), thought, asks("1", "2", "3")])[0] as runtime:
        assert told(runtime, "file#1") == [["1", "hm", "2"], ["3"]]


def test_an_edited_history_is_imported_from_its_beginning(tmp_path: Path) -> None:
    log = [asks("1", "2", "3", "4", session_id="a"), asks("1", "2", "changed", session_id="a")]
    runtime, report = imported(tmp_path, log)
    with runtime:
        assert told(runtime, "a") == [["1", "2"], ["3", "4"]]
        assert (report.turns_already_there, report.turns_skipped) == (1, {"turn_conflict": 1})


def test_a_log_that_grew_adds_what_is_new(tmp_path: Path) -> None:
    log = [asks("1", session_id="a"), answers("2", session_id="a")]
    runtime, _ = imported(tmp_path, log)
    grown = [*log, asks("1", "2", "3", session_id="a"), answers("4", session_id="a")]
    with runtime:
        path = file_of(tmp_path, "\n".join(json.dumps(each) for each in grown).encode())
        report = runtime.spaces.import_(str(path), Format.ANTHROPIC)
        assert (report.turns_committed, report.turns_already_there, report.turns_skipped) == (1, 1, {})


def test_a_response_to_nothing_is_refused_unless_it_names_its_conversation(tmp_path: Path) -> None:
    runtime, report = imported(tmp_path, [answers("a"), answers("b", session_id="s")])
    with runtime:
        assert [(one.line, one.problem) for one in report.refused_lines] == [(1, "answers_nothing")]
        assert told(runtime, "s") == [["b"]]


def test_what_waits_to_go_on_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from muniment.formats.reading import continuations

    log = [asks("1", session_id=name) for name in "abca"]
    monkeypatch.setattr(continuations, "WAITING_MAX", 2)
    runtime, report = imported(tmp_path, log)
    runtime.close()
    assert (report.turns_committed, report.turns_already_there) == (3, 1)
    monkeypatch.setattr(continuations, "WAITING_MAX", 10)
    monkeypatch.setattr(continuations, "WAITING_BYTES_MAX", 1)
    runtime, report = imported(tmp_path, log)
    runtime.close()
    assert (report.turns_committed, report.turns_already_there) == (3, 1)


def test_the_last_turns_of_a_truncated_log_are_omitted(tmp_path: Path) -> None:
    noise = "".join(chr(33 + each * 7919 % 90) for each in range(9000))
    log = [asks("1", "2", "3", session_id="a"), *[asks(noise, session_id=str(each)) for each in range(20)]]
    whole = gzip.compress("\n".join(json.dumps(each) for each in log).encode(), 1)
    with muniment.open("memory:", options=Options(sources=seeded_sources("log"))) as runtime:
        report = runtime.spaces.import_(str(file_of(tmp_path, whole[:-200])), Format.ANTHROPIC)
        assert told(runtime, "a") == [["1", "2"]]
        assert set(report.turns_skipped) == {"file_damaged"}
