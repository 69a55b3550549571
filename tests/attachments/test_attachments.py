"""Files of any size come out of the store as they went in, in flat memory, for the views that show their message."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muniment.crypto.chunk import CHUNK_BYTES
from muniment.errors import Conflict, InvalidInput, LimitExceeded, TurnConflict, UnknownPlace
from muniment.events.identity import ChatId, TurnId
from muniment.events.message import AttachmentPart, Message, Role, TextPart
from muniment.events.turn import Delivery, Turn
from muniment.governance.limits import Limits
from muniment.governance.views import Reason, View
from muniment.ledger.attached_files import UPLOAD_MS_MAX
from muniment.log.schema import CHUNK_BITS
from muniment.operations.attachments import AttachmentPlace
from muniment.operations.transcripts.commit import PreparedTurn, append, prepare
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.settings import set_limits
from tests.attachments.files import SIZES, added, attached, bytes_of, saved, turn_with
from tests.runtime.custody import by_hand
from tests.turns import TALK, plain_turn
from tests.worlds import FileWorld, World, key_of, memory_world, sqlite_world

KEY = key_of()
FIRST = TurnId("turn-1")
FILE = AttachmentPlace(turn=FIRST, message=0, part=1)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[FileWorld]:
    made = sqlite_world(tmp_path)
    yield made
    made.close()


def chunks_there(world: World) -> int:
    """Return how many attachments there are that no turn has."""
    store = world.runtime._session.space.store
    with store.reader() as reader:
        return int(reader.has_loose_parts(2**53))


# --- in and out -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_a_file_comes_out_as_it_went_in(world: FileWorld, tmp_path: Path, size: int) -> None:
    data = bytes_of(size)
    attached(world.runtime, data)
    assert saved(world.runtime, tmp_path) == data
    assert saved(world.reopened().runtime, tmp_path) == data


def test_a_store_in_memory_keeps_files_too(tmp_path: Path) -> None:
    world, data = memory_world(), bytes_of(2 * CHUNK_BYTES + 3)
    attached(world.runtime, data)
    assert saved(world.runtime, tmp_path) == data


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.integers(0, 3 * CHUNK_BYTES + 20), length=st.integers(1, 2**20))
def test_any_range_of_bytes_is_what_was_stored_there(world: FileWorld, start: int, length: int) -> None:
    data = bytes_of(3 * CHUNK_BYTES + 7)
    if not world.turns_of():
        attached(world.runtime, data)
    shown = world.runtime.attachments.read(KEY, FILE, start=start, length=length)
    assert (shown.data, shown.size, shown.start) == (data[start : start + length], len(data), start)


class Trickle(io.RawIOBase):
    """A stream that gives a few bytes at a time, as a connection may."""

    def __init__(self, data: bytes) -> None:
        self._rest = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # as much as there is room for, at most 999
        piece = self._rest.read(min(len(buffer), 999))
        buffer[: len(piece)] = piece
        return len(piece)


def test_a_stream_may_give_a_few_bytes_at_a_time(world: FileWorld, tmp_path: Path) -> None:
    data = bytes_of(CHUNK_BYTES + 5)
    part = world.runtime.attachments.add(Trickle(data)).part  # type: ignore[arg-type]  # it is a stream of bytes
    world.commit(turn_with(part))
    assert saved(world.runtime, tmp_path) == data


def test_memory_stays_flat_however_large_a_file_is(world: FileWorld, tmp_path: Path) -> None:
    source = tmp_path / "large"
    with source.open("wb") as file:
        for number in range(48):
            file.write(number.to_bytes(4) * 2**18)
    tracemalloc.start()
    with source.open("rb") as file:
        world.commit(turn_with(world.runtime.attachments.add(file).part))
    world.runtime.attachments.save(KEY, FILE, str(tmp_path / "out"), View.RAW_OWNER)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20 * 2**20
    assert (tmp_path / "out").read_bytes() == source.read_bytes()


def test_a_page_says_what_is_attached_and_nothing_of_the_upload(world: FileWorld) -> None:
    part = added(world.runtime, bytes_of(10))
    world.commit(turn_with(part))
    (turn,) = world.replay().turns
    assert turn.messages[0].parts == [TextPart(content="look"), replace(part, upload=None)]
    assert str(part) == "a.png, image/png, 10 bytes"


# --- committing -------------------------------------------------------------------------------------------------------


def test_a_repeated_commit_is_known_by_the_bytes_and_not_by_the_upload(world: FileWorld) -> None:
    data = bytes_of(CHUNK_BYTES + 1)
    turn = attached(world.runtime, data)
    assert world.commit(turn).reason == "turn_already_committed"
    assert world.commit(turn_with(added(world.runtime, data))).reason == "turn_already_committed"
    with pytest.raises(TurnConflict):
        world.commit(turn_with(added(world.runtime, data[:-1] + b"!")))
    with pytest.raises(TurnConflict):
        world.commit(turn_with(added(world.runtime, data, name="b.png")))


def test_a_file_of_a_message_that_is_not_kept_is_not_attached_and_not_needed(world: FileWorld) -> None:
    """Of a cancelled turn the words of the user alone are kept; a repeat may add the other file again, or not."""
    mine, answer = added(world.runtime, bytes_of(10)), added(world.runtime, bytes_of(20))

    def turn(mine: AttachmentPart, *answers: AttachmentPart, number: int = 1) -> Turn:
        messages = [Message(role=Role.USER, content=[mine]), Message(role=Role.ASSISTANT, content=[*answers])]
        return replace(turn_with(number=number), messages=messages, delivery=Delivery.CANCELLED)

    assert world.commit(turn(mine, answer)).committed
    with world.runtime._session.space.store.reader() as reader:
        assert len(reader.parts(0, 2**40)) == 1
    assert world.commit(turn(mine, added(world.runtime, bytes_of(20)))).reason == "turn_already_committed"
    assert world.commit(turn(mine, replace(answer, upload=None))).reason == "turn_already_committed"
    with pytest.raises(TurnConflict):
        world.commit(turn(mine, replace(answer, name="b.png")))
    words = Message(role=Role.USER, content="look")
    other = replace(turn(mine, replace(answer, upload="x"), number=2), conversation=TALK)
    assert world.commit(replace(other, messages=[words, *other.messages[1:]])).committed


def test_an_erasure_that_comes_between_changes_nothing_for_a_commit_that_has_begun(
    world: FileWorld, tmp_path: Path
) -> None:
    """Also where the chat of a turn leads to another conversation, which is known in the transaction alone."""
    session, data = world.runtime._session, bytes_of(CHUNK_BYTES + 1)
    chat = ChatId("chat-7")
    world.commit(replace(plain_turn(7), chat=chat))
    of_chat = replace(turn_with(added(world.runtime, data)), conversation=None, chat=chat)
    assert world.commit(of_chat).committed
    again = [
        prepare(session, replace(of_chat, messages=turn_with(added(world.runtime, data)).messages)),
        prepare(session, turn_with(added(world.runtime, data), number=2)),
    ]
    world.erased(7)
    for prepared, reason in zip(again, ["turn_already_committed", None], strict=True):
        assert isinstance(prepared, PreparedTurn)
        assert session.space.ledger.transact(partial(append, prepared)).reason == reason
    assert saved(world.runtime, tmp_path, 2) == data


def test_an_upload_belongs_to_one_turn(world: FileWorld, tmp_path: Path) -> None:
    part = added(world.runtime, bytes_of(10))
    world.commit(turn_with(part))
    with pytest.raises(InvalidInput) as refused:
        world.commit(turn_with(part, number=2))
    assert refused.value.problem == "unknown_upload"
    assert world.turns_of() == 1
    assert saved(world.runtime, tmp_path) == bytes_of(10)


@pytest.mark.parametrize(
    "change", [{"upload": None}, {"upload": "x" * 80}, {"upload": "é"}, {"size": 11}, {"root": bytes(32)}]
)
def test_a_part_that_was_not_handed_out_is_refused(world: FileWorld, change: dict[str, object]) -> None:
    part = replace(added(world.runtime, bytes_of(10)), **change)
    with pytest.raises(InvalidInput):
        world.commit(turn_with(part))
    assert world.turns_of() == 0


def test_an_upload_of_another_space_is_refused(world: FileWorld) -> None:
    with memory_world("other").runtime as other, pytest.raises(InvalidInput):
        world.commit(turn_with(added(other, bytes_of(10))))


def test_a_file_that_is_too_large_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    world = sqlite_world(tmp_path, limits=Limits(attachment_bytes_max=5 * CHUNK_BYTES))
    with pytest.raises(LimitExceeded):
        added(world.runtime, bytes_of(5 * CHUNK_BYTES + 1))
    assert not chunks_there(world)
    assert added(world.runtime, bytes_of(5 * CHUNK_BYTES)).size == 5 * CHUNK_BYTES
    world.close()


def test_a_limit_for_files_that_a_log_cannot_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    most = CHUNK_BYTES << CHUNK_BITS
    assert Limits(attachment_bytes_max=most).attachment_bytes_max == most
    with pytest.raises(LimitExceeded):
        Limits(attachment_bytes_max=most + 1)
    monkeypatch.setenv("MUNIMENT_LIMITS", f"attachment_bytes_max={most + 1}")
    with pytest.raises(LimitExceeded) as refused:
        memory_world(limits=set_limits())
    assert "attachment_bytes_max" in str(refused.value)


class Broken(io.BytesIO):
    """A stream that breaks off."""

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        if not data:
            raise ConnectionError
        return data


def test_an_upload_that_breaks_off_leaves_nothing(world: FileWorld) -> None:
    with pytest.raises(ConnectionError):
        world.runtime.attachments.add(Broken(bytes_of(20 * CHUNK_BYTES)))
    assert not chunks_there(world)


def test_what_no_turn_took_within_a_day_is_removed(world: FileWorld) -> None:
    now = world.runtime._session.space.sources.clock.now_ms()
    added(world.runtime, bytes_of(10))
    store = world.runtime._session.space.store
    added(world.runtime, bytes_of(10))
    assert chunks_there(world)
    with world.edited() as raw:
        raw.execute("UPDATE parts SET time = ?", (now - UPLOAD_MS_MAX - 60_000,))
    assert store is not world.runtime._session.space.store
    assert not chunks_there(world)


class SlowUpload(io.BytesIO):
    """A stream of which some arrives in each call of `between`."""

    def __init__(self, data: bytes, between: Callable[[], object]) -> None:
        super().__init__(data)
        self._between = between

    def read(self, size: int | None = -1, /) -> bytes:
        self._between()
        return super().read(size)


def test_an_upload_may_take_longer_than_a_day_as_long_as_it_goes_on(tmp_path: Path) -> None:
    world, hands = by_hand(tmp_path)
    data = bytes_of(40 * CHUNK_BYTES)

    def an_hour() -> None:
        hands.ms += 60 * 60 * 1000
        added(world.runtime, b"")  # removes what nobody waits for any more

    part = world.runtime.attachments.add(SlowUpload(data, an_hour)).part
    world.commit(turn_with(part))
    assert saved(world.runtime, tmp_path) == data
    world.close()


def test_an_upload_that_was_removed_while_it_stood_still_does_not_go_on(tmp_path: Path) -> None:
    world, hands = by_hand(tmp_path)

    def a_week() -> None:
        hands.ms += 7 * UPLOAD_MS_MAX
        added(world.runtime, b"")

    with pytest.raises(Conflict):
        world.runtime.attachments.add(SlowUpload(bytes_of(2 * CHUNK_BYTES), a_week))
    hands.ms += 2 * UPLOAD_MS_MAX
    world.reopened()
    assert not chunks_there(world)
    world.close()


# --- who may see ------------------------------------------------------------------------------------------------------


def test_a_view_shows_a_file_as_it_shows_the_message(world: FileWorld, tmp_path: Path) -> None:
    attached(world.runtime, bytes_of(10))
    target = tmp_path / "withheld"

    def seen(view: View) -> Reason | None:
        saved_as = world.runtime.attachments.save(KEY, FILE, str(target), view)
        assert target.exists() == (saved_as.withheld is None)
        target.unlink(missing_ok=True)
        read = world.runtime.attachments.read(KEY, FILE, view)
        assert (read.data == b"") == (read.withheld is not None)
        assert read.withheld == saved_as.withheld
        return read.withheld

    assert {view: seen(view) for view in View} == {
        View.RAW_OWNER: None,
        View.MODEL_CONTEXT: None,
        View.HOST_UI: None,
        View.EXPORT: None,
        View.OPERATOR_AUDIT: Reason.VIEW_POLICY,
    }
    world.redact(Passage(turn=FIRST, message=0, part=1), View.EXPORT)
    assert (seen(View.EXPORT), seen(View.HOST_UI)) == (Reason.REDACTED, None)
    world.masked(1)
    assert seen(View.HOST_UI) == Reason.LIFECYCLE_MASKED


@pytest.mark.parametrize(
    ("turn", "message", "part"), [("turn-2", 0, 1), ("turn-1", 9, 1), ("turn-1", 0, 0), ("turn-1", 0, 2)]
)
def test_where_no_file_is_there_is_none(world: FileWorld, turn: str, message: int, part: int) -> None:
    attached(world.runtime, bytes_of(10))
    with pytest.raises(UnknownPlace):
        world.runtime.attachments.read(KEY, AttachmentPlace(turn=TurnId(turn), message=message, part=part))


def test_a_turn_of_a_file_alone_says_something(world: FileWorld) -> None:
    part = added(world.runtime, bytes_of(10))
    message = Message(role="user", content=[part])  # type: ignore[arg-type]  # the name of the role
    turn = replace(turn_with(), messages=[message])
    assert world.commit(turn).committed
    assert isinstance(world.replay().turns[0].messages[0].parts[0], AttachmentPart)


def test_an_upload_that_is_removed_in_part_is_taken_over_by_no_turn(world: FileWorld) -> None:
    part, store = added(world.runtime, bytes_of(3 * CHUNK_BYTES)), world.runtime._session.space.store
    assert store.transact(lambda tx: tx.drop_chunks(2**53, 1)) == 1
    with pytest.raises(InvalidInput):
        world.commit(turn_with(part))
    assert world.turns_of() == 0
