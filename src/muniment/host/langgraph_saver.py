"""Checkpoints of LangGraph as evidence: a thread is a conversation, a checkpoint is a turn, and so are pending writes.

    with MunimentSaver("agents") as saver:
        graph = builder.compile(checkpointer=saver)
        graph.invoke(question, {"configurable": {"thread_id": "order-9", "user_id": "ada"}})

The state of a checkpoint is kept as the serializer of LangGraph wrote it, and the view `raw_owner` alone shows it: the
words in its channels are no messages of the conversation, so no search finds them. What is put is durable when the call
returns. Reading one checkpoint reads its turn and those of its pending writes, however long the thread is.

Nothing is overwritten: a checkpoint that is put again is one more turn, and the last one counts. The newest checkpoint
is the one of the greatest id, whenever it was put. Deleting a thread, runs
or old checkpoints erases their content for good, with a receipt each (`muniment guide erasure`). What stays is the fact
that they were: the ids of the thread, namespaces, checkpoints, runs' turns and subject, and the times. A turn that is
held is kept, and goes on being read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from muniment.events.identity import ConversationKey
from muniment.host.adapted_store import AdaptedStore, OnAdaptedStore, StoreGiven
from muniment.host.off_loop import off_loop
from muniment.host.records.escaped_name import escaped_name
from muniment.host.records.langgraph_checkpoints import (
    CHECKPOINT,
    NAMESPACE,
    WRITES,
    KeptCheckpoint,
    KeptCheckpoints,
    named_config,
)
from muniment.host.records.record_chains import Record, RecordChains

CHANNEL = "langgraph"
SUBJECT_KEY = "user_id"
DELTA_COUNTERS = "counters_since_delta_snapshot"


class MunimentSaver(OnAdaptedStore, BaseCheckpointSaver[str]):
    """A checkpointer that keeps checkpoints as turns of a store.

    `store` is a runtime, of `open` or of `connect`, or the path of a store to open; `close` closes only what was opened
    here. `channel` has one conversation for each thread. The subject of a turn, under whom its content can be found and
    erased, is the `user_id` of the run's `configurable`, or `subject` where it has none. Any thread may call any
    method, and the awaited ones never hold up an event loop. Takes an access that includes the view `raw_owner`.
    """

    def __init__(
        self,
        store: StoreGiven,
        *,
        channel: str = CHANNEL,
        subject: str = CHANNEL,
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self._store = AdaptedStore(store)
        self._chains = RecordChains(self._store.runtime, channel)
        self._kept = KeptCheckpoints(self._chains)
        self._subject = subject

    # --- putting ------------------------------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Append a checkpoint and return the config that names it; putting the same one again changes nothing."""
        del new_versions  # every checkpoint has its whole state
        thread, space = _thread(config), _space(config)
        known = get_checkpoint_metadata(config, metadata)
        head = {
            "record": CHECKPOINT,
            "thread": thread,
            "namespace": space,
            "checkpoint": checkpoint["id"],
            "parent": get_checkpoint_id(config),
            "run": known.get("run_id"),
        }
        place, subject = self._chains.place(thread), self._subject_of(config)
        head["late"] = self._kept.is_late(place, checkpoint["id"])
        if space:
            marker = {"record": NAMESPACE, "thread": thread, "namespace": space}
            self._chains.begin(place, escaped_name(space, ""), subject, marker)
        self._append(place, escaped_name(space, checkpoint["id"]), subject, head, [checkpoint, known])
        return named_config(thread, space, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Append what a task wrote after a checkpoint, all of it or nothing; the checkpoint may come later."""
        thread, space = _thread(config), _space(config)
        checkpoint = config["configurable"]["checkpoint_id"]
        head = {
            "record": WRITES,
            "thread": thread,
            "namespace": space,
            "checkpoint": checkpoint,
            "task": [task_path, task_id],
            "writes": [[WRITES_IDX_MAP.get(channel, number), channel] for number, (channel, _) in enumerate(writes)],
        }
        place, key = self._chains.place(thread), escaped_name(space, checkpoint)
        self._append(place, key, self._subject_of(config), head, [value for _, value in writes])

    def _append(
        self, place: ConversationKey, key: str, subject: str, head: dict[str, Any], values: Sequence[Any]
    ) -> None:
        typed = [self.serde.dumps_typed(value) for value in values]
        head = head | {"sizes": [[kind, len(written)] for kind, written in typed]}
        self._chains.append(place, key, subject, head, b"".join(written for _, written in typed))

    def _subject_of(self, config: RunnableConfig) -> str:
        user = config["configurable"].get(SUBJECT_KEY)
        return escaped_name(str(user)) if user else self._subject

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return the version of a channel that follows another one, also one that another checkpointer gave."""
        del channel
        return f"{int(str(current or 0).partition('.')[0]) + 1:032}"

    # --- reading ------------------------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a config names, or the newest one of its thread and namespace."""
        place, space = self._chains.place(_thread(config)), _space(config)
        named = get_checkpoint_id(config)
        kept = self._kept.named(place, space, named) if named else self._kept.newest(place, space)
        return None if kept is None else self._kept.tuple_of(kept, self.serde)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the name of the framework
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints of a thread, newest first; without a config those of all threads, one after another.

        `filter` compares values of the metadata. `before` leaves out its checkpoint and all whose id is not less.
        """
        places: Iterable[ConversationKey] = self._chains.places()
        space = named = None
        if config is not None:
            places = [self._chains.place(_thread(config))]
            space, named = config["configurable"].get("checkpoint_ns"), get_checkpoint_id(config)
        end = get_checkpoint_id(before) if before else None
        found = (
            kept
            for place in places
            for kept in self._kept.newest_first(place, space)
            if (named is None or kept.id == named) and (end is None or kept.id < end)
            if not filter or self._has(kept, filter)
        )
        return (self._kept.tuple_of(kept, self.serde) for kept in islice(found, limit))

    def _has(self, kept: KeptCheckpoint, wanted: dict[str, Any]) -> bool:
        known = self._kept.values(kept.place, kept.record, self.serde)[1]
        return all(known.get(name) == value for name, value in wanted.items())

    # --- deleting and copying -----------------------------------------------------------------------------------------

    def delete_thread(self, thread_id: str) -> None:
        """Erase the content of all checkpoints and writes of a thread, in one step with one receipt."""
        self._erase(self._chains.place(str(thread_id)), None, "thread deleted")

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Erase the content of the checkpoints that runs made, with what was written after them.

        This reads every thread of the channel, and erases turn by turn.
        """
        runs = set(map(str, run_ids))
        if not runs:
            return
        for place in tuple(self._chains.places()):
            for kept in tuple(self._kept.newest_first(place)):
                if kept.record.head["run"] in runs:
                    for record in kept.chain:
                        self._erase(place, record, "run deleted")

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Append all that can be seen of a thread to another one, oldest first; a repeat changes nothing there."""
        source, target = self._chains.place(str(source_thread_id)), self._chains.place(str(target_thread_id))
        for record in reversed(tuple(self._chains.newest_first(source))):
            head = {**record.head, "thread": str(target_thread_id)}
            if head["record"] == CHECKPOINT:
                head["late"] = self._kept.is_late(target, head["checkpoint"])
            self._chains.append(target, record.key, record.subject, head, self._chains.body(source, record))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Erase the content of what is older than the newest checkpoint of each namespace (`keep_latest`), or `delete`.

        What was written after the newest checkpoint or for one to come stays, and so do the checkpoints before it from
        which channels that keep only differences are rebuilt. It erases turn by turn.
        """
        if strategy not in {"keep_latest", "delete"}:
            raise ValueError("the strategy of pruning is keep_latest or delete")
        for thread in map(str, thread_ids):
            place = self._chains.place(thread)
            if strategy == "delete":
                self._erase(place, None, "thread pruned")
            else:
                self._prune(place)

    def _prune(self, place: ConversationKey) -> None:
        records = [record for record in self._chains.newest_first(place) if record.head["record"] != NAMESPACE]
        newest: dict[str, str] = {}
        for record in records:
            if record.head["record"] == CHECKPOINT:
                space, checkpoint = record.head["namespace"], record.head["checkpoint"]
                newest[space] = max(checkpoint, newest.get(space, ""))
        needed = {key for space, checkpoint in newest.items() for key in self._needed(place, space, checkpoint)}
        for record in records:
            is_older = record.head["checkpoint"] < newest.get(record.head["namespace"], "")
            if is_older and record.key not in needed:
                self._erase(place, record, "thread pruned")

    def _needed(self, place: ConversationKey, space: str, checkpoint: str | None) -> set[str]:
        """Return the keys of a checkpoint and of those before it, back to where each of its differences begins."""
        needed: set[str] = set()
        missing: set[str] | None = None
        while checkpoint is not None and (kept := self._kept.named(place, space, checkpoint)) is not None:
            state, known = self._kept.values(place, kept.record, self.serde)
            needed.add(kept.record.key)
            missing = set(known.get(DELTA_COUNTERS) or ()) if missing is None else missing
            missing -= set(state["channel_values"])
            checkpoint = kept.parent if missing else None
        return needed

    def _erase(self, place: ConversationKey, record: Record | None, reason: str) -> None:
        self._chains.erase(place, None if record is None else record.turn, reason, self._subject)

    # --- the same for event loops -------------------------------------------------------------------------------------

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Append a checkpoint as `put` does; it is finished when its caller is cancelled."""
        return await off_loop(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Append what a task wrote as `put_writes` does; it is finished when its caller is cancelled."""
        await off_loop(self.put_writes, config, writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint as `get_tuple` does."""
        return await off_loop(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the name of the framework
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints as `list` does."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (kept := await off_loop(next, found, None)) is not None:
            yield kept

    async def adelete_thread(self, thread_id: str) -> None:
        """Erase a thread as `delete_thread` does."""
        await off_loop(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Erase what runs made as `delete_for_runs` does."""
        await off_loop(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread as `copy_thread` does."""
        await off_loop(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Erase older checkpoints as `prune` does."""
        await off_loop(self.prune, thread_ids, strategy=strategy)


def _thread(config: RunnableConfig) -> str:
    return str(config["configurable"]["thread_id"])


def _space(config: RunnableConfig) -> str:
    return str(config["configurable"].get("checkpoint_ns") or "")
