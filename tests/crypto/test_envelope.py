"""The first line of a sealed document gives its key to the root that wrapped it, and to no other."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from muniment.crypto.envelope import Envelope, parse_envelope
from muniment.crypto.root import LocalRoot
from muniment.crypto.root_sources import RootDescriptor
from muniment.errors import Corrupt, KeyWrong, StoreNewer
from muniment.kernel.digest import b64url
from muniment.kernel.sources import SystemEntropy

ROOT = LocalRoot(b"r" * 32, SystemEntropy())
KEY, CONTEXT = b"k" * 32, b"a document"
ENVELOPE = Envelope.around(KEY, ROOT, RootDescriptor(scheme="file"), CONTEXT)


def test_the_key_comes_back_and_is_not_in_clear() -> None:
    line = ENVELOPE.line()
    assert parse_envelope(line) == ENVELOPE
    assert ENVELOPE.open(ROOT, CONTEXT) == KEY
    assert KEY not in line
    assert b64url(KEY).encode() not in line


def test_another_root_or_another_purpose_opens_nothing() -> None:
    with pytest.raises(KeyWrong):
        ENVELOPE.open(LocalRoot(b"x" * 32, SystemEntropy()), CONTEXT)
    with pytest.raises(Corrupt):
        ENVELOPE.open(ROOT, b"another document")


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"",
        ENVELOPE.line()[:-1],
        ENVELOPE.line() + b"\n",
        ENVELOPE.line().replace(b'"key"', b'"kex"'),
        replace(ENVELOPE, key="!").line(),
        replace(ENVELOPE, format=1).line(),
        replace(ENVELOPE, format=0).line(),
        replace(ENVELOPE, key=b64url(b"short")).line(),
        Envelope.around(b"short", ROOT, RootDescriptor(scheme="file"), CONTEXT).line(),
    ],
)
def test_a_line_with_a_fault_is_refused(line: bytes) -> None:
    with pytest.raises(Corrupt):
        parse_envelope(line).open(ROOT, CONTEXT)


def test_a_line_of_a_newer_release_is_refused_as_that() -> None:
    with pytest.raises(StoreNewer):
        parse_envelope(replace(ENVELOPE, format=3).line())
