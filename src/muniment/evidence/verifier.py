"""The verifier: all that a third party needs to check evidence, in one file (standard library and `cryptography`).

It may be copied out of the package and used by itself; it imports nothing of muniment. Every function either returns
what it proved or raises `Refused`, whose `code` is a stable word and whose text never holds content.

What is checked, from the bottom up:

1. A *disclosure* is unpadded base64url of `[salt, label, value]` in JSON. Its SHA-256 must be the commitment that the
   header holds under that label (RFC 9901, section 4.2.3).
2. A *header* is one event in canonical JSON: opaque ids, order, time, kind and commitments. Its leaf is the RFC 6962
   leaf hash of its exact bytes. Inside a stream headers are dense from 1 and each names the leaf of the one before.
3. A *proof* leads from leaves to a root: RFC 9162 inclusion and consistency, and multiproofs: the hashes of the maximal
   subtrees that contain none of the proved leaves, from left to right.
4. A *checkpoint* is origin, size and root in a C2SP signed note (Ed25519). Signatures of unknown keys are ignored.
5. A *receipt* is a C2SP tlog-proof; its extra data is the line of the event, so that the file can be checked alone.
6. A *bundle* is lines of canonical JSON: a head, events in order of position, one multiproof, the checkpoint. A stream
   in it is complete when an `export.issued` event, itself proved, says how far the stream went and nothing is absent.

7. A *source digest* says which turns something was derived from; it is made of their leaves (`source_digest`).

The head of a bundle is not signed. What it says is checked against what is (log, origin, size, streams); the name of
the view is declared by the exporter.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NoReturn

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

HASH_BYTES = 32
TREE_SIZE_MAX = 2**63 - 1
NOTE_BYTES_MAX = 1_000_000
NOTE_SIGNATURES_MAX = 100
LINE_BYTES_MAX = 64 * 2**20
PROOF_HASHES_MAX = 63

BUNDLE_FORMAT = "muniment-export/1"
RECEIPT_FORMAT = "c2sp.org/tlog-proof@v1"
ORIGIN_PREFIX = "muniment/"
SOURCE_CONTEXT = "muniment/source/1"
CERTIFICATE_KIND = "export.issued"
TURN_KIND = "turn.committed"
SPACE_STREAM = 0
VIEWS = frozenset({"raw_owner", "model_context", "host_ui", "operator_audit", "export"})

LOG_ID = r"[A-Za-z0-9_-]{21}[AQgw]"
DIGEST = r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]"
LABEL = r"[a-z0-9_]{1,40}(?:/[a-z0-9_]{1,40}){0,7}"
KIND = r"[a-z_]{1,40}\.[a-z_]{1,40}"
WORD = r"[a-z_]{1,40}"
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_CONTROL = re.compile("[\\x00-\\x09\\x0b-\\x1f]")  # all but the newline
_LOG_ID, _DIGEST, _LABEL, _KIND, _WORD = (re.compile(pattern) for pattern in (LOG_ID, DIGEST, LABEL, KIND, WORD))
_HEADER_KEYS = frozenset({"fields", "kind", "log", "pos", "prev", "reason", "refs", "seq", "stream", "t", "v"})
_HEAD_KEYS = frozenset({"bundle", "log", "origin", "size", "streams", "view"})


class Refused(Exception):
    """The evidence does not prove what it claims: `code` says why, `at` where (`line 3`), never what was there."""

    def __init__(self, code: str, at: str = "") -> None:
        self.code = code
        self.at = at
        super().__init__(f"evidence refused: {code}" + (f" ({at})" if at else ""))


# --- hashes and proofs (RFC 6962, RFC 9162) ---------------------------------------------------------------------------

EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf: SHA-256(0x00 ‖ data)."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node: SHA-256(0x01 ‖ left ‖ right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def verify_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes], root: bytes) -> None:
    """Prove that `leaf` is at `index` in the tree of `size` leaves under `root` (RFC 9162, section 2.1.3.2)."""
    if not 0 <= index < size <= TREE_SIZE_MAX or not _all_hashes([leaf, root, *proof]):  # step 1
        raise Refused("inclusion")
    fn, sn, r = index, size - 1, leaf  # steps 2 and 3
    for p in proof:  # step 4
        if sn == 0:
            raise Refused("inclusion")
        if fn & 1 or fn == sn:
            r = node_hash(p, r)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            r = node_hash(r, p)
        fn, sn = fn >> 1, sn >> 1
    if sn or r != root:  # step 5
        raise Refused("inclusion")


def verify_consistency(size1: int, size2: int, proof: Sequence[bytes], root1: bytes, root2: bytes) -> None:
    """Prove that the first `size1` leaves of the second tree are the first tree (RFC 9162, section 2.1.4.2)."""
    if not 0 <= size1 <= size2 <= TREE_SIZE_MAX:
        raise Refused("consistency")
    if size1 == size2:
        if proof or root1 != root2 or (size1 == 0 and root1 != EMPTY_ROOT):
            raise Refused("consistency")
        return
    if size1 == 0 or not proof or not _all_hashes([root1, root2, *proof]):  # step 1; from nothing follows nothing
        raise Refused("consistency")
    path = [root1, *proof] if size1 & (size1 - 1) == 0 else list(proof)  # step 2
    fn, sn = size1 - 1, size2 - 1  # step 3
    while fn & 1:  # step 4
        fn, sn = fn >> 1, sn >> 1
    fr = sr = path[0]  # step 5
    for c in path[1:]:  # step 6
        if sn == 0:
            raise Refused("consistency")
        if fn & 1 or fn == sn:
            fr, sr = node_hash(c, fr), node_hash(c, sr)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node_hash(sr, c)
        fn, sn = fn >> 1, sn >> 1
    if sn or fr != root1 or sr != root2:  # step 7
        raise Refused("consistency")


def multiproof_places(indices: Iterable[int], size: int) -> list[tuple[int, int]]:
    """Return (level, index) of the maximal subtrees without any of the indices, from left to right."""
    known = sorted(set(indices))
    places = []
    level, width = 0, size
    while width > 1:
        present = set(known)
        places += [(level, i ^ 1) for i in known if i ^ 1 < width and i ^ 1 not in present]
        known = list(dict.fromkeys(i >> 1 for i in known))
        level, width = level + 1, (width + 1) >> 1
    return sorted(places, key=lambda place: place[1] << place[0])


def verify_multiproof(leaves: Mapping[int, bytes], size: int, proof: Sequence[bytes], root: bytes) -> None:
    """Prove that all the leaves (by index) are in the tree of `size` leaves under `root`; no hash may be spare."""
    if not leaves or not 0 <= min(leaves) <= max(leaves) < size <= TREE_SIZE_MAX:
        raise Refused("multiproof")
    places = multiproof_places(leaves, size)
    if len(places) != len(proof) or not _all_hashes([root, *leaves.values(), *proof]):
        raise Refused("multiproof")
    given = dict(zip(places, proof, strict=True))
    row = dict(leaves)
    level, width = 0, size
    while width > 1:
        parents: dict[int, bytes] = {}
        for i, own in row.items():
            if i >> 1 in parents:
                continue
            if i ^ 1 >= width:  # the last node of an odd row moves up as it is
                parents[i >> 1] = own
                continue
            other = row.get(i ^ 1) or given[level, i ^ 1]
            parents[i >> 1] = node_hash(other, own) if i & 1 else node_hash(own, other)
        row = parents
        level, width = level + 1, (width + 1) >> 1
    if row[0] != root:
        raise Refused("multiproof")


def _all_hashes(hashes: Iterable[bytes]) -> bool:
    return all(len(each) == HASH_BYTES for each in hashes)


# --- base64 and JSON, with one spelling each --------------------------------------------------------------------------


def _unb64(text: str, code: str) -> bytes:
    """Return the bytes of padded base64 (RFC 4648, section 4), refusing every other spelling of them."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Refused(code) from None
    if base64.b64encode(data).decode() != text:
        raise Refused(code)
    return data


