"""What adapters have read of conversations, kept for as long as the store says that it is still so (decision 0203).

Frameworks read a whole history before each step. Here every read begins with one small question
(`conversations.changed`): where nothing changed, what was read before is the answer; where turns were appended, these
are read; after any other change everything is read again. So a view never shows what it has begun to hide.

What is kept is plain text, in the memory of this process: up to `KEPT_BYTES_MAX` for a runtime, and less where it was
used long ago. It is dropped with the next read after a change, when this process erases content, and when the runtime
is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from muniment.errors import AccessDenied
from muniment.events.identity import ConversationKey
from muniment.host.recently_used import RecentlyUsed
from muniment.kernel.locks import new_lock
from muniment.operations.conversations.conversation_change import ChangeSince, ConversationChange
from muniment.runtime.runtime import Runtime

KEPT_BYTES_MAX = 16 * 1024 * 1024
CONVERSATION_BYTES_MAX = 4 * 1024 * 1024
TURN_BYTES = 200  # that a turn takes beside its text, about
APPENDED_TURNS_MAX = 100  # since the last read; after more, all is read again

T = TypeVar("T")
Place = tuple[ConversationKey, Hashable]


class TurnMade(NamedTuple, Generic[T]):
    """What was made of a turn, and about how many bytes that has."""

    sequence: int
    made: T
    size: int


class PagePlace(NamedTuple):
    """Where a page is: at the kind of anchor that has this name, and a sequence."""

    at: str = "latest"
    sequence: int | None = None


NEWEST = PagePlace()


class PageMade(NamedTuple, Generic[T]):
    """What was made of a page: its turns, newest first, and where the page before it is.

    `digest` is that of the state of the conversation which the page shows; without it nothing of the page is kept.
    """

    turns: list[TurnMade[T]]
    older: PagePlace | None
    digest: str | None
    has_newer: bool = False


PageReader = Callable[[PagePlace, int], PageMade[T]]


class KeptConversation(NamedTuple, Generic[T]):
    """The newest turns of a conversation in one state of it, newest first, and where those before them are."""

    state: str
    digest: str
    turns: tuple[TurnMade[T], ...] = ()
    older: PagePlace | None = NEWEST
    size: int = 0

    def grown(self, page: PageMade[T]) -> KeptConversation[T] | None:
        """Return this with the page before it; None where that is of another state, or too large."""
        size = self.size + _size(page.turns)
        if page.digest != self.digest or size > CONVERSATION_BYTES_MAX:
            return None
        return self._replace(turns=(*self.turns, *page.turns), older=page.older, size=size)

    def with_newer(self, page: PageMade[T], state: str) -> KeptConversation[T] | None:
        """Return this with the turns that came, less the oldest ones where it is too large; None where some miss."""
        if page.digest is None or page.has_newer:
            return None
        kept = KeptConversation[T](state, page.digest, (*page.turns, *self.turns), self.older)
        size = self.size + _size(page.turns)
        if size <= CONVERSATION_BYTES_MAX:
            return kept._replace(size=size)
        return kept._newest_half()

    def _newest_half(self) -> KeptConversation[T] | None:
        turns = self.turns[: len(self.turns) // 2]
        size = _size(turns)
        if not turns or size > CONVERSATION_BYTES_MAX:
            return None
        older = PagePlace("before", turns[-1].sequence)
        return self._replace(turns=turns, older=older, size=size)


class KeptReads:
    """What was read through one runtime. Thread-safe."""

    def __init__(self, runtime: Runtime) -> None:
        self._changed = runtime.conversations.changed
        self._may_ask = True
        self._lock = new_lock()
        self._kept: RecentlyUsed[Place, KeptConversation[Any]] = RecentlyUsed(KEPT_BYTES_MAX)

    @property
    def size(self) -> int:
        """About how many bytes are kept."""
        with self._lock:
            return self._kept.size

    def newest_first(
        self, key: ConversationKey, kind: Hashable, read: PageReader[T], sizes: Iterable[int]
    ) -> Iterator[T]:
        """Yield what was made of the turns of a conversation, newest first, reading no further than it is asked.

        `kind` says what is made of turns, and through which views. `sizes` are those of the pages, in turns.
        """
        place, pages = (key, kind), iter(sizes)
        kept, older = self._followed(place, read)
        if kept is not None:
            yield from (turn.made for turn in kept.turns)
        while older is not None:
            page = read(older, next(pages))
            kept = None if kept is None else kept.grown(page)
            if kept is not None:
                self._keep(place, kept)
            older = page.older
            yield from (turn.made for turn in page.turns)

    def whole(self, key: ConversationKey, kind: Hashable, read: PageReader[T]) -> list[T] | None:
        """Return what was made of all turns of a conversation, newest first, where that is kept; else None."""
        place = (key, kind)
        with self._lock:
            if place not in self._kept:
                return None
        kept, older = self._followed(place, read)
        return None if kept is None or older is not None else [turn.made for turn in kept.turns]

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._kept.clear()

    def _followed(self, place: Place, read: PageReader[T]) -> tuple[KeptConversation[T] | None, PagePlace | None]:
        """Return what may be kept of a conversation, with what is kept and still so, and where the rest of it is."""
        with self._lock:
            known: KeptConversation[T] | None = self._kept.get(place)
        if not self._may_ask:
            return None, NEWEST
        try:
            now = self._changed(place[0], None if known is None else known.state)
        except AccessDenied:  # to an access of named operations, which may still read
            self._may_ask = False
            self.clear()
            return None, NEWEST
        kept = None if known is None else _brought_up(known, now, read)
        if kept is not None:
            self._keep(place, kept)
            return kept, kept.older
        with self._lock:
            self._kept.drop(place)
        if now.change is ChangeSince.MISSING:
            return None, None
        if now.state is None or now.digest is None:
            return None, NEWEST
        return KeptConversation(now.state, now.digest), NEWEST

    def _keep(self, place: Place, kept: KeptConversation[T]) -> None:
        with self._lock:
            self._kept.put(place, kept, kept.size)


def _brought_up(known: KeptConversation[T], now: ConversationChange, read: PageReader[T]) -> KeptConversation[T] | None:
    """Return what is kept with the turns that were appended since; None where it is not so any more."""
    if now.change is ChangeSince.NONE:
        return known
    if now.change is not ChangeSince.APPENDED or now.state is None or not known.turns:
        return None
    page = read(PagePlace("after", known.turns[0].sequence), APPENDED_TURNS_MAX)
    return known.with_newer(page, now.state) if page.digest == now.digest else None


def _size(turns: Iterable[TurnMade[T]]) -> int:
    return sum(turn.size + TURN_BYTES for turn in turns)


_of_runtimes: WeakKeyDictionary[Runtime, KeptReads] = WeakKeyDictionary()
_lock = new_lock()


def kept_reads(runtime: Runtime) -> KeptReads:
    """Return what is kept of what was read through a runtime."""
    with _lock:
        kept = _of_runtimes.get(runtime)
        if kept is None:
            kept = _of_runtimes[runtime] = KeptReads(runtime)
            runtime.on_forget(kept.clear)
        return kept
