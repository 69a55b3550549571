"""A reader of stores and bundles, written from `schemas/FORMAT.md` alone: it imports nothing of muniment.

`python tests/format/reader.py STORE ROOT_KEY_FILE` prints what a store says.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import json
import sqlite3
import struct
import sys
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

ABSENT = 2**64 - 1
DICTIONARY = base64.b64decode("""YWdhaW4gYWdhaW5zdCBhbG1vc3QgYWxyZWFkeSBhbHdheXMgYW5vdGhlciBhbnN3ZXIgYmVmb3JlIGJldHRlciB
iZXR3ZWVuIGNoYW5nZSBjb3VsZCBkaWZmZXJlbnQgZG9lcyBkb2luZyBkb25lIGRvd24gZHVyaW5nIGVhY2ggZWl0aGVyIGVub3VnaCBlcnJvciBldmVuIGV
2ZXJ5IGV4YW1wbGUgZmlsZSBmaW5kIGZpcnN0IGZvbGxvd2luZyBmb3VuZCBnaXZlIGdvb2QgZ3JlYXQgaGVscCBoZXJlIGhvd2V2ZXIgaW1wb3J0YW50IGl
uZm9ybWF0aW9uIGludG8gaW52YWxpZCBrbm93IGxhc3QgbGlrZSBsb29rIG1hZGUgbWFrZSBtYW55IG1heWJlIG1lYW4gbWVzc2FnZSBtaWdodCBtb3JlIG1
vc3QgbXVjaCBtdXN0IG5hbWUgbmVlZCBuZXZlciBuZXh0IG5vdGhpbmcgbnVtYmVyIG9ubHkgb3JkZXIgb3RoZXIgb3ZlciBwZW9wbGUgcGxhY2UgcGxlYXN
lIHBvaW50IHBvc3NpYmxlIHByb2JsZW0gcXVlc3Rpb24gcmVhbGx5IHJlcXVlc3QgcmVzdWx0IHJpZ2h0IHNhbWUgc2hvdWxkIHNob3cgc2luY2Ugc29tZSB
zb21ldGhpbmcgc3RpbGwgc3VjaCBzdXJlIHRha2UgdGVsbCB0aGFuayB0aGFua3MgdGhlaXIgdGhlbSB0aGVuIHRoZXJlIHRoZXNlIHRoZXkgdGhpbmcgdGh
pbmsgdGhpcyB0aG9zZSB0aHJvdWdoIHRpbWUgdG9kYXkgdG9vbCB0cnkgdHdvIHVuZGVyIHVudGlsIHVwZGF0ZSB1c2VyIHVzaW5nIHZlcnkgd2FudCB3YXM
gd2F5IHdlbGwgd2VyZSB3aGF0IHdoZW4gd2hlcmUgd2hpY2ggd2hpbGUgd2hvIHdoeSB3aWxsIHdpdGggd2l0aG91dCB3b3JrIHdvdWxkIHdyb25nIHllYXI
geWVzIHlldCB5b3VyIGh0dHBzOi8vd3d3LiAuY29tLyAyMDI0LTAxLSAyMDI1LTAxLSBUMDA6MDA6MDBaIGFwcGxpY2F0aW9uL2pzb24gdHJ1ZSBmYWxzZSB
udWxsIAoKYGBgCioqCi0gMS4gSSdtIHNvcnJ5LCBidXQgSSBjYW4gaGVscCB5b3Ugd2l0aCB0aGF0LiBJcyB0aGVyZSBhbnl0aGluZyBlbHNlIFdvdWxkIHl
vdSBsaWtlIG1lIHRvIFRoYW5rIHlvdSBmb3IgeW91ciBDb3VsZCB5b3UgcGxlYXNlIGxldCBtZSBrbm93IGlmIHlvdSBoYXZlIGFueSBJdCBpcyBub3QgdGh
hdCB3ZSBhcmUgb24gdGhlIGFuZCB0byBvZiBpbiBmb3IgYSBhbiBhcyBhdCBiZSBieSBmcm9tIGhhcyBoYXZlIGl0IGl0cyBvciB5b3UgY2FuIGRvIGlmIG5
vIHN1bW1hcmllc2xhYmVsc2ZpbGVfaWR1cmltaW1lX3R5cGVtb2RhbGl0eWJsb2JyZWFzb25pbmduYW1laWRhcmd1bWVudHNyZXNwb25zZYKkdHlwZbJ0b29
sX2NhbGxfcmVzcG9uc2WocmVzcG9uc2WEpHR5cGWpdG9vbF9jYWxspG5hbWWiaWSpYXJndW1lbnRzpHVzZXKpYXNzaXN0YW50pnN5c3RlbZMBwIGld29yZHO
BrnJlcXVlc3QvcmVhc29upmRpZ2VzdMQgkwHAgqVwYXJ0c5KRgqR0eXBlpHRleHSnY29udGVudNk=""")
SEGMENT, IN_ROW = 1024, 64


class Refused(Exception):
    """Something is not what the page says."""


def need(held: bool, what: str) -> None:
    if not held:
        raise Refused(what)


def mac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def framed(*parts: str | bytes) -> bytes:
    raw = [part.encode() if isinstance(part, str) else part for part in parts]
    return b"".join(len(part).to_bytes(8, "big") + part for part in raw)


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def canonical(value: Any) -> bytes:
    bare = {"ensure_ascii": False, "sort_keys": True, "separators": (",", ":")}
    return json.dumps(value, **bare, default=lambda data: base64.b64encode(data).decode()).encode()  # type: ignore[arg-type]  # options by name


def opened(key: bytes, nonce: bytes, sealed: bytes, context: bytes, what: str) -> bytes:
    try:
        return AESGCM(key).decrypt(nonce, sealed, context)
    except InvalidTag as error:
        raise Refused(what) from error


# --- msgpack, as far as it is used ------------------------------------------------------------------------------------

RANGES = [(0xC4, "bytes", (1, 2, 4)), (0xCC, "int", (1, 2, 4, 8)), (0xD0, "signed", (1, 2, 4, 8)),
          (0xD9, "text", (1, 2, 4)), (0xDC, "list", (2, 4)), (0xDE, "map", (2, 4))]  # fmt: skip
KINDS = {start + at: (kind, width) for start, kind, widths in RANGES for at, width in enumerate(widths)}


def unpack(data: bytes) -> Any:
    stream = io.BytesIO(data)
    value = _item(stream.read)
    need(not stream.read(1), "msgpack")
    return value


def _item(read: Callable[[int], bytes]) -> Any:
    first = read(1)[0]
    if first < 0x80 or first >= 0xE0:
        return first if first < 0x80 else first - 0x100
    if first in {0xC0, 0xC2, 0xC3, 0xCB}:
        return struct.unpack(">d", read(8))[0] if first == 0xCB else {0xC0: None, 0xC2: False, 0xC3: True}[first]
    kind = "text" if first >= 0xA0 else "list" if first >= 0x90 else "map"
    number = first & (31 if first >= 0xA0 else 15)
    if first >= 0xC0:
        kind, width = KINDS[first]
        number = int.from_bytes(read(width), "big", signed=kind == "signed")
    if kind == "list":
        return [_item(read) for _ in range(number)]
    if kind == "map":
        return {_item(read): _item(read) for _ in range(number)}
    return number if kind in {"int", "signed"} else read(number) if kind == "bytes" else read(number).decode()


# --- keys -------------------------------------------------------------------------------------------------------------


class Root:
    def __init__(self, key: bytes) -> None:
        self.id = HKDF(SHA256(), 8, None, b"muniment/v1/root/id").derive(key)
        self.wrap = HKDF(SHA256(), 32, None, b"muniment/v1/root/wrap").derive(key)

    def unwrap(self, text: str, context: str) -> bytes:
        wrapped = unb64(text)
        need(wrapped[:9] == b"\x01" + self.id, "another root key")
        bound = b"muniment/root" + wrapped[:9] + context.encode()
        return opened(self.wrap, wrapped[9:21], wrapped[21:], bound, context)


def index_key(path: Path, root: Root) -> tuple[bytes, dict[str, Any]]:
    """Return the index key in a file of keys, and the file, which that key vouches for."""
    file = json.loads(path.read_bytes())
    if "doors" in file:
        (door,) = [door for door in file["doors"] if door["root"] == root.id.hex()]
        need(root.unwrap(door["check"], f"{file['store']}/check/0") == b"muniment key check", "check")
        index = root.unwrap(door["index"], f"{file['store']}/store-index/0")
    else:
        index = root.unwrap(file["index"], f"{file['log']}/index/0")
    need(file["mac"] == b64(mac(index, framed(path.name, canonical({**file, "mac": ""})))), path.name)
    return index, file


class Space:
    def __init__(self, store: Path, name: str, root: Root) -> None:
        index, _ = index_key(store / "store.json", root)
        self.directory = store / "spaces" / mac(index, framed("space", name))[:16].hex()
        self.index, keys = index_key(self.directory / "keys.json", root)
        self.log = keys["log"]
        need(root.unwrap(keys["name"], f"{self.log}/name/0").decode() == name, "name")
        self.versions = {
            one["version"]: root.unwrap(one["key"], f"{self.log}/space/{one['version']}") for one in keys["space"]
        }
        with closing(sqlite3.connect(f"file:{self.directory / 'log.db'}?mode=ro", uri=True)) as log:
            self.segments = self._segments(log)
            self.events = [self._event(row) for row in log.execute("SELECT * FROM sealed ORDER BY position")]
            self._prove(log)
            attached = log.execute("SELECT part, position, field FROM parts WHERE position IS NOT NULL").fetchall()
            self.files = {(position, field): self._file(log, *row) for row in attached for _, position, field in (row,)}

    def _file(self, log: sqlite3.Connection, part: int, position: int, field: str) -> bytes:
        event, (_, message, _, place) = self.events[position], field.split("/")
        told, salts = event["content"]["parts"][int(message)][int(place)], event["salts"]
        rows = log.execute("SELECT sealed FROM chunks WHERE id >> 16 = ? ORDER BY id", (part,))
        chunks = [opened(salts[f"{field}/chunks"], number.to_bytes(12, "big"), sealed, b"muniment/chunk", field)
                  for number, (sealed,) in enumerate(rows)]  # fmt: skip
        leaves = [hashlib.sha256(b"\x00" + salts[field] + chunk).digest() for chunk in chunks]
        need((mth(leaves), sum(map(len, chunks))) == (told["root"], told["size"]), field)
        return b"".join(chunks)

    def _segments(self, log: sqlite3.Connection) -> list[bytes]:
        found: list[bytes] = []
        for row, keys in log.execute("SELECT id, keys FROM segments ORDER BY id"):
            version = int.from_bytes(keys[1:5], "big")
            bound = b"muniment/segments" + row.to_bytes(8, "big") + keys[:5]
            entries = opened(self.versions[version], keys[5:17], keys[17:], bound, f"segments {row}")
            found += [entries[at : at + 36] for at in range(0, len(entries), 36)]
        return found

    def _event(self, row: tuple[Any, ...]) -> dict[str, Any]:
        position, stream, seq, kind, number, target, time, leaf, _, envelope, cell = row
        exact = exact_header(row, self.log)
        need(hashlib.sha256(b"\x00" + exact).digest() == leaf, f"leaf {position}")
        event = {"header": json.loads(exact), "exact": exact, "leaf": leaf, "meta": None, "content": None}
        if envelope is None:
            return event
        key, columns = self.segments[position // SEGMENT], (position, stream, seq, number, target, time)
        place = b"".join((ABSENT if one is None else one).to_bytes(8, "big") for one in columns) + kind.encode()
        need(envelope[:5] == b"\x01" + key[:4], f"segment key {position}")
        bound = b"muniment/envelope" + envelope[:5] + (position // SEGMENT).to_bytes(8, "big") + leaf + place
        held = opened(key[4:], envelope[5:17], envelope[17:], bound, f"envelope {position}")
        secret, meta = (held[1:33], held[33:]) if held[0] else (None, held[1:])
        _, seed, event["meta"] = unpack(meta)
        committed = event["header"]["fields"]
        if kind == "turn.committed":
            prove(committed, seed, turn_meta(event["meta"]))
        if secret is not None:
            need(cell is not None, f"content {position}")
            bound = b"muniment/cell" + cell[:1] + leaf
            body = opened(mac(secret, b"muniment/cell" + leaf), bytes(12), cell[1:], bound, f"content {position}")
            body = zlib.decompressobj(-15, DICTIONARY).decompress(body) if cell[0] else body
            _, event["salts"], event["content"] = unpack(body)
            if kind == "turn.committed":
                prove(committed, event["salts"] or mac(secret, b"muniment/salts"), turn_content(event["content"]))
        return event

    def _prove(self, log: sqlite3.Connection) -> None:
        leaves = [event["leaf"] for event in self.events]
        ((kept, seal),) = log.execute("SELECT range, seal FROM frontier").fetchall()
        hashes = [kept[at : at + 32] for at in range(8, len(kept), 32)]
        need(int.from_bytes(kept[:8], "big") == len(leaves) and hashes == complete(leaves), "frontier")
        numbers, tag = seal[:24], seal[40:]
        total = bytes(a ^ b for a, b in zip(seal[24:40], mac(self.index, b"muniment/mask" + tag), strict=False))
        need(mac(self.index, b"muniment/seal" + numbers + total + kept)[:16] == tag, "seal")
        (owed,) = log.execute("SELECT value FROM meta WHERE name = 'erasing'").fetchone()
        need(mac(self.index, b"muniment/owed" + owed)[:8] == numbers[16:], "erasing")
        (vkey,) = log.execute("SELECT value FROM meta WHERE name = 'vkey'").fetchone()
        for size, note in log.execute("SELECT size, note FROM checkpoints"):
            origin, told, root = signed(note, vkey.decode())
            need(origin.split("/")[1] == self.log and told == size, "checkpoint")
            need(root == mth(leaves[:size]), f"checkpoint {size}")
        for head in log.execute("SELECT stream, seq, turns, messages, changes, names, leaf, tag, type FROM streams"):
            numbers = b"".join(one.to_bytes(8, "big") for one in head[:6])
            message = b"muniment/head" + numbers + head[6] + head[8].encode()
            need(mac(self.index, message)[:16] == head[7], f"head {head[0]}")

    def conversations(self) -> dict[str, list[dict[str, Any]]]:
        names = {one["header"]["pos"]: one["meta"]["conversation"] for one in self.events
                 if one["header"].get("opens") == "conversation"}  # fmt: skip
        turns: dict[str, list[dict[str, Any]]] = {name: [] for name in names.values()}
        for one in self.events:
            if "turn" in one["header"].get("entry", {}):
                turns[names[one["header"]["stream"]]].append(one)
        return turns


# --- headers, commitments, tree ---------------------------------------------------------------------------------------


def usual(number: int) -> str:
    labels = ["actor", "delivery"] + (["source"] if number > 15 else [])
    for place in range(number % 16 + 1):
        labels += [f"message/{place}", f"message/{place}/content/0"]
    return " ".join(sorted(labels))


def exact_header(row: tuple[Any, ...], log: str) -> bytes:
    position, stream, seq, kind, number, target, time, _, packed, *_ = row
    labels, digests, prev, reason, refs, type_of = unpack(packed)
    listed = (usual(labels) if isinstance(labels, int) else labels).split()
    fields = {label: b64(digests[32 * at : 32 * at + 32]) for at, label in enumerate(listed)}
    header = {"fields": fields, "kind": kind, "log": log, "pos": position, "prev": None if prev is None else b64(prev),
              "reason": reason, "refs": refs, "seq": seq, "stream": stream, "t": time, "v": 1}  # fmt: skip
    header |= {} if prev is not None else {"opens": type_of}
    header |= {} if number is None else {"entry": {type_of: number}}
    header |= {} if target is None else {"target": target}
    return canonical(header)


def prove(committed: dict[str, str], salts: Any, fields: dict[str, Any]) -> None:
    for label, value in fields.items():
        salt = mac(salts, label.encode()) if isinstance(salts, bytes) else salts[label]
        text = b64(b'["' + b64(salt).encode() + b'","' + label.encode() + b'",' + canonical(value) + b"]")
        need(committed[label] == b64(hashlib.sha256(text.encode()).digest()), label)


def turn_meta(meta: dict[str, Any]) -> dict[str, Any]:
    fields = {name: meta[name] for name in ("actor", "delivery")}
    fields |= {name: meta[name] for name in ("source", "tools", "external", "candidates") if meta.get(name)}
    fields |= {f"message/{place}": one for place, one in enumerate(meta["messages"])}
    return fields | {f"host_ref/{place}": one for place, one in enumerate(meta.get("host_refs", []))}


def turn_content(content: dict[str, Any]) -> dict[str, Any]:
    parts = [(at, n, part) for at, parts in enumerate(content["parts"]) for n, part in enumerate(parts)]
    fields = {f"message/{at}/content/{n}": part for at, n, part in parts}
    fields |= {f"tools/{place}/summary": one for place, one in enumerate(content.get("summaries", []))}
    labels = enumerate(content.get("labels", []))
    return fields | {f"host_ref/{place}/label": one for place, one in labels if one is not None}


def node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def mth(leaves: list[bytes]) -> bytes:
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256(b"").digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return node(mth(leaves[:half]), mth(leaves[half:]))


def complete(leaves: list[bytes]) -> list[bytes]:
    found = []
    while leaves:
        size = 1 << len(leaves).bit_length() - 1
        found.append(mth(leaves[:size]))
        leaves = leaves[size:]
    return found


def signed(note: str, vkey: str) -> tuple[str, int, bytes]:
    """Return origin, size and root of a checkpoint that this key signed."""
    text, _, signatures = note.partition("\n\n")
    name, hint, typed = vkey.split("+", 2)
    public = base64.b64decode(typed)[1:]
    for line in signatures.splitlines():
        _, signer, signature = line.split(" ")
        raw = base64.b64decode(signature)
        if signer == name and raw[:4].hex() == hint:
            Ed25519PublicKey.from_public_bytes(public).verify(raw[4:], f"{text}\n".encode())
            origin, size, root, *_ = text.split("\n")
            return origin, int(size), base64.b64decode(root)
    raise Refused("no signature of this key")


# --- bundles ----------------------------------------------------------------------------------------------------------


def bundle(data: bytes, vkey: str) -> list[dict[str, Any]]:
    """Return the events of a bundle, each with what it discloses, having proved all of it."""
    head, *lines = [json.loads(line) for line in data.splitlines()]
    nodes: list[tuple[int, bytes]] = []  # width, hash
    events, at = [], 0

    def push(width: int, digest: bytes) -> None:
        nonlocal at
        nodes.append((width, digest))
        at += width
        while len(nodes) > 1 and nodes[-2][0] == nodes[-1][0] and (at - 2 * nodes[-1][0]) % (2 * nodes[-1][0]) == 0:
            (size, left), (_, right) = nodes[-2:]
            nodes[-2:] = [(2 * size, node(left, right))]

    def skip(until: int, hashes: list[str]) -> None:
        for text in hashes:
            width = min(at & -at or 1 << 60, 1 << (until - at).bit_length() - 1)
            push(width, base64.b64decode(text))
        need(at == until, "skipped")

    waiting: list[str] = []
    for line in lines:
        if "skipped" in line:
            waiting = line["skipped"]
        elif "header" in line:
            skip(line["header"]["pos"], waiting)
            waiting = []
            shown = {}
            for text in line["disclosures"]:
                _, label, value = json.loads(unb64(text))
                need(line["header"]["fields"][label] == b64(hashlib.sha256(text.encode()).digest()), label)
                shown[label] = value
            push(1, hashlib.sha256(b"\x00" + canonical(line["header"])).digest())
            events.append({"header": line["header"], "shown": shown})
        elif "checkpoint" in line:
            skip(head["size"], waiting)
            _, size, root = signed(line["checkpoint"], vkey)
            folded = nodes[-1][1]
            for _, left in reversed(nodes[:-1]):
                folded = node(left, folded)
            need(size == head["size"] and root == folded, "root")
    return events


if __name__ == "__main__":
    root_key = Root(unb64(Path(sys.argv[2]).read_text().strip()))
    for name, turns in Space(Path(sys.argv[1]), "default", root_key).conversations().items():
        for turn in turns:
            words = "erased" if turn["content"] is None else json.dumps(turn["content"]["parts"], ensure_ascii=False)
            sys.stdout.write(f"{name} {turn['header']['entry']['turn']}: {words}\n")