def _b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _unb64url(text: str, code: str) -> bytes:
    if "=" in text or "+" in text or "/" in text:
        raise Refused(code)
    return _unb64(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), code)


def _no_number(_: str) -> NoReturn:
    raise ValueError


def _no_twice(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) != len(members):
        raise ValueError
    return value


# Our own lines know no fractions; a disclosed value may hold them. A key that comes twice does not survive the
# comparison with the canonical bytes; in a disclosed value, which is bound by its digest instead, it is looked for.
_OURS = json.JSONDecoder(parse_float=_no_number, parse_constant=_no_number)
_THEIRS = json.JSONDecoder(parse_constant=_no_number, object_pairs_hook=_no_twice)
_CANONICAL = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def _decode(data: bytes, decoder: json.JSONDecoder) -> Any:
    try:
        return decoder.decode(data.decode())
    except (ValueError, RecursionError):
        raise Refused("not_json") from None


def _encode(value: object) -> bytes:
    try:
        return _CANONICAL.encode(value).encode()
    except (ValueError, RecursionError):
        raise Refused("not_canonical") from None


def _is_number(value: object, least: int = 0) -> bool:
    return type(value) is int and least <= value <= TREE_SIZE_MAX


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return type(value) is str and pattern.fullmatch(value) is not None


