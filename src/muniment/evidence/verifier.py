"""The verifier: all that a third party needs to check evidence, in one file (standard library and `cryptography`).

It may be copied out of the package and used by itself; it imports nothing of muniment. Every function either returns
what it proved or raises `Refused`, whose `code` is a stable word and whose text never holds content. It is also a
command, the same as `python -m muniment.evidence`:

    python verifier.py verify FILE --key VKEY [--json] [--timestamp-certificate FILE]
    python verifier.py show FILE --key VKEY [--json] [--timestamp-certificate FILE]
    python verifier.py attachment FILE ATTACHMENT --key VKEY [--json] [--timestamp-certificate FILE]

`verify` tells what is proved, `show` also prints it: who said what when, and what is withheld. `attachment` proves that
a file is one that the evidence discloses.
Exit code 0: verified. 1: refused. 2: the command line is invalid or a file cannot be read.

What is checked, from the bottom up:

1. A *disclosure* is unpadded base64url of `[salt, label, value]` in JSON. Its SHA-256 must be the commitment that the
   header holds under that label (RFC 9901, section 4.2.3).
2. A *header* is one event in canonical JSON: opaque ids, order, time, kind and commitments. Its leaf is the RFC 6962
   leaf hash of its exact bytes. Inside a stream headers are dense from 1 and each names the leaf of the one before.
3. A *proof* leads from leaves to a root: RFC 9162 inclusion and consistency. Where many leaves are proved at once, they
   come from left to right, and between them the hashes of the largest complete subtrees of what is left out.
4. A *checkpoint* is origin, size and root in a C2SP signed note (Ed25519). Signatures of unknown keys are ignored.
5. A *receipt* is a C2SP tlog-proof; its extra data is the line of the event, so that the file can be checked alone.
6. A *bundle* is lines of canonical JSON: a head, events in order of position with the hashes of what was skipped
   between them, the checkpoint. A stream in it is complete when an `export.issued` event, itself proved, says how far
   the stream went, and every event of the log from there to the checkpoint is in the bundle: then no later event of the
   stream is under it. A bundle may hold a range of events. The next one follows it in the same file and begins
   with the event that names the leaf of the last one, whatever checkpoint each of them is under.
7. An *erasure certificate* is the same lines about one erasure: its events, the turns that it erased, and a statement
   of what was cleaned and what is outside. Its checkpoint has an extension line with the digest of the statement.
8. A *page* is HTML that a person can read, with a bundle or a certificate in it. The page is rendered again from what
   its proof proves and must be the same in every byte, so that no word of it can be edited.
9. A *timestamp* is an RFC 3161 token over the text of a checkpoint, as one more signature line of its note. A bundle
   may carry an earlier checkpoint that has one, with a consistency proof. A token is checked with a certificate that
   the caller trusts; without one it is reported as not checked.
10. A *succession* is the signing keys of a log in their order. An *announcement* is a checkpoint of the former key, at
   the point where its successor took over, with an extension line that names both. A successor of the same origin
   continues the log; one of another origin began another *life* of it: what was restored from a backup. Evidence
   carries every announcement, with a consistency proof to its own checkpoint. So the public key of any of them verifies
   what is signed by the last one, and no key counts for what lies behind its successor's point.
11. A *source digest* says which turns something was derived from; it is made of their leaves (`source_digest`).

The head of a bundle is not signed. What it says is checked against what is: log, origin, size and streams, and what is
exported (view, exporter and whatever else limits it) against the certificate. Without one, that is the exporter's word.
Times are the word of the log; a checked timestamp says that an event existed by then.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import html
import io
import itertools
import json
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn, Protocol

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID

HASH_BYTES = 32
CHUNK_BYTES = 262_144  # of an attachment
TREE_SIZE_MAX = 2**53 - 1  # what every reader of JSON has exactly; no number of ours is larger
NOTE_BYTES_MAX = 1_000_000
NOTE_SIGNATURES_MAX = 100
LINE_BYTES_MAX = 64 * 2**20
PROOF_HASHES_MAX = 63

BUNDLE_FORMAT = "muniment-export/1"
ERASURE_FORMAT = "muniment-erasure/1"
PAGE_FORMAT = "muniment-page/1"
RECEIPT_FORMAT = "c2sp.org/tlog-proof@v1"
ORIGIN_PREFIX = "muniment.example/"  # a URL without its scheme, as C2SP tlog-checkpoint asks for
SOURCE_CONTEXT = "muniment/source/1"
CERTIFICATE_KIND = "export.issued"
TURN, CONVERSATION = "turn", "conversation"  # a type of entry, a type of stream
REDACTED_KIND = "turn.redacted"
ROTATED_KIND = "key.rotated"
SPACE_ERASED_KIND = "space.erased"
ERASE, MASK = "erase", "mask"
SIGNER = "signer"  # the extension line of an announcement
ERASURE = "erasure"  # why keys were rotated; the extension line of a certificate's checkpoint
SPACE_STREAM = 0

LOG_ID = r"[A-Za-z0-9_-]{21}[AQgw]"
DIGEST = r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]"
LABEL = r"[a-z0-9_]{1,40}(?:/[a-z0-9_]{1,40}){0,7}"
KIND = r"[a-z_]{1,40}\.[a-z_]{1,40}"
WORD = r"[a-z_]{1,40}"
Authorities = Sequence[x509.Certificate]  # that a caller trusts for timestamps
_BLANK = " \t\r\n"
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_CONTROL = re.compile("[\\x00-\\x09\\x0b-\\x1f]")  # all but the newline
_ORIGIN = re.compile(rf"{re.escape(ORIGIN_PREFIX)}({LOG_ID})(?:/{LOG_ID})?")  # the second id is that of a life
_LOG_ID, _DIGEST, _LABEL, _KIND, _WORD = (re.compile(pattern) for pattern in (LOG_ID, DIGEST, LABEL, KIND, WORD))
_HEADER_KEYS = frozenset({"fields", "kind", "log", "pos", "prev", "reason", "refs", "seq", "stream", "t", "v"})
_TRANSITIONS = frozenset({"archive", "restore", "mask", "unmask"})  # that an erasure is not among
_CHANGED_TO = _TRANSITIONS | {ERASE, "hold", "release"}
_OPTIONAL_KEYS = frozenset({"entry", "opens", "target"})
_HEAD_KEYS = frozenset({"bundle", "log", "origin", "size"})
_STATEMENT_KEYS = frozenset({"content_left", "made_ms", "outside", "places"})


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


def complete_subtrees(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield (level, index) of the largest complete subtrees that the leaves of a range consist of, left to right."""
    while first < last:
        level = (last - first).bit_length() - 1
        if first:
            level = min(level, (first & -first).bit_length() - 1)
        yield level, first >> level
        first += 1 << level


class CompactRange:
    """A tree that grows from the left, by leaves and by complete subtrees: one hash for each one-bit of its size."""

    def __init__(self) -> None:
        self.size = 0
        self._hashes: list[bytes] = []

    def take(self, level: int, node: bytes) -> None:
        """Append a leaf (level 0) or a complete subtree; it begins where a subtree of its size can."""
        merged = self.size >> level
        while merged & 1:
            node = node_hash(self._hashes.pop(), node)
            merged >>= 1
        self._hashes.append(node)
        self.size += 1 << level

    def skip(self, size: int, nodes: Sequence[bytes]) -> None:
        """Append leaves that nothing is said about, up to a size: the hashes of their complete subtrees, no other."""
        if size == self.size and not nodes:
            return
        places = list(complete_subtrees(self.size, size))
        if len(places) != len(nodes) or not _all_hashes(nodes):
            raise Refused("skipped")
        for (level, _), node in zip(places, nodes, strict=True):
            self.take(level, node)

    def root(self) -> bytes:
        """Return the root of the tree (RFC 9162, section 2.1.1)."""
        if not self._hashes:
            return EMPTY_ROOT
        *lefts, root = self._hashes
        for left in reversed(lefts):
            root = node_hash(left, root)
        return root


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
    if type(header) is not dict or header.keys() - _OPTIONAL_KEYS != _HEADER_KEYS:
        raise Refused("header")
    fields, refs, prev, seq = header["fields"], header["refs"], header["prev"], header["seq"]
    entry = header.get("entry", {"absent": 1})
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
        and ("opens" in header) == (seq == 1)
        and _matches(_WORD, header.get("opens", "absent"))
        and type(entry) is dict
        and len(entry) == 1
        and all(_WORD.fullmatch(name) and _is_number(number, 1) for name, number in entry.items())
        and _is_number(header.get("target", 0))
    )
    if not sound:
        raise Refused("header")
    return header


def entry_of(header: Mapping[str, Any]) -> tuple[str, int]:
    """Return type and number of an entry; no type and 0 for what is none."""
    ((entry, number),) = header.get("entry", {"": 0}).items()
    return str(entry), int(number)


def span_of(header: Mapping[str, Any]) -> tuple[int, int]:
    """Return the first and the last entry that an event changes."""
    target, refs = header["target"], header["refs"]
    return (target, target) if target else (refs.get("first", 1), refs.get("through", TREE_SIZE_MAX))


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
    label, value, _ = _opened(disclosure, fields)
    return label, value


def _opened(disclosure: str, fields: Mapping[str, str]) -> tuple[str, Any, str]:
    """Return (label, value, salt) of a disclosure."""
    if type(disclosure) is not str or not disclosure.isascii():
        raise Refused("disclosure")
    opened = _decode(_unb64url(disclosure, "disclosure"), _THEIRS)
    if type(opened) is not list or len(opened) != 3 or not _matches(_DIGEST, opened[0]) or type(opened[1]) is not str:
        raise Refused("disclosure")
    if fields.get(opened[1]) != commitment(disclosure):
        raise Refused("commitment")
    _encode(opened[2])  # a lone surrogate has no bytes
    return opened[1], opened[2], opened[0]


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
    """One event as it was in a line: its header, its leaf, what of it was disclosed, and with which salts."""

    header: dict[str, Any]
    leaf: bytes
    disclosed: dict[str, Any]
    salts: dict[str, str]


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
    opened = [_opened(disclosure, header["fields"]) for disclosure in disclosures]
    labels = [label for label, _, _ in opened]
    if labels != sorted(set(labels)):
        raise Refused("disclosure")
    return DisclosedEvent(
        header=header,
        leaf=leaf_hash(exact),
        disclosed={label: value for label, value, _ in opened},
        salts={label: salt for label, _, salt in opened},
    )


