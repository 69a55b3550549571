"""A sealed stream comes back as it was, or not at all."""

from __future__ import annotations

import hashlib
import io

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from muniment.crypto.stream import CHUNK_BYTES, SEALED_BYTES, SealedReader, SealedWriter
from muniment.errors import Corrupt

KEY, SALT, CONTEXT = b"k" * 32, b"s" * 32, b"context"
HEAD_BYTES = 48
sizes = st.sampled_from([0, 1, 100, *(CHUNK_BYTES + more for more in (-1, 0, 1)), 2 * CHUNK_BYTES, 3 * CHUNK_BYTES + 7])


def some(size: int) -> bytes:
    """Return that many bytes that do not repeat."""
    return hashlib.shake_256(size.to_bytes(8)).digest(size)


def sealed(data: bytes, pieces: int = 1, key: bytes = KEY, context: bytes = CONTEXT) -> bytes:
    """Return data as a sealed stream that was written in so many pieces."""
    file = io.BytesIO()
    writer = SealedWriter(file, key, SALT, context)
    step = max(1, len(data) // pieces)
    for start in range(0, len(data), step):
        writer.write(data[start : start + step])
    writer.finish()
    return file.getvalue()


def opened(stream: bytes, step: int = 1000, key: bytes = KEY, context: bytes = CONTEXT) -> bytes:
    """Return what is in a sealed stream, read in steps."""
    reader, pieces = SealedReader(io.BytesIO(stream), key, context), []
    while piece := reader.read(step):
        pieces.append(piece)
    return b"".join(pieces)


@given(sizes, st.integers(1, 5), st.sampled_from([1000, CHUNK_BYTES, 10 * CHUNK_BYTES]))
def test_what_was_sealed_is_what_is_opened(size: int, pieces: int, step: int) -> None:
    """However it is cut into pieces, what is read is what was written."""
    data = some(size)
    assert opened(sealed(data, pieces), step) == data


def test_the_layout_is_the_one_that_is_written_down() -> None:
    """A stream opened by hand, as the module describes it."""
    data = some(CHUNK_BYTES + 5)
    stream = sealed(data)
    assert stream[:HEAD_BYTES] == b"muniment-sealed\x01" + SALT
    info = b"muniment/v1/stream" + SALT + CONTEXT
    aead = AESGCM(HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(KEY))
    first = aead.decrypt(bytes(12), stream[HEAD_BYTES : HEAD_BYTES + SEALED_BYTES], None)
    last = aead.decrypt(bytes(10) + b"\x01\x01", stream[HEAD_BYTES + SEALED_BYTES :], None)
    assert first + last == data


def test_the_bytes_of_a_stream_are_known() -> None:
    """A known answer, so that no release writes another format under the same name."""
    digest = hashlib.sha256(sealed(some(3 * CHUNK_BYTES + 7))).hexdigest()
    assert digest == "720eb30552eb98eaf8e09a5fd1bd73b54b1ecc6c882646c9555bc05db96d076d"


STREAM = sealed(some(2 * CHUNK_BYTES + 10))
CHUNKS = [STREAM[at : at + SEALED_BYTES] for at in range(HEAD_BYTES, len(STREAM), SEALED_BYTES)]
FAULTS = {
    "no magic": b"X" + STREAM[1:],
    "another version": STREAM[:15] + b"\x02" + STREAM[16:],
    "head cut short": STREAM[:40],
    "head alone": STREAM[:HEAD_BYTES],
    "another salt": STREAM[:16] + b"t" * 32 + STREAM[48:],
    "a bit of a chunk": STREAM[:200] + bytes([STREAM[200] ^ 1]) + STREAM[201:],
    "cut at the border of a chunk": STREAM[: HEAD_BYTES + 2 * SEALED_BYTES],
    "cut inside a chunk": STREAM[: HEAD_BYTES + SEALED_BYTES + 99],
    "cut to less than a tag": STREAM[: HEAD_BYTES + 9],
    "chunks in another order": STREAM[:HEAD_BYTES] + CHUNKS[1] + CHUNKS[0] + CHUNKS[2],
    "a chunk left out": STREAM[:HEAD_BYTES] + CHUNKS[0] + CHUNKS[2],
    "a chunk said twice": STREAM[:HEAD_BYTES] + CHUNKS[0] + CHUNKS[0] + CHUNKS[1] + CHUNKS[2],
    "something added": STREAM + b"more",
    "another stream behind it": STREAM + STREAM,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_stream_with_a_fault_is_refused(fault: str) -> None:
    with pytest.raises(Corrupt):
        opened(FAULTS[fault])


@given(st.integers(0, len(STREAM) - 1), st.integers(1, 255))
def test_no_byte_of_a_stream_can_be_changed(place: int, change: int) -> None:
    """Any change of any byte is refused."""
    with pytest.raises(Corrupt):
        opened(STREAM[:place] + bytes([STREAM[place] ^ change]) + STREAM[place + 1 :], CHUNK_BYTES)


def test_a_stream_opens_under_its_own_key_and_context_alone() -> None:
    for key, context in [(b"x" * 32, CONTEXT), (KEY, b"other")]:
        with pytest.raises(Corrupt):
            opened(STREAM, key=key, context=context)
