"""A log by hand: how events are placed, headed, sealed and chained, once more and without the code under test.

Only the standard library, and AES-GCM from `cryptography`. The keys are those of the vectors of `keys.json`
(tests/crypto/make_vectors.py). Vectors are made from it (tests/log/make_vectors.py).
"""

from __future__ import annotations

import base64
import hmac
import zlib

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.by_hand import DICTIONARY, Vector, b64, disclosed, leaf_of, made, msgpack, plain
from tests.evidence.by_hand import jcs, mth

LOG, INDEX_KEY = b64(made("log", 16)), made("index key", 32)
SPACE_KEY, SPACE_KEY_VERSION = made("newer space key", 32), 12
SEGMENT_KEY_ID, SEGMENT_KEY, SEGMENTS_NONCE = made("segment key id", 4), made("segment key", 32), made("segments", 12)
TIME_MS = 1_700_000_000_000
NONE = 2**64 - 1
Body = tuple[Vector, dict[str, str]]  # a body, and the canonical JSON of its fields


def usual_labels(messages: int, *, source: bool) -> list[str]:
    """Return the labels of a turn of so many messages of one part each, in their order."""
    labels = ["actor", "delivery"] + ["source"] * source
    for place in range(messages):
        labels += [f"message/{place}", f"message/{place}/content/0"]
    return sorted(labels)


LABEL_SETS = [" ".join(usual_labels(n, source=False)) for n in range(1, 17)] + [
    " ".join(usual_labels(n, source=True)) for n in range(1, 17)
]


def place(row: Vector) -> bytes:
    """Return the columns of a row as the associated data of its envelope."""
    numbers = [row["position"], row["stream"], row["seq"], row["turn_seq"], row["target_seq"], row["time"]]
    packed = b"".join((NONE if number is None else number).to_bytes(8, "big") for number in numbers)
    return packed + str(row["kind"]).encode()


class Draws:
    """What is drawn for one event: a seed, a content key if it has content, and a nonce when it is placed."""

    def __init__(self, word: str, *, has_content: bool) -> None:
        self.seed = made(f"{word}: seed", 32)
        self.content_key = made(f"{word}: content key", 32) if has_content else b""
        self.nonce = made(f"{word}: nonce", 12)

    def told(self) -> Vector:
        """Return all of it as hexadecimal text; in which order it is drawn is nobody's business."""
        return {
            "seed": self.seed.hex(),
            "content_key": self.content_key.hex(),
            "nonce": self.nonce.hex(),
        }

    def cell(self, body: Vector, leaf: bytes) -> bytes:
        """Seal content: from 64 bytes on it is compressed against the dictionary, where that makes it smaller."""
        plaintext = msgpack([1, None, body])
        assert len(plaintext) < 8192, "larger cells are compressed in another way"
        deflater = zlib.compressobj(1, zlib.DEFLATED, -13, 5, zlib.Z_FIXED, DICTIONARY)
        packed = deflater.compress(plaintext) + deflater.flush()
        is_packed = len(plaintext) >= 64 and len(packed) < len(plaintext)
        codec, text = (b"\x01", packed) if is_packed else (b"\x00", plaintext)
        key = hmac.digest(self.content_key, b"muniment/cell" + leaf, "sha256")
        return codec + AESGCM(key).encrypt(bytes(12), text, b"muniment/cell" + codec + leaf)

    def salts(self) -> bytes:
        """Return what the salts of the content are derived from."""
        return hmac.digest(self.content_key, b"muniment/salts", "sha256")

    def envelope(self, meta: Vector, leaf: bytes, where: bytes, key: bytes | None = None) -> bytes:
        """Seal what an event says, and the key of its content or another one."""
        content_key = self.content_key if key is None else key
        held = (b"\x01" + content_key if content_key else b"\x00") + msgpack([1, self.seed, meta])
        head = b"\x01" + SEGMENT_KEY_ID
        context = b"muniment/envelope" + head + bytes(8) + leaf + where
        return head + self.nonce + AESGCM(SEGMENT_KEY).encrypt(self.nonce, held, context)


