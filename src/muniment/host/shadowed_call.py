"""Shadow mode: an adapter writes to the store that a host has and to ours, reads from the host's, and compares.

    session = shadowed(MunimentSession("talk", runtime, subject="ada"), shadow_of=SQLiteSession("talk"))
    ...
    session.shadow.report()  # what the old store has and ours does not, the reverse, and what differs

1. A write goes to the old store first. What that raises, the host sees, and ours is not written. Then ours is written.
2. A read is answered by the old store. What ours would have answered is compared with it, unless something was written
   meanwhile.
3. Nothing of ours reaches the host: a failure is a line of the report and of the log, and so is an asynchronous call
   that takes longer than `OURS_SECONDS_MAX`.

`host.shadow` has `shadowed` and, for each kind of store, the table of its calls. A row also says what does not count as
a difference, such as a time.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from muniment.errors import MunimentError
from muniment.kernel.locks import new_lock

DIFFERENCES_MAX = 1000  # that a report lists; more are counted
OURS_SECONDS_MAX = 10.0

_log = logging.getLogger("muniment.host")


class Arguments(NamedTuple):
    """What a call is given."""

    args: tuple[Any, ...]
    named: dict[str, Any]


def unchanged(value: Any) -> Any:
    """Return what is given."""
    return value


def copied(given: Arguments) -> Arguments:
    """Return a deep copy, for calls that change what they are given."""
    return copy.deepcopy(given)


def as_given(given: Arguments, _result: Any) -> Arguments:
    """Give to ours what the old store was given."""
    return given


class Effects(NamedTuple):
    """Whether a call writes, and whether its result tells what a store has."""

    writes: bool
    reads: bool


class ShadowedCall(NamedTuple):
    """A method or property of an adapter: what is done in which store.

    `seen` returns what is compared of a result; None compares nothing. `effects` says whether a call writes and reads
    where that depends on its arguments. `prepared` returns the arguments for ours, before the old store has them;
    `completed` adds what the old store answered, such as an id that it made.
    """

    writes: bool = False
    reaches_ours: bool = True
    seen: Callable[[Any], Any] | None = None
    prepared: Callable[[Arguments], Arguments] = unchanged
    completed: Callable[[Arguments, Any], Arguments] = as_given
    effects: Callable[[Arguments], Effects] | None = None


READ = ShadowedCall(seen=unchanged)
WRITE = ShadowedCall(writes=True)
OLD_ALONE = ShadowedCall(reaches_ours=False)


class RunningCall(NamedTuple):
    """A call that has begun: what it does, and how many writes had begun and ended before it."""

    effects: Effects
    begun: int
    ended: int


class DifferenceKind(StrEnum):
    """What is wrong with ours: it lacks something, has something more or else, or failed."""

    MISSING = "missing"
    EXTRA = "extra"
    DIFFERENT = "different"
    FAILED = "failed"


class ShadowDifference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One difference: in the result of which call, at which place of it (`[2]`, `.title`), and what both stores have.

    `old` and `ours` are content. Of a failure, `reason` is the code.
    """

    kind: DifferenceKind
    call: str
    place: str = ""
    old: Any = None
    ours: Any = None
    reason: str | None = None


class ShadowReport(Struct, frozen=True, kw_only=True):
    """What was done and compared since the shadow was made, and the first differences; `found` counts all of them.

    `reads` are results that were compared, of calls that write, too. `unsettled` are those that differ and are not
    counted as found, because others wrote meanwhile.
    """

    writes: int
    reads: int
    unsettled: int
    found: int
    differences: list[ShadowDifference]

    @property
    def same(self) -> bool:
        """Whether something was compared, and no difference was found."""
        return self.reads > 0 and self.found == 0


