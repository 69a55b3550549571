"""`schemas/FORMAT.md` is enough to read a store, as a reader shows that was written from it, and names all there is."""

from __future__ import annotations

import ast
import base64
import json
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from msgspec import to_builtins
from msgspec.structs import replace

import muniment
from muniment import ConversationKey, Message, Role, TextPart, Turn
from muniment.crypto.dictionary import DICTIONARY
from muniment.crypto.keyring import KeyFile
from muniment.crypto.store import StoreFile
from muniment.events.changes import RedactionReason, Transition
from muniment.evidence.header import Header
from muniment.evidence.pin import FilePin
from muniment.governance.views import View
from muniment.ledger.headers import LABEL_SETS
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.format import reader
from tests.turns import rich_turn

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "schemas" / "FORMAT.md").read_text(encoding="utf-8")
LINES_MAX = 300  # that are not blank
FILE = bytes(range(256)) * 3000
TALKS = ("talk", "other")


def turn(conversation: str, number: int) -> Turn:
    words = [
        Message(role=Role.USER, content=f"{conversation} asks {number}: grüß dich"),
        Message(role=Role.ASSISTANT, content="an answer that is long enough to be deflated " * 10),
    ]
    return Turn(turn=f"t-{number}", subject="ada", conversation=conversation, messages=words)


def opened(home: Path, space: str = "default") -> Runtime:
    options = Options(pin=FilePin(home / "pins"))
    return muniment.open(home / "store", keys=f"file:{home}/root.key", space=space, options=options)


