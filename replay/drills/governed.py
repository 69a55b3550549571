"""Govern a real transcript, move it, and take it back: what every view shows must stay the same, and erased be erased.

1. Dialogues are imported until there are enough turns, and backed up.
2. Of the turns 5 % are redacted for some views, 3 % masked, 2 % erased and 1 % held; to erase what is held is tried.
3. The whole part of its subject is exported as an archive and imported into an empty store. There every view must give
   the same pages, an inspection must find nothing, and another export must have the same root.
4. The older backup is restored over the store. What was erased since must be erased, in every view.

The control: in the store that the archive came into one turn is masked; then its pages must differ.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from muniment.events.archive import ArchiveScope, ImportMode, PrivateMaterial, ScopeKind
from muniment.events.changes import RedactionReason, Transition
from muniment.events.identity import Channel, ConversationId, ConversationKey, TurnId
from muniment.events.message import TextPart
from muniment.governance.views import View
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.runtime import Runtime
from replay.drills.outcome import Outcome
from replay.stores import PAGE_TURNS_MAX, opened, pages_of

TURNS = 10_000
CORPUS = Path(__file__).parents[3] / "shared" / "corpora" / "sgd.jsonl.gz"
REDACTED, MASKED, ERASED, HELD = 0.05, 0.03, 0.02, 0.01
SUBJECT = "imported"
WHO = "drill"


class Place(NamedTuple):
    """A turn and where it is."""

    key: ConversationKey
    turn: TurnId

    def scope(self) -> Scope:
        """Return the turn as a scope."""
        return Scope(conversation=self.key.conversation, channel=self.key.channel, turn=self.turn)


def governed(count: int | None, seed: int) -> Outcome:
    """Govern so many turns."""
    with tempfile.TemporaryDirectory(prefix="muniment-governed-") as scratch:
        drill = Drill(Path(scratch), random.Random(seed), count or TURNS)  # noqa: S311 -- chosen to be repeated
        drill.run()
    return Outcome(
        name="governed",
        tried=drill.tried,
        failures=drill.failures,
        control="one turn masked in the copy",
        control_failed=drill.control_failed,
        seed=seed,
    )


class Drill:
    """One run: the store that is governed, the one that the archive comes into, and what was found."""

    def __init__(self, scratch: Path, chance: random.Random, turns: int) -> None:
        self._scratch = scratch
        self._chance = chance
        self._turns = turns
        self._erased: list[Place] = []
        self.failures: list[str] = []
        self.control_failed = False
        self.tried = "nothing"

    def run(self) -> None:
        """Do all of it."""
        file = self._scratch / "dialogues.jsonl"
        file.write_bytes(b"".join(lines_of(CORPUS, self._turns)))
        with opened(self._scratch / "home") as runtime:
            runtime.spaces.import_(str(file))
            places = list(places_of(runtime))
            runtime.spaces.backup(str(self._scratch / "backup"))
            self._govern(runtime, places)
            before = answers(runtime)
            root = self._archived(runtime, "archive")
            self._sound(runtime, "the store")
        self._move(before, root)
        with opened(self._scratch / "home") as runtime:
            again = runtime.spaces.restore(str(self._scratch / "backup"), replace=True).erased_again
            self._expect(again == len(self._erased), f"{again} of {len(self._erased)} erased again by the restore")
        with opened(self._scratch / "home") as runtime:
            self._gone(runtime)
            self._sound(runtime, "the restored store")

    def _govern(self, runtime: Runtime, places: list[Place]) -> None:
        chosen = self._chance.sample(places, int(len(places) * (REDACTED + MASKED + ERASED + HELD)))
        pick = iter(chosen)
        redacted, masked, erased = (
            list(islice(pick, int(len(places) * share))) for share in (REDACTED, MASKED, ERASED)
        )
        held = list(pick)
        for place in redacted:
            self._redact(runtime, place)
        for place in masked:
            runtime.lifecycle.request(place.key, Transition.MASK, "a reason", WHO, place.turn)
        for place in held:
            runtime.lifecycle.hold(place.scope(), "a dispute", WHO)
        for place in held[:10]:
            kept = runtime.lifecycle.erase(place.scope(), "asked for", WHO)
            self._expect(not kept.changed and kept.kept_turns == 1, f"{place.turn} is held and was erased")
        for place in erased:
            self._expect(runtime.lifecycle.erase(place.scope(), "asked for", WHO).changed, f"{place.turn} not erased")
        self._erased = erased
        self.tried = (
            f"{len(places):,} turns imported, {len(redacted)} redacted, {len(masked)} masked, {len(erased)} erased, "
            f"{len(held)} held"
        )

    def _redact(self, runtime: Runtime, place: Place) -> None:
        views = self._chance.sample([View.EXPORT, View.HOST_UI, View.MODEL_CONTEXT], self._chance.randint(1, 3))
        passage = Passage(turn=place.turn)
        kind = self._chance.randrange(3)
        if kind:
            passage = Passage(turn=place.turn, message=0)
        if kind == 2:
            revealed = runtime.disclosure.reveal(place.key, place.turn, "to redact it", WHO, 0).turn
            parts = revealed.messages[0].parts
            part = parts[0] if parts else None
            if isinstance(part, TextPart) and len(part.content) > 1:
                end = self._chance.randint(1, len(part.content))
                passage = Passage(turn=place.turn, message=0, part=0, start=end // 2, end=end)
        done = runtime.transcripts.redact(place.key, passage, views, RedactionReason.PERSONAL_DATA, WHO)
        self._expect(done.changed, f"{place.turn} not redacted")

    def _archived(self, runtime: Runtime, name: str) -> str:
        scope = ArchiveScope(kind=ScopeKind.SUBJECT, subject=SUBJECT)
        key = f"file:{self._scratch / 'archive.key'}"
        return runtime.archives.export(
            str(self._scratch / name), scope, PrivateMaterial.INCLUDE, sealed_by=key
        ).root.digest

    def _move(self, before: dict[str, str], root: str) -> None:
        scope = ArchiveScope(kind=ScopeKind.SUBJECT, subject=SUBJECT)
        key = f"file:{self._scratch / 'archive.key'}"
        with opened(self._scratch / "copy") as runtime:
            file = str(self._scratch / "archive")
            runtime.archives.import_(file, scope, PrivateMaterial.INCLUDE, ImportMode.BOOTSTRAP, sealed_by=key)
            after = answers(runtime)
            differing = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
            self._expect(not differing, f"{len(differing)} conversations differ in the copy")
            self._expect(self._archived(runtime, "again") == root, "another root in the copy")
            self._sound(runtime, "the copy")
            place = next(one for one in places_of(runtime) if one not in self._erased)
            runtime.lifecycle.request(place.key, Transition.MASK, "the control", WHO, place.turn)
            runtime.lifecycle.request(place.key, Transition.ARCHIVE, "the control", WHO, place.turn)
            self.control_failed = answers(runtime) != before

    def _gone(self, runtime: Runtime) -> None:
        erased = {place.turn: place for place in self._erased}
        for key in {place.key for place in self._erased}:
            for view in View:
                for turn in pages(runtime, key, view):
                    shown = [message for message in turn["messages"] if "parts" in message]
                    if turn["turn"] in erased and erased[turn["turn"]].key == key:
                        self._expect(not shown, f"{turn['turn']} came back in {view}")

    def _sound(self, runtime: Runtime, what: str) -> None:
        found = runtime.evidence.inspect()
        self._expect(not found.fail_closed, f"{what} has issues: {found.kinds}")
        runtime.evidence.audit()

    def _expect(self, held: bool, failure: str) -> None:
        if not held:
            self.failures.append(failure)


def lines_of(corpus: Path, turns: int) -> Iterator[bytes]:
    """Yield the lines of the first dialogues that have so many turns (user messages) together."""
    if not corpus.exists():
        raise SystemExit(f"the dialogues are not there: {corpus.name}")
    count = 0
    with gzip.open(corpus) as lines:
        for line in lines:
            said = json.loads(line)
            if said["seq"] == 0 and count >= turns:
                return
            count += said["role"] == "user"
            yield line


def keys_of(runtime: Runtime) -> Iterator[ConversationKey]:
    """Yield every conversation that has a turn to list, most recent first."""
    cursor = None
    while True:
        page = runtime.conversations.list_(limit=PAGE_TURNS_MAX, cursor=cursor)
        for one in page.conversations:
            yield ConversationKey(conversation=ConversationId(one.conversation), channel=Channel(one.channel))
        cursor = page.next_cursor
        if cursor is None:
            return


def places_of(runtime: Runtime) -> Iterator[Place]:
    """Yield every turn of the listed conversations."""
    for key in keys_of(runtime):
        for turn in pages(runtime, key, View.OPERATOR_AUDIT):
            yield Place(key, TurnId(turn["turn"]))


def pages(runtime: Runtime, key: ConversationKey, view: View) -> list[dict[str, Any]]:
    """Return all turns of a conversation as a view shows them, without their places in the log."""
    turns: list[dict[str, Any]] = msgspec.to_builtins(
        [turn for page in pages_of(runtime, key, view) for turn in page.turns]
    )
    for turn in turns:
        del turn["position"]
    return turns


def answers(runtime: Runtime) -> dict[str, str]:
    """Return a digest of what all views show of each listed conversation, items included."""
    found: dict[str, str] = {}
    for key in keys_of(runtime):
        shown = [
            [
                pages(runtime, key, view),
                msgspec.to_builtins(runtime.transcripts.replay(key, view, PAGE_TURNS_MAX).items),
            ]
            for view in View
        ]
        found[key.conversation] = hashlib.sha256(msgspec.json.encode(shown, order="sorted")).hexdigest()
    return found
