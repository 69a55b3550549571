"""A log that somebody tidied with the tools of SQLite is read and written as before."""

from __future__ import annotations

import pytest

from muniment.operations.lifecycle.scope import Scope
from tests.turns import plain_turn
from tests.worlds import FileWorld, key_of

TOOLS = {
    "vacuum": ["VACUUM"],
    "analyze": ["ANALYZE"],
    "analyze of everything": ["PRAGMA optimize = 0x10002", "ANALYZE sqlite_schema", "VACUUM"],
    "reindex": ["REINDEX"],
    "larger pages": ["PRAGMA journal_mode = DELETE", "PRAGMA page_size = 16384", "VACUUM"],
    "smaller pages": ["PRAGMA journal_mode = DELETE", "PRAGMA page_size = 1024", "VACUUM"],
    "auto vacuum": ["PRAGMA journal_mode = DELETE", "PRAGMA auto_vacuum = FULL", "VACUUM"],
    "no write-ahead log": ["PRAGMA journal_mode = DELETE"],
    "integrity check": ["PRAGMA integrity_check"],
}


@pytest.mark.parametrize("statements", TOOLS.values(), ids=TOOLS)
def test_a_log_that_another_tool_has_tidied_is_as_good_as_before(lasting: FileWorld, statements: list[str]) -> None:
    lasting.with_turns(40)
    before = lasting.replay().turns
    lasting.close()
    with lasting.edited() as raw:
        raw.isolation_level = None  # these tools run outside of any transaction
        for statement in statements:
            raw.execute(statement)
    assert lasting.replay().turns == before
    assert lasting.runtime.transcripts.commit(plain_turn(41)).committed
    assert lasting.runtime.lifecycle.erase(Scope(conversation=key_of().conversation, turn="turn-7"), "a", "b").changed
    lasting.reopened()
    assert lasting.runtime.system.health().sound
    assert not lasting.runtime.evidence.inspect().findings
    lasting.runtime.evidence.audit()