def root(home: Path) -> reader.Root:
    return reader.Root(reader.unb64((home / "root.key").read_text().strip()))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a store of two spaces: a mask, an erased turn, an erased message, a redaction."""
    home = tmp_path_factory.mktemp("format")
    with opened(home, "second") as runtime:
        runtime.transcripts.commit(turn("alone", 1))
    with opened(home) as runtime:
        for name in TALKS:
            runtime.transcripts.commit_many([turn(name, number) for number in range(1, 700)])
        runtime.transcripts.commit(rich_turn())
        for number, conversation in ((1000, "files"), (1001, "files")):
            part = runtime.attachments.add(FILE, mime_type="application/pdf").part
            asked = Message(role=Role.USER, content=[TextPart(content="read this"), part])
            runtime.transcripts.commit(replace(turn(conversation, number), messages=[asked]))
        runtime.lifecycle.erase(Scope(conversation="files", turn="t-1001"), "asked", "ada")
        runtime.lifecycle.request(ConversationKey(conversation="other"), Transition.MASK, "asked", "ada", "t-3")
        key, passage = ConversationKey(conversation="talk"), Passage(turn="t-4", message=0, part=0)
        runtime.transcripts.redact(key, passage, [View.EXPORT], RedactionReason.LEGAL, "ada")
        runtime.lifecycle.erase(Scope(conversation="talk", turn="t-2"), "asked", "ada")
        message = runtime.transcripts.replay(key, View.RAW_OWNER, 5).turns[4].messages[1].id
        runtime.lifecycle.erase(Scope(conversation="talk", message=message), "asked", "ada")
    return home


def test_the_reader_knows_nothing_of_muniment() -> None:
    text = Path(reader.__file__).read_text(encoding="utf-8")
    names = {
        alias.name if isinstance(node, ast.Import) else node.module or ""
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    foreign = {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names)
    assert foreign == {"cryptography"}
    assert len([line for line in text.splitlines() if line.strip()]) <= LINES_MAX


def test_a_store_is_read_as_the_product_reads_it(written: Path) -> None:
    conversations = reader.Space(written / "store", "default", root(written)).conversations()
    with opened(written) as runtime:
        for name, turns in conversations.items():
            shown = told(runtime, name)
            assert [one["meta"]["delivery"]["turn"] for one in turns] == [one.turn for one in shown]
            for one, ours in zip(turns, shown, strict=True):
                parts = [] if one["content"] is None else one["content"]["parts"]
                kept = [to_builtins(message.parts or [], builtin_types=(bytes,)) for message in ours.messages]
                assert one["content"] is None or ours.phase == "masked" or kept == parts
    assert {name: len(turns) for name, turns in conversations.items()}["other"] == 699
    assert conversations["talk"][1]["content"] is None
    assert conversations["talk"][4]["content"]["parts"][1] == []


def told(runtime: Runtime, name: str) -> list[Any]:
    """Return all turns of a conversation as their owner sees them."""
    found: list[Any] = []
    page = runtime.transcripts.replay(ConversationKey(conversation=name), View.RAW_OWNER, 500)
    found += page.turns
    while page.next_cursor is not None:
        page = runtime.transcripts.replay(ConversationKey(conversation=name), View.RAW_OWNER, 500, page.next_cursor)
        found += page.turns
    return sorted(found, key=lambda one: one.sequence)


def test_a_file_is_read_and_checked(written: Path) -> None:
    space = reader.Space(written / "store", "default", root(written))
    assert list(space.files.values()) == [FILE]


def test_another_space_and_another_root_key(written: Path) -> None:
    second = reader.Space(written / "store", "second", root(written))
    assert list(second.conversations()) == ["alone"]
    with pytest.raises((reader.Refused, ValueError)):
        reader.Space(written / "store", "default", reader.Root(bytes(32)))


def test_a_bundle_is_proved(written: Path) -> None:
    with opened(written) as runtime:
        text = runtime.evidence.export(ConversationKey(conversation="other")).text
        vkey = runtime.evidence.checkpoint().vkey
    events = reader.bundle(text.encode(), vkey)
    turns = [one for one in events if "entry" in one["header"]]
    assert len(turns) == 699
    assert turns[0]["shown"]["message/0/content/0"]["content"].startswith("other asks 1")
    for there, instead in (
        ('"disclosures":["W', '"disclosures":["X'),
        ('"seq":5', '"seq":6'),
        ('"skipped":["', '"skipped":["A'),
    ):
        edited = text.replace(there, instead, 1)
        assert edited != text
        with pytest.raises((reader.Refused, KeyError, ValueError)):
            reader.bundle(edited.encode(), vkey)


FLIPS = {
    "an envelope": "UPDATE envelopes SET sealed = flip(sealed) WHERE position = 9",
    "content": "UPDATE events SET content = flip(content) WHERE position = 9",
    "a header": "UPDATE events SET header = flip(header) WHERE position = 9",
    "a leaf": "UPDATE events SET leaf = flip(leaf) WHERE position = 9",
    "a time": "UPDATE events SET time = time + 1 WHERE position = 9",
    "an entry": "UPDATE events SET turn_seq = turn_seq + 1000 WHERE position = 9",
    "segment keys": "UPDATE segments SET keys = flip(keys)",
    "a stream": "UPDATE streams SET tag = flip(tag) WHERE stream = 1",
    "a frontier": "UPDATE frontier SET range = flip(range)",
    "a seal": "UPDATE frontier SET seal = flip(seal)",
    "a checkpoint": "UPDATE checkpoints SET note = 'm' || note",
    "a chunk": "UPDATE chunks SET sealed = flip(sealed) WHERE id = (SELECT max(id) FROM chunks)",
    "a missing chunk": "DELETE FROM chunks WHERE id = (SELECT max(id) FROM chunks)",
    "a row": "DELETE FROM events WHERE position = 9",
}


@pytest.mark.slow
@pytest.mark.parametrize("statement", FLIPS.values(), ids=FLIPS)
def test_a_flipped_bit_is_noticed(written: Path, tmp_path: Path, statement: str) -> None:
    home = tmp_path / "copy"
    shutil.copytree(written, home)
    space = reader.Space(home / "store", "default", root(home))
    flip: Callable[[bytes], bytes] = lambda data: data[:-1] + bytes([data[-1] ^ 1])  # noqa: E731 - a function of SQL
    with closing(sqlite3.connect(space.directory / "log.db")) as raw:
        raw.create_function("flip", 1, flip)
        raw.execute(statement)
        raw.commit()
    with pytest.raises((reader.Refused, InvalidSignature, KeyError, IndexError, ValueError)):
        reader.Space(home / "store", "default", root(home))


def test_the_usual_sets_of_labels_are_those_of_the_page() -> None:
    assert [reader.usual(number) for number in range(32)] == list(LABEL_SETS)


def test_the_dictionary_is_that_of_the_page() -> None:
    (block,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert base64.b64decode(block) == DICTIONARY == reader.DICTIONARY


def test_the_page_names_everything_that_is_stored() -> None:
    """Every table, column and named value, every member of the key files and of a header."""
    schema = (ROOT / "schemas" / "store.sql").read_text(encoding="utf-8")
    columns = set(re.findall(r"^    (\w+) (?:INTEGER|BLOB|TEXT)", schema, re.MULTILINE))
    tables = set(re.findall(r"CREATE (?:TABLE|VIEW) (\w+)", schema))
    members = {name for body in (Header, KeyFile) for name in body.__struct_fields__}
    members |= {json.loads(json.dumps(name)) for name in StoreFile.__struct_encode_fields__}
    named = {"vocabulary", "erasing", "vkey", "signers", "epoch", "denials"}
    prose = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    told_of = set(re.findall(r"[A-Za-z_]+", " ".join(re.findall(r"`([^`]+)`", prose))))
    assert not (columns | tables | members | named) - told_of
