"""What the log keeps of an archive says nothing of the words in it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from msgspec.structs import replace

from muniment.events.identity import TurnId
from muniment.ledger.ledger import Ledger
from muniment.operations.archives.document import padding
from muniment.operations.lifecycle.scope import Scope
from tests.archives.documents import exported, imported, lines_of
from tests.turns import answered, asked, plain_turn
from tests.worlds import key_of, memory_world

CODE = b"4711"
CODES = [b"%04d" % code for code in range(10_000)]


def _digests_kept(ledger: Ledger) -> set[str]:
    """Return everything in the log that can still be read and looks like a digest."""
    with ledger.reader() as reader:
        bodies = [repr(ledger.open(row).meta) for row in reader.sealed_events(0, reader.frontier().size - 1)]
    return {digest for body in bodies for digest in re.findall("[0-9a-f]{64}", body)}


def _recovered(digests: set[str], told: list[bytes]) -> set[bytes]:
    """Return the codes whose archive has one of the digests, or a line of it; all but the code survives an erasure."""
    found = set()
    for code in CODES:
        lines = [line.replace(CODE, code) for line in told]
        document, altered = b"".join(lines), [line for line, old in zip(lines, told, strict=True) if CODE in old]
        texts = (document, b"".join(lines[1:]), document + padding(len(document)), *altered)
        if digests & {hashlib.sha256(text).hexdigest() for text in texts}:
            found.add(code)
    return found


def test_no_code_of_an_erased_turn_is_recovered_from_the_digest_of_an_archive(tmp_path: Path) -> None:
    """The log keeps the digest of the sealed file: whoever wants to test a guess with it needs the key of that file."""
    source, target = memory_world("source"), memory_world()
    source.commit(replace(plain_turn(1), messages=[asked(f"My code is {CODE.decode()}."), answered("Noted.")]))
    archive = tmp_path / "archive"
    exported(source.runtime, archive)
    imported(target.runtime, archive)
    told, sealed = lines_of(archive), hashlib.sha256(archive.read_bytes()).hexdigest()
    assert _recovered({hashlib.sha256(b"".join(told[1:])).hexdigest()}, told) == {CODE}
    for world in (source, target):
        scope = Scope(conversation=key_of().conversation, turn=TurnId("turn-1"))
        assert world.runtime.lifecycle.erase(scope, "why", "who").changed
        kept = _digests_kept(world.runtime._session.space.ledger)
        assert not _recovered(kept, told)
        assert kept == {sealed}
        world.close()