@dataclass(slots=True)
class Erasures:
    """What headers say was erased: the events of erasures, and the turns and messages that they name, by stream."""

    events: int = 0
    whole_space: bool = False
    turns: dict[int, set[int]] = field(default_factory=dict)
    spans: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    messages: dict[int, set[tuple[int, int]]] = field(default_factory=dict)

    def take(self, header: Mapping[str, Any]) -> None:
        """Note the erasure of this header, if it is one."""
        if header["kind"] == SPACE_ERASED_KIND:
            self.events, self.whole_space = self.events + 1, True
        if "target" not in header or header["reason"] != ERASE:
            return
        self.events += 1
        target, stream = header["target"], header["stream"]
        if not target:
            self.spans.setdefault(stream, []).append(span_of(header))
        elif "message" in header["refs"]:
            self.messages.setdefault(stream, set()).add((target, header["refs"]["message"]))
        else:
            self.turns.setdefault(stream, set()).add(target)

    def covers(self, stream: int, turn: int) -> bool:
        """Tell whether a whole turn was erased."""
        return self.whole_space or turn in self.turns.get(stream, ()) or self._in_span(stream, turn)

    def covers_message(self, stream: int, turn: int, message: int) -> bool:
        """Tell whether a message was erased, alone or with its turn."""
        return self.covers(stream, turn) or (turn, message) in self.messages.get(stream, ())

    def count_turns(self, turns: Mapping[int, int]) -> int:
        """Return how many turns were erased whole, given how many there are in each stream."""
        return sum(total if self.whole_space else self._count(stream, total) for stream, total in turns.items())

    def last_turns(self) -> dict[int, int]:
        """Return the last turn that an erasure names, by stream: all that is known where the turns are not at hand."""
        last = {stream: max(turns) for stream, turns in self.turns.items()}
        for stream, spans in self.spans.items():
            ends = [end for _, end in spans if end < TREE_SIZE_MAX]
            last[stream] = max([last.get(stream, 0), *ends])
        return last

    def count_messages(self) -> int:
        """Return how many messages were erased alone, in turns that were not erased whole."""
        pairs = ((stream, turn) for stream, erased in self.messages.items() for turn, _ in erased)
        return sum(not self.covers(stream, turn) for stream, turn in pairs)

    def _in_span(self, stream: int, turn: int) -> bool:
        return any(first <= turn <= last for first, last in self.spans.get(stream, ()))

    def _count(self, stream: int, total: int) -> int:
        single = self.turns.get(stream, ())
        covered, reached = sum(turn <= total and not self._in_span(stream, turn) for turn in single), 0
        for first, last in sorted(self.spans.get(stream, ())):
            end = min(last, total)
            covered += max(0, end - max(first - 1, reached))
            reached = max(reached, end)
        return covered


@dataclass(slots=True)
class Chains:
    """The streams of one log as headers go by: each dense, each event naming the leaf before it.

    `lengths` and `entries` are the numbers of the last event and the last entry of each stream, `types` the types of
    its entries. A stream that does not begin with its first event is in `parts`, with the number of entries before it
    once that is known.
    """

    log: str
    lengths: dict[int, int] = field(default_factory=dict)
    entries: dict[int, int] = field(default_factory=dict)
    types: dict[int, str] = field(default_factory=dict)
    parts: dict[int, int | None] = field(default_factory=dict)
    erasures: Erasures = field(default_factory=Erasures)
    _leaves: dict[int, str] = field(default_factory=dict)

    def begin(self, stream: int, first: int) -> None:
        """Expect this event of a stream next: the one after those that came, or the first that comes at all."""
        if stream not in self.lengths and first > 1:
            self.lengths[stream], self.parts[stream] = first - 1, None
        if first != self.lengths.get(stream, 0) + 1:
            raise Refused("incomplete")

    def take(self, header: Mapping[str, Any], leaf: bytes) -> None:
        """Follow the stream of this header by one event, or refuse: `foreign_log`, `incomplete`, `chain`."""
        stream = header["stream"]
        if header["log"] != self.log:
            raise Refused("foreign_log")
        if header["seq"] != self.lengths.get(stream, 0) + 1:
            raise Refused("incomplete")
        if header["prev"] != self._leaves.get(stream) and (stream in self._leaves or stream not in self.parts):
            raise Refused("chain")
        entry, number = entry_of(header)
        if number:
            if self.parts.get(stream, 0) is None:
                self.parts[stream] = self.entries[stream] = number - 1
            self.entries[stream] = self.entries.get(stream, 0) + 1
            if (number, entry) != (self.entries[stream], self.types.setdefault(stream, entry)):
                raise Refused("incomplete")
        self.erasures.take(header)
        self.lengths[stream] = header["seq"]
        self._leaves[stream] = _b64url(leaf)

    @property
    def turns(self) -> dict[int, int]:
        """How many turns there are in each conversation."""
        return {stream: count for stream, count in self.entries.items() if self.types[stream] == TURN}


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


# --- the keys of a log, one after the other ---------------------------------------------------------------------------


