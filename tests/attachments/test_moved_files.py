"""Files go along with backups and archives, and anyone can prove that a file is the one that was attached."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muniment.crypto.chunk import CHUNK_BYTES
from muniment.errors import ArchiveRefused, TurnConflict
from muniment.events.archive import ImportMode
from muniment.evidence import verifier
from muniment.governance.views import View
from muniment.ledger.giving import given
from muniment.operations.evidence.proof_document import EvidenceFormat
from muniment.operations.lifecycle.scope import Scope
from tests.archives.documents import TALKING, exported, imported, lines_of, rooted, seal
from tests.attachments.files import SIZES, added, attached, bytes_of, saved, turn_with
from tests.backups import backed_up, elsewhere, entered
from tests.evidence.authorities import ANY_CA, STAMPS, Authority, certified, served
from tests.turns import TALK, message_of, plain_turn
from tests.worlds import OPERATOR, FileWorld, key_of, memory_world, sqlite_world

ROOT = certified("root", basic=ANY_CA)
KEY = key_of()
DATAS = [bytes_of(size, seed) for seed, size in enumerate(SIZES)]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[FileWorld]:
    """Return a store with a turn for each size, and one of two files."""
    made = sqlite_world(tmp_path)
    for number, data in enumerate(DATAS, 1):
        attached(made.runtime, data, number=number)
    attached(made.runtime, DATAS[3], DATAS[4], number=9)
    yield made
    made.close()


def test_a_backup_has_the_files(world: FileWorld, tmp_path: Path) -> None:
    world.erased(2)
    backup = backed_up(world)
    with elsewhere(tmp_path) as store:
        report = store.spaces.restore(str(backup))
        assert report.cells_damaged == 0
    with entered(tmp_path) as there:
        for number, data in enumerate(DATAS, 1):
            assert number == 2 or saved(there, tmp_path, number) == data
        assert saved(there, tmp_path, 9, 1, 0) == DATAS[4]
        assert not there.evidence.inspect().findings


def test_a_backup_of_a_large_file_keeps_nobody_waiting(world: FileWorld) -> None:
    """Between two frames of chunks no snapshot is open, so an erasure may empty the write-ahead log."""
    attached(world.runtime, bytes_of(40 * CHUNK_BYTES), number=10)
    space, frames_of_chunks = world.runtime._session.space, 0
    for frame in given(space.ledger, lambda _done, _total: None):
        if len(frame) > 2**21:
            frames_of_chunks += 1
            world.commit(plain_turn(10 + frames_of_chunks))
            assert space.store.scrub().wal_bytes == 0
    assert frames_of_chunks == 3


def test_a_backup_counts_the_files_that_are_damaged(world: FileWorld, tmp_path: Path) -> None:
    with world.edited() as raw:
        raw.execute("DELETE FROM chunks WHERE id = (SELECT max(id) FROM chunks)")
    backup = backed_up(world)
    with elsewhere(tmp_path) as store:
        assert store.spaces.restore(str(backup)).cells_damaged == 1


def test_an_archive_has_the_files(world: FileWorld, tmp_path: Path) -> None:
    world.erased(2)
    exported(world.runtime, tmp_path / "talk.mua", TALKING)
    other = memory_world("other")
    imported(other.runtime, tmp_path / "talk.mua", TALKING)
    for number, data in enumerate(DATAS, 1):
        assert number == 2 or saved(other.runtime, tmp_path, number) == data
    assert saved(other.runtime, tmp_path, 9, 1, 0) == DATAS[4]
    assert not other.runtime.evidence.inspect().findings
    exported(other.runtime, tmp_path / "again.mua", TALKING)
    assert lines_of(tmp_path / "again.mua") == lines_of(tmp_path / "talk.mua")
    other.erased(9)
    assert not other.runtime.evidence.inspect().findings


def test_a_turn_from_an_archive_is_known_by_its_files_when_it_is_committed_again(
    world: FileWorld, tmp_path: Path
) -> None:
    """Files have other salts there, and so other roots; a repeat is compared by the bytes that were added again."""
    exported(world.runtime, tmp_path / "talk.mua", TALKING)
    with memory_world("other").runtime as other:
        imported(other, tmp_path / "talk.mua", TALKING)
        for number, data in enumerate(DATAS, 1):
            again = turn_with(added(other, data), number=number)
            assert other.transcripts.commit(again).reason == "turn_already_committed"
        again = turn_with(added(other, DATAS[3]), added(other, DATAS[4]), number=9)
        assert other.transcripts.commit(again).reason == "turn_already_committed"
        for change in (
            [added(other, DATAS[5][:-1] + b"!")],
            [added(other, DATAS[5], name="b.png")],
            [added(other, DATAS[4])],
            [],
        ):
            with pytest.raises(TurnConflict):
                other.transcripts.commit(turn_with(*change, number=6))


def test_a_file_that_was_erased_here_does_not_come_back_with_an_archive(world: FileWorld, tmp_path: Path) -> None:
    exported(world.runtime, tmp_path / "talk.mua", TALKING)
    world.runtime.lifecycle.erase(_message(9, 1), "asked", OPERATOR)
    world.erased(3)
    imported(world.runtime, tmp_path / "talk.mua", TALKING, ImportMode.RESTORE)
    assert saved(world.runtime, tmp_path, 9) == DATAS[3]
    assert world.replay().turns[-1].messages[1].parts == []
    with world.runtime._session.space.store.reader() as reader:
        assert not reader.has_loose_parts(2**53)
        fields = [row.field for row in reader.parts(0, 2**40)]
    assert len(fields) == len(DATAS) - 1 + 1
    assert not world.runtime.evidence.inspect().findings


def _message(number: int, place: int) -> Scope:

    return Scope(conversation=TALK, message=message_of(f"turn-{number}", place))


def _chunk(told: list[bytes]) -> int:
    return next(at for at, line in enumerate(told) if line.startswith(b'{"attachment"'))


def _without_a_chunk(told: list[bytes]) -> list[bytes]:
    at = _chunk(told)
    return told[:at] + told[at + 1 :]


def _short_in_the_middle(told: list[bytes]) -> list[bytes]:
    at = max(at for at, line in enumerate(told) if line.startswith(b'{"attachment"') and len(line) > CHUNK_BYTES)
    line = json.loads(told[at])
    line["chunk"] = line["chunk"][:40]
    return [*told[:at], json.dumps(line, separators=(",", ":")).encode() + b"\n", *told[at + 1 :]]


def _at_the_end(told: list[bytes]) -> list[bytes]:
    at = _chunk(told)
    return [*told, told[at]]


def _before_another_event(told: list[bytes]) -> list[bytes]:
    at = _chunk(told)
    return [*told[:at], told[at + 1], told[at], *told[at + 2 :]]


def _of_another_field(told: list[bytes]) -> list[bytes]:
    at = _chunk(told)
    return [*told[:at], told[at].replace(b"content/1", b"content/7"), *told[at + 1 :]]


def _with_a_root(told: list[bytes]) -> list[bytes]:
    return [line.replace(b'"root":"AAAA', b'"root":"BAAA') for line in told]


@pytest.mark.parametrize(
    "spoil",
    [_without_a_chunk, _short_in_the_middle, _at_the_end, _before_another_event, _of_another_field, _with_a_root],
)
def test_an_archive_with_other_chunks_than_its_turns_say_is_refused(
    world: FileWorld, tmp_path: Path, spoil: Callable[[list[bytes]], list[bytes]]
) -> None:
    exported(world.runtime, tmp_path / "talk.mua", TALKING)
    told = lines_of(tmp_path / "talk.mua")
    spoiled = rooted(spoil(told))
    assert spoiled != told
    with memory_world("other").runtime as other, pytest.raises(ArchiveRefused):
        imported(other, seal(tmp_path / "spoiled.mua", spoiled), TALKING)


# --- proofs -----------------------------------------------------------------------------------------------------------


def verified(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """Run the command of the verifier."""
    code = verifier.main(["attachment", *map(str, arguments)])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("form", EvidenceFormat)
def test_anyone_can_prove_that_a_file_was_attached(
    world: FileWorld, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: EvidenceFormat
) -> None:
    bundle = world.runtime.evidence.export(key_of(), format=form)
    (tmp_path / "bundle").write_text(bundle.text, encoding="utf-8")
    vkey = bundle.summary["vkey"]
    for data in DATAS:
        (tmp_path / "file").write_bytes(data)
        code, told = verified(capsys, tmp_path / "bundle", tmp_path / "file", "--key", vkey)
        assert (code, told.startswith("VERIFIED  the file is message/0/content/1 at position")) == (0, True)
        code, told = verified(capsys, tmp_path / "bundle", tmp_path / "file", "--key", vkey, "--json")
        assert (code, json.loads(told)["attachment"]["size"]) == (0, len(data))
    for data in (DATAS[-1][:-1], DATAS[-1][:-1] + b"!", b"xx"):
        (tmp_path / "file").write_bytes(data)
        assert verified(capsys, tmp_path / "bundle", tmp_path / "file", "--key", vkey)[0] == 1


def test_a_timestamp_is_checked_where_a_file_is_proved_if_somebody_asks_for_that(
    world: FileWorld, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "root.pem").write_text(ROOT.pem)
    (tmp_path / "file").write_bytes(DATAS[4])

    def told(*more: object) -> tuple[int, str]:
        receipt = world.runtime.evidence.prove(KEY, "turn-5", view=View.RAW_OWNER)
        (tmp_path / "receipt").write_text(receipt.text)
        vkey = world.runtime.evidence.checkpoint().vkey
        return verified(capsys, tmp_path / "receipt", tmp_path / "file", "--key", vkey, *more)

    trusting = ("--timestamp-certificate", tmp_path / "root.pem")
    assert told()[0] == 0
    assert told(*trusting) == (1, "REFUSED  timestamp_missing\n")
    with served(Authority(certified("signer", ROOT, purposes=STAMPS, years=(-10, 30)))) as url:
        world.runtime.evidence.checkpoint(url)
    assert "not checked" in told()[1]
    code, lines = told(*trusting)
    assert (code, "(checked: CN=signer)" in lines) == (0, True)
    assert json.loads(told(*trusting, "--json")[1])["timestamps"][0]["checked"]


def test_a_receipt_proves_a_file_too(world: FileWorld) -> None:
    receipt = world.runtime.evidence.prove(key_of(), "turn-9", view=View.RAW_OWNER)
    vkey = world.runtime.evidence.checkpoint().vkey
    proved = verifier.verify_attachment(io.BytesIO(receipt.text.encode()), vkey, io.BytesIO(DATAS[4]))
    assert (proved.label, proved.attachment["name"]) == ("message/1/content/0", "a.png")
    with pytest.raises(verifier.Refused):
        verifier.verify_attachment(io.BytesIO(receipt.text.encode()), vkey, io.BytesIO(DATAS[5]))


def test_a_view_that_hides_the_file_proves_nothing_of_it(world: FileWorld) -> None:
    world.masked(6)
    bundle = world.runtime.evidence.export(key_of())
    with pytest.raises(verifier.Refused):
        verifier.verify_attachment(io.BytesIO(bundle.text.encode()), str(bundle.summary["vkey"]), io.BytesIO(DATAS[5]))
