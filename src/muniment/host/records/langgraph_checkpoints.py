"""Checkpoints of LangGraph in chains of records: which record is what of a checkpoint, and how one is read.

All records of a checkpoint have one key, which is made of its namespace and its id: the checkpoint itself, once or more
often, and what tasks wrote. They may come in any order. The newest record of the checkpoint counts, and of what a task
wrote under one number the first; of errors and interrupts, whose numbers are below 0, the last.

The framework orders checkpoints by their ids. They are nearly always put in that order, so one that is not has a mark
(`late`), and whoever reads goes on to one without a mark. Whether to mark one, a process knows from what a thread had
when it first put to it and from its own puts since; what others put since then is not read again.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, writes_sort_key
from langgraph.checkpoint.serde.base import SerializerProtocol

from muniment.events.identity import ConversationKey
from muniment.host.recently_used import RecentlyUsed
from muniment.host.records.escaped_name import escaped_name
from muniment.host.records.record_chains import Record, RecordChains
from muniment.kernel.locks import new_lock

THREADS_CACHED_MAX = 4096
NAMESPACE = "namespace"
CHECKPOINT = "checkpoint"
WRITES = "writes"


class KeptCheckpoint(NamedTuple):
    """A checkpoint as it is kept: its conversation, its record, and all records of its key in their order."""

    place: ConversationKey
    record: Record
    chain: Sequence[Record]

    @property
    def id(self) -> str:
        """The id that the framework gave it."""
        return str(self.record.head["checkpoint"])

    @property
    def parent(self) -> str | None:
        """The id of the checkpoint before it."""
        parent: str | None = self.record.head["parent"]
        return parent


class KeptCheckpoints:
    """The checkpoints in the conversations of a channel."""

    def __init__(self, chains: RecordChains) -> None:
        self._chains = chains
        self._greatest: RecentlyUsed[str, str] = RecentlyUsed(THREADS_CACHED_MAX)  # id of a thread, as far as known
        self._lock = new_lock()

    def is_late(self, place: ConversationKey, checkpoint: str) -> bool:
        """Tell whether a checkpoint that is about to be put comes after one of a greater id."""
        thread = place.conversation
        with self._lock:
            known = self._greatest.get(thread)
        if known is None:
            known = max((kept.id for kept in islice(self.newest_first(place), 1)), default="")
        with self._lock:
            known = max(known, self._greatest.get(thread) or "")
            self._greatest.put(thread, max(known, checkpoint))
        return checkpoint < known

    def named(self, place: ConversationKey, space: str, checkpoint: str) -> KeptCheckpoint | None:
        """Return the checkpoint of a namespace and id."""
        chain = self._chains.read(place, escaped_name(space, checkpoint))
        records = [record for record in chain if record.head["record"] == CHECKPOINT]
        return KeptCheckpoint(place, records[-1], chain) if records else None

    def newest(self, place: ConversationKey, space: str) -> KeptCheckpoint | None:
        """Return the newest checkpoint of a namespace."""
        if space and not self._chains.was_begun(place, escaped_name(space, "")):
            return None
        return next(self.newest_first(place, space), None)

    def newest_first(self, place: ConversationKey, space: str | None = None) -> Iterator[KeptCheckpoint]:
        """Yield the checkpoints of a namespace, or of all, greatest id first, reading no further than it is asked."""
        held: list[KeptCheckpoint] = []  # until one without a mark shows that none before it has a greater id
        for kept in self._last_put_first(place, space):
            insort(held, kept, key=lambda one: one.id)
            while not kept.record.head.get("late") and held and held[-1].id >= kept.id:
                yield held.pop()
        yield from reversed(held)

    def _last_put_first(self, place: ConversationKey, space: str | None) -> Iterator[KeptCheckpoint]:
        newer: defaultdict[str, list[Record]] = defaultdict(list)
        yielded: set[str] = set()
        for record in self._chains.newest_first(place):
            if record.key in yielded or (space is not None and record.head["namespace"] != space):
                continue
            newer[record.key].append(record)
            if record.head["record"] == CHECKPOINT:
                yielded.add(record.key)
                older = self._chains.read(place, record.key, until=record.number)
                yield KeptCheckpoint(place, record, [*older, *reversed(newer.pop(record.key))])

    def values(self, place: ConversationKey, record: Record, serde: SerializerProtocol) -> list[Any]:
        """Return the values of which the body of a record consists."""
        body, values, start = self._chains.body(place, record), [], 0
        for kind, size in record.head["sizes"]:
            values.append(serde.loads_typed((kind, body[start : start + size])))
            start += size
        return values

    def tuple_of(self, kept: KeptCheckpoint, serde: SerializerProtocol) -> CheckpointTuple:
        """Return a checkpoint as the framework takes it."""
        thread, space = kept.record.head["thread"], kept.record.head["namespace"]
        state, metadata = self.values(kept.place, kept.record, serde)
        written: dict[tuple[str, int], tuple[str, str, Any]] = {}
        for record in kept.chain:
            if record.head["record"] == WRITES:
                path, task = record.head["task"]
                values = self.values(kept.place, record, serde)
                for (number, channel), value in zip(record.head["writes"], values, strict=True):
                    if number < 0 or (task, number) not in written:
                        written[task, number] = (path, channel, value)
        ordered = sorted(written.items(), key=lambda item: writes_sort_key(item[1][0], *item[0]))
        return CheckpointTuple(
            named_config(thread, space, kept.id),
            state,
            metadata,
            None if kept.parent is None else named_config(thread, space, kept.parent),
            [(task, channel, value) for (task, _), (_, channel, value) in ordered],
        )


def named_config(thread: str, space: str, checkpoint: str) -> RunnableConfig:
    """Return the config that names a checkpoint."""
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space, "checkpoint_id": checkpoint}}
