"""Secrets without a recognisable form: tokens that look random, and passwords in URLs (decision 0041).

A token is a run of at least 20 characters of base64 or base64url. It is treated as a secret when

- it has letters of both cases and digits, which alternate as in random text, and its Shannon entropy reaches the
  minimum for its length; or
- it has one case and digits, at least 24 characters and no separators, and meets the thresholds for one case.

The following are not treated as secrets, because most of them are identifiers: hexadecimal digests and UUIDs, unless
the text before them calls them secret; parts of the path of a URL; embedded files; labelled digests; public keys and
certificates; and runs above 512 characters, which are data.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from muniment.governance.detection.letters import before
from muniment.governance.detection.scan import TextSpan

TOKEN_CHARACTERS_MIN = 20
TOKEN_CHARACTERS_MAX = 512
ONE_CASE_CHARACTERS_MIN = 24

# The minimal bits per character by length: about nine tenths of the entropy of random text.
ENTROPY_MIN = ((48, 4.6), (40, 4.4), (32, 4.2), (26, 4.0), (20, 3.7))
ENTROPY_MIN_ONE_CASE = ((48, 4.0), (32, 3.8), (24, 3.5))
# The share of neighbours of different classes (lower, upper, digit, other).
CHANGES_MIN = 0.42
CHANGES_MIN_ONE_CASE = 0.22
DIGITS_MIN_ONE_CASE, DIGITS_MAX_ONE_CASE = 0.08, 0.6

_TOKEN = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{TOKEN_CHARACTERS_MIN},}}+={{0,2}}")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F-]+")
_CALLED_SECRET = re.compile(
    r"(?i)(?:secret|token|passw(?:or)?d|\bpwd|passphrase|api[_-]?key|private[_-]?key|secret[_-]?key|access[_-]?key"
    r"|credential|\bkey)\w{0,16}[\"']?\s{0,2}(?:=|:|=>)\s{0,2}[\"']?$"
)
_PARAMETER_OF_SECRET = re.compile(
    r"(?i)[?&#](?:\w{0,24}(?:token|key|sig|secret|auth|code|session|sid|pass|pwd)\w{0,16})=$"
)
_OF_DIGEST = ("sha256-", "sha384-", "sha512-")
_OF_PUBLIC_KEY = ("AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh", "AAAAGnNr", "AAAAInNr")
_URL_CHARACTERS_MAX = 2048
_BEFORE_URL = re.compile(r"[\s\"'<>()\[\]{}|]")
_PUBLIC_BEGIN = re.compile(
    r"-----BEGIN[A-Z0-9 ]{0,40}(?:CERTIFICATE|PUBLIC KEY|MESSAGE|SIGNATURE|REQUEST)[A-Z ]{0,10}-----"
)


def tokens(text: str) -> Iterator[TextSpan | None]:
    """Find tokens of high entropy."""
    public_until = 0
    blocks = _PUBLIC_BEGIN.finditer(text) if "-----BEGIN" in text else iter(())
    block = next(blocks, None)
    for match in _TOKEN.finditer(text):
        while block is not None and block.start() <= match.start():
            end = text.find("-----END", max(block.end(), public_until))
            public_until = len(text) if end < 0 else end
            block = next(blocks, None)
        is_public = match.start() < public_until
        yield None if is_public or not _is_secret(text, match) else TextSpan(*match.span())


def _is_secret(text: str, match: re.Match[str]) -> bool:
    token, start = match.group().rstrip("="), match.start()
    if len(token) > TOKEN_CHARACTERS_MAX or token.startswith((*_OF_DIGEST, *_OF_PUBLIC_KEY)):
        return False
    if _HEX.fullmatch(token):
        return _CALLED_SECRET.search(before(text, start)) is not None and "-" not in token
    return looks_random(token) and _may_be_secret_there(text, start, match.end())


def looks_random(token: str) -> bool:
    """Return whether the characters of a token look random."""
    kinds = "".join(
        "l" if char.islower() else "u" if char.isupper() else "d" if char.isdigit() else "o" for char in token
    )
    changes = sum(kind != next_kind for kind, next_kind in pairwise(kinds)) / (len(kinds) - 1)
    digits = kinds.count("d")
    if digits and "l" in kinds and "u" in kinds:
        return changes >= CHANGES_MIN and _reaches(token, ENTROPY_MIN)
    if "o" in kinds or len(token) < ONE_CASE_CHARACTERS_MIN:
        return False
    mixed = DIGITS_MIN_ONE_CASE <= digits / len(token) <= DIGITS_MAX_ONE_CASE
    return mixed and changes >= CHANGES_MIN_ONE_CASE and _reaches(token, ENTROPY_MIN_ONE_CASE)


def _reaches(token: str, minima: tuple[tuple[int, float], ...]) -> bool:
    return entropy_bits(token) >= next(bits for length, bits in minima if len(token) >= length)


def entropy_bits(token: str) -> float:
    """Return the Shannon entropy of a token in bits per character."""
    size = len(token)
    return -sum(count / size * math.log2(count / size) for count in Counter(token).values())


def _may_be_secret_there(text: str, start: int, end: int) -> bool:
    """Return whether a token is in a position for secrets: not in the path of a URL or in an embedded file."""
    around = text[max(0, start - _URL_CHARACTERS_MAX) : start]
    if ":" not in around:
        return True
    gap = _BEFORE_URL.search(around[::-1])
    around = around if gap is None else around[len(around) - gap.start() :]
    if around.endswith(";base64,"):
        return False
    _, scheme, url = around.partition("://")
    if not scheme or text[end : end + 1] == "@":
        return True
    if "?" in url or "#" in url:
        return _PARAMETER_OF_SECRET.search(url) is not None
    return False


# --- passwords in URLs ------------------------------------------------------------------------------------------------

_PASSWORD = re.compile(r"://[^\s/@:\"'<>]{0,64}:([^\s/@\"'<>]{1,256})@(?=[A-Za-z0-9\[])")


def url_passwords(text: str) -> Iterator[TextSpan | None]:
    """Find passwords before the host of a URL."""
    if "://" in text:
        for match in _PASSWORD.finditer(text):
            yield TextSpan(*match.span(1))
