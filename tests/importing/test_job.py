"""Imports: nothing is lost, nothing is there twice, and whatever was not taken is told."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import muniment
from muniment.errors import FileUnavailable, InvalidInput
from muniment.events.changes import Transition
from muniment.events.identity import Channel, ConversationId, ConversationKey, SubjectId
from muniment.formats.reading import lines
from muniment.formats.reading.import_format import Format
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.operations.importing import import_file, import_report, turn_batch
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options, Progress, no_progress
from tests.importing.files import Pipe, line, names_in, talk, turns_in, written
from tests.shared import need_shared


@contextmanager
def space(progress: Progress = no_progress) -> Iterator[Runtime]:
    """Open an empty space in memory."""
    with muniment.open("memory:", options=Options(sources=seeded_sources("import"), progress=progress)) as runtime:
        yield runtime


def test_a_file_becomes_conversations_and_a_repeat_adds_nothing(tmp_path: Path) -> None:
    file = written(tmp_path / "file.jsonl", [*talk("a", 3, steps=2), *talk("b", 2)])
    with space() as runtime:
        first, second = runtime.spaces.import_(file), runtime.spaces.import_(file)
        assert (first.conversations, first.turns_committed, first.turns_already_there) == (2, 5, 0)
        assert (second.conversations, second.turns_committed, second.turns_already_there) == (2, 0, 5)
        assert (first.lines_read, first.lines_refused, first.clipped) == (18, 0, False)
        assert turns_in(runtime, "a")[0] == [
            ("system", "rules of a"),
            ("user", "question 1 of a"),
            ("tool", "step 0 of 1"),
            ("tool", "step 1 of 1"),
            ("assistant", "answer 1 of a"),
        ]
        assert [turn[0] for turn in turns_in(runtime, "b")][1] == ("user", "question 2 of b")


@pytest.mark.parametrize("packed", [False, True])
def test_a_stream_is_imported_as_the_file_that_it_comes_from(tmp_path: Path, *, packed: bool) -> None:
    """A file, its bytes, a stream and a pipe: the same turns, and a repeat from any of them adds nothing."""
    file = Path(written(tmp_path / "file.jsonl", [*talk("a", 3, steps=2), *talk("b", 2)]))
    data = gzip.compress(file.read_bytes()) if packed else file.read_bytes()
    file.write_bytes(data)
    with space() as runtime:
        first = runtime.spaces.import_(Pipe(data))
        assert (first.conversations, first.turns_committed) == (2, 5)
        stream = io.BytesIO(data)
        for again in (str(file), file, data, stream):
            report = runtime.spaces.import_(again)
            assert (report.turns_committed, report.turns_already_there) == (0, 5)
        assert not stream.closed


def test_a_conversation_without_an_id_is_named_after_the_file_of_a_stream(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "question"}, {"role": "assistant", "content": "answer"}]}
    (tmp_path / "talks.jsonl.gz").write_bytes(gzip.compress(json.dumps(chat).encode()))
    with space() as runtime:
        with (tmp_path / "talks.jsonl.gz").open("rb") as stream:
            runtime.spaces.import_(stream)
        runtime.spaces.import_(json.dumps(chat).encode())
        names = [one.conversation for one in runtime.conversations.list_().conversations]
        assert sorted(names) == ["import#1", "talks.jsonl#1"]


@pytest.mark.parametrize("lines", ["words\nof nobody\n", "# Transcript of `c`\n", '{"turn": "t-1"}\n'])
def test_a_file_in_which_nothing_is_understood_is_an_error_and_not_an_empty_import(tmp_path: Path, lines: str) -> None:
    file = tmp_path / "file.md"
    file.write_text(lines)
    with space() as runtime:
        with pytest.raises(InvalidInput) as refused:
            runtime.spaces.import_(str(file))
        assert (refused.value.at, refused.value.problem) == ("file", "unknown_format")
        assert refused.value.found == lines.count("\n")
        assert runtime.spaces.import_(str(file), Format.OTEL).lines_refused == lines.count("\n")
        file.write_text("")
        assert runtime.spaces.import_(str(file)).lines_read == 0


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 2)), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
    st.integers(1, 7),
)
def test_any_interleaving_and_any_batch_give_the_same_conversations(
    shapes: list[tuple[int, int]], chance: random.Random, batch: int
) -> None:
    """What is imported depends on the conversations, not on how they are in the file or in transactions."""
    talks = {f"c{number}": talk(f"c{number}", turns, steps) for number, (turns, steps) in enumerate(shapes)}
    queues = {name: list(each) for name, each in talks.items()}
    mixed: list[dict[str, Any]] = []
    while any(queues.values()):
        mixed.append(queues[chance.choice([name for name, queue in queues.items() if queue])].pop(0))
    with pytest.MonkeyPatch.context() as patch, space() as runtime, space() as other, _directory() as directory:
        plain = written(directory / "plain.jsonl", [one for each in talks.values() for one in each])
        runtime.spaces.import_(plain)
        patch.setattr(turn_batch, "BATCH_TURNS_MAX", batch)
        other.spaces.import_(written(directory / "mixed.jsonl", mixed))
        for name in talks:
            assert turns_in(runtime, name) == turns_in(other, name)


@contextmanager
def _directory() -> Iterator[Path]:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


def test_a_file_that_grew_adds_what_is_new(tmp_path: Path) -> None:
    with space() as runtime:
        runtime.spaces.import_(written(tmp_path / "file.jsonl", talk("a", 2)))
        grown = runtime.spaces.import_(written(tmp_path / "file.jsonl", [*talk("a", 4), *talk("b", 1)]))
        assert (grown.turns_committed, grown.turns_already_there, grown.turns_skipped) == (3, 2, {})
        assert len(turns_in(runtime, "a")) == 4


def test_a_turn_that_is_continued_later_is_reported_and_not_changed(tmp_path: Path) -> None:
    """The log never changes what it said; the rest of the file is imported all the same."""
    with space() as runtime:
        runtime.spaces.import_(written(tmp_path / "file.jsonl", talk("a", 2)[:-1]))
        grown = runtime.spaces.import_(written(tmp_path / "file.jsonl", [*talk("a", 3), *talk("b", 1)]))
        assert (grown.turns_committed, grown.turns_already_there) == (2, 1)
        assert grown.turns_skipped == {"turn_conflict": 1}
        (told,) = grown.refused_turns
        assert (told.conversation, told.number, told.line, told.reason) == ("a", 2, 4, "turn_conflict")
        assert turns_in(runtime, "a")[1] == [("user", "question 2 of a")]
        assert turns_in(runtime, "a")[2][1] == ("assistant", "answer 3 of a")


@pytest.mark.parametrize("stops_after", [0, 1, 5, 11])
def test_an_interrupted_import_goes_on_where_it_stopped(
    stops_after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_batch, "BATCH_TURNS_MAX", 2)
    monkeypatch.setattr(import_file, "PROGRESS_LINES", 1)
    told = 0

    def interrupt(_stage: str, _done: int, _total: int) -> None:
        nonlocal told
        told += 1
        if told == stops_after + 1:
            raise KeyboardInterrupt

    file = written(tmp_path / "file.jsonl", [*talk("a", 3), *talk("b", 3)])
    with space(interrupt) as runtime:
        with pytest.raises(KeyboardInterrupt):
            runtime.spaces.import_(file)
        done = runtime.spaces.import_(file)
        assert done.turns_committed + done.turns_already_there == 6
        assert (len(turns_in(runtime, "a")), len(turns_in(runtime, "b"))) == (3, 3)


def test_bad_lines_are_reported_by_number_and_good_ones_are_kept(tmp_path: Path) -> None:
    good = talk("a", 2)
    bad: list[Any] = ["{broken", {"role": "user"}, line("a", "nobody", "x"), line(" a", "user", "x"), b"\xff\xfe", "3"]
    file = written(tmp_path / "file.jsonl", [*good[:2], *bad, "", *good[2:]])
    with space() as runtime:
        told = runtime.spaces.import_(file, Format.OTEL)
        assert told.turns_committed == 2
        assert turns_in(runtime, "a")[0][2] == ("assistant", "answer 1 of a")
        assert (told.lines_read, told.lines_refused) == (11, 6)
        assert [(one.line, one.problem) for one in told.refused_lines] == [
            (3, "not_json"),
            (4, "missing_field"),
            (5, "unknown_word"),
            (6, "blank_at_end"),
            (7, "not_json"),
            (8, "wrong_type"),
        ]


def test_lists_of_refusals_are_clipped_and_their_counts_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_report, "REPORTED_MAX", 3)
    with space() as runtime:
        told = runtime.spaces.import_(written(tmp_path / "file.jsonl", ["{broken"] * 5), Format.OTEL)
        assert (told.lines_refused, len(told.refused_lines), told.clipped, told.format) == (5, 3, True, Format.OTEL)
        blank = [{"messages": [{"role": "user", "content": " "}]}] * 5
        told = runtime.spaces.import_(written(tmp_path / "blank.jsonl", blank))
        assert (told.turns_skipped, len(told.refused_turns), told.clipped) == ({"empty_user_turn": 5}, 3, True)


def test_the_format_goes_by_the_first_line_that_is_understood(tmp_path: Path) -> None:
    with space() as runtime:
        told = runtime.spaces.import_(written(tmp_path / "f.jsonl", ["{broken", '{"a":1}', *talk("a", 1)]))
        assert (told.format, told.lines_refused, told.turns_committed) == (Format.OTEL, 2, 1)


def test_whole_chats_are_named_by_the_file_and_their_line(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}
    file = written(tmp_path / "chats.jsonl", [chat, chat | {"id": "named"}])
    with space() as runtime:
        assert runtime.spaces.import_(file).turns_committed == 2
        assert names_in(runtime) == ["chats.jsonl#1", "named"]
        assert runtime.spaces.import_(file).turns_already_there == 2


def test_a_chat_that_is_logged_again_and_again_as_it_grows_is_there_once(tmp_path: Path) -> None:
    """A log of requests repeats the history on every line; each turn is committed once."""
    history = [{"role": role, "content": f"{role} {turn}"} for turn in range(4) for role in ("user", "assistant")]
    grown = [{"id": "chat", "messages": history[: 2 * turns]} for turns in range(1, 5)]
    with space() as runtime:
        told = runtime.spaces.import_(written(tmp_path / "log.jsonl", grown))
        assert (told.turns_committed, told.turns_already_there, told.turns_skipped) == (4, 6, {})
        assert len(turns_in(runtime, "chat")) == 4


def test_a_turn_without_an_answer_is_kept_as_what_the_user_said(tmp_path: Path) -> None:
    with space() as runtime:
        runtime.spaces.import_(written(tmp_path / "f.jsonl", [line("a", "user", "Anybody?")]))
        key = ConversationKey(conversation=ConversationId("a"))
        assert runtime.transcripts.replay(key).turns[0].delivery == "user_only"


def test_an_erased_turn_does_not_come_back_by_an_import(tmp_path: Path) -> None:
    file = written(tmp_path / "f.jsonl", talk("a", 2))
    with space() as runtime:
        runtime.spaces.import_(file)
        key = ConversationKey(conversation=ConversationId("a"))
        runtime.lifecycle.request(key, Transition.ERASE, "asked for", "desk")
        told = runtime.spaces.import_(file)
        assert (told.turns_committed, told.turns_already_there) == (0, 2)
        assert "question" not in repr(runtime.transcripts.replay(key, View.RAW_OWNER))


def test_what_a_commit_refuses_is_a_refused_turn_and_no_more(tmp_path: Path) -> None:
    large = line("a", "user", "x" * (2**20 + 1))
    deep: Any = []
    for _ in range(70):
        deep = [deep]
    odd = {"conversation_id": "b", "role": "user", "parts": [{"type": "tool_call", "name": "f", "arguments": deep}]}
    late = line("c", "user", "x") | {"ts": 2**60}
    many = [line("d", "tool", "x") for _ in range(257)]
    file = written(tmp_path / "f.jsonl", [large, odd, late, *many, *talk("e", 1)])
    with space() as runtime:
        told = runtime.spaces.import_(file)
        assert told.turns_skipped == {
            "request.limit_exceeded": 2,
            "request.not_canonical": 1,
            "request.invalid": 1,
        }
        assert (told.turns_committed, names_in(runtime)) == (1, ["e"])


def test_channel_and_subject_are_those_of_the_request(tmp_path: Path) -> None:
    file = written(tmp_path / "f.jsonl", talk("a", 1))
    with space() as runtime:
        runtime.spaces.import_(file, channel=Channel("mail"), subject=SubjectId("ada"))
        key = ConversationKey(conversation=ConversationId("a"), channel=Channel("mail"))
        assert runtime.transcripts.replay(key).turns[0].actor.subject == "ada"
        with pytest.raises(InvalidInput):
            runtime.spaces.import_(file, channel=" mail")
        with pytest.raises(InvalidInput):
            runtime.spaces.import_(file, subject="")


# --- files ------------------------------------------------------------------------------------------------------------


def test_gzip_is_detected_from_its_first_bytes_and_progress_is_that_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_file, "PROGRESS_LINES", 2)
    told: list[tuple[str, int, int]] = []
    plain = Path(written(tmp_path / "plain", talk("a", 5)))
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    with space(lambda *progress: told.append(progress)) as runtime:
        assert runtime.spaces.import_(str(packed)).turns_committed == 5
    size = packed.stat().st_size
    assert told[-1] == ("import", size, size)
    assert {stage for stage, _, _ in told} == {"import"}
    assert all(0 <= done <= total == size for _, done, total in told)
    assert len(told) > 3


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flipped(data: bytes) -> bytes:
    return data[:-6] + bytes([data[-6] ^ 1]) + data[-5:]


@pytest.mark.parametrize("damage", [_cut, _flipped])
def test_a_damaged_archive_gives_what_is_whole_and_is_completed_by_a_whole_one(
    damage: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """Turns that were not complete where the file breaks off are left out, so that they can still come whole."""
    chance = random.Random(1)
    noisy = [one | {"noise": chance.randbytes(200).hex()} for one in talk("a", 200)]
    whole = gzip.compress(Path(written(tmp_path / "plain", noisy)).read_bytes())
    (tmp_path / "file").write_bytes(damage(whole))
    with space() as runtime:
        broken = runtime.spaces.import_(str(tmp_path / "file"))
        assert broken.refused_lines[-1].problem == "gzip_damaged"
        assert broken.turns_skipped == {"file_damaged": 1}
        assert 0 < broken.turns_committed < 200
        (tmp_path / "file").write_bytes(whole)
        repaired = runtime.spaces.import_(str(tmp_path / "file"))
        assert repaired.turns_committed == 200 - broken.turns_committed
        assert repaired.turns_skipped == {}


def test_a_line_that_is_too_long_is_refused_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LINE_BYTES_MAX", 300)
    monkeypatch.setattr(lines, "DRAIN_BYTES", 50)
    file = written(tmp_path / "f.jsonl", [line("a", "user", "x" * 900), *talk("b", 1), line("a", "user", "y" * 400)])
    with space() as runtime:
        told = runtime.spaces.import_(file)
        assert [(one.line, one.code, one.problem) for one in told.refused_lines] == [
            (1, "request.limit_exceeded", "too_large"),
            (5, "request.limit_exceeded", "too_large"),
        ]
        assert names_in(runtime) == ["b"]


def test_a_mark_of_the_byte_order_and_a_missing_last_line_break_do_no_harm(tmp_path: Path) -> None:
    text = "\r\n".join(json.dumps(one) for one in talk("a", 1))
    (tmp_path / "f.jsonl").write_bytes(b"\xef\xbb\xbf" + text.encode())
    with space() as runtime:
        told = runtime.spaces.import_(str(tmp_path / "f.jsonl"))
        assert (told.turns_committed, told.lines_refused) == (1, 0)


@pytest.mark.parametrize(("name", "problem"), [("nowhere", "not_found"), ("no\0path", "not_found")])
def test_a_file_that_cannot_be_read_is_an_error(name: str, problem: str, tmp_path: Path) -> None:
    with space() as runtime, pytest.raises(FileUnavailable) as refusal:
        runtime.spaces.import_(str(tmp_path / name))
    assert refusal.value.problem == problem


def test_an_empty_file_is_an_empty_import(tmp_path: Path) -> None:
    with space() as runtime:
        told = runtime.spaces.import_(written(tmp_path / "f.jsonl", []))
        assert (told.lines_read, told.turns_committed, told.format) == (0, 0, Format.AUTO)


@pytest.mark.parametrize("document", [b'[{"\xff\xfet":"a"},{}]', b'[{"a":"\xff"}]', b'{"a":"\xff"}', b"[\xff]"])
def test_a_document_that_is_not_utf_8_is_refused_with_its_position(tmp_path: Path, document: bytes) -> None:
    """A bad byte in a name is found where names are looked at, before the item itself is refused."""
    file = tmp_path / "bad.json"
    file.write_bytes(document)
    with space() as runtime:
        told = runtime.spaces.import_(str(file), Format.CHATGPT)
        assert told.turns_committed == 0
        assert told.lines_refused == told.lines_read > 0


def test_a_corpus_of_real_agents_is_imported_whole(tmp_path: Path) -> None:
    """All 200 conversations with their tool steps; a second run commits nothing."""
    file = str(need_shared("corpora/tau_bench_airline.jsonl.gz"))
    with muniment.open(tmp_path / "store", options=Options(sources=seeded_sources("tau"))) as runtime:
        first, second = runtime.spaces.import_(file), runtime.spaces.import_(file)
        assert (first.conversations, first.turns_committed, first.lines_refused) == (200, 1490, 0)
        assert (second.turns_committed, second.turns_already_there) == (0, 1490)
        assert runtime.spaces.usage().messages == 5308
