"""What lies at rest in a log against vectors that were worked out by hand (tests/log/make_vectors.py)."""

from __future__ import annotations

import functools
import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import muniment
from muniment.crypto.keyring import SpaceKeys
from muniment.crypto.root import LocalRoot
from muniment.errors import MunimentError
from muniment.events.records import META_BODIES, WORDS, EventKind, MetaBody, TurnContent
from muniment.events.turn import Turn
from muniment.events.wording import Words, bare, with_words
from muniment.evidence import header as headers
from muniment.kernel.sources import SystemEntropy
from muniment.ledger.attest import Notary
from muniment.ledger.drafts import draft, encoded
from muniment.ledger.headers import LABEL_SETS, pack, unpack
from muniment.ledger.ledger import Ledger, Writer
from muniment.ledger.packing import place_of
from muniment.log.memory import MemoryReader, MemoryStore, _State
from muniment.log.port import EventRow, SealedRow, StreamHead
from muniment.operations.transcripts.commit import PreparedTurn, prepare
from tests.by_hand import Vector, keyed
from tests.crypto import make_vectors as crypto
from tests.crypto.worlds import new_root
from tests.log import log_by_hand, make_vectors

FILES = sorted(make_vectors.FOLDER.glob("*.json"))
BLOBS = {"leaf", "header", "envelope", "content", "tag"}


class Drawn:
    """Gives what a vector says was drawn: seed and content key of an event at once, the rest one by one."""

    def __init__(self) -> None:
        self.draws: deque[bytes] = deque()

    def load(self, chance: Vector) -> None:
        self.draws.append(bytes.fromhex(chance["seed"] + chance["content_key"]))
        self.draws.append(bytes.fromhex(chance["nonce"]))

    def take(self, size: int) -> bytes:
        drawn = self.draws.popleft()
        assert len(drawn) == size
        return drawn


class VectorLedger(NamedTuple):
    """A ledger under the keys of the vectors, and what it draws."""

    ledger: Ledger
    drawn: Drawn


@pytest.fixture
def session(tmp_path: Path) -> VectorLedger:
    file = json.loads((crypto.FOLDER / "keys_file.json").read_text(encoding="utf-8"))
    (tmp_path / "keys.json").write_text(file["file"], encoding="utf-8")
    keys = SpaceKeys(tmp_path, LocalRoot(crypto.ROOT, SystemEntropy()), SystemEntropy())
    drawn = Drawn()
    return VectorLedger(Ledger(MemoryStore(), keys, drawn, Notary(keys, None)), drawn)


def unhexed(row: Vector) -> dict[str, Any]:
    return {name: bytes.fromhex(value) if name in BLOBS and value is not None else value for name, value in row.items()}


def hexed(row: msgspec.Struct) -> Vector:
    values = msgspec.structs.asdict(row)
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in values.items()}


def the_label_sets(vector: Vector, _: VectorLedger) -> None:
    assert list(LABEL_SETS[: len(vector["sets"])]) == vector["sets"]


def the_header(vector: Vector, _: VectorLedger) -> None:
    row = EventRow(**unhexed(vector["row"]), header=bytes.fromhex(vector["packed"]))
    header, exact = unpack(row, vector["log"])
    assert exact.decode() == vector["exact"]
    assert headers.parse(exact) == header
    assert pack(header).hex() == vector["packed"]


def the_row(vector: Vector, session: VectorLedger) -> None:
    row = SealedRow(**unhexed(vector["row"]))
    session.ledger.store.transact(lambda tx: tx.put_segments(0, bytes.fromhex(vector["segments"])))
    opened = session.ledger.open(row)
    assert place_of(row).hex() == vector["place"]
    meta = bare(opened.meta, WORDS.get(type(opened.meta), {}))
    assert (opened.meta_seed.hex(), msgspec.to_builtins(meta)) == (vector["seed"], vector["meta"])
    if vector["content"] is not None:
        _, content = session.ledger.content(opened)
        assert msgspec.to_builtins(content) == vector["content"]


def the_head(vector: Vector, session: VectorLedger) -> None:
    class OneHead(MemoryReader):
        def stream_head(self, stream: int) -> StreamHead | None:  # noqa: ARG002 - there is one
            return head

    head = StreamHead(**unhexed(vector["head"]))
    assert session.ledger.head(OneHead(_State()), head.stream) == head
    assert session.ledger.heads.sealed(msgspec.structs.replace(head, tag=b"")) == head