# --- headers and disclosures ------------------------------------------------------------------------------------------


def check_header(header: Any) -> dict[str, Any]:
    """Return a decoded header whose every member has the form it must have; `header` is refused otherwise."""
    if type(header) is not dict or header.keys() != _HEADER_KEYS:
        raise Refused("header")
    fields, refs, prev, seq = header["fields"], header["refs"], header["prev"], header["seq"]
    sound = (
        header["v"] == 1
        and type(header["v"]) is int
        and _matches(_LOG_ID, header["log"])
        and _matches(_KIND, header["kind"])
        and all(_is_number(header[name]) for name in ("pos", "stream", "t"))
        and _is_number(seq, 1)
        and (prev is None if seq == 1 else _matches(_DIGEST, prev))
        and (header["pos"] == header["stream"] if seq == 1 else header["pos"] > header["stream"])
        and (header["reason"] is None or _matches(_WORD, header["reason"]))
        and type(fields) is dict
        and all(_LABEL.fullmatch(label) and _matches(_DIGEST, digest) for label, digest in fields.items())
        and type(refs) is dict
        and all(_WORD.fullmatch(name) and _is_number(place) for name, place in refs.items())
    )
    if not sound:
        raise Refused("header")
    return header


def parse_header(data: bytes) -> dict[str, Any]:
    """Return the header that `data` is the canonical encoding of."""
    header = check_header(_decode(data, _OURS))
    if _encode(header) != data:
        raise Refused("not_canonical")
    return header


def commitment(disclosure: str) -> str:
    """Return the commitment of a disclosure: base64url(SHA-256(ASCII(disclosure)))."""
    return _b64url(hashlib.sha256(disclosure.encode("ascii")).digest())


def open_disclosure(disclosure: str, fields: Mapping[str, str]) -> tuple[str, Any]:
    """Return (label, value) of a disclosure that one of the commitments in `fields` is for."""
    if type(disclosure) is not str or not disclosure.isascii():
        raise Refused("disclosure")
    opened = _decode(_unb64url(disclosure, "disclosure"), _THEIRS)
    if type(opened) is not list or len(opened) != 3 or not _matches(_DIGEST, opened[0]) or type(opened[1]) is not str:
        raise Refused("disclosure")
    if fields.get(opened[1]) != commitment(disclosure):
        raise Refused("commitment")
    _encode(opened[2])  # a lone surrogate has no bytes
    return opened[1], opened[2]


def source_digest(log: str, leaves: Iterable[bytes], message: int | None = None) -> str:
    """Return the source digest of consecutive turns, or of one message (by place) of a single turn.

    SHA-256 over `muniment/source/1` LF, the log id LF, the place of the message in decimal or nothing LF, then the
    leaves of the turns in their order, 32 bytes each; as unpadded base64url. A leaf commits to every field of its turn,
    each under a salt, so the digest reveals nothing of the content, and stays the same when that is erased.
    """
    place = "" if message is None else str(message)
    digest = hashlib.sha256(f"{SOURCE_CONTEXT}\n{log}\n{place}\n".encode())
    for leaf in leaves:
        if len(leaf) != HASH_BYTES:
            raise Refused("source")
        digest.update(leaf)
    return _b64url(digest.digest())