class Shadow:
    """What the two stores of an adapter did, and how they differ. Thread-safe; never waits for a store."""

    def __init__(self, ours: Any, old: Any, calls: Mapping[str, ShadowedCall]) -> None:
        self.ours, self.old, self.calls = ours, old, calls
        self._lock = new_lock()
        self._begun = self._ended = self._reads = self._unsettled = self._found = 0
        self._differences: list[ShadowDifference] = []

    def report(self) -> ShadowReport:
        """Return what was found so far."""
        with self._lock:
            return ShadowReport(
                writes=self._ended,
                reads=self._reads,
                unsettled=self._unsettled,
                found=self._found,
                differences=list(self._differences),
            )

    def compare(self, name: str, *args: Any) -> list[ShadowDifference]:
        """Ask both stores and return every difference: a full comparison, with a call that reads everything.

        Raises what either of them raises.
        """
        old, ours = (_all(_called(store, name, args, {})) for store in (self.old, self.ours))
        return self._between(name, old, ours)

    async def acompare(self, name: str, *args: Any) -> list[ShadowDifference]:
        """Do what `compare` does, with an asynchronous call."""
        old, ours = [await _all_async(_called(store, name, args, {})) for store in (self.old, self.ours)]
        return self._between(name, old, ours)

    def _between(self, name: str, old: Any, ours: Any) -> list[ShadowDifference]:
        seen = self.calls[name].seen or unchanged
        return differences(name, plain(seen(old)), plain(seen(ours)))

    # --- what calls note ----------------------------------------------------------------------------------------------

    def begin(self, call: ShadowedCall, given: Arguments) -> RunningCall:
        """Note that a call begins."""
        effects = call.effects(given) if call.effects is not None else Effects(call.writes, call.seen is not None)
        with self._lock:
            running = RunningCall(effects, self._begun, self._ended)
            self._begun += effects.writes
        return running

    def end(self, running: RunningCall) -> None:
        """Note that a call has ended in both stores, or failed."""
        with self._lock:
            self._ended += running.effects.writes

    def note(self, name: str, old: Any, ours: Any, running: RunningCall) -> None:
        """Compare two results and keep what differs, unless others wrote while the call ran."""
        if not running.effects.reads:
            return
        found = self._between(name, old, ours)
        with self._lock:
            self._reads += 1
            by_others = (self._begun - running.effects.writes, self._ended)
            if found and (running.begun != running.ended or by_others != (running.begun, running.ended)):
                self._unsettled += 1
                return
            self._keep(found)

    def failed(self, name: str, error: BaseException) -> None:
        """Keep and log a failure of ours: by its code, never with content."""
        code = error.code if isinstance(error, MunimentError) else type(error).__name__
        with self._lock:
            self._keep([ShadowDifference(kind=DifferenceKind.FAILED, call=name, reason=code)])
        _log.error("a shadow failed in %s: %s", name, code)

    def _keep(self, found: Sequence[ShadowDifference]) -> None:
        self._found += len(found)
        self._differences += found[: DIFFERENCES_MAX - len(self._differences)]


def shadow(adapter: Any, old: Any, calls: Mapping[str, ShadowedCall]) -> None:
    """Make an adapter the shadow of an old store: it stays of its class, and has its report at `shadow`.

    Everything that is not in `calls` the adapter does as before, by itself.
    """
    kept = Shadow(copy.copy(adapter), old, calls)
    kind = type(adapter)
    members = {name: _member(kind, name, kept) for name in calls if hasattr(kind, name)}
    named = {"shadow": kept, "__doc__": kind.__doc__, "__slots__": ()}  # the same layout, also of a class with slots
    adapter.__class__ = type(kind.__name__, (kind,), {**members, **named})


def _member(kind: Any, name: str, kept: Shadow) -> Any:
    """Return what stands in for a method or property of an adapter. A method has the signature that the old one has."""
    original = inspect.getattr_static(kind, name)
    if isinstance(original, property):
        return property(lambda _self: _run(kept, name, Arguments((), {})))
    method = getattr(type(kept.old), name)
    if inspect.iscoroutinefunction(method) or inspect.iscoroutinefunction(original):

        async def awaited(_self: Any, *args: Any, **named: Any) -> Any:
            return await _run_async(kept, name, Arguments(args, named))

        return functools.wraps(method)(awaited)
    if inspect.isasyncgenfunction(method) or inspect.isasyncgenfunction(original):

        async def listed(_self: Any, *args: Any, **named: Any) -> AsyncIterator[Any]:
            for one in await _run_async(kept, name, Arguments(args, named)):
                yield one

        return functools.wraps(method)(listed)

    def called(_self: Any, *args: Any, **named: Any) -> Any:
        result = _run(kept, name, Arguments(args, named))
        return iter(result) if inspect.isgeneratorfunction(method) else result

    return functools.wraps(method)(called)


def _run(kept: Shadow, name: str, given: Arguments) -> Any:
    call = kept.calls[name]
    if not call.reaches_ours:
        return _called(kept.old, name, *given)
    running = kept.begin(call, given)
    try:
        prepared = _guarded(kept, name, lambda: call.prepared(given))
        result = _all(_called(kept.old, name, *given))
        if prepared is not None:
            _guarded(kept, name, lambda: _after(kept, name, prepared, result, running))
        return result
    finally:
        kept.end(running)


