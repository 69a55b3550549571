"""Edit the files of a store in every way that somebody without its key can: each must be found.

The attacks T1 to T9 of the public suite on agent memory, at rest and in SQL (rewrite, forge, remove, insert, reorder,
replay from elsewhere, relabel, cut, roll back), and beyond them single pages of the database rolled back, rows swapped
between two spaces, the keyring rolled back, and the whole directory rolled back: held against the pin, or, where the
pin was rolled back as well, against a receipt that somebody holds.

What counts as found is said in `everything`. A page that is rolled back and changes no answer, or
brings only words back that are then destroyed again, is counted apart.
The control is a store that nobody edited: it must be let in with the answers it had.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable

from muniment.evidence.pin import FilePin
from replay.drills.everything import Verdict, answers_of, verdict
from replay.drills.exhibits import Exhibit, Vandal
from replay.drills.outcome import Outcome
from replay.drills.powercut import scratch_directory

ATTACKS_EACH = 100
PAGE_BYTES = 4096


def edits(count: int | None, seed: int) -> Outcome:
    """Attack so many times, with each attack in turn."""
    attacks = count or ATTACKS_EACH
    chance = random.Random(seed)  # noqa: S311 - which rows a drill edits is no secret
    names, failures, harmless = list(ATTACKS), [], 0
    with scratch_directory("edits") as scratch:
        exhibit = Exhibit(scratch / "exhibit")
        for number in range(attacks):
            name = names[number % len(names)]
            with exhibit.copied(scratch / "home") as home:
                ATTACKS[name](Vandal(home, exhibit.older, chance), exhibit)
                found = verdict(exhibit.answers, answers_of(home))
            if found in {Verdict.HARMLESS, Verdict.HEALED} and name in MAY_BE_HARMLESS:
                harmless += 1
            elif found is not Verdict.REFUSED:
                failures.append(f"{name}: {found}")
        with exhibit.copied(scratch / "home") as home:
            untouched = answers_of(home) == exhibit.answers
    return Outcome(
        name="edits",
        tried=f"{attacks:,} edits of {len(names)} kinds, {harmless} of them harmless or healed",
        failures=failures,
        control="an unedited store, which opens",
        control_failed=untouched,
        seed=seed,
    )


# --- rows -------------------------------------------------------------------------------------------------------------


def rewrite(vandal: Vandal, _: Exhibit) -> None:
    """Change one bit of something sealed (T1)."""
    table, column, key = vandal.chance.choice(
        [("events", "content", "position"), ("envelopes", "sealed", "position"), ("events", "header", "position")]
    )
    rows = vandal.rows(f"SELECT {key}, {column} FROM {table}")  # noqa: S608 - words of this file
    name, held = vandal.chance.choice([row for row in rows if isinstance(row[1], bytes)])
    assert isinstance(held, bytes), "as chosen"
    bad = bytearray(held)
    bad[vandal.chance.randrange(len(bad))] ^= 1 << vandal.chance.randrange(8)
    assert vandal.sql(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", bytes(bad), name)  # noqa: S608 - as above


def reorder(vandal: Vandal, _: Exhibit) -> None:
    """Let two turns change places with all that is sealed of them (T5)."""
    one, other = vandal.positions("turn_seq IS NOT NULL AND content IS NOT NULL")[:2]
    for table, column in (
        ("events", "header"),
        ("events", "leaf"),
        ("envelopes", "sealed"),
        ("events", "content"),
    ):
        _swap(vandal, table, column, one, other)


def _swap(vandal: Vandal, table: str, column: str, one: int, other: int) -> None:
    ((mine,), (theirs,)) = (
        vandal.rows(f"SELECT {column} FROM {table} WHERE position = ?", place)[0]  # noqa: S608 - words of this file
        for place in (one, other)
    )
    for place, held in ((one, theirs), (other, mine)):
        assert vandal.sql(f"UPDATE {table} SET {column} = ? WHERE position = ?", held, place)  # noqa: S608 - as above


def swap_words(vandal: Vandal, _: Exhibit) -> None:
    """Let two turns change their words (T5)."""
    one, other = vandal.positions("turn_seq IS NOT NULL AND content IS NOT NULL")[:2]
    _swap(vandal, "events", "content", one, other)


def remove(vandal: Vandal, _: Exhibit) -> None:
    """Remove an event with everything that belongs to it (T3)."""
    _remove(vandal, vandal.positions("position > 0")[0])


def cut_tail(vandal: Vandal, _: Exhibit) -> None:
    """Remove the last events (T8)."""
    (last,) = vandal.rows("SELECT max(position) FROM events")[0]
    for back in range(vandal.chance.randint(1, 4)):
        _remove(vandal, int(str(last)) - back)


def _remove(vandal: Vandal, position: int) -> None:
    assert vandal.sql("DELETE FROM events WHERE position = ?", position)
    vandal.sql("DELETE FROM envelopes WHERE position = ?", position)


def remove_words(vandal: Vandal, _: Exhibit) -> None:
    """Remove the words of a turn, its key, or both, as if they had been erased."""
    position = vandal.positions("content IS NOT NULL")[0]
    which = vandal.chance.randrange(3)
    if which != 1:
        assert vandal.sql("UPDATE events SET content = NULL WHERE position = ?", position)
    if which != 0:
        assert vandal.sql("DELETE FROM envelopes WHERE position = ?", position)


def insert(vandal: Vandal, _: Exhibit) -> None:
    """Append a turn that is there once more, with everything that SQL can make agree with it (T2, T4)."""
    position = vandal.positions()[0]
    (end,) = vandal.rows("SELECT max(position) + 1 FROM events")[0]
    vandal.sql(
        "INSERT INTO events"
        " SELECT ?, e.stream, s.seq + 1, e.kind, s.turns + 1, NULL, e.time, e.leaf, e.header, e.content"
        " FROM events e JOIN streams s ON s.stream = e.stream WHERE e.position = ?",
        end,
        position,
    )
    vandal.sql("INSERT INTO envelopes SELECT ?, sealed FROM envelopes WHERE position = ?", end, position)
    vandal.sql(
        "UPDATE streams SET seq = seq + 1, turns = turns + 1"
        " WHERE stream = (SELECT stream FROM events WHERE position = ?)",
        position,
    )


def relabel(vandal: Vandal, _: Exhibit) -> None:
    """Change a column of an event, or of a stream, that is not sealed (T7)."""
    table, column, key = vandal.chance.choice(
        [
            ("events", "time", "position"),
            ("events", "target_seq", "position"),
            ("events", "seq", "position"),
            ("events", "turn_seq", "position"),
            ("streams", "turns", "stream"),
            ("streams", "changes", "stream"),
            ("streams", "messages", "stream"),
            ("streams", "names", "stream"),
            ("names", "bucket", "bucket"),
        ]
    )
    where = f"WHERE {column} IS NOT NULL ORDER BY random() LIMIT 1"
    assert vandal.sql(
        f"UPDATE {table} SET {column} = {column} + 100 WHERE {key} = (SELECT {key} FROM {table} {where})"  # noqa: S608 - words of this file
    )


def transplant(vandal: Vandal, _: Exhibit) -> None:
    """Put the sealed rows of an event of another space in the place of ours (T6)."""
    position = vandal.positions()[0]
    donor = vandal.rows("SELECT leaf, header, content FROM events WHERE position = ?", position, log=vandal.other)[0]
    assert vandal.sql("UPDATE events SET leaf = ?, header = ?, content = ? WHERE position = ?", *donor, position)
    bundle = vandal.rows("SELECT sealed FROM envelopes WHERE position = ?", position, log=vandal.other)[0]
    vandal.sql("UPDATE envelopes SET sealed = ? WHERE position = ?", *bundle, position)


def unmask(vandal: Vandal, _: Exhibit) -> None:
    """Remove what was said of turns: masks, redactions, erasures (T3)."""
    _remove(vandal, vandal.positions("target_seq IS NOT NULL")[0])


def forge_tree(vandal: Vandal, _: Exhibit) -> None:
    """Change the tree, its head, a checkpoint, or a named value."""
    statement = vandal.chance.choice(
        [
            "UPDATE nodes SET hash = randomblob(32) WHERE id = (SELECT id FROM nodes ORDER BY random() LIMIT 1)",
            "UPDATE frontier SET range = zeroblob(length(range))",
            "UPDATE checkpoints SET note = replace(note, '1', '2')",
            "UPDATE OR REPLACE checkpoints SET size = size - 1 WHERE size = (SELECT max(size) FROM checkpoints)",
            "DELETE FROM streams WHERE stream = (SELECT max(stream) FROM streams)",
            "DELETE FROM names WHERE bucket = (SELECT min(bucket) FROM names)",
            "UPDATE names SET body = substr(body, 23) WHERE bucket = (SELECT min(bucket) FROM names)",
            "UPDATE frontier SET seal = zeroblob(length(seal))",
        ]
    )
    assert vandal.sql(statement)


# --- files ------------------------------------------------------------------------------------------------------------


def page(vandal: Vandal, _: Exhibit) -> None:
    """Roll one page of the database back (T9, in small)."""
    new, old = bytearray(vandal.log.read_bytes()), vandal.older_of(vandal.log).read_bytes()
    starts = [
        at
        for at in range(0, min(len(new), len(old)), PAGE_BYTES)
        if new[at : at + PAGE_BYTES] != old[at : at + PAGE_BYTES]
    ]
    at = vandal.chance.choice(starts)
    new[at : at + PAGE_BYTES] = old[at : at + PAGE_BYTES]
    vandal.log.write_bytes(new)


def keyring(vandal: Vandal, _: Exhibit) -> None:
    """Roll the keys of a space back."""
    path = vandal.log.with_name("keys.json")
    path.write_bytes(vandal.older_of(path).read_bytes())


def bundles(vandal: Vandal, _: Exhibit) -> None:
    """Roll the envelopes in the log back."""
    older = vandal.older_of(vandal.log)
    for position, bundle in vandal.rows("SELECT position, sealed FROM envelopes", log=older):
        vandal.sql("UPDATE envelopes SET sealed = ? WHERE position = ?", bundle, position)


def log(vandal: Vandal, _: Exhibit) -> None:
    """Roll one log back, and leave its keys."""
    shutil.copy(vandal.older_of(vandal.log), vandal.log)


def directory(vandal: Vandal, _: Exhibit) -> None:
    """Roll the whole store back; the pin is elsewhere (T9)."""
    shutil.rmtree(vandal.home / "store")
    shutil.copytree(vandal.older / "store", vandal.home / "store")


def directory_and_pins(vandal: Vandal, exhibit: Exhibit) -> None:
    """Roll the store and its pins back; somebody holds a receipt, and pins the checkpoint in it."""
    directory(vandal, exhibit)
    shutil.rmtree(vandal.home / "pins")
    shutil.copytree(vandal.older / "pins", vandal.home / "pins")
    note = exhibit.receipt.partition("\n\n")[2]
    FilePin(vandal.home / "pins").write(note.partition("\n")[0], note)


def other_log(vandal: Vandal, _: Exhibit) -> None:
    """Put the log of another space in the place of ours, or let the two change places with their keys."""
    if vandal.chance.random() < 0.5:
        shutil.copy(vandal.other, vandal.log)
        return
    one, other = vandal.log.parent, vandal.other.parent
    one.rename(one.with_name("aside"))
    other.rename(one)
    one.with_name("aside").rename(other)


def cut_file(vandal: Vandal, _: Exhibit) -> None:
    """Cut a file of the store short."""
    path = vandal.chance.choice([vandal.log, vandal.log.with_name("keys.json"), vandal.home / "store" / "store.json"])
    held = path.read_bytes()
    path.write_bytes(held[: vandal.chance.randrange(len(held))])


ATTACKS: dict[str, Callable[[Vandal, Exhibit], None]] = {
    attack.__name__: attack
    for attack in (
        rewrite,
        reorder,
        swap_words,
        remove,
        cut_tail,
        remove_words,
        insert,
        relabel,
        transplant,
        unmask,
        forge_tree,
        page,
        keyring,
        bundles,
        log,
        directory,
        directory_and_pins,
        other_log,
        cut_file,
    )
}
MAY_BE_HARMLESS = frozenset({"page"})
