"""Put a random string into every field that holds words or names, then look for it everywhere it must not be.

1. Turns are committed whose every text field is a canary, each with a file that has one in its bytes, in conversations
   and a space that are named by canaries; some are masked, for reasons and by requesters that are canaries, too. They
   are searched for under every view, and the indexes that come of it are kept at rest.
2. No file of the store may hold one of them, nor its write-ahead log, its indexes, its key and pin files, the directory
   for temporary files, or a file that has no name any more: while the store is open, and after it was closed.
3. An export under a view may hold none that the view hides, also not within a disclosure.
4. Half of the conversations are erased. Then the same holds; the ciphertext of what was erased is in no file either;
   and a dump of everything that can still be decrypted, cells and indexes, holds no word of it.

The control: the same turns in a plain sqlite3 database must be found. And the search itself must find
what may be there: in the dump what was not erased, in the export of the raw owner everything.
"""

from __future__ import annotations

import base64
import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from muniment.events.changes import Transition
from muniment.events.identity import Channel, ConversationId, ConversationKey
from muniment.events.message import TextPart
from muniment.events.turn import Turn
from muniment.governance.views import View
from muniment.kernel.digest import unb64url
from muniment.memory.amendment import CorrectItem
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.runtime.runtime import Runtime
from replay.bench.contestants import PlainRows
from replay.drills.canaries import FROM_EXPORT, Aviary, Canary
from replay.drills.dump import cells_of, indexes_of
from replay.drills.outcome import Outcome
from replay.drills.search import NEEDLE_BYTES, Needles, files_below, nameless_files, spelled
from replay.stores import inside, keeping_small_indexes, opened
from replay.words import with_files

CANARIES = 10_000
CONVERSATION_TURNS = 10


def canary(count: int | None, seed: int) -> Outcome:
    """Commit so many canaries; look for them."""
    with (
        tempfile.TemporaryDirectory(prefix="muniment-canary-") as scratch,
        _temporary_files_in(Path(scratch) / "tmp"),
        keeping_small_indexes(),
    ):
        drill = Drill(Path(scratch), Aviary(seed))
        drill.run(count or CANARIES)
        control = drill.control()
    return Outcome(
        name="canary",
        tried=f"{len(drill.aviary.canaries):,} canaries in {len(drill.turns):,} turns, "
        f"{drill.looked_at:,} bytes searched",
        failures=drill.failures,
        control=f"plain sqlite3 rows of the same turns, {control:,} places",
        control_failed=control > 0,
        seed=seed,
    )