def _after(kept: Shadow, name: str, prepared: Arguments, result: Any, running: RunningCall) -> None:
    completed = kept.calls[name].completed(prepared, result)
    kept.note(name, result, _all(_called(kept.ours, name, *completed)), running)


async def _run_async(kept: Shadow, name: str, given: Arguments) -> Any:
    call = kept.calls[name]
    if not call.reaches_ours:
        return await _all_async(_called(kept.old, name, *given))
    running = kept.begin(call, given)
    try:
        prepared = _guarded(kept, name, lambda: call.prepared(given))
        result = await _all_async(_called(kept.old, name, *given))
        if prepared is not None:
            # not cancelled when it takes too long: an append that has begun is completed
            ours = asyncio.ensure_future(_after_async(kept, name, prepared, result, running))
            done, _ = await asyncio.wait([ours], timeout=OURS_SECONDS_MAX)
            if not done:
                kept.failed(name, TimeoutError())
        return result
    finally:
        kept.end(running)


async def _after_async(kept: Shadow, name: str, prepared: Arguments, result: Any, running: RunningCall) -> None:
    try:
        completed = kept.calls[name].completed(prepared, result)
        kept.note(name, result, await _all_async(_called(kept.ours, name, *completed)), running)
    except Exception as error:  # nothing of ours reaches the host
        kept.failed(name, error)


def _guarded(kept: Shadow, name: str, ours: Callable[[], Any]) -> Any:
    """Do something of ours, and note when it fails."""
    try:
        return ours()
    except Exception as error:  # nothing of ours reaches the host
        kept.failed(name, error)
        return None


def _called(store: Any, name: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    member = getattr(store, name)
    return member(*args, **named) if callable(member) else member


def _all(result: Any) -> Any:
    """Return a result; what yields its elements one by one as a list."""
    return list(result) if isinstance(result, Iterator) else result


async def _all_async(result: Any) -> Any:
    if isinstance(result, AsyncIterator):
        return [one async for one in result]
    return _all(await result)


# --- comparing --------------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return a value as lists, dictionaries and plain values, where it can be; models of pydantic by their fields."""
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_plain_object))


def _plain_object(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="python")
    if isinstance(value, Mapping | Iterator):
        return dict(value) if isinstance(value, Mapping) else list(value)
    return vars(value) if hasattr(value, "__dict__") else repr(value)


def differences(call: str, old: Any, ours: Any, place: str = "") -> list[ShadowDifference]:
    """Return how two plain values differ; lists by their elements in order, dictionaries by their members."""
    if old == ours:
        return []
    if isinstance(old, dict) and isinstance(ours, dict):
        found: list[ShadowDifference] = []
        for name in [*old, *(name for name in ours if name not in old)]:
            at = f"{place}.{name}"
            if name not in ours:
                found.append(ShadowDifference(kind=DifferenceKind.MISSING, call=call, place=at, old=old[name]))
            elif name not in old:
                found.append(ShadowDifference(kind=DifferenceKind.EXTRA, call=call, place=at, ours=ours[name]))
            else:
                found += differences(call, old[name], ours[name], at)
        return found
    if isinstance(old, list) and isinstance(ours, list):
        return _of_lists(call, old, ours, place)
    kind = DifferenceKind.MISSING if ours is None else DifferenceKind.EXTRA if old is None else DifferenceKind.DIFFERENT
    return [ShadowDifference(kind=kind, call=call, place=place, old=old, ours=ours)]


def _of_lists(call: str, old: list[Any], ours: list[Any], place: str) -> list[ShadowDifference]:
    spell = msgspec.json.Encoder(order="deterministic").encode
    matcher = SequenceMatcher(None, list(map(spell, old)), list(map(spell, ours)), autojunk=False)
    found: list[ShadowDifference] = []
    for change, begin, end, ours_begin, ours_end in matcher.get_opcodes():
        if change == "equal":
            continue
        both = min(end - begin, ours_end - ours_begin)
        for step in range(both):
            at = f"{place}[{begin + step}]"
            found += differences(call, old[begin + step], ours[ours_begin + step], at)
        for index in range(begin + both, end):
            found.append(
                ShadowDifference(kind=DifferenceKind.MISSING, call=call, place=f"{place}[{index}]", old=old[index])
            )
        for index in range(ours_begin + both, ours_end):
            found.append(
                ShadowDifference(kind=DifferenceKind.EXTRA, call=call, place=f"{place}[{index}]", ours=ours[index])
            )
    return found