def log_of(origin: str) -> str:
    """Return the id of the log that an origin is of, whichever life of it; refuse what is no origin of a log."""
    named = _ORIGIN.fullmatch(origin)
    if named is None:
        raise Refused("origin")
    return named[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """That a key of a log is succeeded by another, from a checkpoint on; proved by nothing but the former key."""

    checkpoint: Checkpoint
    version: int
    former: VerifierKey
    key: VerifierKey

    @property
    def begins_life(self) -> bool:
        """Whether the successor signs another life of the log."""
        return self.former.name != self.key.name


def signer_line(version: int, former: VerifierKey, key: VerifierKey) -> str:
    """Return the extension line that makes a checkpoint of the former key announce its successor of this version."""
    return f"{SIGNER} {version} {former} {key}"


def open_announcement(note: str) -> Announcement:
    """Return what a note announces. The former key in it signed the note; whether that is to be trusted is not said."""
    lines = parse_checkpoint(parse_note(note).text).extensions
    words = lines[0].split(" ") if len(lines) == 1 else []
    if len(words) != 4 or words[0] != SIGNER or not _NUMBER.fullmatch(words[1]):
        raise Refused("signer_malformed")
    former, key = map(VerifierKey.parse, words[2:])
    checkpoint = open_checkpoint(note, former)
    if log_of(former.name) != log_of(key.name) or former == key or checkpoint.size == 0:
        raise Refused("signer")
    return Announcement(checkpoint=checkpoint, version=int(words[1]), former=former, key=key)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignerReport:
    """A successor among the signing keys: its version and fingerprint, its origin, and where it took over.

    That is after the first `size` events, whose root is `root`. `life`: with it began another life of the log.
    """

    version: int
    key: str
    origin: str
    size: int
    root: str
    life: bool


class Succession:
    """The signing keys of a log in their order, from the first one on."""

    def __init__(self, first: VerifierKey, announcements: Iterable[str] = ()) -> None:
        self.keys = [first]
        self.announced: list[Announcement] = []
        for note in announcements:
            self.announce(note)

    @property
    def current(self) -> VerifierKey:
        """The last key."""
        return self.keys[-1]

    def announce(self, note: str) -> Announcement:
        """Add the successor of the last key, which must have signed this note."""
        told = open_announcement(note)
        grows = not self.announced or self.announced[-1].checkpoint.size <= told.checkpoint.size
        if told.former != self.current or told.version != len(self.keys) + 1 or told.key in self.keys or not grows:
            raise Refused("signer")
        self.keys.append(told.key)
        self.announced.append(told)
        return told

    def open(self, note: str) -> Checkpoint:
        """Return the checkpoint of a note that one of the keys signed, while it was the key of the log.

        `signer_replaced`: its successor had taken over. `other_life`: it is of another life of the log, or of this
        one's former life behind the point where this one began.
        """
        checkpoint = parse_checkpoint(parse_note(note).text)
        own = [key for key in self.keys if key.name == checkpoint.origin]
        if not own and _is_of(checkpoint.origin, log_of(self.current.name)):
            raise Refused("other_life")
        _, signed = open_note(note, own or self.keys)
        last = max(self.keys.index(key) for key in signed)
        if checkpoint.origin != self.keys[last].name:
            raise Refused("origin")
        if last < len(self.announced) and checkpoint.size > self.announced[last].checkpoint.size:
            if self.announced[last].begins_life:
                raise Refused("other_life")
            raise Refused("signer_replaced")
        return checkpoint

    def reports(self) -> tuple[SignerReport, ...]:
        """Return the successors in their order."""
        return tuple(
            SignerReport(
                version=told.version,
                key=told.key.key_id.hex(),
                origin=told.key.name,
                size=told.checkpoint.size,
                root=base64.b64encode(told.checkpoint.root).decode(),
                life=told.begins_life,
            )
            for told in self.announced
        )


def _is_of(origin: str, log: str) -> bool:
    named = _ORIGIN.fullmatch(origin)
    return named is not None and named[1] == log


class _Signers:
    """The key that a caller trusts, and the announcements that evidence carries; the key must be among theirs."""

    def __init__(self, trusted: VerifierKey) -> None:
        self._trusted = trusted
        self._succession = Succession(trusted)
        self._proofs: list[list[bytes]] = []

    def take(self, line: bytes) -> None:
        """Read the line of an announcement, `{"signer":{"announcement":…,"consistency":[…]}}`."""
        signer = _canonical(line, {SIGNER}, "signer_malformed")[SIGNER]
        if type(signer) is not dict or signer.keys() != {"announcement", "consistency"}:
            raise Refused("signer_malformed")
        note = signer["announcement"]
        if type(note) is not str:
            raise Refused("signer_malformed")
        if not self._proofs:
            self._succession = Succession(open_announcement(note).former)
        self._succession.announce(note)
        self._proofs.append(_hashes(signer["consistency"], "signer_malformed"))

    @property
    def is_any(self) -> bool:
        """Whether an announcement was read."""
        return bool(self._proofs)

    def open(self, note: str) -> Checkpoint:
        """Return the checkpoint of a note that one of the keys signed while it was the key of the log."""
        if self._trusted not in self._succession.keys:
            raise Refused("signer")
        return self._succession.open(note)

    def last(self, note: str) -> Checkpoint:
        """Return the checkpoint that everything is proved under: of the last key, and behind every announcement."""
        checkpoint = self.open(note)
        open_checkpoint(note, self._succession.current)
        for told, proof in zip(self._succession.announced, self._proofs, strict=True):
            former = told.checkpoint
            verify_consistency(former.size, checkpoint.size, proof, former.root, checkpoint.root)
        return checkpoint

    @property
    def key(self) -> VerifierKey:
        """The last key."""
        return self._succession.current

    def reports(self) -> tuple[SignerReport, ...]:
        """Return the successors in their order."""
        return self._succession.reports()


# --- receipts (C2SP tlog-proof) ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A tlog-proof taken apart, unverified."""

    index: int
    proof: tuple[bytes, ...]
    extra: bytes
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedReceipt:
    """What a receipt proved: this event, with these disclosed values, is in the log under this checkpoint."""

    checkpoint: Checkpoint
    event: DisclosedEvent
    note: str
    key: VerifierKey
    signers: tuple[SignerReport, ...] = ()

    @property
    def header(self) -> dict[str, Any]:
        """The header of the event."""
        return self.event.header

    @property
    def disclosed(self) -> dict[str, Any]:
        """The disclosed values by label."""
        return self.event.disclosed


def parse_receipt(data: bytes) -> Receipt:
    """Take a tlog-proof apart without believing it; white space at its end is what tools add and take away."""
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
    return Receipt(index=int(index), proof=hashes, extra=extra, note=note.rstrip(_BLANK) + "\n")


def verify_receipt(data: bytes, vkey: str) -> ProvedReceipt:
    """Prove a receipt with a public key of the log; the event is read from the extra data of the proof.

    Lines that follow the event there are the announcements of the keys that the log had before.
    """
    signers = _Signers(VerifierKey.parse(vkey))
    receipt = parse_receipt(data)
    line, *announcements = receipt.extra.split(b"\n")
    for announcement in announcements:
        signers.take(announcement)
    checkpoint = signers.last(receipt.note)
    event = parse_event(line)
    if not _is_of(checkpoint.origin, event.header["log"]):
        raise Refused("foreign_log")
    if event.header["pos"] != receipt.index:
        raise Refused("inclusion")
    verify_inclusion(receipt.index, checkpoint.size, event.leaf, receipt.proof, checkpoint.root)
    return ProvedReceipt(
        checkpoint=checkpoint, event=event, note=receipt.note, key=signers.key, signers=signers.reports()
    )


# --- bundles and certificates, line by line ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReport:
    """One stream of a bundle: its events from `first` to `last`, and how far a certificate says that it went.

    `complete`: no event of the stream up to the checkpoint is absent.
    """

    stream: int
    events: int
    turns: int
    first: int
    last: int
    through: int | None
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedEvidence:
    """What a file proved. `form` is `bundle`, `receipt` or `certificate`; `page`: it came in a readable page.

    `complete`: no event of the streams up to the checkpoint is absent; `as_of_ms` is the time of the last event under
    it, by the word of the log, where the bundle holds that event. `export` says what a bundle shows (its view, who
    exported it), `certified` that the log itself recorded this. `masks`, `redactions` and `erasures` count events,
    `erased_turns` and `erased_messages` what was erased, `withheld` fields that are not disclosed. `statement` is what
    a certificate states beside its proof. `entries` are there when they were asked for. `key` is the id of the key
    that signed, `key_version` its number among the keys of the log, and `signers` are those after the first.
    """

    form: str
    origin: str
    size: int
    root: str
    events: int
    disclosed: int
    withheld: int
    masks: int
    redactions: int
    erasures: int
    erased_turns: int
    erased_messages: int
    view: str = ""
    export: dict[str, Any] = field(default_factory=dict)
    certified: bool = False
    complete: bool = False
    as_of_ms: int | None = None
    streams: tuple[StreamReport, ...] = ()
    timestamps: tuple[Timestamp, ...] = ()
    statement: dict[str, Any] | None = None
    page: bool = False
    key: str = ""
    key_version: int = 1
    signers: tuple[SignerReport, ...] = ()
    entries: tuple[Entry, ...] = ()


@dataclass(slots=True)
class _Tally:
    """What events come to, counted as they go by. With `kept` a list, every event is kept there, to be shown."""

    kept: list[DisclosedEvent] | None = None
    events: int = 0
    disclosed: int = 0
    withheld: int = 0
    masks: int = 0
    redactions: int = 0

    def take(self, event: DisclosedEvent) -> None:
        """Count an event."""
        header = event.header
        self.events += 1
        self.disclosed += len(event.disclosed)
        self.withheld += len(event.header["fields"]) - len(event.disclosed)
        self.masks += "target" in header and header["reason"] == MASK
        self.redactions += header["kind"] == REDACTED_KIND
        if self.kept is not None:
            self.kept.append(event)

    def evidence(
        self, form: str, checkpoint: Checkpoint, erasures: Erasures, turns: Mapping[int, int]
    ) -> ProvedEvidence:
        """Return what was counted; `turns` says how many each stream has."""
        return ProvedEvidence(
            form=form,
            origin=checkpoint.origin,
            size=checkpoint.size,
            root=base64.b64encode(checkpoint.root).decode(),
            events=self.events,
            disclosed=self.disclosed,
            withheld=self.withheld,
            masks=self.masks,
            redactions=self.redactions,
            erasures=erasures.events,
            erased_turns=erasures.count_turns(turns),
            erased_messages=erasures.count_messages(),
            entries=entries_of(self.kept or ()),
        )


def verify_bundle(lines: Iterable[bytes], vkey: str) -> ProvedEvidence:
    """Prove a bundle or a certificate with the public key of the log, reading each line (with its newline) once.

    Memory is bounded by one line, whatever the number of events; what is kept is a few numbers a stream and an erasure.
    Nothing is proved before the last line is read.
    """
    return _taken(lines, VerifierKey.parse(vkey), None).report()


def read_lines(file: ByteSource) -> Iterator[bytes]:
    """Yield the lines of a file; one that is longer than `LINE_BYTES_MAX` is refused before it fills the memory."""
    while line := file.readline(LINE_BYTES_MAX + 1):
        yield line


class ByteSource(Protocol):
    """What evidence is read from: a binary file, or anything that reads like one."""

    def readline(self, size: int, /) -> bytes:
        """Return the next line with its newline, or as much of it."""
        ...

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, fewer only at the end."""
        ...


def _content(line: bytes) -> bytes:
    if len(line) > LINE_BYTES_MAX:
        raise Refused("line_too_long")
    if not line.endswith(b"\n"):
        raise Refused("truncated")
    return line[:-1]


def _canonical(line: bytes, keys: Iterable[str], code: str) -> dict[str, Any]:
    """Return the object of a canonical line that has exactly these members."""
    members = _decode(line, _OURS)
    if type(members) is not dict or members.keys() != set(keys):
        raise Refused(code)
    if _encode(members) != line:
        raise Refused("not_canonical")
    return members


def _is_export(head: Mapping[str, Any]) -> bool:
    export, streams = head["export"], head["streams"]
    return (
        type(export) is dict
        and _matches(_WORD, export.get("view"))
        and type(streams) is dict
        and bool(streams)
        and all(_NUMBER.fullmatch(stream) and _is_range(events) for stream, events in streams.items())
    )


def _is_range(events: Any) -> bool:
    return (
        type(events) is list
        and len(events) == 2
        and all(_is_number(one, 1) for one in events)
        and events[0] <= events[1]
    )


def _is_erasure(head: Mapping[str, Any]) -> bool:
    statement = head["statement"]
    return (
        type(statement) is dict
        and statement.keys() == _STATEMENT_KEYS
        and _is_number(statement["made_ms"])
        and statement["content_left"] == 0
        and type(statement["content_left"]) is int
        and _are_texts(statement["outside"])
        and type(statement["places"]) is list
        and all(_are_texts(place) and len(place) == 2 for place in statement["places"])
    )


def _are_texts(values: object) -> bool:
    return type(values) is list and all(type(value) is str for value in values)


class _Lines(ABC):
    """Lines on their way past: head, events and what was skipped, maybe an earlier checkpoint, the checkpoint."""

    def __init__(self, head: dict[str, Any], key: VerifierKey, tally: _Tally, former: _Lines | None) -> None:
        if log_of(key.name) != head["log"]:
            raise Refused("origin")
        self.head = head
        self.notes: list[str] = [] if former is None else former.notes
        self.tally = tally
        self._signers = _Signers(key)
        self._tree = CompactRange()
        self._skipped: list[bytes] = []  # the hashes since the last event
        self._last, self._last_ms, self._run = -1, 0, 0  # the last event, its time, and where those before it adjoin
        self._earlier: tuple[Checkpoint, list[bytes]] | None = None
        self._checkpoint: Checkpoint | None = None

    @abstractmethod
    def report(self) -> ProvedEvidence:
        """Return what was proved."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the last line was read."""
        return self._checkpoint is not None

    def take(self, line: bytes) -> None:
        """Read the next line."""
        if self.closed:
            raise Refused("trailing")
        if line.startswith(b'{"skipped":') and not self._skipped and self._earlier is None:
            self._skipped = _hashes(_canonical(line, {"skipped"}, "skipped")["skipped"], "skipped")
            if not self._skipped:
                raise Refused("skipped")
        elif line.startswith(b'{"signer":') and self._earlier is None:
            self._signers.take(line)
        elif line.startswith(b'{"earlier":') and self._earlier is None:
            self._take_earlier(line)
        elif line.startswith(b'{"checkpoint":'):
            self._close(line)
        elif self._earlier is None and not self._signers.is_any:
            self._event(parse_event(line))
        else:
            raise Refused("order")

    @abstractmethod
    def accept(self, event: DisclosedEvent) -> None:
        """Check that an event belongs here."""
        ...

    @abstractmethod
    def complete(self, checkpoint: Checkpoint) -> None:
        """Check that nothing is absent."""
        ...

    def _event(self, event: DisclosedEvent) -> None:
        header = event.header
        if not self._last < header["pos"] < self.head["size"]:
            raise Refused("order")
        if header["log"] != self.head["log"]:
            raise Refused("foreign_log")
        if header["pos"] != self._last + 1:
            self._run = header["pos"]
        self.accept(event)
        self._last, self._last_ms = header["pos"], header["t"]
        self._skip(header["pos"])
        self._tree.take(0, event.leaf)
        self.tally.take(event)

    def _skip(self, size: int) -> None:
        self._tree.skip(size, self._skipped)
        self._skipped = []

    def _take_earlier(self, line: bytes) -> None:
        earlier = _canonical(line, {"earlier"}, "checkpoint_malformed")["earlier"]
        if type(earlier) is not dict or earlier.keys() != {"checkpoint", "consistency"}:
            raise Refused("checkpoint_malformed")
        checkpoint = self._opened(earlier["checkpoint"], self._signers.open)
        self._earlier = checkpoint, _hashes(earlier["consistency"], "consistency")

    def _close(self, line: bytes) -> None:
        note = _canonical(line, {"checkpoint"}, "checkpoint_malformed")["checkpoint"]
        checkpoint = self._opened(note, self._signers.last)
        if checkpoint.origin != self.head["origin"]:
            raise Refused("origin")
        if checkpoint.size != self.head["size"]:
            raise Refused("head")
        self.complete(checkpoint)
        self._skip(checkpoint.size)
        if self._tree.root() != checkpoint.root:
            raise Refused("root")
        if self._earlier is not None:
            earlier, proof = self._earlier
            verify_consistency(earlier.size, checkpoint.size, proof, earlier.root, checkpoint.root)
        self._checkpoint = checkpoint

    def _opened(self, note: object, opener: Callable[[str], Checkpoint]) -> Checkpoint:
        if type(note) is not str:
            raise Refused("checkpoint_malformed")
        self.notes.append(note)
        return opener(note)

    def signed(self, evidence: ProvedEvidence) -> ProvedEvidence:
        """Return what was proved, with who signed it."""
        return _signed_by(evidence, self._signers.key, self._signers.reports())

    @property
    def as_of_ms(self) -> int | None:
        """The time of the last event under the checkpoint, where that event is here."""
        return self._last_ms if self._last == self.head["size"] - 1 else None

    def nothing_since(self, position: int) -> bool:
        """Tell whether every event from a position to the checkpoint is here."""
        return self.as_of_ms is not None and position >= self._run

    def proved(self) -> Checkpoint:
        """Return the checkpoint that everything was proved under, when the last line has been read."""
        if self._checkpoint is None:
            raise Refused("truncated")
        return self._checkpoint


class _Certificate(NamedTuple):
    """An `export.issued` event: how far a stream went then, where the event is, and what it discloses of the export."""

    through: int
    position: int
    export: Any


class _Export(_Lines):
    """A bundle: ranges of the events of streams, and events of the space, such as certificates.

    One that continues another goes on with its streams.
    """

    def __init__(self, head: dict[str, Any], key: VerifierKey, tally: _Tally, former: _Lines | None) -> None:
        super().__init__(head, key, tally, former)
        self._promised = {int(stream): (first, last) for stream, (first, last) in head["streams"].items()}
        self.begun = {stream: first for stream, (first, _) in self._promised.items()}
        self.chains = Chains(head["log"])
        self._certified: dict[int, _Certificate] = {}
        if former is not None:
            if not isinstance(former, _Export) or former.head["export"] != head["export"]:
                raise Refused("head")
            if former.begun.keys() != self.begun.keys():
                raise Refused("head")
            self.chains, self.begun = former.chains, former.begun
        for stream, (first, _) in self._promised.items():
            self.chains.begin(stream, first)

    def accept(self, event: DisclosedEvent) -> None:
        """Follow the stream of the event; others than those of the head may only be of the space."""
        header = event.header
        if header["stream"] in self._promised:
            self.chains.take(header, event.leaf)
        elif header["stream"] != SPACE_STREAM:
            raise Refused("foreign_event")
        if header["kind"] == CERTIFICATE_KIND:
            self._certificate(header, event.disclosed.get("export"))

    def _certificate(self, header: dict[str, Any], export: Any) -> None:
        if not header["refs"].keys() >= {"stream", "through"}:
            raise Refused("certificate")
        stream, through = header["refs"]["stream"], header["refs"]["through"]
        if stream not in self._promised:
            return
        first, last = header["refs"].get("first", 1), header["refs"].get("last", through)
        present = self.chains.lengths.get(stream, 0) - (stream == header["stream"])
        if present < last:
            raise Refused("incomplete")
        if present == last and first == self._promised[stream][0]:
            self._certified[stream] = _Certificate(through, header["pos"], export)

    def complete(self, checkpoint: Checkpoint) -> None:
        """Check that every stream has the events that the head promised, and that the head says what was certified."""
        del checkpoint
        if self.chains.lengths != {stream: last for stream, (_, last) in self._promised.items()}:
            raise Refused("incomplete")
        if not self.nothing_since(0):
            for certificate in self._certified.values():
                if self.nothing_since(certificate.position) and certificate.export not in (None, self.head["export"]):
                    raise Refused("certificate")

    def report(self) -> ProvedEvidence:
        """Return what was proved."""
        export = self.head["export"]
        streams = tuple(self._stream(stream, last) for stream, (_, last) in sorted(self._promised.items()))
        return replace(
            self.signed(self.tally.evidence("bundle", self.proved(), self.chains.erasures, self.chains.turns)),
            view=export["view"],
            export=export,
            certified=all(
                stream in self._certified and self._certified[stream].export == export for stream in self._promised
            ),
            complete=all(stream.complete for stream in streams),
            as_of_ms=self.as_of_ms,
            streams=streams,
        )

    def _stream(self, stream: int, last: int) -> StreamReport:
        certificate, first, since = self._certified.get(stream), self.begun[stream], 0
        if certificate is not None and certificate.export == self.head["export"] and last >= certificate.through:
            since = certificate.position
        return StreamReport(
            stream=stream,
            events=last - first + 1,
            turns=self.chains.turns.get(stream, 0) - (self.chains.parts.get(stream) or 0),
            first=first,
            last=last,
            through=None if certificate is None else certificate.through,
            complete=first == 1 and self.nothing_since(since),
        )


class _ErasureCertificate(_Lines):
    """A certificate of one erasure: its events, the turns and conversations that they name, the rotation of keys.

    An event that erases and has no target took words that belong to no entry, such as those of a tool registry. Every
    event of the erasure discloses the same request. A turn may only come when one of them erased it or a message of it.
    The checkpoint is signed over the digest of the statement, too.
    """

    def __init__(self, head: dict[str, Any], key: VerifierKey, tally: _Tally, former: _Lines | None) -> None:
        super().__init__(head, key, tally, former)
        if former is not None:
            raise Refused("trailing")
        self.erasures = Erasures()
        self._request: Any = None
        self._turns: list[tuple[int, int]] = []

    def accept(self, event: DisclosedEvent) -> None:
        """Note the erasure and its turns; anything else than these and what names them is refused."""
        header = event.header
        if header["reason"] == ERASE and not header.keys() & {"entry", "opens"}:
            request = {label: event.disclosed.get(label) for label in ("request", "request/reason")}
            if type(request["request"]) is not dict or (self._request is not None and request != self._request):
                raise Refused("certificate")
            self._request = request
            self.erasures.take(header)
            self.erasures.events += "target" not in header
        elif "entry" in header:
            self._turns.append((header["stream"], entry_of(header)[1]))
        elif "opens" not in header and (header["kind"], header["reason"]) != (ROTATED_KIND, ERASURE):
            raise Refused("foreign_event")

    def complete(self, checkpoint: Checkpoint) -> None:
        """Check that the erasure names every turn, and that the statement is the one that was signed."""
        alone = {(stream, turn) for stream, erased in self.erasures.messages.items() for turn, _ in erased}
        if not self.erasures.events or not all(place in alone or self.erasures.covers(*place) for place in self._turns):
            raise Refused("certificate")
        if checkpoint.extensions != (statement_line(self.head["statement"]),):
            raise Refused("statement")

    def report(self) -> ProvedEvidence:
        """Return what was proved."""
        told = self.tally.evidence("certificate", self.proved(), self.erasures, self.erasures.last_turns())
        return replace(self.signed(told), statement=self.head["statement"])


def _signed_by(evidence: ProvedEvidence, key: VerifierKey, signers: tuple[SignerReport, ...]) -> ProvedEvidence:
    return replace(evidence, key=key.key_id.hex(), key_version=len(signers) + 1, signers=signers)


def statement_line(statement: Mapping[str, Any]) -> str:
    """Return the extension line that binds a checkpoint to the statement of an erasure certificate."""
    return f"{ERASURE} {base64.b64encode(hashlib.sha256(_encode(statement)).digest()).decode()}"


# format -> the members of its head beside those of all, whether they are sound, and what reads on
_FORMS: dict[str, tuple[frozenset[str], Callable[[Mapping[str, Any]], bool], type[_Lines]]] = {
    BUNDLE_FORMAT: (frozenset({"export", "streams"}), _is_export, _Export),
    ERASURE_FORMAT: (frozenset({"statement"}), _is_erasure, _ErasureCertificate),
}


def _begun(line: bytes, key: VerifierKey, tally: _Tally, former: _Lines | None = None) -> _Lines:
    """Return what reads on behind a head; `former` is the bundle that it continues."""
    head = _decode(line, _OURS)
    form = _FORMS.get(str(head.get("bundle"))) if type(head) is dict else None
    if form is None or head.keys() != form[0] | _HEAD_KEYS:
        raise Refused("head")
    if _encode(head) != line:
        raise Refused("not_canonical")
    sound = type(head["origin"]) is str and _matches(_LOG_ID, head["log"]) and _is_of(head["origin"], head["log"])
    if not sound or not _is_number(head["size"], 1) or not form[1](head):
        raise Refused("head")
    return form[2](head, key, tally, former)


def _taken(lines: Iterable[bytes], key: VerifierKey, kept: list[DisclosedEvent] | None) -> _Lines:
    """Read all lines; white space behind the last one is what tools add."""
    number, numbered = 0, enumerate(lines, 1)
    try:
        number, first = next(numbered, (0, b""))
        taken = _begun(_content(first), key, _Tally(kept))
        for number, line in numbered:  # noqa: B007 (the refusal below names it)
            if taken.closed and line.startswith(b'{"bundle":'):
                taken = _begun(_content(line), key, taken.tally, taken)
            elif not (taken.closed and len(line) <= LINE_BYTES_MAX and not line.strip()):
                taken.take(_content(line))
    except Refused as refused:
        raise Refused(refused.code, f"line {number}") from None
    return taken


def _hashes(encoded: object, code: str) -> list[bytes]:
    if not _are_texts(encoded):
        raise Refused(code)
    assert type(encoded) is list, "the line above looked"
    return [_unb64(one, code) for one in encoded]


# --- timestamps (RFC 3161, RFC 5652, RFC 5816) ------------------------------------------------------------------------

TIMESTAMP_NAME = "rfc3161-timestamp"
TIMESTAMP_KEY_ID = hashlib.sha256(f"{TIMESTAMP_NAME}\n".encode() + b"\xff" + TIMESTAMP_NAME.encode()).digest()[:4]
AUTHORITIES_MAX = 100
CHAIN_MAX = 8
_DEPTH_BYTES_MAX = 4  # bytes that a length takes
_INTEGER, _OCTETS, _OID, _TIME, _SEQUENCE, _SET, _EXPLICIT = 0x02, 0x04, 0x06, 0x18, 0x30, 0x31, 0xA0
_SIGNED, _TST_INFO = "1.2.840.113549.1.7.2", "1.2.840.113549.1.9.16.1.4"
_CONTENT_TYPE, _MESSAGE_DIGEST = "1.2.840.113549.1.9.3", "1.2.840.113549.1.9.4"
_SIGNING_CERTIFICATE, _SIGNING_CERTIFICATE_2 = "1.2.840.113549.1.9.16.2.12", "1.2.840.113549.1.9.16.2.47"
_DIGESTS: dict[str, hashes.HashAlgorithm] = {
    "2.16.840.1.101.3.4.2.1": hashes.SHA256(),
    "2.16.840.1.101.3.4.2.2": hashes.SHA384(),
    "2.16.840.1.101.3.4.2.3": hashes.SHA512(),
}
_SIGNATURES: dict[
    str, hashes.HashAlgorithm | None
] = {  # algorithm of the signature -> its own digest; where it names none, that of the signer holds
    "1.2.840.113549.1.1.1": None,
    "1.2.840.113549.1.1.11": hashes.SHA256(),
    "1.2.840.113549.1.1.12": hashes.SHA384(),
    "1.2.840.113549.1.1.13": hashes.SHA512(),
    "1.2.840.10045.4.3.2": hashes.SHA256(),
    "1.2.840.10045.4.3.3": hashes.SHA384(),
    "1.2.840.10045.4.3.4": hashes.SHA512(),
    "1.3.101.112": None,
}
# critical extensions of a certificate that are looked at below
_UNDERSTOOD = frozenset({"2.5.29.15", "2.5.29.19", "2.5.29.37"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Timestamp:
    """That a checkpoint of `size` events existed at a time, by the word of an authority.

    `checked`: proved with a certificate that the caller trusts, and `authority` is the name in it. Otherwise the time
    is only claimed.
    """

    size: int
    time: str
    checked: bool
    authority: str


@dataclass(frozen=True, slots=True)
class Der:
    """One value in DER: its tag, its content, and all of its bytes."""

    tag: int
    content: bytes
    whole: bytes

    def items(self) -> list[Der]:
        """Return the values inside."""
        values, at = [], 0
        while at < len(self.content):
            value = parse_der(self.content[at:], all_of_it=False)
            values.append(value)
            at += len(value.whole)
        return values

    def expect(self, tag: int) -> Der:
        """Return this value if it has the tag."""
        if self.tag != tag:
            raise Refused("timestamp_malformed")
        return self

    def oid(self) -> str:
        """Return the dotted text of an object identifier."""
        arcs, value = [], 0
        for byte in self.expect(_OID).content:
            value = value << 7 | byte & 0x7F
            if not byte & 0x80:
                arcs.append(value)
                value = 0
        if not arcs:
            raise Refused("timestamp_malformed")
        first = min(arcs[0] // 40, 2)
        return ".".join(map(str, [first, arcs[0] - 40 * first, *arcs[1:]]))


def parse_der(data: bytes, *, all_of_it: bool = True) -> Der:
    """Return the value at the beginning of `data`, which is all of it unless said otherwise."""
    if len(data) < 2 or data[0] & 0x1F == 0x1F:
        raise Refused("timestamp_malformed")
    width = data[1] & 0x7F if data[1] & 0x80 else 0
    length = int.from_bytes(data[2 : 2 + width]) if width else data[1]
    end = 2 + width + length
    is_short = data[1] & 0x80 and (not width or width > _DEPTH_BYTES_MAX or length < 0x80)
    if is_short or len(data) < end or (all_of_it and len(data) != end):
        raise Refused("timestamp_malformed")
    return Der(data[0], data[2 + width : end], data[:end])


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampToken:
    """A token taken apart; nothing of it is proved but that it is about `digest`."""

    digest: bytes
    algorithm: str
    nonce: int | None
    time: datetime
    info: bytes
    certificates: tuple[bytes, ...]
    signer: Der


def parse_token(token: bytes) -> TimestampToken:
    """Take a TimeStampToken apart."""
    try:
        kind, explicit = parse_der(token).expect(_SEQUENCE).items()
        if kind.oid() != _SIGNED:
            raise Refused("timestamp_malformed")
        _, _, encapsulated, *rest = parse_der(explicit.expect(_EXPLICIT).content).expect(_SEQUENCE).items()
        inner, content = encapsulated.expect(_SEQUENCE).items()
        (signer,) = rest[-1].expect(_SET).items()
        if inner.oid() != _TST_INFO:
            raise Refused("timestamp_malformed")
        info = parse_der(content.expect(_EXPLICIT).content).expect(_OCTETS).content
        version, _, imprint, _, time, *options = parse_der(info).expect(_SEQUENCE).items()
        algorithm, digest = imprint.expect(_SEQUENCE).items()
        if version.whole != b"\x02\x01\x01":
            raise Refused("timestamp_malformed")
        nonces = [int.from_bytes(one.content, signed=True) for one in options if one.tag == _INTEGER]
        return TimestampToken(
            digest=digest.expect(_OCTETS).content,
            algorithm=algorithm.items()[0].oid(),
            nonce=nonces[0] if nonces else None,
            time=_generalized(time.expect(_TIME).content),
            info=info,
            certificates=tuple(one.whole for one in rest[0].items()) if rest[0].tag == _EXPLICIT else (),
            signer=signer.expect(_SEQUENCE),
        )
    except (ValueError, IndexError, RecursionError):
        raise Refused("timestamp_malformed") from None


def _generalized(content: bytes) -> datetime:
    """Return a GeneralizedTime of DER: in UTC, with a fraction that does not end in zero."""
    text = content.decode("ascii")
    if not re.fullmatch(r"[0-9]{14}(?:\.[0-9]{0,8}[1-9])?Z", text):
        raise ValueError
    whole, _, fraction = text.removesuffix("Z").partition(".")
    at = datetime.strptime(whole, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    return at + timedelta(microseconds=int((fraction or "0").ljust(6, "0")[:6]))


def verify_token(token: bytes, message: bytes, authorities: Authorities) -> tuple[datetime, str]:
    """Prove when a message existed, with certificates of authorities that the caller trusts.

    Returns the time and the name of the authority. A trusted certificate is that of the signer itself or of an
    authority above it; the certificates in between come with the token.
    """
    parsed = parse_token(token)
    _check_imprint(parsed, message)
    try:
        signer = _signer_of(parsed, authorities)
        _check_signature(parsed, signer)
        _check_chain(signer, parsed, authorities)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, TypeError, IndexError, KeyError, StopIteration):
        raise Refused("timestamp_signature") from None
    return parsed.time, signer.subject.rfc4514_string()


def _check_imprint(parsed: TimestampToken, message: bytes) -> None:
    digest = _DIGESTS.get(parsed.algorithm)
    if digest is None or hashlib.new(digest.name, message).digest() != parsed.digest:
        raise Refused("timestamp_of_other")


def _signer_of(parsed: TimestampToken, authorities: Authorities) -> x509.Certificate:
    """Return the certificate that the signed attributes name by its hash (RFC 5816)."""
    named = _attributes(parsed.signer)
    if _SIGNING_CERTIFICATE_2 in named:
        first = named[_SIGNING_CERTIFICATE_2].items()[0].items()[0].items()
        digest = hashes.SHA256() if first[0].tag == _OCTETS else _DIGESTS[_oid_of(first[0])]
        wanted = next(one.content for one in first if one.tag == _OCTETS)
        name = digest.name
    elif _SIGNING_CERTIFICATE in named:
        wanted, name = named[_SIGNING_CERTIFICATE].items()[0].items()[0].items()[0].expect(_OCTETS).content, "sha1"
    else:
        raise Refused("timestamp_certificate")
    known = [*parsed.certificates, *(one.public_bytes(serialization.Encoding.DER) for one in authorities)]
    for der in known:
        if hashlib.new(name, der).digest() == wanted:
            return x509.load_der_x509_certificate(der)
    raise Refused("timestamp_certificate")


def _oid_of(algorithm: Der) -> str:
    oid = algorithm.expect(_SEQUENCE).items()[0].oid()
    if oid not in _DIGESTS:
        raise Refused("timestamp_algorithm")
    return oid


def _attributes(signer: Der) -> dict[str, Der]:
    """Return the signed attributes by their type, each with its one value."""
    pairs = [one.expect(_SEQUENCE).items() for one in signer.items()[3].expect(_EXPLICIT).items()]
    values = {kind.oid(): value.expect(_SET).items() for kind, value in pairs}
    if len(values) != len(pairs) or any(len(value) != 1 for value in values.values()):
        raise Refused("timestamp_malformed")
    return {kind: value for kind, (value,) in values.items()}


def _check_signature(parsed: TimestampToken, certificate: x509.Certificate) -> None:
    """Check the attributes against the time, and the signature over them."""
    _, _, algorithm, attributes, how, signature, *_ = parsed.signer.items()
    digest, named = _DIGESTS[_oid_of(algorithm)], _attributes(parsed.signer)
    if (
        named[_CONTENT_TYPE].oid() != _TST_INFO
        or named[_MESSAGE_DIGEST].expect(_OCTETS).content != hashlib.new(digest.name, parsed.info).digest()
    ):
        raise Refused("timestamp_signature")
    scheme = how.expect(_SEQUENCE).items()[0].oid()
    if scheme not in _SIGNATURES:
        raise Refused("timestamp_algorithm")
    hashing, signed = _SIGNATURES[scheme] or digest, bytes([_SET]) + attributes.whole[1:]
    public = certificate.public_key()
    if isinstance(public, rsa.RSAPublicKey):
        public.verify(signature.content, signed, padding.PKCS1v15(), hashing)
    elif isinstance(public, ec.EllipticCurvePublicKey):
        public.verify(signature.content, signed, ec.ECDSA(hashing))
    elif isinstance(public, Ed25519PublicKey):
        public.verify(signature.content, signed)
    else:
        raise Refused("timestamp_algorithm")


def _check_chain(signer: x509.Certificate, parsed: TimestampToken, authorities: Authorities) -> None:
    """Check that the signer may stamp times, and that a trusted certificate is above it at that time."""
    if not _may_stamp(signer):
        raise Refused("timestamp_certificate")
    known = [x509.load_der_x509_certificate(der) for der in parsed.certificates[:AUTHORITIES_MAX]]
    certificate = signer
    for below in range(CHAIN_MAX):
        if not certificate.not_valid_before_utc <= parsed.time <= certificate.not_valid_after_utc:
            raise Refused("timestamp_certificate")
        if any(map(_is_unknown, certificate.extensions)):
            raise Refused("timestamp_certificate")
        if certificate in authorities:
            return
        above = next((one for one in (*authorities, *known) if _issued(one, certificate, below)), None)
        if above is None:
            break
        certificate = above
    raise Refused("timestamp_authority")


def _is_unknown(extension: x509.Extension[Any]) -> bool:
    return extension.critical and extension.oid.dotted_string not in _UNDERSTOOD


def _extension(certificate: x509.Certificate, kind: type[x509.ExtensionType]) -> x509.Extension[Any] | None:
    try:
        return certificate.extensions.get_extension_for_class(kind)
    except x509.ExtensionNotFound:
        return None


def _may_stamp(certificate: x509.Certificate) -> bool:
    """Tell whether a certificate is for time stamps and for nothing else (RFC 3161, section 2.3)."""
    purposes, usage = _extension(certificate, x509.ExtendedKeyUsage), _extension(certificate, x509.KeyUsage)
    return (
        purposes is not None
        and purposes.critical
        and list(purposes.value) == [ExtendedKeyUsageOID.TIME_STAMPING]
        and (usage is None or usage.value.digital_signature or usage.value.content_commitment)
    )


def _issued(above: x509.Certificate, certificate: x509.Certificate, below: int) -> bool:
    """Tell whether an authority issued a certificate, with this many certificates between it and the signer."""
    basic, usage = _extension(above, x509.BasicConstraints), _extension(above, x509.KeyUsage)
    purposes = _extension(above, x509.ExtendedKeyUsage)
    may = (
        basic is not None
        and basic.value.ca
        and (basic.value.path_length is None or basic.value.path_length >= below)
        and (usage is None or usage.value.key_cert_sign)
        and (purposes is None or ExtendedKeyUsageOID.TIME_STAMPING in purposes.value)
    )
    if not may:
        return False
    try:
        certificate.verify_directly_issued_by(above)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, TypeError):
        return False
    return True


def read_authorities(data: bytes) -> list[x509.Certificate]:
    """Return the certificates of a PEM file, or of one in DER."""
    try:
        is_pem = b"-----BEGIN" in data
        found = x509.load_pem_x509_certificates(data) if is_pem else [x509.load_der_x509_certificate(data)]
    except ValueError:
        raise Refused("certificate_malformed") from None
    return found[:AUTHORITIES_MAX]


def tokens_of(note: Note) -> list[bytes]:
    """Return the timestamp tokens among the signature lines of a note."""
    own = (TIMESTAMP_NAME, TIMESTAMP_KEY_ID)
    return [one.signature for one in note.signatures if (one.name, one.key_id) == own]


def timestamps_of(notes: Iterable[str], authorities: Authorities | None) -> tuple[Timestamp, ...]:
    """Return the timestamps of checkpoints; with authorities, at least one must be proved by them."""
    found: list[Timestamp] = []
    reason = "timestamp_missing"
    for note in map(parse_note, notes):
        size, message = parse_checkpoint(note.text).size, note.text.encode()
        for token in tokens_of(note):
            claimed = parse_token(token)
            _check_imprint(claimed, message)
            stamp = Timestamp(size=size, time=_clock(claimed.time), checked=False, authority="")
            if authorities is not None:
                try:
                    time, name = verify_token(token, message, authorities)
                    stamp = replace(stamp, time=_clock(time), checked=True, authority=name)
                except Refused as refused:
                    reason = refused.code
            found.append(stamp)
    if authorities is not None and not any(stamp.checked for stamp in found):
        raise Refused(reason)
    return tuple(found)


def _clock(at: datetime) -> str:
    return at.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00") + "Z"


# --- what is proved, for people ---------------------------------------------------------------------------------------

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Characters that control a terminal, direct text, end lines or cannot be seen. A fixed list, so that a page is the same
# under every release of Python. The joiners of scripts and emoji (200C, 200D) stay.
_UNSEEN = (
    *(*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x061C, 0x180E, 0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F)),
    *(*range(0x2060, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC), *range(0xD800, 0xE000), *range(0xE0000, 0xE0080)),
)
_SPELT = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _UNSEEN}
_SPELT_IN_TEXT = {code: spelt for code, spelt in _SPELT.items() if chr(code) not in "\n\t"}
_MESSAGE = re.compile(r"message/(0|[1-9][0-9]*)(?:/content/(0|[1-9][0-9]*))?")
_TELLING = frozenset({"actor", "delivery", "conversation", "channel", "request"})  # titles and headings tell these


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """One message: who said it and what of it is disclosed. `state` is `shown`, `withheld` or `erased`.

    `hidden` counts the parts of a shown message that are not disclosed.
    """

    who: str
    text: str
    state: str
    hidden: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One proved event as a person reads it. `fields` are the disclosed values by label, as they were committed."""

    position: int
    stream: int
    kind: str
    time: str
    turn: int | None
    title: str
    said: tuple[Utterance, ...]
    facts: tuple[tuple[str, str], ...]
    withheld: int
    fields: dict[str, Any]


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


def on_one_line(text: str) -> str:
    """Return text that cannot control a terminal, direct what is around it, or begin a line."""
    return text.translate(_SPELT)


def in_lines(text: str) -> list[str]:
    """Return the lines of a text, each of which can do none of this."""
    return text.replace("\r\n", "\n").translate(_SPELT_IN_TEXT).split("\n")


def entries_of(events: Sequence[DisclosedEvent]) -> tuple[Entry, ...]:
    """Return proved events as a person reads them, in order of position."""
    erasures, phases = Erasures(), _Phases()
    for event in events:
        erasures.take(event.header)
        phases.take(event.header)
    return tuple(_entry(event, erasures, phases) for event in events)


@dataclass(slots=True)
class _Phases:
    """Which turns are masked or archived in the end, as far as headers say."""

    last: dict[int, list[tuple[int, int, str]]] = field(default_factory=dict)

    def take(self, header: Mapping[str, Any]) -> None:
        """Note a transition."""
        if "target" in header and header["reason"] in _TRANSITIONS:
            self.last.setdefault(header["stream"], []).append((*span_of(header), header["reason"]))

    def of(self, stream: int, turn: int) -> str:
        """Return `masked`, `archived` or nothing."""
        reasons = [reason for first, last, reason in self.last.get(stream, ()) if first <= turn <= last]
        reason = reasons[-1] if reasons else ""
        return {"mask": "masked", "archive": "archived"}.get(reason, "")


def _entry(event: DisclosedEvent, erasures: Erasures, phases: _Phases) -> Entry:
    header, disclosed = event.header, event.disclosed
    turn = header["entry"].get(TURN) if "entry" in header else None
    state = ""
    if turn is not None:
        state = "erased" if erasures.covers(header["stream"], turn) else phases.of(header["stream"], turn)
    facts = [(label, _value(value)) for label, value in disclosed.items() if _is_fact(label)]
    request = disclosed.get("request")
    if type(request) is dict:
        facts += [(name, _value(value)) for name, value in sorted(request.items()) if name != "requested_ms"]
    return Entry(
        position=header["pos"],
        stream=header["stream"],
        kind=header["kind"],
        time=clock_ms(header["t"]),
        turn=turn,
        title=_title(header, disclosed, state),
        said=() if turn is None else tuple(_utterances(event, erasures)),
        facts=tuple(facts),
        withheld=len(header["fields"]) - len(disclosed),
        fields=disclosed,
    )


def _is_fact(label: str) -> bool:
    return label not in _TELLING and _MESSAGE.fullmatch(label) is None


def _title(header: Mapping[str, Any], disclosed: Mapping[str, Any], state: str) -> str:
    """Return what an event is, in a few words; only what its header and its disclosures say."""
    kind, refs = header["kind"], header["refs"]
    if "entry" in header:
        delivery = disclosed.get("delivery")
        told = [_value(delivery.get(name)) for name in ("turn", "status")] if type(delivery) is dict else []
        return ", ".join(filter(None, [" ".join(map(str, entry_of(header))), *told, state]))
    if header.get("opens") == CONVERSATION:
        name = disclosed.get("conversation")
        return "conversation opened" if name is None else f"conversation {_value(name)}"
    if "target" in header and header["reason"] in _CHANGED_TO:
        return f"{header['reason']}: {_places(header)}"
    if kind == CERTIFICATE_KIND:
        return f"export recorded, up to event {refs.get('through')}"
    about = {"turn": header["target"], **refs} if header.get("target") else refs
    return ", ".join([kind, *filter(None, [header["reason"]]), *(f"{name} {at}" for name, at in sorted(about.items()))])


def _places(header: Mapping[str, Any]) -> str:
    refs = header["refs"]
    if header["target"]:
        return f"turn {header['target']}" + (f", message {refs['message'] + 1}" if "message" in refs else "")
    return f"turns {refs.get('first', 1)} to {refs['through']}" if "through" in refs else "all turns"


def _utterances(event: DisclosedEvent, erasures: Erasures) -> Iterator[Utterance]:
    """Yield the messages of a turn; that there is one shows in the labels, whatever of it is disclosed."""
    parts: dict[int, set[int]] = {}
    for label in event.header["fields"]:
        named = _MESSAGE.fullmatch(label)
        if named is not None:
            inside = parts.setdefault(int(named[1]), set())
            inside.update([int(named[2])] if named[2] is not None else [])
    (_, turn), stream, disclosed = entry_of(event.header), event.header["stream"], event.disclosed
    for place in sorted(parts):
        labels = [f"message/{place}/content/{index}" for index in sorted(parts[place])]
        shown = [_part(disclosed[label]) for label in labels if label in disclosed]
        state = "shown" if shown else "erased" if erasures.covers_message(stream, turn, place) else "withheld"
        yield Utterance(
            who=_speaker(disclosed.get(f"message/{place}"), disclosed.get("actor"), place),
            text="\n".join(shown),
            state=state,
            hidden=len(labels) - len(shown) if shown else 0,
        )


def _speaker(head: Any, actor: Any, place: int) -> str:
    head, actor = (one if type(one) is dict else {} for one in (head, actor))
    role = head.get("role")
    if role is None:
        return f"message {place + 1}"
    names = {"user": ("speaker_id", "subject"), "assistant": ("agent_id",)}.get(str(role), ())
    name = head.get("speaker_id") or next((actor[one] for one in names if actor.get(one)), None)
    seen = head.get("observed_ms")
    at = f", {clock_ms(seen)}" if _is_number(seen, 1) else ""
    return _value(role) + (f" {_value(name)}" if name else "") + at


def _part(part: Any) -> str:
    """Return a part of a message as text; what is not text is named and written as JSON."""
    kind = part.get("type") if type(part) is dict else None
    if kind == "text" and part.keys() == {"type", "content"} and type(part["content"]) is str:
        return str(part["content"])
    if kind == "reasoning" and part.keys() == {"type", "content"} and type(part["content"]) is str:
        return f"[reasoning] {part['content']}"
    if kind == "blob" and type(part.get("content")) is str:
        return f"[blob {_value({name: one for name, one in part.items() if name not in {'content', 'type'}})}]"
    return _value(part)


def _value(value: Any) -> str:
    return value if type(value) is str else _encode(value).decode()


def clock_ms(at_ms: int) -> str:
    """Return milliseconds since 1970 as a time in UTC."""
    try:
        return _clock(_EPOCH + timedelta(milliseconds=at_ms))
    except OverflowError:
        return f"{at_ms} ms"


def text_of(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the lines that tell proved events to a person at a terminal; content is always indented."""
    for entry in entries:
        yield ""
        yield f"{entry.time}  {on_one_line(entry.title)}"
        for utterance in entry.said:
            yield f"  {on_one_line(utterance.who)}:"
            for line in _lines_of(utterance):
                yield f"    {line}"
        for name, told in entry.facts:
            first, *rest = in_lines(told)
            yield f"  {on_one_line(name)}: {first}"
            for line in rest:
                yield f"    {line}"
        if entry.withheld:
            yield f"  (not disclosed: {_fields(entry.withheld)})"


def _lines_of(utterance: Utterance) -> list[str]:
    if utterance.state != "shown":
        return [f"[{utterance.state}]"]
    hidden = [f"[{utterance.hidden} parts withheld]"] if utterance.hidden else []
    return in_lines(utterance.text) + hidden


# --- pages ------------------------------------------------------------------------------------------------------------

PAGE_BYTES_MAX = LINE_BYTES_MAX
PAGE_START = b"<!doctype html>"
_PROOF = '<script type="application/jsonl" id="proof">\n'
_PROOF_END = "</script>"
_STYLE = """
:root { color-scheme: light dark; --ink: #1c1b19; --paper: #fdfcfa; --faint: #6b675f; --rule: #dedad2; --user: #f1eee8;
  --warn: #8a4b08; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e5df; --paper: #191817; --faint: #9c978d; --rule: #3a3734;
  --user: #24221f; --warn: #e0a35c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 3rem 1.25rem 5rem; max-width: 44rem; color: var(--ink); background: var(--paper);
  font: 1.0625rem/1.6 Georgia, "Times New Roman", serif; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 1rem; font-weight: 600; overflow-wrap: anywhere; }
h2 { font: 600 .8125rem/1.4 system-ui, sans-serif; margin: 0 0 .75rem; overflow-wrap: anywhere; }
h3 { font: 600 .8125rem/1.4 system-ui, sans-serif; margin: 0 0 .25rem; color: var(--faint); overflow-wrap: anywhere; }
time { color: var(--faint); font-weight: 400; margin-right: .75rem; font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .125rem 1rem; margin: 0 0 1rem;
  font: .8125rem/1.5 system-ui, sans-serif; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
article { border-top: 1px solid var(--rule); padding: 1.5rem 0 .75rem; break-inside: avoid; }
section { padding: .625rem .875rem; margin: 0 0 .5rem; border-radius: .375rem; }
section.user { background: var(--user); }
.said { white-space: pre-wrap; overflow-wrap: anywhere; }
.gone { color: var(--warn); font: italic .875rem/1.5 system-ui, sans-serif; margin: 0; }
.note { color: var(--faint); font: .8125rem/1.5 system-ui, sans-serif; }
ul { padding-left: 1.25rem; } li { margin: .25rem 0; }
@media print { body { padding: 0; max-width: none; } section.user { border: 1px solid var(--rule); } }
"""
_ADVICE = (
    "This page carries its proof. Check it offline with the public key of the log, which you must have from a source "
    "that you trust: <code>python verifier.py verify FILE --key VKEY</code>. The check refuses a page of which a "
    "single character was changed."
)
_POLICY = "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def render_page(evidence: ProvedEvidence, proof: bytes) -> bytes:
    """Return the page of what a bundle or a certificate proves, with the proof in it.

    It is a function of the proof alone: it says nothing that was not proved, and no timestamp of it is checked.
    """
    if b"<" in proof or not proof.endswith(b"\n"):
        raise Refused("page")  # it could end the block that it is in
    title = _page_title(evidence)
    policy = _POLICY.format(digest=base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode())
    lines = [
        PAGE_START.decode(),
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f'<meta name="generator" content="{PAGE_FORMAT}">',
        f"<title>{_html(title)}</title>",
        f"<style>{_STYLE}</style></head>",
        "<body>",
        f"<h1>{_html(title)}</h1>",
        _html_facts(_page_facts(evidence)),
        *_html_statement(evidence.statement),
        *itertools.chain.from_iterable(map(_html_entry, evidence.entries)),
        f'<p class="note">{_ADVICE}</p>',
        f"{_PROOF}{proof.decode()}{_PROOF_END}",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines).encode()


_TITLES = {"subject": "exporter"}  # what people call a member of an export
_LATER = {
    "bundle": "a bundle does not speak of events after its checkpoint",
    "receipt": "a receipt does not speak of later events: its turn may have been masked or erased since",
    "certificate": "a certificate of an erasure does not speak of later events",
}


def _page_title(evidence: ProvedEvidence) -> str:
    names = [entry.fields["conversation"] for entry in evidence.entries if "conversation" in entry.fields]
    name = _value(names[0]) if len(names) == 1 else f"{len(names)} conversations" if names else "a conversation"
    return f"Erasure in {name}" if evidence.statement else f"Transcript of {name}"


def _page_facts(evidence: ProvedEvidence) -> list[tuple[str, str]]:
    """Return what a page and a terminal say of the whole."""
    facts = [("log", evidence.origin), ("root", f"{evidence.root} of {evidence.size} events")]
    facts.append(("signed by", f"key {evidence.key_version} of the log, {evidence.key}"))
    facts += [("signer", signer_text(signer)) for signer in evidence.signers]
    if evidence.form == "bundle":
        word = "recorded by the log" if evidence.certified else "declared by the exporter"
        facts += [
            (_TITLES.get(name, name), f"{_value(value)} ({word})") for name, value in sorted(evidence.export.items())
        ]
        ending = "not proved: later events may be absent"
        if evidence.complete and evidence.as_of_ms is not None:
            ending = f"as of position {evidence.size - 1}, {clock_ms(evidence.as_of_ms)}: no event of it is absent"
        facts.append(("complete", ending))
    facts.append(("events", f"{evidence.events}"))
    facts.append(("disclosed", f"{_fields(evidence.disclosed)}, {evidence.withheld} withheld"))
    facts.append(("hidden", f"{evidence.masks} masks and {evidence.redactions} redactions are on record"))
    alone = f", and {evidence.erased_messages} messages" if evidence.erased_messages else ""
    facts.append(("erased", f"{evidence.erased_turns} turns{alone}, in {evidence.erasures} erasures"))
    facts.append(("later", _LATER[evidence.form]))
    facts.append(("times", "the word of the log; a checked timestamp proves that an event existed by then"))
    facts += [("timestamp", stamp_text(stamp)) for stamp in evidence.timestamps]
    return facts


def signer_text(signer: SignerReport) -> str:
    """Return a successor among the signing keys as a person reads it."""
    since = f"key {signer.version} ({signer.key}) from event {signer.size} on, behind the root {signer.root}"
    return f"{since}: restored from a backup, as {signer.origin}" if signer.life else since


def stamp_text(stamp: Timestamp) -> str:
    """Return a timestamp as a person reads it."""
    how = f"checked: {on_one_line(stamp.authority)}" if stamp.checked else "present, not checked"
    return f"{stamp.time} for the first {stamp.size} events ({how})"


def _html(text: str) -> str:
    return html.escape("\n".join(in_lines(text)))


def _html_facts(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<dt>{_html(on_one_line(name))}</dt><dd>{_html(told)}</dd>" for name, told in facts)
    return f"<dl>{rows}</dl>" if rows else ""


def _html_statement(statement: Mapping[str, Any] | None) -> Iterator[str]:
    if statement is None:
        return
    yield f"<article><h2>{_html('What was cleaned, as stated on ' + clock_ms(statement['made_ms']))}</h2>"
    yield _html_facts((place, done) for place, done in statement["places"])
    yield "<h2>What is outside</h2><ul>"
    yield from (f"<li>{_html(place)}</li>" for place in statement["outside"])
    yield "</ul></article>"


def _html_entry(entry: Entry) -> Iterator[str]:
    yield f"<article><h2><time>{_html(entry.time)}</time>{_html(on_one_line(entry.title))}</h2>"
    for utterance in entry.said:
        role = ' class="user"' if utterance.who.partition(" ")[0] == "user" else ""
        yield f"<section{role}><h3>{_html(on_one_line(utterance.who))}</h3>"
        if utterance.state == "shown":
            yield f'<div class="said">{_html(utterance.text)}</div>'
            if utterance.hidden:
                yield f'<p class="gone">{utterance.hidden} parts withheld</p>'
        else:
            yield f'<p class="gone">{utterance.state}</p>'
        yield "</section>"
    yield _html_facts(entry.facts)
    if entry.withheld:
        yield f'<p class="note">not disclosed: {_fields(entry.withheld)}</p>'
    yield "</article>"


def _proof_in(page: bytes) -> bytes:
    try:
        _, begun, rest = page.decode().rpartition(_PROOF)
    except UnicodeDecodeError:
        raise Refused("page") from None
    proof, ended, _ = rest.partition(_PROOF_END)
    if not begun or not ended:
        raise Refused("page")
    return proof.encode()


# --- any evidence -----------------------------------------------------------------------------------------------------


def verify_evidence(
    file: ByteSource, vkey: str, authorities: Authorities | None = None, *, show: bool = False
) -> ProvedEvidence:
    """Prove whatever evidence a file holds: a bundle, a receipt, a certificate, or a page with one in it.

    With `authorities` a timestamp must be proved by them. With `show` the proved events are returned, in memory.
    """
    return _proved(file, vkey, authorities, [] if show else None)


def _proved(
    file: ByteSource, vkey: str, authorities: Authorities | None, kept: list[DisclosedEvent] | None
) -> ProvedEvidence:
    """Prove whatever evidence a file holds. With `kept` a list, the proved events are put there, and told."""
    key = VerifierKey.parse(vkey)
    first = file.readline(LINE_BYTES_MAX + 1)
    if first.rstrip() == PAGE_START:
        return _proved_page(first + file.read(PAGE_BYTES_MAX + 1), vkey, authorities, kept)
    if first.rstrip() == RECEIPT_FORMAT.encode():
        return _proved_receipt(first + file.read(LINE_BYTES_MAX + 1), vkey, authorities, kept)
    taken = _taken(itertools.chain([first] if first else [], read_lines(file)), key, kept)
    return replace(taken.report(), timestamps=timestamps_of(taken.notes, authorities))


def _proved_receipt(
    data: bytes, vkey: str, authorities: Authorities | None, kept: list[DisclosedEvent] | None
) -> ProvedEvidence:
    proved, erasures, tally = verify_receipt(data, vkey), Erasures(), _Tally(kept)
    erasures.take(proved.event.header)
    tally.take(proved.event)
    told = tally.evidence("receipt", proved.checkpoint, erasures, erasures.last_turns())
    told = _signed_by(told, proved.key, proved.signers)
    return replace(told, timestamps=timestamps_of([proved.note], authorities))


def _proved_page(
    page: bytes, vkey: str, authorities: Authorities | None, kept: list[DisclosedEvent] | None
) -> ProvedEvidence:
    """Prove the proof in a page, then render the page again: what is shown must be what is proved, byte for byte."""
    if len(page) > PAGE_BYTES_MAX:
        raise Refused("line_too_long")
    proof = _proof_in(page)
    if proof.startswith(PAGE_START):
        raise Refused("page")
    evidence = _proved(io.BytesIO(proof), vkey, None, [] if kept is None else kept)
    if render_page(evidence, proof).rstrip() != page.rstrip():
        raise Refused("page_differs")
    checked = evidence if authorities is None else _proved(io.BytesIO(proof), vkey, authorities, None)
    return replace(checked, page=True, entries=() if kept is None else evidence.entries)


# --- attachments ------------------------------------------------------------------------------------------------------


class AttachmentTree:
    """The tree over the chunks of an attachment, and how many bytes they are.

    It is a tree (RFC 6962) whose leaves are salt ‖ chunk; a chunk is 262,144 bytes, the last one less.
    """

    def __init__(self, salt: bytes) -> None:
        self._salt = salt
        self._tree = CompactRange()
        self.size = 0

    def take(self, chunk: bytes) -> None:
        """Add the next chunk."""
        self._tree.take(0, leaf_hash(self._salt + chunk))
        self.size += len(chunk)

    def root(self) -> bytes:
        """Return the root over the chunks so far, which a turn commits to."""
        return self._tree.root()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedAttachment:
    """A file that is an attachment of an event, byte for byte: where the log has it, and what the turn says of it."""

    origin: str
    position: int
    label: str
    attachment: dict[str, Any]
    timestamps: tuple[Timestamp, ...] = ()


def attachment_root(file: BinaryIO, salt: bytes) -> tuple[int, bytes]:
    """Return how many bytes a file has, and the root that a turn commits to (`AttachmentTree`)."""
    tree = AttachmentTree(salt)
    while chunk := file.read(CHUNK_BYTES):
        tree.take(chunk)
    return tree.size, tree.root()


def verify_attachment(
    evidence: ByteSource, vkey: str, file: BinaryIO, authorities: Authorities | None = None
) -> ProvedAttachment:
    """Prove that a file is an attachment that a bundle, a receipt or a page discloses; raises `Refused` otherwise.

    With `authorities` a timestamp must be proved by them.
    """
    events: list[DisclosedEvent] = []
    proved = _proved(evidence, vkey, authorities, events)
    length = file.seek(0, io.SEEK_END)
    for event in events:
        for label, value in event.disclosed.items():
            if type(value) is not dict or value.get("type") != "attachment" or value.get("size") != length:
                continue
            file.seek(0)
            _, root = attachment_root(file, _unb64url(event.salts[label], "disclosure"))
            if base64.b64encode(root).decode() == value.get("root"):
                return ProvedAttachment(
                    origin=proved.origin,
                    position=event.header["pos"],
                    label=label,
                    attachment=value,
                    timestamps=proved.timestamps,
                )
    raise Refused("attachment")


# --- the command ------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None, name: str = "verifier.py") -> int:
    """Verify the file that the command line names, print what it proves, and return the exit code."""
    options = _parser(name).parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        authorities = None
        if options.timestamp_certificate is not None:
            authorities = read_authorities(Path(options.timestamp_certificate).read_bytes())
        with _open(options.file) as file:
            if options.command == "attachment":
                return _tell_attachment(file, options, authorities)
            evidence = verify_evidence(file, options.key.strip(), authorities, show=options.command == "show")
    except OSError as error:
        sys.stderr.write(f"cannot read the file: {error.strerror}\n")
        return 2
    except Refused as refused:
        facts: dict[str, Any] = {"verified": False, "code": refused.code, "at": refused.at}
        _write(json.dumps(facts, sort_keys=True) if options.json else f"REFUSED  {refused.code}  {refused.at}".rstrip())
        return 1
    _write(_as_json(evidence) if options.json else "\n".join(lines_of(evidence)))
    return 0


def _tell_attachment(file: BinaryIO, options: argparse.Namespace, authorities: Authorities | None) -> int:
    with Path(options.attachment).open("rb") as attached:
        proved = verify_attachment(file, options.key.strip(), attached, authorities)
    told = f"VERIFIED  the file is {proved.label} at position {proved.position} of {proved.origin}"
    stamps = (f"  timestamp  {stamp_text(stamp)}" for stamp in proved.timestamps)
    _write(_as_json(proved) if options.json else "\n".join([told, *stamps]))
    return 0


def _as_json(proved: ProvedEvidence | ProvedAttachment) -> str:
    """Return what was proved in JSON. Nothing is copied: a disclosed value may be nested deeply."""
    return json.dumps({"verified": True, **_members(proved)}, sort_keys=True, default=_members)


def _members(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value)}


def lines_of(evidence: ProvedEvidence) -> Iterator[str]:
    """Yield the lines that tell a person what was proved."""
    what = f"{evidence.events} event{'s' * (evidence.events != 1)}"
    yield f"VERIFIED  {what} of {evidence.origin}, under the root of {evidence.size}"
    yield f"  form       {evidence.form}" + (", in a page that says what it proves" if evidence.page else "")
    for label, told in _page_facts(evidence)[1:]:
        yield f"  {label:<10} {told}"
    for stream in evidence.streams:
        certified = "no certificate" if stream.through is None else f"certified through event {stream.through}"
        events = f"events {stream.first} to {stream.last}"
        yield f"  stream {stream.stream}: {events}, {stream.turns} turns, {certified}"
    yield from statement_lines(evidence.statement)
    yield from text_of(evidence.entries)


def statement_lines(statement: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield what a certificate states, as lines."""
    if statement is not None:
        yield f"  stated     {clock_ms(statement['made_ms'])}"
        yield from (f"  {on_one_line(place)}: {on_one_line(done)}" for place, done in statement["places"])
        yield from (f"  outside: {on_one_line(place)}" for place in statement["outside"])


def _open(file: str) -> contextlib.AbstractContextManager[BinaryIO]:
    return contextlib.nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb")


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=name, description="Check evidence offline.")
    commands = parser.add_subparsers(dest="command", required=True)
    what = "a bundle, a receipt, an erasure certificate, or a page with one of them in it"
    for word, text in (
        ("verify", f"check {what}"),
        ("show", f"check {what}, and print what is proved as text"),
        ("attachment", f"check that a file is an attachment that is disclosed by {what}"),
    ):
        command = commands.add_parser(word, help=text, description=text)
        command.add_argument("file", help="the file to check, or - for standard input")
        if word == "attachment":
            command.add_argument("attachment", help="the file that should be an attachment")
        command.add_argument(
            "--key", "--vkey", required=True, metavar="VKEY", help="the public key of the log: name+hash+base64"
        )
        command.add_argument("--json", action="store_true", help="report in JSON")
        command.add_argument(
            "--timestamp-certificate",
            metavar="FILE",
            help="a certificate in PEM or DER that you trust for timestamps: of the authority, or of one above it",
        )
    return parser


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