def segments() -> bytes:
    """Return the first row of segment keys, with the key of the first segment."""
    head = b"\x01" + SPACE_KEY_VERSION.to_bytes(4, "big")
    context = b"muniment/segments" + bytes(8) + head
    sealed = AESGCM(SPACE_KEY).encrypt(SEGMENTS_NONCE, SEGMENT_KEY_ID + SEGMENT_KEY, context)
    return head + SEGMENTS_NONCE + sealed


def head_tag(head: Vector, leaf: bytes, key: bytes = INDEX_KEY) -> bytes:
    """Return the MAC of a stream head."""
    numbers = [head[name] for name in ("stream", "seq", "turns", "messages", "changes", "names")]
    packed = b"".join(number.to_bytes(8, "big") for number in numbers)
    return hmac.digest(key, b"muniment/head" + packed + leaf + head["type"].encode(), "sha256")[:16]


def said(words: str) -> Body:
    """Return the content of a turn of one message, and its field."""
    content = {"parts": [[{"type": "text", "content": words}]], "digest": made(words, 32)}
    return content, {"message/0/content/0": f'{{"content":"{words}","type":"text"}}'}


def turn_of(number: int) -> Body:
    """Return the meta body of a turn of one message, and its fields."""
    name = f"turn-{number}"
    meta = {
        "actor": {"subject": "ada"},
        "delivery": {"turn": name, "status": "user_only"},
        "messages": [{"role": "user"}],
    }
    delivery = f'{{"status":"user_only","turn":"{name}"}}'
    return meta, {"actor": '{"subject":"ada"}', "delivery": delivery, "message/0": '{"role":"user"}'}


def asked_for(time_ms: int) -> Body:
    """Return the body of a lifecycle event, and its field."""
    request = {"requester": "operator", "requested_ms": time_ms}
    return {"request": request}, {"request": jcs(request).decode()}


def because(reason: str) -> Body:
    """Return the content of a lifecycle event, and its field."""
    return {"words": {"request/reason": reason}}, {"request/reason": f'"{reason}"'}


NAMES: Vector = {"channel": "mail", "conversation": "talk"}
GRANT: Vector = {"view": "export", "recipient": "court"}


class Step:
    """What is asked for: an event, and the stream it goes into (None: a new one)."""

    def __init__(self, kind: str, into: int | None, meta: Body, content: Body | None = None, **facts: object) -> None:
        self.kind, self.into, self.meta, self.content = kind, into, meta, content
        self.facts: Vector = {"messages": None, "target": None, "refs": None, "reason": None} | facts


STEPS = [
    Step("space.opened", None, ({"name": "größe"}, {"name": '"größe"'})),
    Step("conversation.opened", None, (NAMES, {"channel": '"mail"', "conversation": '"talk"'})),
    Step("turn.committed", 1, turn_of(1), said("Hello."), messages=1),
    Step("turn.committed", 1, turn_of(2), said("Anybody?"), messages=1),
    Step("turn.lifecycle", 1, asked_for(1), because("asked"), target=2, refs={"turn": 2}, reason="mask"),
    Step("key.rotated", 0, ({"version": 12}, {"version": "12"}), reason="requested"),
    Step("turn.lifecycle", 1, asked_for(2), because("asked"), target=0, refs={"through": 2}, reason="archive"),
    Step("export.issued", 0, ({"export": GRANT}, {"export": jcs(GRANT).decode()}), refs={"stream": 1, "through": 5}),
]