def the_names(vector: Vector, session: VectorLedger) -> None:
    assert session.ledger.name_digest(vector["purpose"], *vector["parts"]).hex() == vector["digest"]


def the_words(vector: Vector, session: VectorLedger) -> None:
    words = bytes.fromhex(vector["words"])
    assert session.ledger.words_digest(words).hex() == vector["digest"]
    turn = msgspec.json.decode(json.dumps(vector["turn"]), type=Turn)
    with muniment.open("memory:", keys=new_root()) as runtime:
        space = runtime.transcripts._session.space
        prepared = prepare(runtime.transcripts._session, turn)
        assert isinstance(prepared, PreparedTurn)
        assert prepared.digest == keyed(space.keys.index_key, "turn-words", words)


def the_log(vector: Vector, session: VectorLedger) -> None:
    for event in vector["events"]:
        session.drawn.load(event["chance"])
        if event is vector["events"][0]:  # its segment begins with it
            session.drawn.draws.insert(1, bytes.fromhex(vector["segment_drawn"]))
            session.drawn.draws.insert(2, bytes.fromhex(vector["segments_nonce"]))
        session.ledger.transact(functools.partial(append, session, event))
    with session.ledger.reader() as reader:
        rows = [hexed(row) for row in reader.sealed_events(0, 100)]
        assert rows == [event["row"] for event in vector["events"]]
        last = {event["row"]["stream"]: event["head"] for event in vector["events"]}
        assert {stream: hexed(found) for stream in last if (found := reader.stream_head(stream))} == last
        assert reader.frontier().to_bytes().hex() == vector["frontier"]
        assert (reader.segments(0) or b"").hex() == vector["segments"]
        exact = [session.ledger.header(row)[1].decode() for row in reader.events(0, 100)]
        assert exact == [event["exact"] for event in vector["events"]]


def append(session: VectorLedger, event: Vector, writer: Writer) -> None:
    kind = EventKind(event["kind"])
    meta: MetaBody = msgspec.json.decode(json.dumps(event["meta"]), type=META_BODIES[kind])
    content = None
    if event["content"] is not None and "words" in event["content"]:
        meta = with_words(meta, Words(**event["content"]))
    elif event["content"] is not None:
        body = msgspec.json.decode(json.dumps(event["content"]), type=TurnContent)
        content = encoded(body)
    made = draft(session.drawn, kind, event["row"]["time"], meta, reason=event["reason"], content=content)
    placed = writer.append(
        made, stream=event["into"], messages=event["messages"] or 0, target=event["target"], refs=event["refs"]
    )
    head = writer.head(placed.stream)
    assert head is not None
    assert hexed(session.ledger.heads.sealed(head)) == event["head"]


OPENINGS: dict[str, Callable[[Vector, VectorLedger], None]] = {
    "label_sets": the_label_sets,
    "header": the_header,
    "row": the_row,
    "head": the_head,
    "names": the_names,
    "words": the_words,
    "log": the_log,
}


def read(path: Path) -> Vector:
    vector: Vector = json.loads(path.read_text(encoding="utf-8"))
    return vector


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_vector_gives_what_it_says(path: Path, session: VectorLedger) -> None:
    """Good bytes are read and written again as they are; bytes with one fault are refused for that fault."""
    vector = read(path)
    if vector["fault"] is None:
        OPENINGS[vector["what"]](vector, session)
        return
    with pytest.raises(MunimentError) as caught:
        OPENINGS[vector["what"]](vector, session)
    assert caught.value.code == vector["error"]


def test_the_files_are_what_the_script_writes() -> None:
    assert {path.stem: read(path) for path in FILES} == json.loads(json.dumps(make_vectors.vectors()))


def test_the_keys_of_the_vectors_are_those_of_the_file_of_keys() -> None:
    file = crypto.keys_file()
    assert (file["log"], file["index_key"]) == (log_by_hand.LOG, log_by_hand.INDEX_KEY.hex())
    assert file["space"][str(log_by_hand.SPACE_KEY_VERSION)] == log_by_hand.SPACE_KEY.hex()
