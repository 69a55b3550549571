"""The page is enough to read a backup and an archive, too."""

from __future__ import annotations

import base64
from pathlib import Path

import muniment
from muniment import Message, Options, Role, Turn
from muniment.events.archive import ArchiveScope, PrivateMaterial, ScopeKind
from muniment.events.identity import ConversationId, ConversationKey, TurnId
from muniment.events.message import Part
from muniment.evidence.pin import FilePin
from muniment.memory.candidate import ItemSource
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.memory.forget_targets import ForgetTarget
from tests.format import reader, sealed
from tests.memory.items import candidate

FILE = bytes(range(256)) * 1500


def test_a_backup_and_an_archive_are_read(tmp_path: Path) -> None:
    options = Options(pin=FilePin(tmp_path / "pins"))
    with muniment.open(tmp_path / "store", keys=f"file:{tmp_path}/root.key", options=options) as runtime:
        part = runtime.attachments.add(FILE).part
        told: list[str | list[Part]] = ["hello", [part], "goodbye"]
        for number, content in enumerate(told):
            asked = Message(role=Role.USER, content=content)
            runtime.transcripts.commit(Turn(turn=f"t-{number}", subject="ada", conversation="talk", messages=[asked]))
        runtime.lifecycle.erase(Scope(conversation="talk", turn="t-2"), "asked", "ada")
        runtime.spaces.backup(str(tmp_path / "backup"))
        scope = ArchiveScope(kind=ScopeKind.CONVERSATION, channel="default", conversation="talk")
        runtime.archives.export(str(tmp_path / "talk"), scope, PrivateMaterial.INCLUDE)
        log = runtime._session.space.ledger.log
    root = reader.Root(reader.unb64((tmp_path / "root.key").read_text().strip()))
    frames = list(sealed.backup(tmp_path / "backup", root))
    names = [frame[0] for frame in frames]
    assert names == ["beginning", "checkpoints", "events", "chunks", "heads", "names", "ending"]
    assert frames[0] == ["beginning", 3, log]
    rows = frames[2][1]
    assert [row[0] for row in rows] == list(range(len(rows)))
    assert [row[3] for row in rows][:5] == ["space.opened", "conversation.opened", *["turn.committed"] * 3]
    assert frames[3][2:4] == ["message/0/content/0", 0]
    assert sum(len(chunk) - 16 for chunk in frames[3][4]) == len(FILE)
    lines = sealed.archive(tmp_path / "talk", root)
    assert lines[0]["schema"] == "muniment/archive/1"
    assert b"".join(base64.b64decode(line["chunk"]) for line in lines if "chunk" in line) == FILE
    assert "notebooks" not in lines[0]
    turns = [line for line in lines if line.get("kind") == "turn.committed"]
    parts = [line["content"]["parts"][0][0] for line in turns if "content" in line]
    assert [part.get("content", part.get("size")) for part in parts] == ["hello", len(FILE)]


def test_memory_in_an_archive_is_read(tmp_path: Path) -> None:
    """Conversations, then notebooks: what an item says stands in its content, what was forgotten is without."""
    options = Options(pin=FilePin(tmp_path / "pins"))
    with muniment.open(tmp_path / "store", keys=f"file:{tmp_path}/root.key", options=options) as runtime:
        runtime.transcripts.commit(
            Turn(turn="t", subject="ada", conversation="c", messages=[Message(role=Role.USER, content="hi")])
        )
        rests = ItemSource(conversation=ConversationKey(conversation=ConversationId("c")), turn=TurnId("t"))
        for topic in ("kept", "forgotten"):
            runtime.memory.remember([candidate("said of " + topic, None, topic=topic, evidence=[rests])], "host")
        runtime.memory.forget("ada", ForgetTarget(kind="profile", topic="forgotten"), "asked", "ada")
        scope = ArchiveScope(kind=ScopeKind.SUBJECT, subject="ada")
        runtime.archives.export(str(tmp_path / "ada"), scope, PrivateMaterial.INCLUDE)
    root = reader.Root(reader.unb64((tmp_path / "root.key").read_text().strip()))
    head, *lines = sealed.archive(tmp_path / "ada", root)
    assert (head["documents"], head["notebooks"]) == (1, 1)
    (start,) = (place for place, line in enumerate(lines) if "plane" in line)
    assert (lines[start]["subject"], lines[start]["plane"]) == ("ada", "long_term")
    told = [
        (line["kind"], line.get("turn"), line.get("target"), line.get("content", {}).get("text"))
        for line in lines[start + 1 :]
    ]
    assert told == [
        ("item.recorded", 1, None, "said of kept"),
        ("item.recorded", 2, None, None),
        ("item.retired", None, 2, None),
    ]
    assert lines[start + 1]["meta"]["evidence"] == [
        {"space": "", "channel": "default", "conversation": "c", "turn": "t", "subject": "ada"}
    ]
