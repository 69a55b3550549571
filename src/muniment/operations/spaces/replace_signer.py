"""Replacing the key that signs the checkpoints of a space (`ledger.signing`)."""

from __future__ import annotations

from msgspec import Struct

from muniment.crypto.secret import KEY_BYTES
from muniment.crypto.signing_key import SigningKey
from muniment.errors import InvalidInput, SignerUnavailable, SignerWrong, StoreBusy
from muniment.ledger.ledger import Writer
from muniment.space.space import Space


class SignerReplaced(Struct, frozen=True, kw_only=True):
    """The signing key that was replaced and its successor: their public keys, and how many events the former signed.

    `version` is the number of the successor among the keys of the log.
    """

    version: int
    events: int
    former: str
    vkey: str


def replace_signer(space: Space, *, external: bool) -> SignerReplaced:
    """Let another key sign from here on, and destroy the former one."""
    notary, now_ms = space.notary, space.sources.clock.now_ms()
    notary.settle(space.ledger)
    former, key = notary.key, _next(space) if external else SigningKey.fresh(space.sources.entropy, space.keys.life)

    def plan(writer: Writer) -> None:
        if notary.signers.of(writer.tx).key != former:
            raise StoreBusy(at="signer", problem="replaced_meanwhile")
        space.keys.begin_signing(key)
        notary.signers.announce(writer, key, now_ms)

    space.ledger.transact(plan)
    notary.settle(space.ledger)
    return SignerReplaced(
        version=len(notary.signers.succession.keys),
        events=notary.signers.since,
        former=str(former),
        vkey=str(notary.key),
    )


def _next(space: Space) -> SigningKey:
    """Return the key that is kept outside the store."""
    signer = space.notary.signers.outside
    if signer is None:
        raise SignerUnavailable(at="signer", problem="not_named")
    public = signer.public
    if len(public) != KEY_BYTES:
        raise SignerWrong(at="signer")
    key = SigningKey(seed=public, life=space.keys.life, outside=True)
    if space.notary.signers.signer(key).key in space.notary.signers.succession.keys:
        raise InvalidInput(at="external", problem="signed_before")
    return key
