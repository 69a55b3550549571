"""Export bundles: a slice of a log that anyone with the public key can check, as lines of canonical JSON.

    {"bundle":"muniment-export/1","export":{…,"view":…},"log":…,"origin":…,"size":…,"streams":{"<stream>":[<first>,<last>]}}
    {"disclosures":[…],"header":{…}}        one line an event, in order of position
    {"skipped":[…]}                         what lies between two of them, or behind the last: base64 hashes of the
                                            largest complete subtrees, from left to right
    {"signer":{"announcement":"…","consistency":[…]}}   one line for each signing key after the first, in their order
    {"earlier":{"checkpoint":"…","consistency":[…]}}    only where an earlier checkpoint has a timestamp
    {"checkpoint":"…"}                      the signed note

The head says which events of each exported stream follow: all of them from the first number to the last. A bundle of a
range is continued by the next one in the same file. A certified export also carries the `export.issued` event that was
appended for it (in the space's own stream), whose refs say how far the exported stream went, and whose field `export`
is disclosed and equal to that of the head. It is the last event under the checkpoint (decision 0147), so nobody can cut
the end off and still call it whole. Further events of the space may stand among the lines.

An announcement is a checkpoint of the former key that names its successor (`evidence.verifier`); the consistency proof
leads from it to the checkpoint of the bundle. The origin of the head is that of the life of the log that signed.

Disclosures of one event are in order of label. What a view hides, or what was erased, is simply not disclosed; its
commitment stays in the header.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

from msgspec import Struct

from muniment.errors import Corrupt
from muniment.evidence.notes import origin_of
from muniment.evidence.tree import Hashes, skipped
from muniment.evidence.verifier import (
    BUNDLE_FORMAT,
    ERASURE_FORMAT,
    RECEIPT_FORMAT,
    CompactRange,
    parse_checkpoint,
    parse_note,
)
from muniment.kernel.canonical import encode_plain

EVENTS_AT_ONCE = 1024  # whose hashes are read together


class Head(Protocol):
    """The first line of a bundle or of a certificate."""

    @property
    def size(self) -> int:
        """The size of the tree."""
        ...

    def line(self) -> bytes:
        """Return the first line, without its newline."""
        ...


class EarlierCheckpoint(Struct, frozen=True, kw_only=True):
    """An earlier checkpoint of the same log, with the proof that the log grew from it; it has a timestamp."""

    note: str
    consistency: Sequence[bytes]


class AnnouncedSigner(Struct, frozen=True, kw_only=True):
    """The note that announces a signing key, with the proof that the log grew from its checkpoint."""

    note: str
    consistency: Sequence[bytes]

    def line(self) -> bytes:
        """Return the line of a bundle or a receipt, without its newline."""
        return encode_plain({"signer": {"announcement": self.note, "consistency": _encoded(self.consistency)}})


class ErasureHead(Struct, frozen=True, kw_only=True):
    """The first line of an erasure certificate: the log, the size of its tree, and what is stated beside the proof."""

    log: str
    size: int
    statement: Mapping[str, Any]
    life: str = ""

    def line(self) -> bytes:
        """Return the first line of a certificate, without its newline."""
        return encode_plain(
            {
                "bundle": ERASURE_FORMAT,
                "log": self.log,
                "origin": origin_of(self.log, self.life),
                "size": self.size,
                "statement": self.statement,
            }
        )


class BundleHead(Struct, frozen=True, kw_only=True):
    """What a bundle says of itself: log and size of its tree, the first and last event by stream, what was exported.

    `export` has a `view`; that of a certified bundle is the field of that name of its certificate.
    """

    log: str
    size: int
    streams: Mapping[int, tuple[int, int]]
    export: Mapping[str, Any]
    life: str = ""

    def line(self) -> bytes:
        """Return the first line of a bundle, without its newline."""
        streams = {str(stream): events for stream, events in self.streams.items()}
        return encode_plain(
            {
                "bundle": BUNDLE_FORMAT,
                "export": self.export,
                "log": self.log,
                "origin": origin_of(self.log, self.life),
                "size": self.size,
                "streams": streams,
            }
        )


def event_line(header: bytes, disclosures: Mapping[str, str]) -> bytes:
    """Return the line of an event, without its newline, given its exact header and its disclosures by label."""
    shown = '","'.join([disclosures[label] for label in sorted(disclosures)])
    quoted = f'"{shown}"'.encode() if disclosures else b""
    return b'{"disclosures":[' + quoted + b'],"header":' + header + b"}"


def bundle(
    head: Head,
    events: Iterable[tuple[int, bytes]],
    hashes: Hashes,
    checkpoint: str,
    earlier: EarlierCheckpoint | None = None,
    signers: Iterable[AnnouncedSigner] = (),
) -> Iterator[bytes]:
    """Yield the lines of a bundle or a certificate, each with its newline, in the memory of `EVENTS_AT_ONCE` events.

    `events` are position and line of each event, in order of position; `hashes` are those of the log, whose signed
    note of the size `head.size` is the checkpoint. Raises `Corrupt`, after the last event, when they are not what was
    signed: stored hashes of events that the bundle leaves out are proved by nothing else.
    """
    yield head.line() + b"\n"
    waiting, tree = iter(events), CompactRange()
    while some := list(islice(waiting, EVENTS_AT_ONCE)):
        ends = [tree.size, *(position + 1 for position, _ in some)]
        ranges = [(end, position) for end, (position, _) in zip(ends, some, strict=False)]
        nodes = skipped(hashes, [each for gap in ranges for each in (gap, (gap[1], gap[1] + 1))])
        for between, (leaf,), (position, line) in zip(nodes[::2], nodes[1::2], some, strict=True):
            if between:
                tree.skip(position, between)
                yield _skipped(between)
            tree.take(0, leaf)
            yield line + b"\n"
    if tree.size < head.size:
        (rest,) = skipped(hashes, [(tree.size, head.size)])
        tree.skip(head.size, rest)
        yield _skipped(rest)
    if tree.root() != parse_checkpoint(parse_note(checkpoint).text).root:
        raise Corrupt(at="checkpoint", problem="root", limit=head.size)
    yield from (signer.line() + b"\n" for signer in signers)
    if earlier is not None:
        members = {"checkpoint": earlier.note, "consistency": _encoded(earlier.consistency)}
        yield encode_plain({"earlier": members}) + b"\n"
    yield encode_plain({"checkpoint": checkpoint}) + b"\n"


def _skipped(nodes: Sequence[bytes]) -> bytes:
    return encode_plain({"skipped": _encoded(nodes)}) + b"\n"


def _encoded(hashes: Iterable[bytes]) -> list[str]:
    return [base64.b64encode(node).decode() for node in hashes]


def receipt(
    event: bytes, position: int, proof: Sequence[bytes], checkpoint: str, signers: Iterable[AnnouncedSigner] = ()
) -> str:
    """Return the receipt of an event, given its line (`event_line`), inclusion proof and signed checkpoint.

    A receipt is a C2SP tlog-proof:

        c2sp.org/tlog-proof@v1
        extra <base64 of the event line, then the line of each announced signing key>
        index <position>
        <inclusion proof, one base64 hash a line>
        <empty line>
        <checkpoint>

    The format treats extra data as unauthenticated. Here the proof authenticates it, because the leaf that it proves is
    recomputed from the header in it. The disclosures decide what the receipt shows: a whole turn for its committer,
    nothing for an auditor who only needs the fact.
    """
    extra = b"\n".join([event, *(signer.line() for signer in signers)])
    lines = [
        RECEIPT_FORMAT,
        f"extra {base64.b64encode(extra).decode()}",
        f"index {position}",
        *(base64.b64encode(node).decode() for node in proof),
    ]
    return "\n".join(lines) + "\n\n" + checkpoint
