"""Stores of benchmarks and drills: a directory of its own for each, with its key and its pin beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

import muniment
from muniment.crypto.store import SPACES, open_keys
from muniment.errors import UnknownConversation
from muniment.events.identity import ConversationKey
from muniment.evidence.pin import FilePin
from muniment.governance.views import View
from muniment.kernel.sources import system_sources
from muniment.log.sqlite import SqliteStore
from muniment.operations.transcripts.replay import Slice
from muniment.runtime.runtime import Runtime
from muniment.search import view_index
from muniment.search.index_memory import IndexMemory
from muniment.space.open_store import LOG
from muniment.space.options import DEFAULTS, Options
from muniment.space.read_models import IndexSetup
from muniment.space.space import Space
from replay.words import key_of

PAGE_TURNS_MAX = 500


def opened(directory: Path, space: str = "default", options: Options | None = None) -> Runtime:
    """Open the store in a directory through the front door; make it on first use."""
    pinned = replace(options or DEFAULTS, pin=FilePin(directory / "pins"))
    return muniment.open(directory / "store", keys=_key(directory), space=space, options=pinned)


def inside(directory: Path) -> Space:
    """Open the engine of a store of one space below the front door; whoever asks closes its `store`."""
    sources = system_sources()
    stored = open_keys(directory / "store", _key(directory), sources)
    [keys] = stored.spaces(sources.entropy)
    return Space(SqliteStore(stored.space_directory(keys.name) / LOG), keys, Options(), IndexSetup(IndexMemory(0)))


def space_below(directory: Path) -> Path:
    """Return the directory of the one space of a store."""
    [log] = (directory / "store").glob(f"{SPACES}/*/{LOG}")
    return log.parent


@contextmanager
def keeping_small_indexes() -> Iterator[None]:
    """Let indexes be kept at rest however small they are."""
    usual = view_index.SAVED_DOCUMENTS_MIN
    view_index.SAVED_DOCUMENTS_MIN = 0
    try:
        yield
    finally:
        view_index.SAVED_DOCUMENTS_MIN = usual


def pages_of(runtime: Runtime, conversation: ConversationKey, view: View) -> list[Slice]:
    """Return all pages of a conversation; none where no turn of it is there, which is an answer and no refusal."""
    pages: list[Slice] = []
    try:
        while not pages or pages[-1].has_more:
            cursor = pages[-1].next_cursor if pages else None
            pages.append(runtime.transcripts.replay(conversation, view, PAGE_TURNS_MAX, cursor))
    except UnknownConversation:
        assert not pages, "a conversation does not end on a later page"
    return pages


def turns_of(runtime: Runtime, conversation: str) -> list[str]:
    """Return the ids of all turns of a conversation in the order of their sequence."""
    return [turn.turn for page in pages_of(runtime, key_of(conversation), View.RAW_OWNER) for turn in page.turns]


def _key(directory: Path) -> str:
    return f"file:{directory / 'root.key'}"
