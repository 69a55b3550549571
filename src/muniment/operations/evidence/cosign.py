"""Asking witnesses over HTTP for cosignatures (C2SP tlog-witness). Nothing asks one unless a caller named it.

A witness learns origin, size and root of the log, hashes between them, and when it was asked. What it answers is either
a cosignature that verifies, or that it knows a larger or another log than this one: then this log was rolled back or
rewritten, whatever its own pins say. Everything else is no usable answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import SplitResult

from muniment.errors import InvalidInput, WitnessRefused, WitnessUnavailable
from muniment.evidence.cosignatures import HttpWitness, WitnessKey, add_checkpoint, with_cosignature
from muniment.evidence.tree import consistency_proof
from muniment.evidence.verifier import Refused
from muniment.ledger.attest import SignedCheckpoint
from muniment.operations.evidence.post import Answer, place_of, post
from muniment.space.space import Space

REQUEST_TYPE = "text/plain; charset=utf-8"
SIZE_DIGITS_MAX = 16


def cosigned(space: Space, signed: SignedCheckpoint, witnesses: Sequence[HttpWitness]) -> str:
    """Ask every witness for its cosignature, and keep those that came; return the note with them.

    Raises `WitnessRefused` or `WitnessUnavailable` after all were asked, the former first.
    """
    note, failed = signed.note, list[WitnessRefused | WitnessUnavailable]()
    requests = [
        CosignatureRequest(space, signed, witness, f"witnesses[{index}]") for index, witness in enumerate(witnesses)
    ]
    for each in requests:
        try:
            note = each.cosigned(note)
        except (WitnessRefused, WitnessUnavailable) as failure:
            failed.append(failure)
    if note != signed.note:
        space.notary.keep_stamped(space.ledger, note)
    failed.sort(key=lambda one: isinstance(one, WitnessUnavailable))
    if failed:
        raise failed[0]
    return note


def key_of(witness: HttpWitness, at: str) -> WitnessKey:
    """Return the public key of a witness, or raise `InvalidInput`."""
    try:
        return WitnessKey.parse(witness.vkey)
    except Refused as refused:
        raise InvalidInput(at=at, problem=refused.code) from None


class CosignatureRequest:
    """What one witness is asked about one checkpoint."""

    def __init__(self, space: Space, signed: SignedCheckpoint, witness: HttpWitness, at: str) -> None:
        self._space = space
        self._size = signed.checkpoint.size
        self._at = at
        self._key = key_of(witness, at)
        self._place: SplitResult = place_of(f"{witness.url.rstrip('/')}/add-checkpoint", at=at)

    def cosigned(self, note: str) -> str:
        """Return the note with the cosignature of the witness."""
        old = self._size_known()
        answer = self._ask(note, old)
        known = _size_in(answer)
        if known is not None and known != old:
            old = self._not_behind(known)
            answer = self._ask(note, old)
        diverges = answer.status == HTTPStatus.CONFLICT and old == self._size
        if answer.status == HTTPStatus.UNPROCESSABLE_ENTITY or diverges:
            raise WitnessRefused(at=self._at, problem="diverges", limit=old, found=self._size)
        if answer.status != HTTPStatus.OK:
            raise WitnessUnavailable(at=self._at, problem="status", found=answer.status)
        try:
            return with_cosignature(note, answer.body, self._key)
        except Refused as refused:
            raise WitnessUnavailable(at=self._at, problem=refused.code) from None

    def _size_known(self) -> int:
        """Return the size that the witness cosigned last, as far as the log knows: a guess that saves a request."""
        with self._space.ledger.reader() as reader:
            notes = (row.size for row in reader.checkpoints() if f"\N{EM DASH} {self._key.name} " in row.note)
            return max(notes, default=0)

    def _ask(self, note: str, old: int) -> Answer:
        with self._space.ledger.reader() as reader:
            proof = consistency_proof(reader, old, self._size)
        answer = post(self._place, add_checkpoint(note, old, proof), REQUEST_TYPE)
        if answer.problem is not None:
            raise WitnessUnavailable(at=self._at, problem=answer.problem, limit=answer.limit)
        return answer

    def _not_behind(self, known: int) -> int:
        if known <= self._size:
            return known
        with self._space.ledger.reader() as reader:
            size = reader.frontier().size
        if known <= size:  # another process was quicker
            raise WitnessUnavailable(at=self._at, problem="overtaken")
        raise WitnessRefused(at=self._at, problem="behind_witness", limit=known, found=size)


def _size_in(answer: Answer) -> int | None:
    """Return the size that a witness says it knows instead, if it says one."""
    body = answer.body.removesuffix(b"\n")
    if answer.status != HTTPStatus.CONFLICT or not body.isdigit() or len(body) > SIZE_DIGITS_MAX:
        return None
    return int(body)
