"""Names: how things are found again in a log, and how it is proved that something is not there.

A name is a keyed digest of 16 bytes that leads to a position. Names are kept in *buckets*, rows that no store can read:

    bucket = (digest ‖ position, 6 bytes)*, in the order of the digests ‖ stamp, 8 bytes ‖ tag, 16 bytes

There is one bucket for each `BUCKET_NAMES` names, begun or full. They grow by linear hashing: with one more bucket, one
of the others is split. So the number of names says how many buckets there are and in which one a name would lie, and
whoever reads that bucket knows that a name is there, or that it is not (decision 0145).

The *seal* of a log is written in the row of its frontier with every append:

    seal = stamp, 8 bytes ‖ number of names, 8 bytes ‖ masked sum, 16 bytes ‖ tag, 16 bytes

A *stamp* says when something was written: how often the log was restored, then its size. The tag of a bucket is half of
an HMAC over its number, stamp and entries; the other half is its *share*, which is stored nowhere. The seal vouches for
the frontier, the number of names and the sum of all shares, so that an older bucket does not go with it. The sum is
masked: from sums in clear one could learn which older buckets balance each other.

A running process remembers the stamp and the share of every bucket, as they were when it last read all of them or wrote
them itself. A bucket that is older than what it remembers was put back. When somebody else wrote to the log, all
buckets are read again; those that have not changed need no HMAC.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from muniment.errors import Conflict, Corrupt
from muniment.evidence.tree import Frontier
from muniment.kernel.digest import KeyedDigest
from muniment.kernel.locks import new_lock
from muniment.kernel.stamps import SIZE_BITS, SIZE_MASK, STAMP_BYTES, stamp_in
from muniment.log.port import Reader, Transaction

DIGEST_BYTES, POSITION_BYTES, COUNT_BYTES, TAG_BYTES, OWED_BYTES = 16, 6, 8, 16, 8
ENTRY_BYTES = DIGEST_BYTES + POSITION_BYTES
END_BYTES = STAMP_BYTES + TAG_BYTES
SEAL_BYTES = STAMP_BYTES + COUNT_BYTES + OWED_BYTES + 2 * TAG_BYTES
_SEAL = struct.Struct(f">QQ{OWED_BYTES}s{TAG_BYTES}s{TAG_BYTES}s")
BUCKET_NAMES = 32  # on average, in a full table
SUM_MASK = (1 << 8 * TAG_BYTES) - 1
BUCKETS_KEPT_MAX = 1024  # verified bodies, about 700 bytes each
STEPS_MAX = 1024  # states of the log that this process made and has not seen durable yet

# The first bytes of what is hashed under the index key; names themselves begin with a length, which none of these is.
BUCKET, SEAL, MASK, OWED = b"muniment/bucket", b"muniment/seal", b"muniment/mask", b"muniment/owed"

Naming = int | bytes  # of a name: the position that it leads to, or the name that takes its place


class NameRow(Struct, frozen=True, kw_only=True, array_like=True):
    """A name and where it leads."""

    digest: bytes
    position: int


class LogHead(NamedTuple):
    """What a log amounts to beside its tree: when it was written, how many names it has, the sum of all shares.

    `owed` is the digest of what erasures that have begun still have to do (`ledger.owed`).
    """

    stamp: int = 0
    names: int = 0
    total: int = 0
    owed: bytes = bytes(OWED_BYTES)

    @property
    def restores(self) -> int:
        """How often another log was put in its place."""
        return self.stamp >> SIZE_BITS


class Bucket(NamedTuple):
    """A bucket that was proved."""

    entries: bytes
    stamp: int
    share: int


class Seen(NamedTuple):
    """What a process remembers of a bucket: its last bytes, when it was written, and its share of the sum."""

    end: bytes
    stamp: int
    share: int


class OwnWrite(NamedTuple):
    """What one plan changed: the seal that it found, when it wrote, and the buckets as it left them."""

    before: bytes
    stamp: int
    written: dict[int, Seen]


class Names:
    """The names of one log. Thread-safe; several processes may write to the log."""

    def __init__(self, keyed: KeyedDigest) -> None:
        self._keyed = keyed
        self._lock = new_lock()
        self._proved = (b"", Frontier(), LogHead())
        self._bodies: dict[int, tuple[bytes, Bucket]] = {}
        self._last: tuple[Reader | None, bytes, int, Bucket] = (None, b"", 0, Bucket(b"", 0, 0))
        self._newest = 0  # the stamp of the newest durable state of the log that this process knows of
        self._seal = b""  # the state that what is remembered is true of
        self._stamp = 0
        self._seen: dict[int, Seen] = {}
        self._steps: dict[bytes, OwnWrite] = {}  # by the seal that each left; not all became durable

    # --- the state of the log -----------------------------------------------------------------------------------------

    @property
    def newest(self) -> int:
        """The stamp that a snapshot which is taken from now on has at least."""
        return self._newest

    def head(self, reader: Reader) -> LogHead:
        """Return the head of the log, proved, or raise `Corrupt`."""
        return self._head(reader, reader.log_seal())

    def _head(self, reader: Reader, seal: bytes) -> LogHead:
        kept_seal, kept_frontier, kept = self._proved
        if seal and seal is kept_seal:  # the same object came with the same frontier; there is one empty one
            return kept
        frontier = reader.frontier()
        if seal == kept_seal and frontier == kept_frontier:
            self._proved = seal, frontier, kept
            return kept
        head = self._opened(seal, frontier)
        self._proved = seal, frontier, head
        return head

    def begin(self, reader: Reader, newest: int, *, writes: bool = False) -> LogHead:
        """Return the head of a snapshot that was taken when the process knew of a state as new as `newest`.

        Raises `Corrupt` for a log that is older. Who writes learns here what others have changed.
        """
        seal = reader.log_seal()
        head = self._head(reader, seal)
        if head.stamp < newest:
            raise Corrupt(at="log", problem="put_back", limit=newest & SIZE_MASK, found=head.stamp & SIZE_MASK)
        if writes:
            if seal != self._seal:
                self._catch_up(reader, head)
        else:
            self._newest = max(self._newest, head.stamp)
        return head

    def keep(self, seal: bytes) -> None:
        """Remember what led to a state that has become durable."""
        with self._lock:
            steps = self._steps_to(seal)
            if not steps:  # somebody else kept this state meanwhile, or one that came after it
                return
            self._seal, self._stamp = seal, steps[0].stamp
            for step in steps:
                self._steps.pop(seal, None)  # a writer may have cleared them meanwhile
                seal = step.before
            for step in reversed(steps):
                self._seen.update(step.written)
            self._newest = max(self._newest, self._stamp)

    def _steps_to(self, seal: bytes) -> list[OwnWrite] | None:
        """Return the own steps that lead from what is remembered to a state, newest first, or None."""
        steps: list[OwnWrite] = []
        while seal != self._seal:
            step = self._steps.get(seal)
            if step is None:
                return None
            steps.append(step)
            seal = step.before
        return steps

    def _catch_up(self, reader: Reader, head: LogHead) -> None:
        """Learn what others have written; what is remembered is then true of this state, or of a newer one."""
        seal = reader.log_seal()
        with self._lock:
            if head.stamp > self._stamp and self._steps_to(seal) is None:
                self._seen = self._all(reader, head, self._seen)
                self._seal, self._stamp = seal, head.stamp
                self._steps.clear()

    def attest(self, reader: Reader) -> LogHead:
        """Prove every bucket of the log, and remember them; return its head, or raise `Corrupt`."""
        head = self.head(reader)
        seen = self._all(reader, head, {})
        with self._lock:
            if head.stamp >= self._stamp:
                self._seen, self._seal, self._stamp = seen, reader.log_seal(), head.stamp
                self._steps.clear()
                self._newest = max(self._newest, head.stamp)
        return head

    def _all(self, reader: Reader, head: LogHead, seen: dict[int, Seen]) -> dict[int, Seen]:
        found: dict[int, Seen] = {}
        names = total = 0
        for number, body in reader.buckets():
            known = seen.get(number)
            if known is None or not body.endswith(known.end):
                bucket = self._bucket(number, body)
                known = Seen(body[-END_BYTES:], bucket.stamp, bucket.share)
            found[number] = known
            names += len(body) // ENTRY_BYTES - 1
            total += known.share
        if len(found) != buckets_of(head.names) or names != head.names or total & SUM_MASK != head.total:
            raise Corrupt(at="names", problem="names_missing", limit=head.names, found=names)
        return found

    # --- finding ------------------------------------------------------------------------------------------------------

    def find(self, reader: Reader, digest: bytes) -> int | None:
        """Return the position that a name leads to, or None when nobody has claimed it; proved, or `Corrupt`."""
        seal = reader.log_seal()
        head = self._head(reader, seal)
        if seal != self._seal:
            self._catch_up(reader, head)
        if not head.names:
            return None
        entries = self._read(reader, seal, head, bucket_of(digest, buckets_of(head.names))).entries
        at = _place(entries, digest)
        return _position(entries, at) if entries.startswith(digest, at) else None

    def rows(self, reader: Reader) -> Iterator[NameRow]:
        """Yield every name, bucket by bucket, proved."""
        seal, head = reader.log_seal(), self.head(reader)
        for number in range(buckets_of(head.names)):
            entries = self._read(reader, seal, head, number).entries
            for at in range(0, len(entries), ENTRY_BYTES):
                yield NameRow(digest=entries[at : at + DIGEST_BYTES], position=_position(entries, at))

    def _read(self, reader: Reader, seal: bytes, head: LogHead, number: int) -> Bucket:
        last_reader, last_seal, last_number, last = self._last
        if reader is last_reader and seal == last_seal and number == last_number:
            return last  # a plan looks for a name before it claims it
        body = reader.bucket(number)
        if body is None:
            raise Corrupt(at="names", problem="bucket_missing")
        bucket, seen = self._verified(number, body), self._seen.get(number)
        is_older = seen is not None and bucket.stamp < seen.stamp <= head.stamp
        if is_older or bucket.stamp > head.stamp:
            raise Corrupt(at="names", problem="bucket_put_back")
        self._last = reader, seal, number, bucket
        return bucket

    def _verified(self, number: int, body: bytes) -> Bucket:
        kept = self._bodies.get(number)
        if kept is not None and kept[0] == body:
            return kept[1]
        bucket = self._bucket(number, body)
        self._keep_body(number, body, bucket)
        return bucket

    def _keep_body(self, number: int, body: bytes, bucket: Bucket) -> None:
        if len(self._bodies) >= BUCKETS_KEPT_MAX and number not in self._bodies:
            self._bodies.clear()
        self._bodies[number] = body, bucket

    # --- changing -----------------------------------------------------------------------------------------------------

    def write(self, tx: Transaction, frontier: Frontier, restores: int, namings: Mapping[bytes, Naming]) -> bytes:
        """Write what a plan claims and renames; return the seal of the log for its next frontier.

        A name that was claimed before is a `Conflict`, and so is one that gives up its place and has none.
        """
        before = tx.log_seal()
        head, stamp = self._head(tx, before), restores << SIZE_BITS | frontier.size
        names, total, written = head.names, head.total, dict[int, Seen]()
        if namings:
            names, buckets = self._changed(tx, before, head, namings)
            bodies: list[tuple[int, bytes]] = []
            for number, (entries, share) in buckets.items():
                body, bucket = self._sealed(number, entries, stamp)
                total += bucket.share - share
                bodies.append((number, body))
                written[number] = Seen(body[-END_BYTES:], stamp, bucket.share)
                self._keep_body(number, body, bucket)
            tx.put_buckets(bodies)
            self._last = None, b"", 0, self._last[-1]
        return self._stepped(frontier, LogHead(stamp, names, total & SUM_MASK, head.owed), before, written)

    def digest_of_owed(self, packed: bytes) -> bytes:
        """Return what the seal has of what is owed."""
        return self._keyed.of(OWED + packed)[:OWED_BYTES]

    def owe(self, tx: Transaction, packed: bytes) -> None:
        """Seal the log again, with another digest of what is owed."""
        before, frontier, owed = tx.log_seal(), tx.frontier(), self.digest_of_owed(packed)
        head = self._head(tx, before)
        if head.owed != owed:
            tx.append((), (), frontier, self._stepped(frontier, head._replace(owed=owed), before, {}))

    def _stepped(self, frontier: Frontier, head: LogHead, before: bytes, written: dict[int, Seen]) -> bytes:
        seal = self._closed(head, frontier)
        self._proved = seal, frontier, head
        if len(self._steps) >= STEPS_MAX:
            self._steps.clear()
        self._steps[seal] = OwnWrite(before, head.stamp, written)
        return seal

    def _changed(
        self, tx: Transaction, seal: bytes, head: LogHead, namings: Mapping[bytes, Naming]
    ) -> tuple[int, dict[int, tuple[bytes, int]]]:
        """Return how many names there are then, and every bucket that changes: its entries and its former share."""
        table = _Table(head.names, lambda number: self._read(tx, seal, head, number))
        for digest, to in namings.items():
            if isinstance(to, bytes):
                table.add(to, table.remove(digest))
            else:
                table.grow()
                table.add(digest, to)
        return table.names, table.changed

    # --- bytes --------------------------------------------------------------------------------------------------------

    def _bucket(self, number: int, body: bytes) -> Bucket:
        entries, stamp, tag = body[:-END_BYTES], body[-END_BYTES:-TAG_BYTES], body[-TAG_BYTES:]
        mac = self._mac(number, stamp, entries)
        if not hmac.compare_digest(tag, mac[:TAG_BYTES]):
            raise Corrupt(at="names", problem="bucket")
        return Bucket(entries, int.from_bytes(stamp), int.from_bytes(mac[TAG_BYTES:]))

    def _sealed(self, number: int, entries: bytes, at: int) -> tuple[bytes, Bucket]:
        stamp = at.to_bytes(STAMP_BYTES)
        mac = self._mac(number, stamp, entries)
        return entries + stamp + mac[:TAG_BYTES], Bucket(entries, at, int.from_bytes(mac[TAG_BYTES:]))

    def _mac(self, number: int, stamp: bytes, entries: bytes) -> bytes:
        return self._keyed.of(BUCKET + number.to_bytes(COUNT_BYTES) + stamp + entries)

    def _opened(self, seal: bytes, frontier: Frontier) -> LogHead:
        if not seal and not frontier.size:  # a log that is being begun
            return LogHead()
        if len(seal) != SEAL_BYTES:
            raise Corrupt(at="frontier", problem="seal")
        stamp, names, owed, masked, tag = _SEAL.unpack(seal)
        head = LogHead(stamp, names, int.from_bytes(masked) ^ self._mask(tag), owed)
        if not hmac.compare_digest(tag, self._seal_tag(head, frontier)):
            raise Corrupt(at="frontier", problem="seal")
        assert head.stamp & SIZE_MASK == frontier.size, "they were sealed together"
        return head

    def _closed(self, head: LogHead, frontier: Frontier) -> bytes:
        tag = self._seal_tag(head, frontier)
        masked = (head.total ^ self._mask(tag)).to_bytes(TAG_BYTES)
        return _SEAL.pack(head.stamp, head.names, head.owed, masked, tag)

    def _seal_tag(self, head: LogHead, frontier: Frontier) -> bytes:
        told = _SEAL.pack(head.stamp, head.names, head.owed, head.total.to_bytes(TAG_BYTES), b"")[:-TAG_BYTES]
        return self._keyed.of(SEAL + told + frontier.to_bytes())[:TAG_BYTES]

    def _mask(self, tag: bytes) -> int:
        return int.from_bytes(self._keyed.of(MASK + tag)[:TAG_BYTES])


class _Table:
    """Buckets as a plan changes them: the entries of each that it touched, with the share that it had before."""

    def __init__(self, names: int, read: Callable[[int], Bucket]) -> None:
        self.names = names
        self.changed: dict[int, tuple[bytes, int]] = {}
        self._count = buckets_of(names)
        self._read = read

    def add(self, digest: bytes, position: int) -> None:
        """Let a name lead to a position."""
        number, entries, share = self._where(digest)
        at = _place(entries, digest)
        if entries.startswith(digest, at):
            raise Conflict(at="name", problem="taken")
        entry = digest + position.to_bytes(POSITION_BYTES)
        self.changed[number] = entries[:at] + entry + entries[at:], share

    def remove(self, digest: bytes) -> int:
        """Take a name out; return where it led."""
        if not self._count:
            raise Conflict(at="name", problem="no_name")
        number, entries, share = self._where(digest)
        at = _place(entries, digest)
        if not entries.startswith(digest, at):
            raise Conflict(at="name", problem="no_name")
        self.changed[number] = entries[:at] + entries[at + ENTRY_BYTES :], share
        return _position(entries, at)

    def grow(self) -> None:
        """Make room for one more name: where that takes one more bucket, another one is split."""
        self.names += 1
        new = self._count
        if buckets_of(self.names) == new:
            return
        self._count += 1
        stay, go = b"", b""
        if new:
            old = new - (1 << new.bit_length() - 1)
            entries, share = self._entries(old)
            for at in range(0, len(entries), ENTRY_BYTES):
                entry = entries[at : at + ENTRY_BYTES]
                if bucket_of(entry, self._count) == old:
                    stay += entry
                else:
                    go += entry
            self.changed[old] = stay, share
        self.changed[new] = go, 0

    def _where(self, digest: bytes) -> tuple[int, bytes, int]:
        number = bucket_of(digest, self._count)
        return number, *self._entries(number)

    def _entries(self, number: int) -> tuple[bytes, int]:
        changed = self.changed.get(number)
        if changed is None:
            bucket = self._read(number)
            changed = bucket.entries, bucket.share
        return changed


def restores_told(seal: bytes) -> int:
    """Return how often a log says that it was restored, unproved."""
    return stamp_in(seal) >> SIZE_BITS


def buckets_of(names: int) -> int:
    """Return how many buckets hold so many names."""
    return -(-names // BUCKET_NAMES)


def bucket_of(digest: bytes, buckets: int) -> int:
    """Return the bucket of a name: as many of its bits as number the buckets, one less where there is no such one."""
    level = 1 << buckets.bit_length()
    number = int.from_bytes(digest[:COUNT_BYTES]) & (level - 1)
    while number >= buckets:
        level >>= 1
        number &= level - 1
    return number


def _place(entries: bytes, digest: bytes) -> int:
    """Return where a name is, or would be, among the entries of a bucket."""
    low, high = 0, len(entries) // ENTRY_BYTES
    while low < high:
        middle = (low + high) // 2
        if entries[middle * ENTRY_BYTES : middle * ENTRY_BYTES + DIGEST_BYTES] < digest:
            low = middle + 1
        else:
            high = middle
    return low * ENTRY_BYTES


def _position(entries: bytes, at: int) -> int:
    return int.from_bytes(entries[at + DIGEST_BYTES : at + ENTRY_BYTES])
