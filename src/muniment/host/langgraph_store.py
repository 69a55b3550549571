"""Long-term memory of LangGraph as evidence: a namespace is a conversation, each value that a key was given is a turn.

    store = MunimentStore("agents")
    graph = builder.compile(store=store)
    store.put(("memories", "ada"), "tea", {"text": "Prefers green tea"})
    store.search(("memories",), query="what does she drink?")

Values are turns and no memory items: items are statements with evidence, of which JSON, or the same words again, is
refused, and a store has to give back exactly what was put. Their words are searched, shown and redacted like all words;
a value comes back as the view `model_context` shows it, with markers for what is redacted or detected, or, where that
is no JSON any more, not at all. A put over a value
leaves the older one in the history of the conversation. A delete masks all values of the key: no view shows them and no
search finds them, and what an agent once knew stays on record until it is erased (`muniment guide erasure`). With
`erase_deleted` it erases them for good at once, with a receipt each, which takes longer.

A search with a query ranks and leaves nothing out. With an `index` it compares the vectors of its `embed`; without one
the search of the store ranks, by words, and by meaning where the store has an embedder.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import hypot
from operator import mul
from typing import Any, NamedTuple

import msgspec
from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
    get_text_at_path,
    validate_op_namespace,
)

from muniment.errors import CursorStale, InvalidInput
from muniment.host.adapted_store import AdaptedStore, OnAdaptedStore, StoreGiven
from muniment.host.off_loop import off_loop
from muniment.host.records.item_matching import begins_with, check_filter, ends_with, has_values
from muniment.host.records.kept_items import Address, KeptItem, KeptItems, PutValue
from muniment.kernel.digest import sha256
from muniment.kernel.sources import Clock, SystemClock
from muniment.operations.transcripts.hits import SearchScope
from muniment.search.query import without_syntax

CHANNEL = "langgraph-store"
MINUTE_MS = 60_000
REFRESHED_SHARE = 10  # a read moves an expiry that would come a tenth of its time sooner, or more
VECTORS_BYTES_MAX = 256 * 1024  # kept with a value; more are made again when they are needed
HITS_PAGE = 100
HITS_PAGES_MAX = 10


class TextsToEmbed(NamedTuple):
    """Texts of which an operation needs vectors; `is_query` where they are what somebody asks."""

    texts: list[str]
    is_query: bool = False


Vectors = list[list[float]]
Steps = Generator[TextsToEmbed, Vectors, list[Result]]


class MunimentStore(OnAdaptedStore, BaseStore):
    """A store of LangGraph that keeps values as turns of a store of evidence.

    `store` is a runtime, of `open` or of `connect`, or the path of a store to open; `close` closes only what was opened
    here. `channel` has one conversation for each namespace. `subject` is under whom values can be found and erased, or
    what names it for a namespace. `index` is the configuration of LangGraph for a search by meaning, and `ttl` the one
    for how long values live; `sweep_ttl` deletes those that have expired, and nothing else calls it. Reads see what the
    store held before the puts of their batch, and of several puts of one key the last counts. A value is JSON of up to
    1 MiB. Any thread may call any method, and the awaited ones never hold up an event loop. Takes an access that
    includes the views `raw_owner` and `model_context`.
    """

    supports_ttl = True
    clock: Clock = SystemClock()  # says what has expired; another one may be set

    def __init__(
        self,
        store: StoreGiven,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        channel: str = CHANNEL,
        subject: str | Callable[[tuple[str, ...]], str] = CHANNEL,
        erase_deleted: bool = False,
    ) -> None:
        self._store = AdaptedStore(store)
        self._items = KeptItems(self._store.runtime, channel)
        self._subject = subject
        self._dismiss = self._items.erase if erase_deleted else self._items.withdraw
        self.ttl_config = ttl
        self.index_config = index
        self.embeddings = None if index is None else ensure_embeddings(index["embed"])

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations, the reads before the writes; returns when what was put is durable."""
        steps = self._steps(list(ops))
        step = _next_step(steps, None)
        while isinstance(step, TextsToEmbed):
            assert self.embeddings is not None, "only an index asks for vectors"
            embed = self.embeddings.embed_documents
            vectors = [self.embeddings.embed_query(text) for text in step.texts] if step.is_query else embed(step.texts)
            step = _next_step(steps, vectors)
        return step

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations as `batch` does; what is being put is finished when its caller is cancelled."""
        steps = self._steps(list(ops))
        step = await off_loop(_next_step, steps, None)
        while isinstance(step, TextsToEmbed):
            assert self.embeddings is not None, "only an index asks for vectors"
            if step.is_query:
                vectors = [await self.embeddings.aembed_query(text) for text in step.texts]
            else:
                vectors = await self.embeddings.aembed_documents(step.texts)
            step = await off_loop(_next_step, steps, vectors)
        return step

    def sweep_ttl(self) -> int:
        """Delete the values that have expired, with those that their keys had before; return how many keys had any."""
        self._items.follow()
        now_ms = self.clock.now_ms()
        gone = [versions[-1].address for versions in self._items.newest_first() if _has_expired(versions[-1], now_ms)]
        for address in gone:
            self._delete(address, "expired")
        return len(gone)

    # --- the steps of a batch -----------------------------------------------------------------------------------------

    def _steps(self, ops: list[Op]) -> Steps:
        """Do operations; asks for the vectors that it needs."""
        for op in ops:
            validate_op_namespace(op)
            if isinstance(op, SearchOp):
                check_filter(op.filter or {})
        puts = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        values = yield from self._new_values([op for op in puts.values() if op.value is not None])
        gone = [address for address, op in puts.items() if op.value is None]
        if gone or len(ops) > len(puts) or not values:  # what is only put may be put without a look at what there is
            self._items.follow()
        results: list[Result] = []
        for op in ops:
            if isinstance(op, GetOp):
                results.append(self._get(op))
            elif isinstance(op, SearchOp):
                results.append((yield from self._search(op)))
            elif isinstance(op, ListNamespacesOp):
                results.append(self._namespaces(op))
            else:
                results.append(None)
        self._items.write(values)
        if gone and values:
            self._items.follow()
        for address in gone:
            self._delete(address, "deleted")
        return results

    def _new_values(self, ops: list[PutOp]) -> Generator[TextsToEmbed, Vectors, list[PutValue]]:
        embeds = self.embeddings is not None
        texts = [self._texts(op.value, op.index) if embeds and op.index is not False else [] for op in ops]
        vectors = yield from _vectors_of(texts)
        return [self._new_value(op, said, made) for op, said, made in zip(ops, texts, vectors, strict=True)]

    def _new_value(self, op: PutOp, texts: list[str], vectors: list[bytes]) -> PutValue:
        namespace = tuple(op.namespace)
        ttl_ms = None if op.ttl is None else round(op.ttl * MINUTE_MS)
        has_vectors = bool(vectors) and sum(map(len, vectors)) <= VECTORS_BYTES_MAX
        return PutValue(
            namespace=namespace,
            key=op.key,
            text=msgspec.json.encode(op.value).decode(),
            subject=self._subject_of(namespace),
            index=op.index,
            ttl_ms=ttl_ms,
            expires_ms=None if ttl_ms is None else self.clock.now_ms() + ttl_ms,
            vectors=vectors if has_vectors else None,
            embedded=_digest_of(texts) if has_vectors else None,
        )

    def _subject_of(self, namespace: tuple[str, ...]) -> str:
        return self._subject if isinstance(self._subject, str) else self._subject(namespace)

    def _delete(self, address: Address, reason: str) -> None:
        self._dismiss(address, reason, self._subject_of(address[0]))

    # --- reading ------------------------------------------------------------------------------------------------------

    def _get(self, op: GetOp) -> Item | None:
        versions = self._items.versions((tuple(op.namespace), op.key))
        if not versions or self._is_omitted(versions[-1]):
            return None
        [value] = self._items.values(versions[-1:])
        if value is None:
            return None
        self._refresh([versions[-1]], refresh=op.refresh_ttl)
        return Item(**_fields(versions, value))

    def _search(self, op: SearchOp) -> Generator[TextsToEmbed, Vectors, list[SearchItem]]:
        kept = [
            versions
            for versions in self._items.newest_first(tuple(op.namespace_prefix))
            if not self._is_omitted(versions[-1])
        ]
        if op.filter:
            values = self._items.values([versions[-1] for versions in kept])
            kept = [each for each, value in zip(kept, values, strict=True) if value and has_values(value, op.filter)]
        found = {versions[-1].address: versions for versions in kept}
        scores: dict[Address, float] = {}
        if op.query and self.embeddings is not None:
            scores = yield from self._by_vectors(op.query, [versions[-1] for versions in found.values()])
        elif op.query:
            scores = self._by_words(op.query, found, op.offset + op.limit)
        ranked = sorted(found, key=lambda address: -scores[address] if address in scores else float("inf"))
        page = ranked[op.offset : op.offset + op.limit]
        items = [found[address][-1] for address in page]
        read = zip(page, self._items.values(items), strict=True)
        shown = [(address, value) for address, value in read if value is not None]
        self._refresh([found[address][-1] for address, _ in shown], refresh=op.refresh_ttl)
        return [SearchItem(**_fields(found[address], value), score=scores.get(address)) for address, value in shown]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        matching = {"prefix": begins_with, "suffix": ends_with}
        kept = {versions[-1].namespace for versions in self._items.newest_first() if not self._is_omitted(versions[-1])}
        found = {
            namespace[: op.max_depth]
            for namespace in kept
            if all(matching[one.match_type](namespace, one.path) for one in op.match_conditions or ())
        }
        return sorted(found)[op.offset : op.offset + op.limit]

    # --- ranking ------------------------------------------------------------------------------------------------------

    def _by_vectors(
        self, query: str, items: Sequence[KeptItem]
    ) -> Generator[TextsToEmbed, Vectors, dict[Address, float]]:
        """Return how near the nearest vector of each item is to a question, as a cosine."""
        [asked] = _packed((yield TextsToEmbed([query], is_query=True)))
        scores: dict[Address, float] = {}
        missing: list[tuple[KeptItem, list[str]]] = []
        remembered = self._items.vectors(items)
        known = [(item, remembered[item.at]) for item in items if item.at in remembered]
        others = [item for item in items if item.index is not False and item.at not in remembered]
        committed = self._items.committed_vectors(others)
        for item, value in zip(others, self._items.values(others), strict=True):
            texts = [] if value is None else self._texts(value, item.index)
            if item.at in committed and item.embedded == _digest_of(texts):
                known.append((item, committed[item.at]))
            else:  # none were kept, or they are of words that were redacted since
                missing.append((item, texts))
        made = yield from _vectors_of([texts for _, texts in missing])
        known += [(item, vectors) for (item, _), vectors in zip(missing, made, strict=True)]
        for item, vectors in known:
            self._items.remember(item, vectors)
            if vectors:
                scores[item.address] = max(_cosine(asked, vector) for vector in vectors)
        return scores

    def _by_words(self, query: str, found: Mapping[Address, Sequence[KeptItem]], wanted: int) -> dict[Address, float]:
        """Return the scores of the items that the search of the store finds, until there are as many as are wanted."""
        plain, scores, cursor = without_syntax(query), dict[Address, float](), None
        runtime, within = self._store.runtime, SearchScope(channel=self._items.channel)
        for _ in range(HITS_PAGES_MAX if plain else 0):
            try:
                page = runtime.transcripts.search(plain, within=within, limit=HITS_PAGE, cursor=cursor)
            except (CursorStale, InvalidInput):  # others wrote meanwhile, or no word of the question can be sought
                break
            for hit in (hit for hit in page.hits if not hit.is_context):
                item = self._items.at(hit.place.conversation.conversation, hit.place.turn)
                if item is not None and found.get(item.address, [None])[-1] is item:
                    scores.setdefault(item.address, hit.score)
            cursor = page.next_cursor
            if len(scores) >= wanted or cursor is None:
                break
        return scores

    def _texts(self, value: Any, index: bool | list[str] | None) -> list[str]:
        """Return the texts of a value that a search by meaning compares."""
        fields = index if isinstance(index, list) else (self.index_config or {}).get("fields") or ["$"]
        return [text for path in fields for text in get_text_at_path(value, path)]

    # --- how long values live -----------------------------------------------------------------------------------------

    def _is_omitted(self, item: KeptItem) -> bool:
        return bool((self.ttl_config or {}).get("omit_expired")) and _has_expired(item, self.clock.now_ms())

    def _refresh(self, items: Iterable[KeptItem], *, refresh: bool) -> None:
        """Let items live on, because they were read."""
        now_ms = self.clock.now_ms()
        for item in items if refresh else ():
            if item.ttl_ms is not None and item.expires_ms is not None:
                expires_ms = now_ms + item.ttl_ms
                if (expires_ms - item.expires_ms) * REFRESHED_SHARE >= item.ttl_ms:
                    self._items.expire_at(item, expires_ms, CHANNEL)


def _next_step(steps: Steps, vectors: Vectors | None) -> TextsToEmbed | list[Result]:
    """Return what a batch needs next, or its results."""
    try:
        return next(steps) if vectors is None else steps.send(vectors)
    except StopIteration as done:
        results: list[Result] = done.value
        return results


def _vectors_of(texts: list[list[str]]) -> Generator[TextsToEmbed, Vectors, list[list[bytes]]]:
    """Return the vectors of the texts of each value; asks once for all of them."""
    flat = [text for of_value in texts for text in of_value]
    made = iter(_packed((yield TextsToEmbed(flat)) if flat else []))
    return [[next(made) for _ in of_value] for of_value in texts]


def _digest_of(texts: list[str]) -> bytes:
    return sha256(msgspec.json.encode(texts))


def _has_expired(item: KeptItem, now_ms: int) -> bool:
    return item.expires_ms is not None and item.expires_ms <= now_ms


def _fields(versions: Sequence[KeptItem], value: dict[str, Any]) -> dict[str, Any]:
    """Return what the framework says of an item; it was created with the oldest value that can be seen."""
    item, updated = versions[-1], _time(versions[-1].committed_ms)
    return {
        "namespace": item.namespace,
        "key": item.key,
        "value": value,
        "created_at": updated if len(versions) == 1 else _time(versions[0].committed_ms),
        "updated_at": updated,
    }


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000)


def _packed(vectors: Vectors) -> list[bytes]:
    """Return vectors of length 1 in bytes, 4 for a number."""
    packed = []
    for vector in vectors:
        length = hypot(*vector) or 1.0
        packed.append(struct.pack(f"<{len(vector)}f", *(number / length for number in vector)))
    return packed


def _cosine(one: bytes, other: bytes) -> float:
    numbers = [struct.unpack(f"<{len(vector) // 4}f", vector) for vector in (one, other)]
    return float(sum(map(mul, *numbers)))
