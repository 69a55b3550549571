"""Try to open a store with keys that are not its own: none opens it, and no byte of it is changed.

The keys are all that differ from the right one in a single bit, and others by chance. The control is the right key.
"""

from __future__ import annotations

import random
from pathlib import Path

import muniment
from muniment.crypto.root import LocalRoot
from muniment.errors import KeyWrong, MunimentError
from muniment.evidence.pin import FilePin
from muniment.kernel.sources import SystemEntropy
from muniment.space.options import Options
from replay.drills.outcome import Outcome
from replay.drills.powercut import scratch_directory
from replay.words import Words

KEYS = 10_000
KEY_BYTES = 32
FILES_EVERY = 100  # the files are compared after so many keys


def wrongkey(count: int | None, seed: int) -> Outcome:
    """Try so many keys, the neighbours of the right one first."""
    chance = random.Random(seed)  # noqa: S311 - keys that open nothing are no secret
    right = chance.randbytes(KEY_BYTES)
    keys = [_flipped(right, bit) for bit in range(8 * KEY_BYTES)]
    keys += [chance.randbytes(KEY_BYTES) for _ in range(max(0, (count or KEYS) - len(keys)))]
    failures: list[str] = []
    with scratch_directory("wrongkey") as home:
        with _opened(home, right) as runtime:
            runtime.transcripts.commit(Words(small=True).turn("one", 1))
        before = _files(home)
        for number, key in enumerate(keys, start=1):
            failures += _tried(home, key)
            if number % FILES_EVERY == 0 or number == len(keys):
                failures += [] if _files(home) == before else ["files were changed"]
        control = not _tried(home, _flipped(_flipped(right, 0), 0))
    return Outcome(
        name="wrongkey",
        tried=f"{len(keys):,} keys, {8 * KEY_BYTES} of them different in one bit",
        failures=failures,
        control="the right key, which opens it",
        control_failed=not control,
        seed=seed,
    )


def _tried(home: Path, key: bytes) -> list[str]:
    """Return what was wrong with trying a key that should be refused."""
    try:
        _opened(home, key).close()
    except KeyWrong:
        return []
    except MunimentError as refused:
        return [f"refused for another reason: {refused.code}"]
    return ["a key opened the store"]


def _opened(home: Path, key: bytes) -> muniment.Runtime:
    options = Options(pin=FilePin(home / "pins"))
    return muniment.open(home / "store", keys=LocalRoot(key, SystemEntropy()), options=options)


def _flipped(key: bytes, bit: int) -> bytes:
    held = bytearray(key)
    held[bit // 8] ^= 1 << bit % 8
    return bytes(held)


def _files(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}
