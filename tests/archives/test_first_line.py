"""An archive says nothing in clear that is not authenticated, and without private material hints at nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from muniment.errors import ArchiveRefused, MunimentError
from muniment.events.archive import PrivateMaterial
from muniment.events.changes import Transition
from muniment.events.identity import TurnId
from muniment.governance.views import View
from muniment.operations.archives.document import PADDED_BYTES, padding
from muniment.operations.archives.omissions import LEFT_OUT, OmissionReason
from muniment.operations.transcripts.redact import Passage
from tests.archives.documents import ADA, TALKING, exported, lines_of, rooted, seal
from tests.turns import rich_turn
from tests.worlds import FileWorld, memory_world

HINTS = (b"hint", b"req-1", b"candidate-1", b"hospital")
OTHERS: dict[str, Callable[[int], int]] = {
    "another bit": lambda byte: byte ^ 1,
    "another letter": lambda byte: byte ^ 32,
    "a blank": lambda _: 0x20,
}


@pytest.mark.parametrize("change", OTHERS)
def test_no_byte_of_the_first_line_may_be_changed(archive: Path, target: FileWorld, change: str) -> None:
    whole = archive.read_bytes()
    for place in range(whole.index(b"\n") + 1):
        byte = OTHERS[change](whole[place])
        if byte == whole[place]:
            continue
        archive.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
        with pytest.raises(MunimentError):
            target.runtime.archives.inspect(str(archive))
    archive.write_bytes(whole)
    assert target.runtime.archives.inspect(str(archive)).turns > 0


def test_another_source_of_the_key_than_the_one_that_sealed_it_is_refused(archive: Path, target: FileWorld) -> None:
    """A well-formed first line that differs in nothing but what nobody needs to open the archive."""
    whole = archive.read_bytes()
    archive.write_bytes(whole.replace(b'"scheme":"', b'"scheme":"x', 1))
    assert archive.read_bytes() != whole
    with pytest.raises(ArchiveRefused) as refused:
        target.runtime.archives.inspect(str(archive))
    assert refused.value.problem == "not_authentic"


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b'{"format":2}\n', b"\x1f\x8b\x08\x00gzip", b'{"log":"x","size":3}\n{"header":{}}\n']
)
def test_another_file_is_said_to_be_no_archive(target: FileWorld, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "other"
    file.write_bytes(content)
    with pytest.raises(ArchiveRefused) as refused:
        target.runtime.archives.inspect(str(file))
    assert refused.value.problem == "not_an_archive"
    assert "not an archive" in str(refused.value)


def test_an_archive_of_an_earlier_format_is_said_to_be_one(archive: Path, target: FileWorld) -> None:
    archive.write_bytes(archive.read_bytes().replace(b'"format":2', b'"format":1', 1))
    with pytest.raises(ArchiveRefused) as refused:
        target.runtime.archives.inspect(str(archive))
    assert (refused.value.problem, refused.value.limit, refused.value.found) == ("old_format", 2, 1)


# --- hints ------------------------------------------------------------------------------------------------------------


def test_without_private_material_nothing_hints_at_what_was_said(tmp_path: Path) -> None:
    """Neither ids that lead elsewhere, nor what people wrote about the turns, nor how long a text is."""
    world = memory_world().with_turn(rich_turn()).with_turns(2)
    world.redacted(Passage(turn=TurnId("turn-2"), message=0, part=0, start=1, end=7), View.HOST_UI)
    world.request(Transition.MASK, 3, reason="about the hospital")
    exported(world.runtime, tmp_path / "all", TALKING)
    exported(world.runtime, tmp_path / "bare", TALKING, PrivateMaterial.EXCLUDE)
    document = b"".join(lines_of(tmp_path / "all"))
    assert all(hint in document for hint in HINTS)
    assert b'"start"' in document
    bare = b"".join(lines_of(tmp_path / "bare"))
    assert not any(hint in bare for hint in HINTS)
    assert b'"start"' not in bare
    assert bare.count(LEFT_OUT.encode()) == 1  # why the turns come as erased
    world.close()
    other = memory_world("other")
    report = other.runtime.archives.import_(str(tmp_path / "bare"), TALKING)
    assert (report.turns_inserted, other.runtime.evidence.inspect().findings) == (3, [])
    again = exported(other.runtime, tmp_path / "again", TALKING, PrivateMaterial.EXCLUDE)
    assert again.root == report.root
    other.close()


def test_an_archive_that_says_too_much_is_refused(archive: Path, target: FileWorld, tmp_path: Path) -> None:
    world = memory_world("source").with_turns(1)
    exported(world.runtime, tmp_path / "bare", ADA, PrivateMaterial.EXCLUDE)
    world.close()
    told = lines_of(tmp_path / "bare")
    place = next(number for number, line in enumerate(told) if b'"turn.committed"' in line)
    line = told[place].replace(b'"source":{}', b'"source":{},"candidates":["one"]', 1)
    seal(archive, rooted([*told[:place], line, *told[place + 1 :]]))
    with pytest.raises(ArchiveRefused) as refused:
        target.runtime.archives.inspect(str(archive))
    assert refused.value.problem == "content"


def test_the_size_of_an_archive_does_not_tell_how_much_was_said(tmp_path: Path) -> None:
    sizes = set()
    for turns in (1, 2, 20):
        world = memory_world(f"source-{turns}").with_turns(turns)
        for private in PrivateMaterial:
            sizes.add(exported(world.runtime, tmp_path / f"{turns}-{private}", ADA, private).bytes)
        world.close()
    assert len(sizes) == 1
    assert [len(padding(size)) for size in (1, PADDED_BYTES)] == [PADDED_BYTES - 1, 0]
    for size in (PADDED_BYTES + 1, 10**6, 10**7 + 3, 2**28):
        assert len(padding(size)) <= max(PADDED_BYTES, size / 8)


def test_padding_of_another_size_or_with_something_in_it_is_refused(archive: Path, target: FileWorld) -> None:
    told = lines_of(archive)
    zeros = len(padding(len(b"".join(told))))
    for tail in (b"\0" * PADDED_BYTES, b"\0" * (zeros - 9) + b"something", b"\0" * 70_000 + b"{}\n" + b"\0" * 9):
        seal(archive, [*told, tail])
        with pytest.raises(ArchiveRefused):
            target.runtime.archives.inspect(str(archive))


# --- what is left out -------------------------------------------------------------------------------------------------


def test_an_export_tells_how_much_it_leaves_out_and_why(tmp_path: Path) -> None:
    world = memory_world().with_turn(rich_turn()).with_turns(3).erased(3)
    full = exported(world.runtime, tmp_path / "all", TALKING)
    bare = exported(world.runtime, tmp_path / "bare", TALKING, PrivateMaterial.EXCLUDE)
    told = {each.reason: (each.turns, each.messages) for each in full.left_out}
    assert told == {OmissionReason.ERASED: (1, 2), OmissionReason.SOUL_GOVERNANCE: (0, 1)}
    told = {each.reason: (each.turns, each.messages) for each in bare.left_out}
    assert told == {OmissionReason.ERASED: (1, 2), OmissionReason.PRIVATE: (3, len(rich_turn().messages) + 4)}
    plain = memory_world("plain").with_turns(1)
    assert exported(plain.runtime, tmp_path / "plain").left_out == []
    assert replace(full, left_out=[]).turns == 4
    for each in (world, plain):
        each.close()