@dataclass(frozen=True, slots=True, kw_only=True)
class DisclosedEvent:
    """One event as it was in a line: its header, its leaf and what of it was disclosed."""

    header: dict[str, Any]
    leaf: bytes
    disclosed: dict[str, Any]


def parse_event(line: bytes) -> DisclosedEvent:
    """Return the event of a canonical line `{"disclosures":[...],"header":{...}}`; disclosures in order of label."""
    members = _decode(line, _OURS)
    if type(members) is not dict or members.keys() != {"disclosures", "header"}:
        raise Refused("event")
    header, disclosures = check_header(members["header"]), members["disclosures"]
    exact = _encode(header)
    if b'{"disclosures":' + _encode(disclosures) + b',"header":' + exact + b"}" != line:
        raise Refused("not_canonical")
    if type(disclosures) is not list:
        raise Refused("event")
    opened = [open_disclosure(disclosure, header["fields"]) for disclosure in disclosures]
    labels = [label for label, _ in opened]
    if labels != sorted(set(labels)):
        raise Refused("disclosure")
    return DisclosedEvent(header=header, leaf=leaf_hash(exact), disclosed=dict(opened))


@dataclass(slots=True)
class Chains:
    """The streams of one log as headers go by: each dense from 1, each event naming the leaf before it."""

    log: str
    lengths: dict[int, int] = field(default_factory=dict)
    turns: dict[int, int] = field(default_factory=dict)
    _leaves: dict[int, str] = field(default_factory=dict)

    def take(self, header: Mapping[str, Any], leaf: bytes) -> None:
        """Follow the stream of this header by one event, or refuse: `foreign_log`, `incomplete`, `chain`."""
        stream = header["stream"]
        if header["log"] != self.log:
            raise Refused("foreign_log")
        if header["seq"] != self.lengths.get(stream, 0) + 1:
            raise Refused("incomplete")
        if header["prev"] != self._leaves.get(stream):
            raise Refused("chain")
        if header["kind"] == TURN_KIND:
            self.turns[stream] = self.turns.get(stream, 0) + 1
            if header["refs"] != {"turn": self.turns[stream]}:
                raise Refused("incomplete")
        self.lengths[stream] = header["seq"]
        self._leaves[stream] = _b64url(leaf)


# --- signed notes and checkpoints (C2SP signed-note, tlog-checkpoint) -------------------------------------------------


def is_key_name(name: str) -> bool:
    """Tell whether a key may have this name: not empty, no spaces, no plus."""
    return "+" not in name and name.split() == [name]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierKey:
    """A public key that notes are verified with: `name+hash+base64(0x01 ‖ Ed25519 public key)`."""

    name: str
    key_id: bytes
    public: bytes

    @classmethod
    def of(cls, name: str, public: bytes) -> VerifierKey:
        """Return the key of this name; its id is the start of SHA-256(name ‖ newline ‖ 0x01 ‖ public key)."""
        if not is_key_name(name) or len(public) != 32:
            raise Refused("key_malformed")
        return cls(name=name, key_id=hashlib.sha256(name.encode() + b"\n\x01" + public).digest()[:4], public=public)

    @classmethod
    def parse(cls, vkey: str) -> VerifierKey:
        """Return the key that is written as `vkey`, whose hash must be right."""
        name, _, rest = vkey.partition("+")
        key_id, _, encoded = rest.partition("+")
        typed = _unb64(encoded, "key_malformed")
        if not name.isprintable() or typed[:1] != b"\x01":
            raise Refused("key_malformed")
        key = cls.of(name, typed[1:])
        if key.key_id.hex() != key_id:
            raise Refused("key_malformed")
        return key

    def __str__(self) -> str:
        typed = base64.b64encode(b"\x01" + self.public).decode()
        return f"{self.name}+{self.key_id.hex()}+{typed}"

    def verify(self, message: bytes, signature: bytes) -> None:
        """Prove that this key signed the message."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, message)
        except (InvalidSignature, ValueError):
            raise Refused("signature") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One signature line of a note, unverified."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note taken apart: the signed text (with its last newline) and the signatures in their order, unverified."""

    text: str
    signatures: tuple[Signature, ...]


