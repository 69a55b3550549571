"""Somebody edits the database between two openings, without any key: what they get is an error, never silence.

Each edit is SQL that an attacker with the file could run. Afterwards everything that a caller may ask is asked: if
nothing at all is refused, every answer must be the one from before the edit.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from muniment.errors import Corrupt, KeyMissing, MunimentError, RolledBack, StoreNewer
from muniment.events.changes import Transition
from muniment.events.identity import ConversationKey, TurnId
from muniment.governance.phases import Phase
from muniment.governance.views import View
from muniment.operations.spaces.spaces import Usage
from tests import names
from tests.turns import TALK, plain_turn, rich_turn
from tests.worlds import FileWorld, key_of

REFUSALS = (Corrupt, KeyMissing, RolledBack, StoreNewer)


def furnished(world: FileWorld) -> FileWorld:
    """Fill a world with two conversations, a mask, an erasure, an alias and a checkpoint in the middle."""
    world.with_turns(4).with_turns(2, "other").with_turn(rich_turn()).masked(2).erased(3)
    world.runtime.evidence.checkpoint()
    return world.with_turns(2).masked(1, "other")


def questions(world: FileWorld) -> dict[str, Callable[[], Any]]:
    """Return everything that is asked about such a world, by name."""
    runtime = world.runtime
    asked: dict[str, Callable[[], Any]] = {
        "conversations": runtime.conversations.list_,
        "usage": partial(_usage, world),
    }
    for name in ("talk", "other"):
        key = key_of(name)
        for view in View:
            asked[f"replay {name} {view}"] = partial(runtime.transcripts.replay, key, view)
            asked[f"export {name} {view}"] = partial(_exported, world, key, view)
        asked[f"receipts {name}"] = partial(_receipts, world, key)
        for turn in ("turn-1", "turn-2", "turn-3", "rich", "turn-6"):
            asked[f"prove {name} {turn}"] = partial(_proved, world, key, turn)
    asked["repeat"] = partial(world.commit, rich_turn())
    return asked


def _usage(world: FileWorld) -> Usage:
    return replace(world.runtime.spaces.usage(), bytes=0)  # a row that was moved may take another page


def _exported(world: FileWorld, key: ConversationKey, view: View) -> list[str]:
    text = world.runtime.evidence.export(key, view, certified=False).text
    return text.splitlines()[1:-2]  # head, proof and checkpoint grow with the log


def _receipts(world: FileWorld, key: ConversationKey) -> list[tuple[int, str, str]]:
    entries = world.runtime.lifecycle.receipts(key).entries
    return [(entry.position, entry.transition, entry.reason) for entry in entries]


def _proved(world: FileWorld, key: ConversationKey, turn: str) -> tuple[object, object]:
    summary = world.runtime.evidence.prove(key, TurnId(turn)).summary
    return summary["position"], summary["disclosed"]


def answers(world: FileWorld) -> dict[str, Any]:
    """Ask everything; an error stands for itself."""
    found: dict[str, Any] = {}
    for name, question in questions(world).items():
        try:
            found[name] = question()
        except MunimentError as refused:
            found[name] = refused
    return found


def settled(told: dict[str, Any]) -> dict[str, Any]:
    """Return answers with errors as their codes, which can be compared."""
    return {name: answer.code if isinstance(answer, MunimentError) else answer for name, answer in told.items()}


def asked_once(world: FileWorld) -> dict[str, Any]:
    """Ask everything, which puts on record what was exported; return the answers as of now."""
    told = settled(answers(world))
    return {**told, "usage": _usage(world)}


def place(raw: sqlite3.Connection, turn: int, stream: int = 0) -> int:
    """Return the position of a turn of the first or second conversation."""
    streams = [
        row[0] for row in raw.execute("SELECT DISTINCT stream FROM events WHERE turn_seq IS NOT NULL ORDER BY 1")
    ]
    (position,) = raw.execute(
        "SELECT position FROM events WHERE stream = ? AND turn_seq = ?", (streams[stream], turn)
    ).fetchone()
    return int(position)


def swapped(raw: sqlite3.Connection, table: str, column: str, key: str, one: int, two: int) -> None:
    """Swap a column between two rows."""
    query = f"SELECT {column} FROM {table} WHERE {key} = ?"  # noqa: S608 - words of this file
    ((left,), (right,)) = (raw.execute(query, (each,)).fetchone() for each in (one, two))
    for each, value in ((one, right), (two, left)):
        raw.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (value, each))  # noqa: S608 - as above


def edit(text: str) -> Callable[[sqlite3.Connection], None]:
    """Return an edit of one statement; `{turn}` and `{rich}` are turns, `{mask}` a mask, `{last}` the newest event."""

    def run(raw: sqlite3.Connection) -> None:
        (mask,) = raw.execute("SELECT min(position) FROM events WHERE target_seq IS NOT NULL").fetchone()
        (last,) = raw.execute("SELECT max(position) FROM events").fetchone()
        done = raw.execute(text.format(turn=place(raw, 1), rich=place(raw, 5), mask=mask, last=last))
        assert done.rowcount, "an edit that changes nothing shows nothing"

    return run


def _swap_cells(raw: sqlite3.Connection) -> None:
    swapped(raw, "events", "content", "position", place(raw, 1), place(raw, 4))


def _swap_headers(raw: sqlite3.Connection) -> None:
    for column in ("header", "leaf"):
        swapped(raw, "events", column, "position", place(raw, 1), place(raw, 4))


def _swap_everything(raw: sqlite3.Connection) -> None:
    one, two = place(raw, 1), place(raw, 4)
    _swap_headers(raw)
    swapped(raw, "envelopes", "sealed", "position", one, two)
    swapped(raw, "events", "content", "position", one, two)


def _swap_envelopes(raw: sqlite3.Connection) -> None:
    swapped(raw, "envelopes", "sealed", "position", place(raw, 1), place(raw, 4))


def name_of(turn: int, change: Callable[[int], names.Change], stream: int = 0) -> Callable[[sqlite3.Connection], None]:
    """Return an edit of the name of a turn."""
    return lambda raw: names.rewritten(raw, change(place(raw, turn, stream)))


def _swap_names(one: int, two: int, stream_of_two: int) -> Callable[[sqlite3.Connection], None]:
    return lambda raw: names.rewritten(raw, names.swapped(place(raw, one), place(raw, two, stream_of_two)))


def _conversations(raw: sqlite3.Connection) -> list[int]:
    rows = raw.execute("SELECT DISTINCT stream FROM events WHERE turn_seq IS NOT NULL ORDER BY 1")
    return [stream for (stream,) in rows]


def _swap_conversations(raw: sqlite3.Connection) -> None:
    names.rewritten(raw, names.swapped(*_conversations(raw)))


def _delete_conversations(raw: sqlite3.Connection) -> None:
    for stream in _conversations(raw):
        names.rewritten(raw, names.without(stream))


def _append_a_copy(raw: sqlite3.Connection) -> None:
    """Insert a copy of a turn behind all others, with every table made to agree as far as SQL can."""
    turn, (last,) = place(raw, 1), raw.execute("SELECT max(position) FROM events").fetchone()
    raw.execute(
        "INSERT INTO events (position, stream, seq, kind, turn_seq, target_seq, time, header, leaf, content)"
        " SELECT ?, e.stream, s.seq + 1, e.kind, s.turns + 1, e.target_seq, e.time, e.header, e.leaf, e.content"
        " FROM events e JOIN streams s ON s.stream = e.stream WHERE e.position = ?",
        (last + 1, turn),
    )
    raw.execute("INSERT INTO envelopes SELECT ?, sealed FROM envelopes WHERE position = ?", (last + 1, turn))
    raw.execute(
        "UPDATE streams SET seq = seq + 1, turns = turns + 1"
        " WHERE stream = (SELECT stream FROM events WHERE position = ?)",
        (turn,),
    )


def _drop_the_newest(raw: sqlite3.Connection) -> None:
    """Cut the newest event off, with its keys and cells, and set its stream back."""
    position, stream = raw.execute("SELECT position, stream FROM events ORDER BY position DESC LIMIT 1").fetchone()
    for statement in (
        "DELETE FROM events WHERE position = ?",
        "DELETE FROM envelopes WHERE position = ?",
        "DELETE FROM checkpoints WHERE size > ?",
    ):
        raw.execute(statement, (position,))
    raw.execute("UPDATE streams SET seq = seq - 1, changes = changes - 1 WHERE stream = ?", (stream,))


EDITS: dict[str, Callable[[sqlite3.Connection], None]] = {
    f"column {change}": edit(f"UPDATE events SET {change} WHERE position = {{turn}}")  # noqa: S608 - words of this file
    for change in (
        "stream = 900", "seq = 900", "turn_seq = 900", "turn_seq = NULL", "target_seq = 1", "time = time + 1",
        "header = x'7b7d'", "leaf = zeroblob(32)", "position = 900",
    )
}  # fmt: skip
EDITS |= {
    "kind of a turn": edit(
        "UPDATE events SET kind = (SELECT kind FROM events WHERE position = 0) WHERE position = {turn}"
    ),
    "column header cut": edit(
        "UPDATE events SET header = substr(header, 1, length(header) - 1) WHERE position = {turn}"
    ),
    "a turn deleted": edit("DELETE FROM events WHERE position = {turn}"),
    "a mask deleted": edit("DELETE FROM events WHERE position = {mask}"),
    "a mask moved to another turn": edit("UPDATE events SET target_seq = 4 WHERE position = {mask}"),
    "a mask that masks nothing": edit("UPDATE events SET target_seq = NULL WHERE position = {mask}"),
    "the newest event deleted": edit("DELETE FROM events WHERE position = {last}"),
    "an envelope deleted": edit("DELETE FROM envelopes WHERE position = {turn}"),
    "an envelope of a mask deleted": edit("DELETE FROM envelopes WHERE position = {mask}"),
    "an envelope edited": edit("UPDATE envelopes SET sealed = zeroblob(length(sealed)) WHERE position = {turn}"),
    "an envelope cut": edit("UPDATE envelopes SET sealed = substr(sealed, 1, 5) WHERE position = {turn}"),
    "words deleted": edit("UPDATE events SET content = NULL WHERE position = {turn}"),
    "words edited": edit("UPDATE events SET content = zeroblob(length(content)) WHERE position = {turn}"),
    "words cut": edit("UPDATE events SET content = substr(content, 1, 6) WHERE position = {turn}"),
    "a stream head deleted": edit(
        "DELETE FROM streams WHERE stream = (SELECT stream FROM events WHERE position = {turn})"
    ),
    "a stream head with fewer turns": edit("UPDATE streams SET turns = turns - 1 WHERE turns > 2"),
    "a stream head with fewer changes": edit("UPDATE streams SET changes = changes - 1 WHERE changes = 2"),
    "a stream head with more messages": edit("UPDATE streams SET messages = messages + 1 WHERE messages > 0"),
    "a stream head with another leaf": edit("UPDATE streams SET leaf = zeroblob(32) WHERE turns > 2"),
    "the frontier": edit("UPDATE frontier SET range = zeroblob(length(range))"),
    "checkpoints forged": edit("UPDATE checkpoints SET note = replace(note, 'muniment', 'munimint')"),
    "checkpoints deleted and a turn edited": edit("UPDATE events SET time = time + 1 WHERE position = {last}"),
    "the newest leaf": edit("UPDATE events SET leaf = zeroblob(32) WHERE position = {last}"),
    "the nodes of the tree": edit("UPDATE nodes SET hash = zeroblob(32)"),
    "checkpoints renumbered": edit(
        "UPDATE checkpoints SET size = size + 1 WHERE size = (SELECT max(size) FROM checkpoints)"
    ),
    "name of a turn deleted": name_of(1, names.without),
    "name of a turn deleted that is repeated": name_of(5, names.without),
    "name of a turn replaced": name_of(1, names.called),
    "names of conversations deleted": _delete_conversations,
    "all names deleted": edit("DELETE FROM names"),
    "names of two turns swapped": _swap_names(1, 4, 0),
    "names of turns of two conversations swapped": _swap_names(1, 2, 1),
    "names of the conversations swapped": _swap_conversations,
    "the seal of the log": edit("UPDATE frontier SET seal = zeroblob(length(seal))"),
    "no seal of the log": edit("UPDATE frontier SET seal = x''"),
    "words of two turns swapped": _swap_cells,
    "headers of two turns swapped": _swap_headers,
    "envelopes of two turns swapped": _swap_envelopes,
    "two turns swapped with all that is sealed": _swap_everything,
    "a turn appended that was copied": _append_a_copy,
    "the newest event cut off": _drop_the_newest,
    "the schema of the future": edit("PRAGMA user_version = 1000"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITS)
def test_an_edit_at_rest_is_refused_or_changes_no_answer(lasting: FileWorld, name: str) -> None:
    """DESIGN §1, promise 2: nothing is changed, removed, inserted, reordered or rolled back unnoticed."""
    before = asked_once(furnished(lasting))
    assert {code for code in before.values() if isinstance(code, str)} == {"evidence.missing"}
    try:
        with lasting.edited() as raw:
            EDITS[name](raw)
    except REFUSALS:
        return
    after = answers(lasting)
    refused = [answer for answer in after.values() if isinstance(answer, REFUSALS)]
    different = [name for name, answer in settled(after).items() if answer != before[name]]
    assert refused, f"nothing was refused; these answers differ: {different}"
    for question in different:
        assert isinstance(after[question], REFUSALS), f"{question} was answered differently and nobody was told"


@pytest.mark.parametrize(
    "name",
    [
        "a turn deleted", "a mask deleted", "the newest event deleted", "the newest leaf", "a stream head deleted",
        "checkpoints forged", "checkpoints renumbered", "name of a turn deleted", "name of a turn replaced",
        "the newest event cut off",
        "a turn appended that was copied",
    ],
)  # fmt: skip
def test_what_counting_shows_is_seen_at_opening(lasting: FileWorld, name: str) -> None:
    """Before anybody asks for what is missing: the store opens for inspection only."""
    furnished(lasting)
    with lasting.edited() as raw:
        EDITS[name](raw)
    health = lasting.runtime.system.health()
    assert not health.sound
    assert health.fault in {"store.corrupt", "store.rolled_back"}
    assert "talk" not in (health.fault_message or "")


def test_without_an_edit_coming_back_changes_no_answer(lasting: FileWorld) -> None:
    """The control: the questions themselves find nothing in a store that nobody touched."""
    before = asked_once(furnished(lasting))
    with lasting.edited():
        pass
    assert settled(answers(lasting)) == before


def test_an_erasure_is_never_carried_out_on_another_turn(lasting: FileWorld) -> None:
    """A name that was turned to another turn leads to an error, not to the wrong words destroyed."""
    furnished(lasting)
    with lasting.edited() as raw:
        _swap_names(1, 4, 0)(raw)
    with pytest.raises(Corrupt):
        lasting.request(Transition.ERASE, 1)
    with lasting.edited() as raw:
        _swap_names(1, 4, 0)(raw)
    assert [turn.phase for turn in lasting.replay().turns].count(Phase.ERASED) == 1


def test_a_name_that_was_deleted_is_no_reason_to_leave_words_unerased(lasting: FileWorld) -> None:
    """LC-05 is for turns that are not there; one that is there and cannot be found is corruption."""
    furnished(lasting)
    with lasting.edited() as raw:
        name_of(1, names.without)(raw)
    with pytest.raises(Corrupt):
        lasting.request(Transition.ERASE, 1)


@pytest.mark.parametrize(
    ("asked", "statement", "problem"),
    [
        ("commit", "DELETE FROM streams WHERE turns > 2", "head_missing"),
        ("commit", "DELETE FROM names", "bucket_missing"),
        ("commit", "UPDATE names SET body = substr(body, 23)", "bucket"),
        ("replay", "DELETE FROM events WHERE turn_seq = 7", "turns_missing"),
        ("replay", "DELETE FROM events WHERE turn_seq = 1", "turns_missing"),
        ("other", "DELETE FROM events WHERE target_seq IS NOT NULL", "changes_missing"),
    ],
)
def test_an_edit_of_the_open_store_is_met_when_it_is_read(
    lasting: FileWorld, asked: str, statement: str, problem: str
) -> None:
    """What was attested at opening is still proved at every use."""
    furnished(lasting).reopened()
    assert not lasting.request(Transition.MASK, conversation="nowhere").changed  # what is kept of names is kept now
    lasting.edited_while_open(statement)
    with pytest.raises(Corrupt) as refused:
        _ = (
            lasting.commit(plain_turn(1))
            if asked == "commit"
            else lasting.replay(conversation={"replay": TALK}.get(asked, asked))
        )
    assert refused.value.problem == problem


# --- what no checkpoint covers yet ------------------------------------------------------------------------------------


UNSIGNED: dict[str, str] = {
    "a turn moved": "UPDATE events SET position = 900 WHERE position = {last}",
    "the time of a turn": "UPDATE events SET time = time + 1 WHERE position = {last}",
    "the words of an envelope": "UPDATE envelopes SET sealed = zeroblob(length(sealed)) WHERE position = {last}",
    "the root of the tree": "UPDATE frontier SET range = CAST(substr(range, 1, length(range) - 1) || x'00' AS BLOB)",
    "the leaf of a turn": "UPDATE events SET leaf = zeroblob(32) WHERE position = {last}",
}


@pytest.mark.parametrize("name", UNSIGNED)
def test_what_was_never_signed_is_held_against_its_keys_at_opening(lasting: FileWorld, name: str) -> None:
    """A process that is killed leaves events behind the last checkpoint; an edit of them does not open as sound."""
    furnished(lasting).with_turns(1).crashed()
    with lasting.edited() as raw:
        edit(UNSIGNED[name])(raw)
    assert lasting.runtime.system.health().fault == "store.corrupt"
    with pytest.raises(Corrupt):
        lasting.replay()


def test_a_process_that_was_killed_leaves_everything_that_it_acknowledged(lasting: FileWorld) -> None:
    """The control."""
    before = asked_once(furnished(lasting))
    lasting.crashed().reopened()
    assert settled(answers(lasting)) == before


def test_a_bundle_that_was_edited_stops_a_rotation_and_nothing_is_lost(lasting: FileWorld) -> None:
    furnished(lasting)
    with lasting.edited() as raw:
        EDITS["an envelope edited"](raw)
    with pytest.raises(Corrupt) as refused:
        lasting.runtime.spaces.rotate()
    assert (refused.value.at or "").startswith("position")
    assert len(lasting.replay(View.RAW_OWNER, "other").turns) == 2