class Drill:
    """One run: what was committed, and what was found where it must not be."""

    def __init__(self, scratch: Path, aviary: Aviary) -> None:
        self.scratch = scratch
        self.directory = scratch / "home"
        self.directory.mkdir()
        self.aviary = aviary
        self.failures: list[str] = []
        self.looked_at = 0
        self.turns: list[Turn] = []
        self.keys: list[ConversationKey] = []
        self.items: list[tuple[str, str]] = []  # subject and id of the one item of each conversation

    def run(self, count: int) -> None:
        """Commit, look; export, look; erase, look; close, look."""
        space = self.aviary.name()
        with opened(self.directory, space) as runtime:
            while len(self.aviary.canaries) < count:
                self._conversation(runtime)
            self._search(runtime)
            self._look("open store")
        self._look("store closed for a while")
        with opened(self.directory, space) as runtime:
            self._search(runtime)
            self._exports(runtime)
            erased = range(0, len(self.keys), 2)
            destroyed = self._ciphertexts(erased)
            self._erase(runtime, erased)
            self._look("store after erasure")
            self._absent("ciphertext of erased words", Needles(destroyed), self._files())
            self._dump(erased)
        self._look("closed store")
        self._absent("ciphertext of erased words, closed", Needles(destroyed), self._files())

    def control(self) -> int:
        """Return at how many places the canaries are in a plain database, written and closed as ours was."""
        plain = self.scratch / "plain"
        plain.mkdir()
        rows = PlainRows(plain)
        for turn in self.turns:
            rows.append(turn)
        rows.close()
        return sum(map(self._all().found, files_below(plain)))

    # --- committing ---------------------------------------------------------------------------------------------------

    def _conversation(self, runtime: Runtime) -> None:
        number = self.aviary.conversation
        key = ConversationKey(conversation=ConversationId(self.aviary.name()), channel=Channel(self.aviary.name()))
        self.keys.append(key)
        for _ in range(CONVERSATION_TURNS):
            turn = self.aviary.turn(key.conversation, key.channel)
            self.turns.append(turn)
            runtime.transcripts.commit(self._with_file(runtime, turn))
        self._remember(runtime, self.turns[-1])
        if number % 4 == 1:
            self._request(runtime, number, Transition.MASK)
            self._request(runtime, number, Transition.UNMASK)
        self.aviary.conversation += 1

    def _remember(self, runtime: Runtime, turn: Turn) -> None:
        """Record a memory item about a turn, and correct it."""
        candidate = self.aviary.candidate(turn)
        report = runtime.memory.remember([candidate], self.aviary.name(FROM_EXPORT))
        if not report.recorded:
            self.failures.append("a memory item was not recorded")
        self.items.append((turn.subject, candidate.id or ""))
        change, requester = CorrectItem(text=self.aviary.remembered()), self.aviary.name(FROM_EXPORT)
        runtime.memory.amend(candidate.id or "", change, self.aviary.remembered(), requester)

    def _with_file(self, runtime: Runtime, turn: Turn) -> Turn:
        """Return a turn with a file whose bytes, name and types are looked for, too."""
        name, kind = self.aviary.words(), self.aviary.words()
        file = runtime.attachments.add(self.aviary.file(), mime_type=kind, modality=kind, name=name).part
        return with_files(turn, file)

    def _request(self, runtime: Runtime, number: int, transition: Transition) -> None:
        runtime.lifecycle.request(
            self.keys[number], transition, reason=self.aviary.name(), requester=self.aviary.name()
        )

    def _search(self, runtime: Runtime) -> None:
        """Search for words of the first turn under every view."""
        words = _spoken(self.turns[:1])
        for view in View:
            found = runtime.transcripts.search(words, view).hits
            if bool(found) != (view is not View.OPERATOR_AUDIT):
                self.failures.append(f"search under {view}: {len(found)} hits")

    def _erase(self, runtime: Runtime, conversations: range) -> None:
        for number in conversations:
            self._request(runtime, number, Transition.ERASE)
            subject, item = self.items[number]
            runtime.memory.forget(subject, ForgetTarget(item=item), self.aviary.name(), self.aviary.name())

    # --- looking ------------------------------------------------------------------------------------------------------

    def _all(self) -> Needles:
        return Needles(spelled(one.text for one in self.aviary.canaries))

    def _files(self) -> Iterator[bytes]:
        yield from files_below(self.directory)
        yield from files_below(self.scratch / "tmp")
        yield from nameless_files()

    def _look(self, where: str) -> None:
        self._absent(where, self._all(), self._files())

    def _absent(self, where: str, needles: Needles, hay: Iterator[bytes]) -> None:
        found = 0
        for one in hay:
            self.looked_at += len(one)
            found += needles.found(one)
        if found:
            self.failures.append(f"{where}: {found} places")

    def _exports(self, runtime: Runtime) -> None:
        for number, key in enumerate(self.keys):
            own = [one for one in self.aviary.canaries if one.conversation == number]
            for view in (View.EXPORT, View.OPERATOR_AUDIT):
                hidden = [one.text for one in own if view in one.hidden_from]
                self._absent(
                    f"export for {view}", Needles(spelled(hidden)), _disclosed(self._export(runtime, key, view))
                )
            if not number:
                words = [one for one in own if one.is_content and not one.attached]
                self._seen("export for the raw owner", words, _disclosed(self._export(runtime, key, View.RAW_OWNER)))

    def _export(self, runtime: Runtime, key: ConversationKey, view: View) -> str:
        recipient, purpose = self.aviary.name(), self.aviary.name()
        return runtime.evidence.export(key, view, recipient=recipient, purpose=purpose).text

    def _seen(self, where: str, expected: list[Canary], hay: Iterator[bytes]) -> None:
        """Hold the search to find each of these."""
        whole = b"\n".join(hay)
        self.looked_at += len(whole)
        missed = sum(one.text.encode() not in whole for one in expected)
        if missed:
            self.failures.append(f"{where}: {missed} canaries not seen, so the search is blind")

    # --- below the front door -----------------------------------------------------------------------------------------

    def _ciphertexts(self, conversations: range) -> list[bytes]:
        """Return a piece of the ciphertext of the words of every turn of these conversations."""
        pieces = []
        space = inside(self.directory)
        with space.ledger.reader() as reader:
            for number in conversations:
                stream = space.transcript.stream_of(reader, self.keys[number])
                assert stream is not None, "it was committed"
                rows = reader.turns(stream, 1, CONVERSATION_TURNS)
                pieces += [row.content[1 : 1 + NEEDLE_BYTES] for row in rows if row.content]
                files = [part for row in rows for part in reader.parts(row.position, row.position)]
                pieces += [chunk[:NEEDLE_BYTES] for file in files for chunk in reader.chunks(file.part, 0, 1)]
        space.store.close()
        return pieces

    def _dump(self, erased: range) -> None:
        """Decrypt everything that can be decrypted; look for the words of what was erased."""
        words = [one for one in self.aviary.canaries if one.is_content]
        gone = Needles(spelled(one.text for one in words if one.conversation in erased))
        there = [one for one in words if one.conversation not in erased]
        cells, indexes = list(cells_of(self.directory)), list(indexes_of(self.directory))
        self._absent("decrypted dump", gone, iter(cells))
        self._seen("decrypted dump", there, iter(cells))
        self._absent("indexes at rest", gone, iter(indexes))
        spoken = _spoken(self.turns)
        self._seen("indexes at rest", [one for one in there if one.text in spoken], iter(indexes))


def _spoken(turns: list[Turn]) -> str:
    """Return what was said in so many words."""
    parts = [part for turn in turns for message in turn.messages for part in message.content]
    return " ".join(part.content for part in parts if isinstance(part, TextPart))


def _disclosed(bundle: str) -> Iterator[bytes]:
    """Yield a bundle as it is, every disclosure in it, and every blob in a disclosure."""
    yield bundle.encode()
    for line in bundle.splitlines():
        for text in _texts(msgspec.json.decode(line)):
            with contextlib.suppress(
                ValueError, msgspec.DecodeError
            ):  # most texts are no base64url, or decode to no JSON
                disclosure = unb64url(text)
                yield disclosure
                for inner in _texts(msgspec.json.decode(disclosure)):
                    with contextlib.suppress(ValueError):
                        yield base64.b64decode(inner, validate=True)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _texts(child)


@contextlib.contextmanager
def _temporary_files_in(directory: Path) -> Iterator[None]:
    """Have whatever this process writes to temporary files end up in a directory."""
    directory.mkdir()
    before = {name: os.environ.get(name) for name in ("TMPDIR", "SQLITE_TMPDIR")}
    usual = tempfile.tempdir
    os.environ.update(dict.fromkeys(before, str(directory)))
    tempfile.tempdir = str(directory)
    try:
        yield
    finally:
        tempfile.tempdir = usual
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