def parse_note(note: str) -> Note:
    """Take a signed note apart without believing it."""
    try:
        size = len(note.encode())
    except UnicodeEncodeError:
        raise Refused("note_malformed") from None
    if size > NOTE_BYTES_MAX or _CONTROL.search(note):
        raise Refused("note_malformed")
    text, blank, tail = note.rpartition("\n\n")
    lines = tail.split("\n")
    if not blank or not tail or lines.pop() or len(lines) > NOTE_SIGNATURES_MAX:
        raise Refused("note_malformed")
    return Note(text=text + "\n", signatures=tuple(_signature_line(line) for line in lines))


def _signature_line(line: str) -> Signature:
    dash, _, rest = line.partition(" ")
    name, _, encoded = rest.partition(" ")
    raw = _unb64(encoded, "note_malformed")
    if dash != "\N{EM DASH}" or not is_key_name(name) or len(raw) < 5:
        raise Refused("note_malformed")
    return Signature(name=name, key_id=raw[:4], signature=raw[4:])


def open_note(note: str, keys: Iterable[VerifierKey]) -> tuple[str, tuple[VerifierKey, ...]]:
    """Return the text of a note and the known keys that signed it (at least one); a bad signature of theirs refuses."""
    known = {(key.name, key.key_id): key for key in keys}
    parsed = parse_note(note)
    signers: dict[tuple[str, bytes], VerifierKey] = {}
    for one in parsed.signatures:
        key = known.get((one.name, one.key_id))
        if key is not None and (one.name, one.key_id) not in signers:
            key.verify(parsed.text.encode(), one.signature)
            signers[one.name, one.key_id] = key
    if not signers:
        raise Refused("signature_missing")
    return parsed.text, tuple(signers.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a log says of itself: its origin, the number of its leaves, the root over them."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the text that is signed."""
        lines = (self.origin, str(self.size), base64.b64encode(self.root).decode(), *self.extensions)
        return "".join(f"{line}\n" for line in lines)


def parse_checkpoint(text: str) -> Checkpoint:
    """Return the checkpoint that is written as `text`."""
    lines = text.split("\n")
    if len(lines) < 4 or lines.pop() or not all(lines) or not _NUMBER.fullmatch(lines[1]):
        raise Refused("checkpoint_malformed")
    root, size = _unb64(lines[2], "checkpoint_malformed"), int(lines[1])
    if len(root) != HASH_BYTES or size > TREE_SIZE_MAX or (size == 0 and root != EMPTY_ROOT):
        raise Refused("checkpoint_malformed")
    return Checkpoint(origin=lines[0], size=size, root=root, extensions=tuple(lines[3:]))


def open_checkpoint(note: str, key: VerifierKey) -> Checkpoint:
    """Return the checkpoint of a note that the log itself signed: origin and name of the key are the same."""
    text, _ = open_note(note, [key])
    checkpoint = parse_checkpoint(text)
    if checkpoint.origin != key.name:
        raise Refused("origin")
    return checkpoint


# --- receipts (C2SP tlog-proof) ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A tlog-proof taken apart, unverified."""

    index: int
    proof: tuple[bytes, ...]
    extra: bytes
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptReport:
    """What a receipt proved: this event, with these disclosed values, is in the log under this checkpoint."""

    origin: str
    size: int
    root: str
    header: dict[str, Any]
    disclosed: dict[str, Any]


def parse_receipt(data: bytes) -> Receipt:
    """Take a tlog-proof apart without believing it."""
    try:
        text = data.decode() if len(data) <= LINE_BYTES_MAX else ""
    except UnicodeDecodeError:
        raise Refused("receipt_malformed") from None
    proof, blank, note = text.partition("\n\n")
    lines = proof.split("\n")
    if not blank or lines.pop(0) != RECEIPT_FORMAT:
        raise Refused("receipt_malformed")
    extra = b""
    if lines and lines[0].startswith("extra "):
        extra = _unb64(lines.pop(0).removeprefix("extra "), "receipt_malformed")
    word, _, index = (lines.pop(0) if lines else "").partition(" ")
    if word != "index" or not _NUMBER.fullmatch(index) or len(lines) > PROOF_HASHES_MAX:
        raise Refused("receipt_malformed")
    hashes = tuple(_unb64(line, "receipt_malformed") for line in lines)
    return Receipt(index=int(index), proof=hashes, extra=extra, note=note)


def verify_receipt(data: bytes, vkey: str) -> ReceiptReport:
    """Prove a receipt with the public key of the log; the event is read from the extra data of the proof."""
    key = VerifierKey.parse(vkey)
    receipt = parse_receipt(data)
    checkpoint = open_checkpoint(receipt.note, key)
    event = parse_event(receipt.extra)
    if ORIGIN_PREFIX + event.header["log"] != checkpoint.origin:
        raise Refused("foreign_log")
    if event.header["pos"] != receipt.index:
        raise Refused("inclusion")
    verify_inclusion(receipt.index, checkpoint.size, event.leaf, receipt.proof, checkpoint.root)
    return ReceiptReport(
        origin=checkpoint.origin,
        size=checkpoint.size,
        root=base64.b64encode(checkpoint.root).decode(),
        header=event.header,
        disclosed=event.disclosed,
    )


# --- export bundles ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReport:
    """One stream of a bundle: how many events and turns it has there, and how far a certificate says that it went."""

    stream: int
    events: int
    turns: int
    through: int | None

    @property
    def complete(self) -> bool:
        """Whether a certificate covers the stream to its end (in the space's own stream it is itself the end)."""
        return self.through is not None and self.events == self.through + (self.stream == SPACE_STREAM)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleReport:
    """What a bundle proved. `complete`: certificates cover every stream to its end, or every leaf of the log came."""

    origin: str
    size: int
    root: str
    view: str
    events: int
    disclosed: int
    withheld: int
    streams: tuple[StreamReport, ...]
    complete: bool


def verify_bundle(lines: Iterable[bytes], vkey: str) -> BundleReport:
    """Prove an export bundle with the public key of the log, reading each line (with its newline) once.

    Memory is bounded by one line and 32 bytes of leaf hash an event. Nothing is proved before the last line is read.
    """
    key = VerifierKey.parse(vkey)
    number, numbered = 0, enumerate(lines, 1)
    try:
        number, first = next(numbered, (0, b""))
        export = _Export(_head(_content(first)), key)
        for number, line in numbered:  # noqa: B007 (the refusal below names it)
            export.take(_content(line))
    except Refused as refused:
        raise Refused(refused.code, f"line {number}") from None
    return export.report()


def read_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file; one that is longer than `LINE_BYTES_MAX` is refused before it fills the memory."""
    while line := file.readline(LINE_BYTES_MAX + 1):
        yield line


def _content(line: bytes) -> bytes:
    if len(line) > LINE_BYTES_MAX:
        raise Refused("line_too_long")
    if not line.endswith(b"\n"):
        raise Refused("truncated")
    return line[:-1]


def _head(line: bytes) -> dict[str, Any]:
    head = _decode(line, _OURS)
    if type(head) is not dict or head.keys() != _HEAD_KEYS or head["bundle"] != BUNDLE_FORMAT:
        raise Refused("head")
    streams = head["streams"]
    sound = (
        _matches(_LOG_ID, head["log"])
        and head["origin"] == ORIGIN_PREFIX + head["log"]
        and _is_number(head["size"], 1)
        and type(head["view"]) is str
        and head["view"] in VIEWS
        and type(streams) is dict
        and bool(streams)
        and all(_NUMBER.fullmatch(stream) and _is_number(events, 1) for stream, events in streams.items())
    )
    if not sound:
        raise Refused("head")
    if _encode(head) != line:
        raise Refused("not_canonical")
    return head


class _Export:
    """A bundle on its way past: what was seen so far, and what must come next."""

    def __init__(self, head: dict[str, Any], key: VerifierKey) -> None:
        if head["origin"] != key.name:
            raise Refused("origin")
        self._head = head
        self._key = key
        self._promised = {int(stream): events for stream, events in head["streams"].items()}
        self._chains = Chains(head["log"])
        self._certified: dict[int, int] = {}
        self._leaves: dict[int, bytes] = {}
        self._last, self._disclosed, self._withheld = -1, 0, 0
        self._proof: list[bytes] | None = None
        self._checkpoint: Checkpoint | None = None

    def take(self, line: bytes) -> None:
        """Read the next line: an event, the multiproof after the events, the checkpoint at the end."""
        if self._checkpoint is not None:
            raise Refused("trailing")
        if self._proof is not None:
            self._close(line)
        elif line.startswith(b'{"multiproof":'):
            self._proof = _multiproof(line)
        else:
            self._event(parse_event(line))

    def _event(self, event: DisclosedEvent) -> None:
        header = event.header
        if not self._last < header["pos"] < self._head["size"]:
            raise Refused("order")
        if header["stream"] in self._promised:
            self._chains.take(header, event.leaf)
        elif header["stream"] != SPACE_STREAM or header["kind"] != CERTIFICATE_KIND:
            raise Refused("foreign_event")
        if header["kind"] == CERTIFICATE_KIND:
            self._certificate(header)
        self._last = header["pos"]
        self._leaves[header["pos"]] = event.leaf
        self._disclosed += len(event.disclosed)
        self._withheld += len(header["fields"]) - len(event.disclosed)

    def _certificate(self, header: dict[str, Any]) -> None:
        if header["refs"].keys() != {"stream", "through"} or header["log"] != self._head["log"]:
            raise Refused("certificate")
        stream, through = header["refs"]["stream"], header["refs"]["through"]
        if stream not in self._promised:
            if SPACE_STREAM not in self._promised:
                raise Refused("foreign_event")
            return
        present = self._chains.lengths.get(stream, 0) - (stream == header["stream"])
        if present < through:
            raise Refused("incomplete")
        self._certified[stream] = max(through, self._certified.get(stream, 0))

    def _close(self, line: bytes) -> None:
        closing = _decode(line, _OURS)
        if type(closing) is not dict or closing.keys() != {"checkpoint"} or type(closing["checkpoint"]) is not str:
            raise Refused("checkpoint_malformed")
        if _encode(closing) != line:
            raise Refused("not_canonical")
        checkpoint = open_checkpoint(closing["checkpoint"], self._key)
        if checkpoint.size != self._head["size"]:
            raise Refused("head")
        if self._chains.lengths != self._promised:
            raise Refused("incomplete")
        verify_multiproof(self._leaves, checkpoint.size, self._proof or [], checkpoint.root)
        self._checkpoint = checkpoint

    def report(self) -> BundleReport:
        """Return what was proved, when the last line has been read."""
        if self._checkpoint is None:
            raise Refused("truncated")
        streams = tuple(
            StreamReport(
                stream=stream,
                events=events,
                turns=self._chains.turns.get(stream, 0),
                through=self._certified.get(stream),
            )
            for stream, events in sorted(self._promised.items())
        )
        return BundleReport(
            origin=self._checkpoint.origin,
            size=self._checkpoint.size,
            root=base64.b64encode(self._checkpoint.root).decode(),
            view=self._head["view"],
            events=len(self._leaves),
            disclosed=self._disclosed,
            withheld=self._withheld,
            streams=streams,
            complete=len(self._leaves) == self._checkpoint.size or all(stream.complete for stream in streams),
        )


def _multiproof(line: bytes) -> list[bytes]:
    members = _decode(line, _OURS)
    if type(members) is not dict or members.keys() != {"multiproof"} or type(members["multiproof"]) is not list:
        raise Refused("multiproof")
    if not all(type(one) is str for one in members["multiproof"]):
        raise Refused("multiproof")
    if _encode(members) != line:
        raise Refused("not_canonical")
    return [_unb64(one, "multiproof") for one in members["multiproof"]]
