"""Which keys sign a log: one after the other, each announced by an event (decision 0161).

A *replacement* and a *restore* are one thing: a new key takes over from a checkpoint of the former one. For a
replacement the origin stays. A restored log gets another origin with its key: it is another life of the log, so that
two histories never have one name.

1. In one write transaction: the next key is made durable in `keys.json`; the former key signs the checkpoint of the log
   so far, with a line that names its successor; the event `signer.announced` carries that note; the log names the next
   key (`VKEY`), and its head is signed with it.
2. The next key is put in force in `keys.json`, which destroys the former seed. Until then the log says which of both
   signs; the next opening completes what a crash interrupted.

The named values are for an audit without keys; whoever has keys believes `keys.json` and the events.
"""

from __future__ import annotations

import msgspec

from muniment.crypto.keyring import SpaceKeys, UnwrappedKeys
from muniment.crypto.signing_key import SigningKey
from muniment.errors import Corrupt, SpaceErased
from muniment.events.records import EventKind, SignerAnnounced
from muniment.evidence.bundle import AnnouncedSigner
from muniment.evidence.notes import NamedValues, NoteSigner, Signer, origin_of
from muniment.evidence.outside_signer import CheckedSigner
from muniment.evidence.tree import consistency_proof
from muniment.evidence.verifier import (
    Checkpoint,
    Refused,
    Succession,
    VerifierKey,
    open_announcement,
    open_checkpoint,
    signer_line,
)
from muniment.kernel.canonical import encode_plain
from muniment.kernel.sources import Sources
from muniment.ledger.drafts import Change
from muniment.ledger.ledger import VKEY, Ledger, Writer
from muniment.log.port import Reader

ANNOUNCED = "signers"  # the named value that holds the announcements of a log

_notes = msgspec.json.Decoder(tuple[str, ...])


