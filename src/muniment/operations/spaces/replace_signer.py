"""Replacing the key that signs the checkpoints of a space (`ledger.signing`)."""

from __future__ import annotations

from msgspec import Struct

from muniment.crypto.signing_key import SigningKey
from muniment.errors import StoreBusy
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


def replace_signer(space: Space) -> SignerReplaced:
    """Let another key sign from here on, and destroy the former one."""
    notary, now_ms = space.notary, space.sources.clock.now_ms()
    notary.settle(space.ledger)
    former, key = notary.key, SigningKey.fresh(space.sources.entropy, space.keys.life)

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
