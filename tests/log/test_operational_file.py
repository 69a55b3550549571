"""The file of operational records, for those who cannot wait."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import apsw

from muniment.log.operational_file import OperationalFile

KIND, NAME = "client", b"desk"


def test_who_does_not_wait_leaves_the_opening_to_who_does(tmp_path: Path) -> None:
    """Opening may wait for a writer of another process, which an event loop must not."""
    path = tmp_path / "operational.db"
    with closing(OperationalFile(path)) as written:
        written.change(KIND, NAME, 0, lambda _: b"sealed", None)
    with closing(OperationalFile(path)) as file, closing(apsw.Connection(str(path))) as writer:
        writer.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        assert file.version([KIND], waits=False) is None
        assert time.monotonic() - began < 1
        writer.execute("ROLLBACK")
        known = file.version([KIND])
        assert known is not None
        assert file.version([KIND], waits=False) == known
