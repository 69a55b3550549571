"""Files that come back from a server: whole and under their name, or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

import muniment
from muniment import ConnectOptions, aio
from muniment.declaration.http_wire import REPORT
from muniment.errors import AnswerInvalid, FileTaken, ServerUnavailable
from muniment.events.archive import ArchiveScope, PrivateMaterial, ScopeKind
from muniment.events.identity import SubjectId, TurnId
from muniment.events.message import Message, Role
from muniment.governance.views import View
from muniment.operations.attachments import AttachmentPlace
from muniment.runtime.runtime import Runtime
from tests.client.peers import DROP, scripted
from tests.client.test_same_as_embedded import connected
from tests.served.conftest import EVERYTHING, serving
from tests.turns import plain_turn
from tests.worlds import key_of, memory_world

CONTENT = bytes(range(256)) * 5000
PLACE = AttachmentPlace(turn=TurnId("turn-1"), message=0, part=0)
FILE = {"Content-Type": "application/octet-stream", REPORT: '{"position":7}'}


def with_file(runtime: Runtime) -> None:
    """Commit a turn with a file."""
    part = runtime.attachments.add(io.BytesIO(CONTENT), name="door.jpg").part
    runtime.transcripts.commit(replace(plain_turn(1), messages=[Message(role=Role.USER, content=[part])]))


@pytest.fixture
def far() -> Iterator[Runtime]:
    with contextlib.closing(memory_world()) as world, connected(world) as runtime:
        with_file(runtime)
        yield runtime


def test_an_attachment_is_saved_where_the_client_is(far: Runtime, tmp_path: Path) -> None:
    saved = far.attachments.save(key_of(), PLACE, tmp_path / "door.jpg")
    assert (tmp_path / "door.jpg").read_bytes() == CONTENT
    assert saved.file == str(tmp_path / "door.jpg")
    with pytest.raises(FileTaken):
        far.attachments.save(key_of(), PLACE, tmp_path / "door.jpg")
    stream = io.BytesIO()
    assert far.attachments.save(key_of(), PLACE, stream).file is None
    assert stream.getvalue() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["door.jpg"]


def test_what_a_view_withholds_leaves_no_file(far: Runtime, tmp_path: Path) -> None:
    saved = far.attachments.save(key_of(), PLACE, tmp_path / "door.jpg", view=View.OPERATOR_AUDIT)
    assert (saved.withheld is not None, saved.part, list(tmp_path.iterdir())) == (True, None, [])


def test_an_archive_that_came_over_a_network_can_be_read(far: Runtime, tmp_path: Path) -> None:
    path, scope = tmp_path / "ada.archive", ArchiveScope(kind=ScopeKind.SUBJECT, subject=SubjectId("ada"))
    report = far.archives.export(path, scope, PrivateMaterial.INCLUDE)
    assert (report.file, report.bytes) == (str(path), path.stat().st_size)
    assert far.archives.inspect(path).turns == report.turns == 1


def test_awaited_downloads_are_the_same(tmp_path: Path) -> None:
    async def run(url: str, key: str) -> None:
        async with await aio.connect(url, key=key) as runtime:
            saved = await runtime.attachments.save(key_of(), PLACE, tmp_path / "door.jpg")
            assert saved.file == str(tmp_path / "door.jpg")

    with contextlib.closing(memory_world()) as world:
        with_file(world.runtime)
        with serving(world.runtime) as url:
            asyncio.run(run(url, world.runtime.clients.create("test", EVERYTHING).key))
    assert (tmp_path / "door.jpg").read_bytes() == CONTENT


@pytest.mark.parametrize("digest", ["", "sha-256=:AAAA:"])
def test_bytes_of_another_digest_get_no_name(tmp_path: Path, digest: str) -> None:
    answer = (200, FILE | {"Repr-Digest": digest}, b"other bytes")
    with (
        scripted([answer]) as (url, asked),
        muniment.connect(url, key="mun_x") as runtime,
        pytest.raises(AnswerInvalid, match="digest"),
    ):
        runtime.attachments.save(key_of(), PLACE, tmp_path / "file")
    assert (len(asked), list(tmp_path.iterdir())) == (1, [])


def test_a_file_that_broke_off_is_asked_for_again_and_a_stream_is_not(tmp_path: Path) -> None:
    """A stream cannot give back what it took."""
    cut = (200, FILE | {"Content-Length": "1000", "Connection": "close"}, b"half")
    whole = (200, FILE | {"Repr-Digest": "sha-256=:LCa0a2j/xo/5m0U8HTBBNBNCLXBkg7+g+YpeiGJm564=:"}, b"foo")
    options = ConnectOptions(attempts_max=3)
    with scripted([cut, DROP, whole]) as (url, asked), muniment.connect(url, key="mun_x", options=options) as runtime:
        runtime.attachments.save(key_of(), PLACE, tmp_path / "file")
        assert ((tmp_path / "file").read_bytes(), len(asked)) == (b"foo", 3)
    with scripted([cut, whole]) as (url, asked), muniment.connect(url, key="mun_x", options=options) as runtime:
        with pytest.raises(ServerUnavailable):
            runtime.attachments.save(key_of(), PLACE, io.BytesIO())
        assert len(asked) == 1
