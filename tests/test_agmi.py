"""The public attack suite for agent memory (`agent-memory-integrity`) against our store, detected on the read path.

The attacker has the files of the store and no key, and writes with plain SQL. He is a good one: a forged turn comes
with everything that SQL can make agree with it. T6 crosses from one space to another, T9 puts an older copy of
everything back; the pin is outside of the store. What counts is the answer of a replay, not of an audit.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from agmi.adapters.base import MemoryAdapter, Record
from agmi.attacks.at_rest import AT_REST_ATTACKS_WITH_SNAPSHOT

from muniment.errors import Kind, MunimentError, UnknownConversation
from muniment.governance.views import View
from muniment.runtime.runtime import Runtime
from tests import names
from tests.turns import plain_turn
from tests.worlds import STORE, key_of, open_store

PLACE = ("position", "stream", "seq", "turn_seq")
SAID = ("header", "leaf", "envelope", "content")
LABELLED = ("kind", "target_seq", "time")
VICTIM, OTHER = "victim", "other"

READ = """
SELECT e.position, e.stream, e.seq, e.turn_seq, e.kind, e.target_seq, e.time, e.header, e.leaf, k.sealed AS envelope,
    e.content
FROM events e
JOIN envelopes k ON k.position = e.position
WHERE e.content IS NOT NULL AND e.turn_seq IS NOT NULL ORDER BY e.turn_seq"""


class StoreUnderAttack(MemoryAdapter):  # type: ignore[misc]  # the suite is not typed
    """Our store for the suite: a record is a turn of one conversation, with all that is kept of it."""

    name = "muniment"
    detection_point = "read"
    supports_replay = supports_metadata = supports_snapshot = True

    def setup(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="attacked-"))
        self._openings = 0
        self._logs: dict[str, Path] = {}
        self._runtime: Runtime | None = None

    def teardown(self) -> None:
        if self._runtime is not None:
            self._runtime.close()
            self._runtime = None
        shutil.rmtree(self._home)

    # --- the owner of the store ---------------------------------------------------------------------------------------

    def seed(self, n: int) -> None:
        self._grow(VICTIM, n)

    def seed_other(self, n: int) -> None:
        self._grow(OTHER, n)

    def append_genuine(self) -> None:
        self._grow(VICTIM, 1)

    def _grow(self, space: str, count: int) -> None:
        with self._opened(space) as runtime:
            try:
                before = len(runtime.transcripts.replay(key_of(), View.OPERATOR_AUDIT).turns)
            except UnknownConversation:
                before = 0
            for number in range(before + 1, before + count + 1):
                runtime.transcripts.commit(plain_turn(number))
        for log in (self._home / STORE).glob("spaces/*/log.db"):
            if log not in self._logs.values():
                self._logs[space] = log

    def _opened(self, space: str) -> Runtime:
        self._openings += 1
        return open_store(self._home, f"attacked-{self._openings}", space=space)

    def reload(self) -> None:
        if self._runtime is not None:
            self._runtime.close()
        self._runtime = None

    def verify(self) -> bool:
        """Open the store and read the conversation, as an agent would."""
        try:
            with self._opened(VICTIM) as runtime:
                runtime.transcripts.replay(key_of(), View.RAW_OWNER)
        except MunimentError as refused:
            if refused.kind is Kind.CORRUPT:
                self.verify_detail = str(refused)
                return False
            raise
        return True

    # --- the attacker -------------------------------------------------------------------------------------------------

    @contextmanager
    def _raw(self, space: str = VICTIM) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._logs[space])) as raw:
            raw.row_factory = sqlite3.Row
            yield raw
            raw.commit()

    def _read(self, space: str) -> list[Record]:
        with self._raw(space) as raw:
            rows = raw.execute(READ).fetchall()
        return [Record(seq=place, fields={**dict(row), "owner": space}) for place, row in enumerate(rows)]

    def read_all_raw(self) -> list[Record]:
        return self._read(VICTIM)

    def read_other_raw(self) -> list[Record]:
        return self._read(OTHER)

    def write_raw(self, record: Record) -> None:
        slots = self._read(VICTIM)
        if record.seq < len(slots):
            self._put(slots[record.seq].fields["position"], record.fields)
        else:
            self._insert(record.fields)

    def _put(self, position: int, fields: dict[str, Any]) -> None:
        """Write what a record says into the slot of another."""
        with self._raw() as raw:
            raw.execute(
                "UPDATE events SET header = ?, leaf = ?, content = ? WHERE position = ?",
                (fields["header"], fields["leaf"], fields["content"], position),
            )
            raw.execute("UPDATE envelopes SET sealed = ? WHERE position = ?", (fields["envelope"], position))

    def _insert(self, fields: dict[str, Any]) -> None:
        """Append a record with everything that SQL can make agree with it."""
        with self._raw() as raw:
            (last,) = raw.execute("SELECT max(position) FROM events").fetchone()
            raw.execute(
                "INSERT INTO events (position, stream, seq, kind, turn_seq, time, header, leaf, content)"
                " SELECT ?, stream, seq + 1, ?, turns + 1, ?, ?, ?, ? FROM streams WHERE stream = ?",
                (last + 1, *(fields[name] for name in ("kind", "time", "header", "leaf", "content", "stream"))),
            )
            raw.execute("INSERT INTO envelopes VALUES (?, ?)", (last + 1, fields["envelope"]))
            raw.execute(
                "UPDATE streams SET seq = seq + 1, turns = turns + 1, leaf = ? WHERE stream = ?",
                (fields["leaf"], fields["stream"]),
            )

    def delete_raw(self, seq: int) -> None:
        position = self._read(VICTIM)[seq].fields["position"]
        with self._raw() as raw:
            raw.execute("DELETE FROM events WHERE position = ?", (position,))
            raw.execute("DELETE FROM envelopes WHERE position = ?", (position,))
            names.rewritten(raw, names.without(position))

    def mutate_payload(self, record: Record) -> Record:
        words = bytearray(record.fields["content"])
        words[-1] ^= 1
        record.fields["content"] = bytes(words)
        return record

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        self._put(self._read(VICTIM)[victim_seq].fields["position"], donor.fields)

    def read_meta(self, seq: int) -> dict[str, Any]:
        fields = self._read(VICTIM)[seq].fields
        return {name: fields[name] for name in LABELLED}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        position = self._read(VICTIM)[seq].fields["position"]
        moved = meta["time"] + (1 if meta.get("agmi_meta_tampered") else 0)
        with self._raw() as raw:
            raw.execute("UPDATE events SET time = ? WHERE position = ?", (moved, position))

    def snapshot_store(self) -> Path:
        copy = self._home / "copy"
        shutil.copytree(self._home / STORE, copy)
        return copy

    def restore_store(self, token: object) -> None:
        assert isinstance(token, Path)
        shutil.rmtree(self._home / STORE)
        shutil.copytree(token, self._home / STORE)

    # --- what the suite wants to know of a record ---------------------------------------------------------------------

    def identity_of(self, record: Record) -> str:
        return "/".join(str(record.fields[name]) for name in ("owner", *PLACE))

    def payload_of(self, record: Record) -> str:
        return "/".join(
            record.fields[name].hex() if isinstance(record.fields[name], bytes) else str(record.fields[name])
            for name in SAID
        )

    def owner_of(self, record: Record) -> str:
        return str(record.fields["owner"])


@pytest.mark.parametrize("attack", AT_REST_ATTACKS_WITH_SNAPSHOT, ids=lambda attack: attack.name)
def test_an_attack_of_the_public_suite_is_refused_on_read(attack: Any) -> None:
    """T1 to T9: the edit landed as the suite intends, and reading the conversation says so."""
    adapter = StoreUnderAttack()
    result = attack().run(adapter)
    assert result.error is None, result.error
    assert result.status == "safe", result.guard or result.detail
    assert adapter.verify_detail is not None


def test_an_untouched_store_is_read_without_a_word(tmp_path: Path) -> None:
    """The control: what refuses every attack lets the owner in."""
    adapter = StoreUnderAttack()
    adapter.setup()
    adapter.seed(3)
    adapter.seed_other(2)
    adapter.restore_store(adapter.snapshot_store())
    assert adapter.verify()
    assert [len(records) for records in (adapter.read_all_raw(), adapter.read_other_raw())] == [3, 2]
    adapter.teardown()
    assert not list(tmp_path.iterdir())
