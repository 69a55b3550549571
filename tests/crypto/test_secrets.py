"""Secrets stay where they are: not in what is shown, told, logged or pickled."""

from __future__ import annotations

import copy
import io
import logging
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.pretty import pretty_repr
from rich.traceback import Traceback

from muniment.crypto.cell import ContentKey, OpenEnvelope, open_cell, open_envelope, seal_cell, seal_envelope, squeeze
from muniment.crypto.keyring import SpaceKeys
from muniment.crypto.root import LocalRoot
from muniment.crypto.root_sources import Argon2, OpenerContext, RootDescriptor, open_root
from muniment.crypto.secret import Secret
from muniment.crypto.segment import SegmentKey, SpaceKey, open_segments, seal_segments
from muniment.crypto.store import StoreKeys
from muniment.errors import MunimentError
from muniment.kernel.digest import b64url
from muniment.kernel.sources import Sources, SystemClock, SystemEntropy, system_sources
from tests.crypto.worlds import FROM_FILE, Versions, flipped

CANARY = b"canary:tweet:canary:tweet:canary"
SPELLINGS = (b"tweet", CANARY.hex().encode(), b64url(CANARY).encode(), repr(list(CANARY))[1:-1].encode())


class Canaries:
    """Entropy that sings: everything drawn from it is the canary."""

    def take(self, size: int) -> bytes:
        return (CANARY * (size // 32 + 1))[:size]


def sources() -> Sources:
    return Sources(clock=SystemClock(), entropy=Canaries(), ids=system_sources().ids)


def refuse_song(text: str | bytes) -> None:
    data = text.encode() if isinstance(text, str) else text
    assert not [spelling for spelling in SPELLINGS if spelling in data]


def holders(directory: Path) -> list[object]:
    root = LocalRoot(CANARY, Canaries())
    store = StoreKeys.create(directory, root, FROM_FILE, sources())
    space = store.create_space("tweet", sources())
    return [
        root,
        store,
        space,
        space.unwrapped,
        ContentKey(CANARY),
        SpaceKey(1, CANARY),
        SegmentKey(1, bytes(4) + CANARY),
        OpenEnvelope(b"", ContentKey(CANARY)),
        OpenerContext(entropy=Canaries(), descriptor=FROM_FILE),
    ]


def test_what_holds_a_secret_shows_its_name_only(tmp_path: Path) -> None:
    """repr, str, format, rich and logging show no secret, whatever holds it."""
    for holder in holders(tmp_path):
        stream = io.StringIO()
        logger, handler = logging.getLogger("test"), logging.StreamHandler(stream)
        logger.addHandler(handler)
        logger.error("%s %r", holder, [holder])
        logger.removeHandler(handler)
        shown = (repr(holder), str(holder), f"{holder}", pretty_repr([holder], expand_all=True), stream.getvalue())
        for text in shown:
            refuse_song(text)


def test_what_holds_a_secret_is_neither_pickled_nor_copied(tmp_path: Path) -> None:
    for holder in holders(tmp_path)[:-2]:
        for leave in (pickle.dumps, copy.copy, copy.deepcopy):
            if leave is copy.copy and not isinstance(holder, Secret):
                continue  # a copy of the values of an open space is made and stays inside
            with pytest.raises(TypeError, match="never"):
                leave(holder)


def test_a_holder_says_how_it_is_called() -> None:
    with pytest.raises(NotImplementedError):
        repr(Secret())


def test_nothing_of_a_store_is_secret_on_the_disk(tmp_path: Path) -> None:
    """All secrets and the name of the space are the canary; no file and no name of a file sings."""
    holders(tmp_path)
    for path in tmp_path.rglob("*"):
        refuse_song(str(path.relative_to(tmp_path)))
        if path.is_file():
            # Nonces are drawn from the same entropy and are public; they are too short for all of the song.
            assert CANARY[:13] not in path.read_bytes()


def failures(directory: Path) -> list[Callable[[], object]]:
    """Return one failing call for each way in which a secret could get into an error."""
    root = LocalRoot(CANARY, SystemEntropy())
    store = StoreKeys.create(directory / "store", root, FROM_FILE, system_sources())
    space = store.create_space("tweet", system_sources())
    key, leaf = ContentKey(CANARY), bytes(32)
    sealed = seal_cell(key, squeeze(CANARY), leaf)
    segment = SegmentKey(0, bytes(4) + CANARY)
    envelope = seal_envelope(segment, bytes(12), OpenEnvelope(CANARY, key), leaf, b"")
    row = seal_segments(space.current, bytes(12), 0, [segment])
    (directory / "key").write_bytes(CANARY)
    (directory / "key").chmod(0o600)
    (directory / "open").write_bytes(b64url(CANARY).encode())
    (directory / "open").chmod(0o644)
    argon2 = Argon2(salt=b64url(bytes(16)), memory_kib=8192, iterations=1, lanes=1)

    def source(uri: str, typed: str = "") -> RootOpening:
        descriptor = RootDescriptor(scheme="x", argon2=argon2)
        return lambda: open_root(uri, OpenerContext(entropy=Canaries(), descriptor=descriptor, ask=lambda _: typed))

    return [
        lambda: open_cell(key, flipped(sealed, 200), leaf),
        lambda: open_cell(ContentKey(flipped(CANARY, 7)), sealed, leaf),
        lambda: open_envelope(segment, flipped(envelope, 200), leaf, b""),
        lambda: open_segments(space, 0, flipped(row, 200)),
        lambda: open_segments(Versions(), 0, row),
        lambda: root.unwrap(flipped(root.wrap(CANARY, CANARY), 300), CANARY),
        lambda: root.unwrap(LocalRoot(bytes(32), SystemEntropy()).wrap(CANARY, CANARY), CANARY),
        lambda: LocalRoot(CANARY + CANARY, SystemEntropy()),
        lambda: StoreKeys(directory / "store", LocalRoot(flipped(CANARY, 9), SystemEntropy())),
        lambda: SpaceKeys(store.space_directory("tweet"), LocalRoot(bytes(32), SystemEntropy()), SystemEntropy()),
        lambda: store.space("tweet tweet", SystemEntropy()),
        lambda: space.finish_rotation(9),
        source(f"file:{directory / 'key'}"),
        source(f"file:{directory / 'open'}"),
        source(f"file:{directory / CANARY.decode()}"),
        source(f"env:{CANARY.decode()}"),
        source(f"passphrase:{CANARY.decode()}"),
        source("passphrase:", CANARY.decode() * 1000),
        source(CANARY.decode()),
        lambda: Argon2(salt=CANARY.decode()),
    ]


RootOpening = Callable[[], object]


def test_no_error_tells_a_secret_or_a_name(tmp_path: Path) -> None:
    """Text, arguments, report and traceback of every refusal are free of the canary; there is no cause that has it."""
    for failure in failures(tmp_path):
        with pytest.raises(MunimentError) as caught:
            failure()
        refusal = caught.value
        told = "".join(line for line in traceback.format_exception(refusal) if not line.lstrip().startswith("File "))
        for text in (str(refusal), repr(refusal), repr(refusal.args), repr(refusal.report()), told):
            refuse_song(text)
        assert refusal.__cause__ is None
        assert refusal.__suppress_context__ or refusal.__context__ is None


def test_a_traceback_that_shows_local_values_shows_no_holder(tmp_path: Path) -> None:
    """Even a pretty traceback with all locals has holders in it by their names."""
    (root, store, space, *_), sight = holders(tmp_path), io.StringIO()

    def fail(one: object, two: object, three: object) -> None:
        raise ValueError(len((one, two, three)))

    try:
        fail(root, store, space)
    except ValueError as failure:
        from rich.console import Console

        shown = Traceback.from_exception(ValueError, failure, failure.__traceback__, show_locals=True)
        frames = [frame for frame in shown.trace.stacks[0].frames if frame.name == "fail"]
        shown.trace.stacks[0].frames[:] = frames
        Console(file=sight, width=200).print(shown)
    assert "LocalRoot" in sight.getvalue()
    refuse_song(sight.getvalue())