class LogSigners:
    """The signing keys of one log, as its key file has them: those that signed, the one in force, the next one."""

    def __init__(self, keys: SpaceKeys | UnwrappedKeys, outside: NoteSigner | None = None) -> None:
        self._keys = keys
        self.outside = outside
        self._known: dict[SigningKey, Signer] = {}
        self._succession: tuple[VerifierKey, tuple[str, ...], Succession] | None = None

    @property
    def _unwrapped(self) -> UnwrappedKeys:
        return self._keys if isinstance(self._keys, UnwrappedKeys) else self._keys.unwrapped

    @property
    def current(self) -> Signer:
        """The signer in force."""
        return self.signer(self._unwrapped.signing)

    def signer(self, key: SigningKey) -> Signer:
        """Return what signs with a key of this log; raises `SpaceErased` when it was destroyed with the space."""
        if not key.seed:
            raise SpaceErased
        if key not in self._known:
            name = origin_of(self._unwrapped.log_id, key.life)
            self._known = {key: self._outside(name, key.seed) if key.outside else Signer(name, key.seed)}
        return self._known[key]

    def _outside(self, name: str, public: bytes) -> Signer:
        key = VerifierKey.of(name, public)
        return Signer(name, CheckedSigner(key, self.outside))

    def of(self, values: NamedValues) -> Signer:
        """Return the signer that the log names in this state; raises `Corrupt` for one that is not ours."""
        named = values.meta(VKEY)
        if named is None:
            return self.current
        if (found := self._named(named)) is None:
            if isinstance(self._keys, SpaceKeys):
                self._keys.refresh()
            found = self._named(named)
        if found is None:
            raise Corrupt(at="vkey", problem="signer")
        return found

    def _named(self, vkey: bytes) -> Signer | None:
        keys = self._unwrapped
        signers = (self.signer(key) for key in (keys.signing, keys.next_signing) if key is not None)
        return next((signer for signer in signers if signer.vkey.encode() == vkey), None)

    @property
    def succession(self) -> Succession:
        """The public keys of the log up to the one in force."""
        keys, current = self._unwrapped, self.current.key
        if self._succession is None or self._succession[:2] != (current, keys.announcements):
            self._succession = current, keys.announcements, succession_of(current, keys.announcements)
        return self._succession[2]

    def open(self, note: str) -> Checkpoint:
        """Return the checkpoint that a key of this log signed; that may be the next one. Raises `Refused`."""
        following = self._unwrapped.next_signing
        try:
            return self.succession.open(note)
        except Refused:
            if following is None:
                raise
            return open_checkpoint(note, self.signer(following).key)

    def announce(self, writer: Writer, key: SigningKey, now_ms: int, former: LogSigners | None = None) -> None:
        """Announce a key, already durable, at the end of the log that a plan has made; it signs from here on.

        `former` are the signers of the log that was put back, where it is not this one.
        """
        writer.flush()
        signers = self if former is None else former
        before, notes = signers.of(writer.tx), signers.notes
        new, frontier = self.signer(key), writer.tx.frontier()
        line = signer_line(len(notes) + 2, before.key, new.key)
        note = before.sign_checkpoint(before.key.name, frontier.size, frontier.root(), [line])
        writer.tx.put_meta(VKEY, new.vkey.encode())
        writer.tx.put_meta(ANNOUNCED, encode_plain([*notes, note]))
        writer.change(Change(EventKind.SIGNER_ANNOUNCED, now_ms, SignerAnnounced(announcement=note)))
        writer.sign()

    def begin_life(self, writer: Writer, sources: Sources, ring: UnwrappedKeys, now_ms: int) -> None:
        """Let a fresh key sign the log that was put back, as another life of it; the former is that of the backup."""
        assert isinstance(self._keys, SpaceKeys), "a log is put back into a space"
        key = SigningKey.fresh(sources.entropy, sources.ids.new_id())
        self._keys.begin_signing(key)
        self.announce(writer, key, now_ms, LogSigners(ring, self.outside))

    @property
    def notes(self) -> tuple[str, ...]:
        """The announcements of the keys up to the one in force."""
        return self._unwrapped.announcements

    @property
    def since(self) -> int:
        """How many events there were when the key in force took over."""
        announced = self.succession.announced
        return announced[-1].checkpoint.size if announced else 0

    @property
    def is_due(self) -> bool:
        """Whether there is a next key, which the log may have named."""
        return self._unwrapped.next_signing is not None

    def settle(self, ledger: Ledger) -> bool:
        """Put the next key in force if the log names it; return whether it did."""
        assert isinstance(self._keys, SpaceKeys), "a backup is settled before it is taken"
        following = self._unwrapped.next_signing
        if following is None:
            return False
        with ledger.store.reader() as reader:
            if reader.meta(VKEY) != self.signer(following).vkey.encode():
                return False
            notes = announcements(ledger, reader)
        try:
            is_next = bool(notes) and open_announcement(notes[-1]).key == self.signer(following).key
            succession_of(self.signer(following).key, notes)
        except Refused:
            is_next = False
        if not is_next:
            raise Corrupt(at="vkey", problem="signer")
        return self._keys.finish_signing(following, notes)


def announcements(ledger: Ledger, reader: Reader) -> tuple[str, ...]:
    """Return the notes that the events of a log announce its signing keys with."""
    bodies = (ledger.open(row).meta for row in reader.of_kind(EventKind.SIGNER_ANNOUNCED))
    return tuple(body.announcement for body in bodies if isinstance(body, SignerAnnounced))


def announced_signers(ledger: Ledger, reader: Reader, size: int) -> list[AnnouncedSigner]:
    """Return the announcements up to a size of the log, each with the proof that the log grew from its checkpoint."""
    told = ((note, open_announcement(note).checkpoint.size) for note in announcements(ledger, reader))
    return [
        AnnouncedSigner(note=note, consistency=consistency_proof(reader, since, size))
        for note, since in told
        if since < size
    ]


def succession_of(current: VerifierKey, notes: tuple[str, ...]) -> Succession:
    """Return the succession that leads to a key; raises `Refused`."""
    if not notes:
        return Succession(current)
    succession = Succession(open_announcement(notes[0]).former, notes)
    if succession.current != current:
        raise Refused("signer")
    return succession


def declared_succession(reader: Reader) -> Succession:
    """Return the succession that a log declares in its named values; who has no key can but compare it."""
    own, notes = reader.meta(VKEY), reader.meta(ANNOUNCED)
    if own is None:
        raise Corrupt(at="vkey", problem="missing")
    try:
        return succession_of(VerifierKey.parse(own.decode()), () if notes is None else _notes.decode(notes))
    except (Refused, UnicodeDecodeError, msgspec.MsgspecError):
        raise Corrupt(at="vkey", problem="malformed") from None