class Log:
    """The log that follows from `STEPS`: every row, and the head of its stream behind it."""

    def __init__(self) -> None:
        self.heads: dict[int, Vector] = {}
        self.events: list[Vector] = []
        for step in STEPS:
            self.append(step)

    def append(self, step: Step) -> None:
        """Append one event."""
        position = len(self.events)
        stream = position if step.into is None else step.into
        before = self.heads.get(stream)
        head = self._longer(stream, before, step)
        chance = Draws(f"chance of {position}", has_content=step.content is not None)
        commitments = _commitments(chance, step)
        prev = None if before is None else bytes.fromhex(before["leaf"])
        is_turn = step.facts["messages"] is not None
        refs, target = dict(step.facts["refs"] or {}), step.facts["target"]
        refs.pop("turn", None)
        type_of = head["type"] if before is None else "turn" if is_turn else None
        told = {"opens": type_of} if before is None else {"entry": {"turn": head["turns"]}} if is_turn else {}
        told |= {} if target is None else {"target": target}
        exact = jcs(
            {
                "fields": commitments, "kind": step.kind, "log": LOG, "pos": position,
                "prev": None if prev is None else b64(prev), "reason": step.facts["reason"], "refs": refs,
                "seq": head["seq"], "stream": stream, "t": TIME_MS + position, "v": 1, **told,
            }
        )  # fmt: skip
        leaf = leaf_of(exact)
        labels = " ".join(sorted(commitments))
        digests = b"".join(base64.urlsafe_b64decode(commitments[label] + "=") for label in sorted(commitments))
        row: Vector = {
            "position": position,
            "stream": stream,
            "seq": head["seq"],
            "kind": step.kind,
            "turn_seq": head["turns"] if is_turn else None,
            "target_seq": step.facts["target"],
            "time": TIME_MS + position,
            "leaf": leaf.hex(),
            "header": msgpack(
                [
                    LABEL_SETS.index(labels) if labels in LABEL_SETS else labels,
                    digests,
                    prev,
                    step.facts["reason"],
                    refs,
                    type_of,
                ]
            ).hex(),
        }
        row["envelope"] = chance.envelope(step.meta[0], leaf, place(row)).hex()
        row["content"] = None if step.content is None else chance.cell(step.content[0], leaf).hex()
        self.heads[stream] = head | {"leaf": leaf.hex(), "tag": head_tag(head, leaf).hex()}
        self.events.append(
            {
                "chance": chance.told(), "kind": step.kind, "into": step.into, "meta": plain(step.meta[0]),
                "content": None if step.content is None else plain(step.content[0]), **step.facts,
                "row": row, "exact": exact.decode(), "place": place(row).hex(), "head": self.heads[stream],
            }
        )  # fmt: skip

    def vector(self) -> Vector:
        """Return the vector of the whole log."""
        leaves = [bytes.fromhex(event["row"]["leaf"]) for event in self.events]
        frontier = len(leaves).to_bytes(8, "big") + mth(leaves)  # eight leaves are one complete tree
        return {
            "what": "log",
            "segment_drawn": (SEGMENT_KEY_ID + SEGMENT_KEY).hex(),
            "segments_nonce": SEGMENTS_NONCE.hex(),
            "segments": segments().hex(),
            "events": self.events,
            "frontier": frontier.hex(),
            "fault": None,
            "error": None,
        }

    @staticmethod
    def _longer(stream: int, head: Vector | None, step: Step) -> Vector:
        old = head or dict.fromkeys(("seq", "turns", "messages", "changes", "names"), 0)
        return {
            "stream": stream,
            "seq": old["seq"] + 1,
            "turns": old["turns"] + (step.facts["messages"] is not None),
            "messages": old["messages"] + (step.facts["messages"] or 0),
            "changes": old["changes"] + (step.facts["target"] is not None),
            "names": old["names"],
            "type": old.get("type", step.kind.partition(".")[0]),
        }


def _commitments(chance: Draws, step: Step) -> dict[str, str]:
    parts = [(chance.seed, step.meta[1])]
    if step.content is not None:
        parts.append((chance.salts(), step.content[1]))
    return {label: disclosed(seed, label, text)["commitment"] for seed, texts in parts for label, text in texts.items()}
