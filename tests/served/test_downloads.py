"""Files over HTTP: what an operation writes comes as an answer, whole or noticeably not."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import socket
import tempfile
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from muniment.declaration.http_wire import REPORT
from muniment.events.archive import ArchiveScope, PrivateMaterial, ScopeKind
from muniment.governance.client_scope import ClientScope
from muniment.governance.views import View
from muniment.kernel.digest import b64url, sha256
from muniment.kernel.sources import seeded_sources
from muniment.transports.http import downloads
from muniment.transports.http.call import ETAG_BYTES
from tests.served.conftest import EVERYTHING, Served
from tests.turns import TALK, plain_turn
from tests.worlds import memory_world

TALKING = {"conversation": {"conversation": TALK}}
PLACE: dict[str, Any] = {"attachment": {"turn": "turn-1", "message": 0, "part": 0}}
SCOPE = {"scope": {"kind": "conversation", "channel": "default", "conversation": TALK}, "private": "include"}


def with_file(served: Served, content: bytes, number: int = 1, **said: str) -> dict[str, Any]:
    """Commit a turn with a file; return the request that names it."""
    part = served.http.post("/v1/attachments/add", params=said, content=content).json()["part"]
    turn = msgspec.to_builtins(plain_turn(number)) | {"messages": [{"role": "user", "content": [part]}]}
    assert served.post("transcripts/commit", {"turn": turn}).status_code == 200
    return TALKING | {"attachment": PLACE["attachment"] | {"turn": f"turn-{number}"}}


def report_of(answer: httpx2.Response) -> Any:
    """Return the report beside a file."""
    return json.loads(answer.headers[REPORT])


def is_whole(answer: httpx2.Response) -> bool:
    """Tell whether length and digest of a file are what the head of the answer says."""
    digest = base64.b64encode(hashlib.sha256(answer.content).digest()).decode()
    length = int(answer.headers["content-length"])
    return length == len(answer.content) and answer.headers["repr-digest"] == f"sha-256=:{digest}:"


@pytest.mark.parametrize("size", [0, 1, 65_536, 3_000_000])
def test_an_attachment_comes_as_it_was_added(served: Served, size: int) -> None:
    content = bytes(range(256)) * (size // 256) + bytes(size % 256)
    asked = with_file(served, content, name="Tür 7.jpg", mime_type="image/jpeg")
    answer = served.post("attachments/save", asked)
    assert answer.status_code == 200
    assert answer.content == content
    assert is_whole(answer)
    assert answer.headers["content-type"] == "image/jpeg"
    assert (
        answer.headers["content-disposition"] == "attachment; filename=\"T_r 7.jpg\"; filename*=UTF-8''T%C3%BCr%207.jpg"
    )
    assert (report_of(answer)["part"]["size"], "file" in report_of(answer)) == (size, False)


def test_a_file_is_a_get_too_where_the_operation_only_reads(served: Served) -> None:
    asked = with_file(served, b"door")
    answer = served.http.get("/v1/attachments/save", params={name: json.dumps(said) for name, said in asked.items()})
    assert (answer.content, answer.headers["content-type"]) == (b"door", "application/octet-stream")
    assert answer.headers["cache-control"] == "no-store"
    assert served.http.head(answer.request.url).content == b""


def test_each_file_that_leaves_is_on_record(served: Served) -> None:
    asked = with_file(served, b"door")
    before = served.world.runtime.spaces.usage().events
    positions = [report_of(served.post("attachments/save", asked))["position"] for _ in range(2)]
    assert positions == [before, before + 1]


def test_what_a_view_withholds_does_not_come(served: Served) -> None:
    asked = with_file(served, b"door")
    served.world.masked(1)
    answer = served.post("attachments/save", asked)
    assert (answer.status_code, answer.content) == (204, b"")
    assert report_of(answer) == {"withheld": "lifecycle_masked"}


def test_a_type_that_a_browser_would_run_is_a_file_to_keep(served: Served) -> None:
    """What was said of a file by others decides neither a header of ours nor what a browser does with it."""
    asked = with_file(served, b"<script>", mime_type="text/html\r\nSet-Cookie: a=b", name='a"b\r\n/../c')
    answer = served.post("attachments/save", asked)
    assert answer.headers["content-type"] == "application/octet-stream"
    named = "attachment; filename=\"a_b___.._c\"; filename*=UTF-8''a%22b%0D%0A%2F..%2Fc"
    assert answer.headers["content-disposition"] == named
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in answer.headers


def test_an_archive_goes_there_and_comes_back(served: Served, tmp_path: Path) -> None:
    """The bytes of an archive over HTTP are an archive: the store beside it, and one elsewhere, take them."""
    served.world.with_turns(3)
    answer = served.post("archives/export", SCOPE)
    assert answer.status_code == 200
    assert is_whole(answer)
    told = report_of(answer)
    assert (told["turns"], told["bytes"], "file" in told) == (3, len(answer.content), False)
    scope = ArchiveScope(kind=ScopeKind.CONVERSATION, channel="default", conversation=TALK)
    beside = served.world.runtime.archives.export(tmp_path / "beside", scope, PrivateMaterial.INCLUDE)
    assert msgspec.to_builtins(beside.root) == told["root"]
    other = served.world.runtime.space("other").clients.create("elsewhere", EVERYTHING).key
    query = {name: said if isinstance(said, str) else json.dumps(said) for name, said in SCOPE.items()}
    imported = served.http.post(
        "/v1/archives/import", params=query, content=answer.content, headers={"Authorization": f"Bearer {other}"}
    )
    assert imported.json()["root"] == told["root"]


def test_what_fails_is_a_refusal_and_no_half_of_a_file(served: Served) -> None:
    asked = with_file(served, bytes(300_000))
    missing = served.post("attachments/save", asked | {"attachment": PLACE["attachment"] | {"part": 7}})
    assert (missing.status_code, missing.json()["code"]) == (404, "transcript.unknown_place")
    given_path = served.post("attachments/save", asked | {"file": "/etc/stolen"})
    assert (given_path.status_code, given_path.json()["code"]) == (400, "request.invalid")
    served.world.erased(1)
    erased = served.post("attachments/save", asked)
    assert (erased.status_code, erased.json()["code"]) == (409, "transcript.words_erased")


def test_a_key_takes_the_files_that_it_may_and_no_other(served: Served) -> None:
    asked = with_file(served, b"door")
    reader = served.key_for("reader", ClientScope(views=list(View)))
    assert served.post("attachments/save", asked, headers=reader).content == b"door"
    assert served.post("archives/export", SCOPE, headers=reader).status_code == 403
    other = served.key_for("other", ClientScope(views=list(View), subject="somebody"))
    foreign = served.post("attachments/save", asked, headers=other)
    absent = served.post("attachments/save", asked | {"conversation": {"conversation": "no-such"}}, headers=other)
    assert (foreign.status_code, foreign.content) == (404, absent.content)


def test_a_caller_that_hangs_up_or_stands_still_keeps_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was announced and does not come shows; others are served meanwhile, and the place is free afterwards."""
    monkeypatch.setattr(downloads, "PIECE_S", 0.2)
    monkeypatch.setattr(downloads, "DOWNLOADS_MAX", 1)
    asked = with_file(served, bytes(20_000_000))
    body = json.dumps(asked).encode()
    host, _, port = served.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as slow:
        head = f"POST /v1/attachments/save HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.key}\r\n"
        slow.sendall(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        first = slow.recv(4096)
        assert b"content-length: 20000000" in first.lower()
        busy = served.post("attachments/save", asked)
        served.world.erased(1)
        codes = {busy.json()["code"]}
        while codes <= {"request.busy"}:
            codes = {served.post("attachments/save", asked).json()["code"]}
        assert codes == {"transcript.words_erased"}
        received = len(first)
        while piece := slow.recv(1 << 20):
            received += len(piece)
        assert received < 20_000_000
    assert (busy.status_code, busy.headers["retry-after"]) == (503, "1")


def test_where_no_temporary_file_can_be_written_the_refusal_says_so(
    served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Small files need none; the place of one that failed is free again."""
    monkeypatch.setattr(downloads, "DOWNLOADS_MAX", 1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    small, large = with_file(served, b"door"), with_file(served, bytes(2_000_000), number=2)
    for asked, status in ((large, 503), (small, 200), (large, 503), (small, 200)):
        answer = served.post("attachments/save", asked)
        assert answer.status_code == status
    archive = served.post("archives/export", SCOPE)
    assert (archive.status_code, archive.json()["code"]) == (503, "store.fault")


def test_a_spool_holds_no_words() -> None:
    """What waits on a disk for a connection can be read by nobody who finds it."""
    for words in (b"canary " * 3, b"canary " * 400_000):
        with contextlib.closing(downloads.Spool(seeded_sources("spool").entropy)) as spool:
            spool.write(words)
            assert (spool.sealed().read(len(words) + 1), spool.size) == (words, len(words))
            spool._file.seek(0)
            assert b"canary" not in spool._file.read()


# --- documents --------------------------------------------------------------------------------------------------------


def test_a_document_comes_as_itself_to_whoever_takes_no_json(served: Served) -> None:
    served.world.with_turns(2)
    report = served.post("spaces/export", TALKING).json()
    for accept in ("text/markdown", "application/octet-stream", "text/html, text/*;q=0.5"):
        answer = served.post("spaces/export", TALKING, headers={"Accept": accept})
        assert answer.text == report["text"]
        assert is_whole(answer)
        assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
        assert answer.headers["content-disposition"].endswith("spaces-export.md")
        assert report_of(answer) == report["summary"]
    for accept in ("*/*", "application/json", "text/markdown, application/json;q=0.1", ""):
        assert served.post("spaces/export", TALKING, headers={"Accept": accept}).json().keys() == report.keys()


def test_the_tag_of_a_document_is_that_of_what_came(served: Served) -> None:
    """Whoever asks for the report with the tag of the text is not told that nothing has changed."""
    served.world.with_turns(1)
    query = {"conversation": json.dumps(TALKING["conversation"]), "turn": "turn-1"}
    for accept in ("application/json", "application/octet-stream"):
        answer = served.http.get("/v1/evidence/prove", params=query, headers={"Accept": accept})
        assert answer.headers["etag"] == f'"{b64url(sha256(answer.content)[:ETAG_BYTES])}"'
        assert "Accept" in answer.headers["vary"]


# --- the same from Python ---------------------------------------------------------------------------------------------


def test_a_stream_takes_what_a_path_takes(tmp_path: Path) -> None:
    with contextlib.closing(memory_world()) as world, (tmp_path / "stream").open("wb") as stream:
        world.with_turns(2)
        scope = ArchiveScope(kind=ScopeKind.SHARED)
        sent = world.runtime.archives.export(stream, scope)
        assert (sent.file, sent.bytes) == (None, stream.tell())
        assert world.runtime.archives.export(str(tmp_path / "path"), scope).root == sent.root
        stream.flush()
        assert world.runtime.archives.inspect(tmp_path / "stream").root == sent.root
