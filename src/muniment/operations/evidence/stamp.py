"""Asking a timestamp authority over HTTP (RFC 3161, section 3.4). Nothing asks one unless a caller named it.

The authority learns the digest of a checkpoint and when it was asked.
"""

from __future__ import annotations

from muniment.errors import TimestampUnavailable
from muniment.evidence import timestamps
from muniment.evidence.verifier import Refused
from muniment.kernel.sources import Entropy
from muniment.operations.evidence.post import place_of, post

REQUEST_TYPE = "application/timestamp-query"
OK = 200


def stamp(note: str, url: str, entropy: Entropy) -> str:
    """Return a note with the timestamp that the authority behind a URL gives it."""
    place = place_of(url, at="timestamp_url")
    nonce = entropy.take(timestamps.NONCE_BYTES)
    answer = post(place, timestamps.request(note, nonce), REQUEST_TYPE)
    if answer.problem is not None:
        raise TimestampUnavailable(at="timestamp_url", problem=answer.problem, limit=answer.limit)
    if answer.status != OK:
        raise TimestampUnavailable(at="timestamp_url", problem="status", found=answer.status)
    try:
        return timestamps.stamped(note, answer.body, nonce)
    except Refused as refused:
        raise TimestampUnavailable(at="timestamp_url", problem=refused.code) from None
