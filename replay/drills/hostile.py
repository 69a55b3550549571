"""Hand mutated input to every decoder and every kind of operation: each call answers, or raises an error of ours.

Bytes are flipped, cut, doubled, spliced and nested; values are swapped for hostile ones: wrong types, huge numbers,
lone surrogates, zero bytes, deep nestings. A call may take a second, and memory may not grow by more than 64 MiB over
all of them. The control are decoders of the standard library, which must raise something else than they promise.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

import muniment
from muniment.errors import MunimentError
from muniment.events.archive import ArchiveScope, PrivateMaterial, ScopeKind
from muniment.events.identity import TurnId
from muniment.evidence import verifier
from muniment.evidence.verifier import Refused
from muniment.governance.views import View
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from replay.drills.outcome import Outcome
from replay.drills.powercut import scratch_directory
from replay.drills.soak import memory_bytes
from replay.stores import opened
from replay.words import Words, key_of, plain

INPUTS = 20_000
CALL_S_MAX = 1.0
MEMORY_BYTES_MAX = 64 << 20
WARM_SHARE = 10  # memory is looked at first when a tenth of the inputs are through
FRESH_EVERY = 400  # operations that may append are done to a store that is new after so many
TALK = "one"
SPLICES = (
    b"",
    b"\0",
    b"\xff\xfe",
    b"[" * 2000,
    b'{"a":' * 2000,
    b"9" * 400,
    b"\\ud800",
    b"NaN",
    b"-1",
    b"\n\n",
    b"1e999",
)
HOSTILE: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**63,
    2**64,
    -(2**63) - 1,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "\0",
    "\ud800",
    "a" * 5000,
    "../../etc/passwd",
    "%s%n{0}",
    b"\xff",
    [],
    {},
    [[]],
    {"": {}},
    object(),
)

Decoder = tuple[bytes, Callable[[bytes], object]]


def hostile(count: int | None, seed: int) -> Outcome:
    """Hand over so many mutated inputs."""
    inputs = count or INPUTS
    with scratch_directory("hostile") as scratch:
        drill = Drill(scratch, random.Random(seed))  # noqa: S311 - repeatable
        drill.run(inputs)
        control = drill.control()
    return Outcome(
        name="hostile",
        tried=f"{inputs:,} inputs to {drill.kinds} decoders and operations, {drill.refused:,} refused, the slowest "
        f"call {drill.slowest_s * 1000:.0f} ms, memory {drill.grown_bytes / 2**20:+.0f} MiB",
        failures=drill.failures,
        control=f"decoders of the standard library, {control} untyped errors",
        control_failed=control > 0,
        seed=seed,
    )


class Drill:
    """One run."""

    def __init__(self, scratch: Path, chance: random.Random) -> None:
        self._scratch = scratch
        self._chance = chance
        self._file = scratch / "input"
        self._made = 0
        self.failures: list[str] = []
        self.refused = self.kinds = self.grown_bytes = 0
        self.slowest_s = 0.0

    def run(self, inputs: int) -> None:
        """Hand over so many inputs."""
        with opened(self._scratch / "store") as runtime:
            decoders = self._decoders(runtime)
            requests = _requests()
            self.kinds = len(decoders) + len(requests)
            target: Runtime | None = None
            warm = 0
            for number in range(inputs):
                if number % FRESH_EVERY == 0:
                    if target is not None:
                        target.close()
                    target = self._target()
                if number == inputs // WARM_SHARE:
                    warm = memory_bytes()
                if number % 2:
                    name = self._chance.choice(list(decoders))
                    good, decode = decoders[name]
                    bad = self._mutated(good)
                    self._attempt(name, lambda decode=decode, bad=bad: decode(bad))  # type: ignore[misc]  # bound now
                else:
                    name = self._chance.choice(list(requests))
                    given = self._swapped(requests[name])
                    assert target is not None, "made above"
                    self._attempt(name, _operation(target, name, given))
            assert target is not None, "made above"
            target.close()
            self.grown_bytes = memory_bytes() - warm
            if self.grown_bytes > MEMORY_BYTES_MAX:
                self.failures.append(f"memory grew by {self.grown_bytes >> 20} MiB")

    def control(self) -> int:
        """Return how often decoders that are not ours raise an error that is not theirs alone."""
        untyped = 0
        for _ in range(200):
            try:
                json.loads(self._mutated(b'{"a": [1, 2, {"b": "c"}], "d": 1.5}'))["a"][2]["b"].upper()
            except json.JSONDecodeError:
                pass
            except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
                untyped += 1
        return untyped

    def _attempt(self, name: str, call: Callable[[], object]) -> None:
        began = time.perf_counter()
        try:
            call()
        except (MunimentError, Refused):
            self.refused += 1
        except (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, OSError) as raised:
            self._untyped(name, raised)
        except (RuntimeError, TypeError, ValueError, EOFError, msgspec.MsgspecError) as raised:
            self._untyped(name, raised)
        took = time.perf_counter() - began
        self.slowest_s = max(self.slowest_s, took)
        if took > CALL_S_MAX:
            self.failures.append(f"{name}: a call took {took:.1f} s")

    def _untyped(self, name: str, raised: Exception) -> None:
        self.failures.append(f"{name}: {type(raised).__name__}")

    # --- bytes --------------------------------------------------------------------------------------------------------

    def _decoders(self, runtime: Runtime) -> dict[str, Decoder]:
        words = Words(small=True)
        for number in range(1, 5):
            runtime.transcripts.commit(words.turn(TALK, number, characters=60))
        key = key_of(TALK)
        bundle = runtime.evidence.export(key, View.EXPORT)
        vkey = runtime.evidence.checkpoint().vkey
        receipt = runtime.evidence.prove(key, TurnId("turn-1")).text.encode()
        cursor = runtime.transcripts.replay(key, View.HOST_UI, 1).next_cursor
        listing = runtime.transcripts.timeline(key, limit=1)
        assert cursor is not None, "there is another page"
        archive = self._scratch / "archive"
        runtime.archives.export(str(archive), ArchiveScope(kind=ScopeKind.SHARED), PrivateMaterial.INCLUDE)
        note = receipt.partition(b"\n\n")[2].decode()
        imported = msgspec.json.encode([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "yes"}])
        return {
            "evidence.verify": (bundle.text.encode(), lambda bad: runtime.evidence.verify(bad, vkey)),
            "a public key": (vkey.encode(), lambda bad: runtime.evidence.verify(bundle.text.encode(), _text(bad))),
            "receipt": (receipt, lambda bad: verifier.verify_receipt(bad, vkey)),
            "note": (note.encode(), lambda bad: verifier.parse_note(_text(bad))),
            "checkpoint": (note.encode(), lambda bad: verifier.parse_checkpoint(_text(bad))),
            "header": (b'{"fields":{},"kind":"a","log":"b","pos":1}', verifier.parse_header),
            "event": (bundle.text.splitlines()[2].encode(), verifier.parse_event),
            "cursor of a replay": (
                cursor.encode(),
                lambda bad: runtime.transcripts.replay(key, View.HOST_UI, 1, _text(bad)),
            ),
            "cursor of a timeline": (
                (listing.older_cursor or cursor).encode(),
                lambda bad: runtime.transcripts.timeline(key, limit=1, cursor=_text(bad)),
            ),
            "cursor of a list": (
                cursor.encode(),
                lambda bad: runtime.conversations.list_(cursor=_text(bad)),
            ),
            "archives.inspect": (
                archive.read_bytes(),
                lambda bad: runtime.archives.inspect(self._fed(bad)),
            ),
            "spaces.import": (imported, lambda bad: runtime.spaces.import_(self._fed(bad))),
        }

    def _fed(self, data: bytes) -> str:
        self._file.write_bytes(data)
        return str(self._file)

    def _mutated(self, good: bytes) -> bytes:
        bad = bytearray(good)
        for _ in range(self._chance.randint(1, 3)):
            at = self._chance.randrange(len(bad) + 1)
            end = min(len(bad), at + self._chance.randrange(40))
            how = self._chance.randrange(5)
            if how == 0 and at < len(bad):
                bad[at] ^= 1 << self._chance.randrange(8)
            elif how == 1:
                del bad[at:end]
            elif how == 2:
                bad[at:at] = bad[at:end]
            elif how == 3:
                bad[at:end] = self._chance.choice(SPLICES)
            else:
                del bad[self._chance.randrange(len(bad) + 1) :]
        return bytes(bad)

    # --- values -------------------------------------------------------------------------------------------------------

    def _target(self) -> Runtime:
        """Return a store in memory with a little in it."""
        runtime = muniment.open("memory:")
        for number in range(1, 4):
            runtime.transcripts.commit(Words(small=True).turn(TALK, number, characters=40))
        return runtime

    def _swapped(self, value: Any) -> Any:
        """Return a request in which one value, or a few, are hostile."""
        if self._chance.random() < 0.15:
            return self._hostile()
        if isinstance(value, dict) and value:
            name = self._chance.choice(list(value))
            return {**value, name: self._swapped(value[name])}
        if isinstance(value, list) and value:
            place = self._chance.randrange(len(value))
            return [*value[:place], self._swapped(value[place]), *value[place + 1 :]]
        return self._hostile()

    def _hostile(self) -> Any:
        deep: Any = "deep"
        if self._chance.random() < 0.05:
            for _ in range(5000):
                deep = [deep]
            return deep
        return self._chance.choice(HOSTILE)


def _operation(target: Runtime, name: str, given: Any) -> Callable[[], object]:
    group, _, verb = name.partition(".")
    named = next(one.method for one in catalogue() if (one.group, one.name) == (group, verb))
    operation = getattr(getattr(target, group), named)
    arguments = given if isinstance(given, dict) else {}
    return lambda: operation(**arguments) if isinstance(given, dict) else operation(given)


def _requests() -> dict[str, dict[str, Any]]:
    """Return a valid request for operations of each kind, as plain data."""
    key = {"channel": "default", "conversation": TALK}
    turn = plain(Words(small=True).turn(TALK, 9, characters=40))
    who = {"reason": "asked for", "requester": "drill"}
    return {
        "transcripts.commit": {"turn": turn},
        "transcripts.commit_many": {"turns": [turn]},
        "transcripts.replay": {"conversation": key, "view": "host_ui", "limit": 5, "cursor": None},
        "transcripts.latest": {"conversation": key, "n": 5, "view": "export"},
        "transcripts.timeline": {"conversation": key, "limit": 5, "view": "export"},
        "conversations.list": {"channel": "default", "lifecycle": "active", "limit": 5},
        "conversations.activity": {"ranges": [{"from_ms": 0, "until_ms": 10}], "channel": "default"},
        "conversations.resolve": {"name": f"default/{TALK}", "subject": "ada", "channel": "default"},
        "conversations.describe": {"conversation": key, "title": "About a tent", "tags": ["tent"]},
        "subjects.list": {"lifecycle": "active", "limit": 5, "cursor": None},
        "subjects.export": {"subject": "ada", "format": "json", "view": "export", "recipient": "me"},
        "transcripts.search": {
            "query": 'said "the tent" -not from:ada before:2027-01-01 role:user',
            "view": "host_ui",
            "within": {"channel": "default", "role": "user", "from_ms": 0},
            "ranking": {"sort": "relevance", "preset": "words", "asked_ms": 1_700_000_000_000, "explain": True},
            "limit": 5,
        },
        "transcripts.context": {
            "conversation": key,
            "budget_tokens": 500,
            "query": "the tent",
            "shape": "anthropic",
            "composition": {"reach": "space", "reference_percent": 30},
        },
        "transcripts.redact": {
            "conversation": key,
            "passage": {"turn": "turn-1", "message": 0, "part": 0, "start": 0, "end": 3},
            "views": ["export"],
            "reason": "legal",
            "requester": "drill",
        },
        "redactions.find": {"sought": {"text": "t?nt*", "matching": "wildcard"}, "views": ["export"], "limit": 5},
        "redactions.apply": {"sought": {"text": "tent"}, "token": "", "reason": "legal", "requester": "drill"},
        "approvals.require": {"acts": [], "within_ms": 60_000, **who},
        "approvals.confirm": {"approval": 3, "reason": "seen", "approver": "somebody"},
        "approvals.refuse": {"approval": 3, "reason": "seen", "approver": "somebody"},
        "tables.query": {
            "sql": "SELECT text FROM words WHERE words MATCH :what",
            "view": "host_ui",
            "bindings": {"what": "tent"},
        },
        "lifecycle.certificate": {"position": 9, "format": "html"},
        "lifecycle.request": {"conversation": key, "transition": "mask", "turn": "turn-1", **who},
        "lifecycle.erase": {"scope": {"conversation": TALK, "turn": "turn-2"}, **who},
        "lifecycle.review": {"action": "erase", "scope": {"conversation": TALK}},
        "lifecycle.hold": {"scope": {"conversation": TALK}, **who},
        "lifecycle.release": {"hold": 3, **who},
        "evidence.prove": {"conversation": key, "turn": "turn-1", "view": "export"},
        "evidence.export": {"conversation": key, "view": "export", "recipient": "me", "purpose": "drill"},
        "evidence.explain": {"turn": "turn-1#0", "conversation": TALK, "channel": "default"},
        "evidence.links": {"conversation": key, "limit": 5},
        "evidence.inspect": {"conversation": key, "limit": 5},
        "disclosure.reveal": {"conversation": key, "turn": "turn-1", "message": 0, **who},
    }


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
