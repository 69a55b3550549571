"""The commands that would lead to the memory of a live log again: what `restated_log` does for turns.

One request appends several events. Items wait (`_waiting`) until what follows says which request that was: a run that
was recorded, an amendment that put a successor in place, a proposal that was accepted; anything else means that they
were remembered. Links in conversations, notebooks, retirements of what gave way and the words of policies come with
the request that they belong to, and are no commands of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from muniment.errors import Corrupt, KeyMissing
from muniment.events.changes import ERASED, REPLACED, LifecycleRequest, Transition, span_of
from muniment.events.memory_governance import MemoryPolicySet, RunRecorded
from muniment.events.memory_items import (
    EntryRole,
    ItemContent,
    ItemMeta,
    ItemRetired,
    ItemRevised,
    NotebookOpened,
    Observations,
    Retirement,
    RevisionAction,
)
from muniment.events.references import RefDerived, SourceEvidence
from muniment.events.tool_registries import RegistryContent, ToolsRegistered, ToolsRemoved
from muniment.memory.candidate import Ruling
from muniment.memory.kinds import slot_topic
from muniment.memory.merging import MergeReason
from muniment.replay.fixture import Command
from muniment.replay.live_event import LiveEvent
from muniment.replay.restating import command_of
from muniment.replay.restating_memory import ForgetRequest, MemoryRequests, Owner, WholeMemory, plain
from muniment.replay.synthetic import Synthetic
from muniment.space.space import Space

# what `memory.remember` says of an item that comes back, or of one that gives way
BY_REMEMBERING = frozenset({MergeReason.FREE_SLOT.value, MergeReason.NEWER.value})
REQUESTED_OF_TURNS = "turns"
COMES_ALONG = frozenset({Retirement.EVICTED, Retirement.SOURCE_GONE})
SKILL_VERBS: dict[str, str] = {RevisionAction.ENABLE: "skills.enable", RevisionAction.DISABLE: "skills.disable"}
Reference = str | dict[str, str]  # a pseudonym, or where the report of a command has the id


class Surroundings(NamedTuple):
    """What the rest of the log gives: times, what requests call turns and conversations, and where to count."""

    moved: Callable[[int], int]
    sources: Callable[[Iterable[SourceEvidence]], list[dict[str, Any]]]
    conversation: Callable[[str, str], dict[str, str]]
    left_out: Counter[str]


class WaitingItem(NamedTuple):
    """An item that was recorded: the candidate for it, and of which request."""

    item: str
    candidate: dict[str, Any]
    writer: str
    run: str | None
    at_ms: int
    former: tuple[ItemMeta, ItemRetired] | None = None  # what gave way, where nothing says to which request


class RestatedMemory:
    """The commands of memory events."""

    def __init__(self, space: Space, words: Synthetic, around: Surroundings) -> None:
        self._space = space
        self._words = words
        self._around = around
        self._whole = WholeMemory(space, words)
        self._requests = MemoryRequests(words, around.moved, around.sources, self._whole)
        self._owners: dict[int, Owner] = {}  # of a stream
        self._entries: dict[int, list[ItemMeta]] = {}  # of a stream
        self._ids: dict[str, Reference] = {}
        self._candidates: dict[str, dict[str, Any]] = {}
        self._patterns: dict[str, str | None] = {}  # of policies
        self._observed: dict[str, Observations] = {}
        self._rests: dict[str, list[SourceEvidence]] = {}
        self._once: set[tuple[object, ...]] = set()  # requests of several events that are commands already
        self._retired_in: dict[str, set[str]] = {}  # run -> items
        self._registered: dict[str, ToolsRegistered] = {}
        self._taken_over: str | None = None  # a registry that was just erased: what follows of it comes along
        self._waiting: list[WaitingItem] = []
        self._told_again: set[str] = set()  # items that come back, whatever became of the reason
        self._say: dict[type[Any], Callable[[LiveEvent, Any], Iterator[Command]]] = {
            NotebookOpened: self._opened,
            ItemMeta: self._entry,
            ItemRevised: self._revised,
            ItemRetired: self._retired,
            MemoryPolicySet: self._policy,
            RunRecorded: self._run,
            ToolsRegistered: self._tools,
            ToolsRemoved: self._tools_gone,
            RefDerived: self._link,
        }

    def takes(self, event: LiveEvent) -> bool:
        """Tell whether an event is one of memory: also a link that came with an item."""
        meta = event.opened.meta
        return meta.key in self._whole if isinstance(meta, RefDerived) else type(meta) in self._say

    def of(self, event: LiveEvent) -> Iterator[Command]:
        """Yield the commands that an event tells of."""
        yield from self._say[type(event.opened.meta)](event, event.opened.meta)

    def flushed(self) -> Iterator[Command]:
        """Yield the command for what waits, if anything does: it was remembered."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            last = waiting[-1]
            yield self._remember([each.candidate for each in waiting], last.writer, last.run, last.at_ms)

    def follows(self, request: LifecycleRequest) -> None:
        """Take note that turns were erased: items that this request has forgotten went with them."""
        self._once.add((REQUESTED_OF_TURNS, request.requester, request.requested_ms))

    def erased(self, request: LifecycleRequest) -> Iterator[Command]:
        """Yield the erasure of a subject, for the first event of it."""
        if self._is_first("erase", request.subject, request.requester, request.requested_ms):
            subject = self._words.name("subject", request.subject or "")
            yield command_of("lifecycle.erase", scope={"subject": subject}, **self._asked(request))

    # --- items --------------------------------------------------------------------------------------------------------

    def _opened(self, event: LiveEvent, meta: NotebookOpened) -> Iterator[Command]:
        self._owners[event.row.stream] = Owner(self._words.name("subject", meta.subject), meta.plane)
        self._entries[event.row.stream] = []
        return iter(())

    def _link(self, _event: LiveEvent, _meta: RefDerived) -> Iterator[Command]:
        return iter(())

    def _entry(self, event: LiveEvent, meta: ItemMeta) -> Iterator[Command]:
        self._entries[event.row.stream].append(meta)
        self._ids[meta.item] = self._words.name("item", meta.item)
        whose, content = self._owners[event.row.stream], self._content(event)
        said = content if isinstance(content, ItemContent) else None
        if meta.entry.role is EntryRole.POLICY:
            self._patterns[meta.item] = None if said is None or not slot_topic(said.topic) else said.topic
            return
        named = meta.entry.named
        if named is not None and named.tool is not None:
            yield from self.flushed()
            self._rests[meta.item], counts = meta.evidence, named.observations or Observations()
            self._observed[meta.item] = counts
            told = {} if said is None else {"text": said.text, "summary": said.summary, "note": said.note}
            given = self._requests.feedback(named.tool, counts, meta.evidence, told)
            yield self._kept(meta.item, "tools[0].item", self._feedback(whose, given, meta.writer))
            return
        candidate = self._candidates[meta.item] = self._requests.candidate(whose, meta, said)
        if meta.entry.role is EntryRole.PROPOSAL:
            yield from self.flushed()
            why = said.rationale if said is not None and said.rationale else None
            rationale = self._words.lost() if why is None else self._words.text(why)
            writer = self._words.name("requester", meta.writer)
            yield command_of("notebook.propose", candidates=[candidate], rationale=rationale, requester=writer)
            return
        yield from self._wait(WaitingItem(meta.item, candidate, meta.writer, meta.run, event.row.time))

    def _wait(self, item: WaitingItem) -> Iterator[Command]:
        """Let an item wait, behind those of the same run; what else waits was remembered."""
        if self._waiting and (item.run is None or self._waiting[-1].run != item.run):
            yield from self.flushed()
        self._waiting.append(item)

    def _remember(
        self, candidates: list[dict[str, Any]], writer: str, run: str | None, at_ms: int | None = None
    ) -> Command:
        return Command(
            do="memory.remember",
            given=plain({
                "candidates": candidates,
                "requester": self._words.name("requester", writer),
                "run": self._words.maybe("run", run),
            }),
            at_ms=None if at_ms is None else self._around.moved(at_ms),
        )  # fmt: skip

    def _feedback(self, whose: Owner, given: dict[str, Any], writer: str) -> Command:
        requester = self._words.name("requester", writer)
        return command_of("tools.feedback", subject=whose.subject, feedback=given, requester=requester)

    def _revised(self, event: LiveEvent, meta: ItemRevised) -> Iterator[Command]:
        whose, entry, reason = self._owners[event.row.stream], self._about(event)[0], event.header.reason
        if reason == RevisionAction.CONFIRM and entry.item in self._candidates:  # what follows brings the item back
            self._candidates[entry.item] |= self._requests.told_again(meta.revision)
            self._told_again.add(entry.item)
            return
        yield from self.flushed()
        match reason:
            case RevisionAction.UNDO:
                yield from self._undone(meta.run, meta.request)
            case RevisionAction.CONFIRM:
                yield from self._confirmed(whose, entry, meta)
            case RevisionAction.EDIT:
                edit = self._requests.edit(entry.item, whose, meta)
                yield self._skill("skills.edit", whose, entry, meta.request, edit=edit)
            case RevisionAction.ENABLE | RevisionAction.DISABLE:
                yield self._skill(SKILL_VERBS[reason], whose, entry, meta.request)
            case _:
                amendment = self._requests.amendment(entry.item, whose, reason, meta)
                if entry.item in self._candidates:
                    members = self._candidates[entry.item].keys() & amendment.keys() - {"text"}
                    self._candidates[entry.item] |= {name: amendment[name] for name in members}
                yield self._amend(entry, amendment, meta)

    def _confirmed(self, whose: Owner, entry: ItemMeta, meta: ItemRevised) -> Iterator[Command]:
        """Yield the feedback that was new in a confirmation."""
        change, before = meta.revision, self._observed[entry.item]
        now, known = change.observations or before, self._rests[entry.item]
        new = Observations(**{
            name: max(0, getattr(now, name) - getattr(before, name)) for name in Observations.__struct_fields__
        })  # fmt: skip
        sources = [source for source in change.evidence or [] if source not in known]
        self._observed[entry.item], self._rests[entry.item] = now, change.evidence or known
        named = entry.entry.named
        assert named is not None, "experience has a slot by name"
        assert named.tool is not None, "experience is of a tool"
        told = {"text": change.text, "summary": change.summary, "note": change.note}
        yield self._feedback(whose, self._requests.feedback(named.tool, new, sources, told), meta.request.requester)

    def _retired(self, event: LiveEvent, meta: ItemRetired) -> Iterator[Command]:
        cause, request = meta.cause, meta.request
        if cause in COMES_ALONG:
            return
        if cause is Retirement.SUPERSEDED:
            yield from self._superseded(event, meta)
        elif cause is Retirement.ACCEPTED:
            yield from self._accepted(self._about(event)[0], meta)
        elif cause is Retirement.RESTORED and self._is_remembered_again(event, request):
            entry = self._about(event)[0]
            again = self._candidates[entry.item]
            yield from self._wait(WaitingItem(entry.item, again, request.requester, meta.run, event.row.time))
        else:
            yield from self.flushed()
            yield from self._taken_out(event, meta)

    def _is_remembered_again(self, event: LiveEvent, request: LifecycleRequest) -> bool:
        """Tell whether an item came back because it was remembered, and not because somebody restored it."""
        item = self._about(event)[0].item
        was_told = item in self._told_again
        self._told_again.discard(item)
        return was_told or request.reason in BY_REMEMBERING

    def _superseded(self, event: LiveEvent, meta: ItemRetired) -> Iterator[Command]:
        """Yield the amendment that put a successor in place; what was remembered in place of an item waits on."""
        last = self._waiting[-1] if self._waiting else None
        if last is None or last.item != meta.successor or meta.request.reason in BY_REMEMBERING:
            return
        self._waiting[-1] = last._replace(former=(self._about(event)[0], meta))
        if meta.request.reason != ERASED:
            yield from self._put_in_place()

    def _put_in_place(self) -> Iterator[Command]:
        """Yield the amendment that put the last item that waits in the place of another one."""
        last = self._waiting.pop()
        yield from self.flushed()
        members = ("text", "id", "confidence", "evidence")
        given = {name: last.candidate[name] for name in members if name in last.candidate}
        if last.former is not None:
            yield self._amend(last.former[0], {"type": "supersede", **given}, last.former[1])

    def _accepted(self, proposal: ItemMeta, meta: ItemRetired) -> Iterator[Command]:
        if self._waiting and self._waiting[-1].item == meta.successor:
            self._waiting.pop()
        yield from self.flushed()
        decided = self._decide(proposal, "accept", meta.request)
        yield decided if meta.successor is None else self._kept(meta.successor, "candidate.item", decided)

    def _taken_out(self, event: LiveEvent, meta: ItemRetired) -> Iterator[Command]:
        cause, request = meta.cause, meta.request
        entries, whose = self._about(event), self._owners[event.row.stream]
        in_run = self._retired_in.get(meta.run or "", set())
        if cause is Retirement.REPLACED:
            self._around.left_out[event.row.kind] += 1
        elif event.header.reason == Transition.ERASE and request.subject is not None:
            yield from self.erased(request)
        elif cause is Retirement.FORGOTTEN:
            yield from self._forgotten(event.row.stream, request)
        elif cause is Retirement.UNDONE or (cause is Retirement.RESTORED and entries[0].item in in_run):
            yield from self._undone(meta.run, request)
        elif cause is Retirement.REJECTED:
            yield self._decide(entries[0], "reject", request)
        elif cause is Retirement.WITHDRAWN:
            yield self._skill("skills.retire", whose, entries[0], request)
        elif cause is Retirement.INVALIDATED:
            yield self._amend(entries[0], self._requests.invalidation(meta), meta)
        else:
            yield self._amend(entries[0], {"type": "restore"}, meta)

    def _forgotten(self, stream: int, request: LifecycleRequest) -> Iterator[Command]:
        """Yield what has the items of a request forgotten, for the first event of it; not what went with turns."""
        if (REQUESTED_OF_TURNS, request.requester, request.requested_ms) in self._once:
            return
        asked = ForgetRequest.of(stream, request)
        if self._is_first(*asked):
            whose, entries = (
                self._owners[stream],
                [self._entries[stream][at - 1] for at in self._whole.forgotten[asked]],
            )
            for target in self._requests.forgetting(whose, entries, [self._ids[entry.item] for entry in entries]):
                yield command_of("memory.forget", subject=whose.subject, target=target, **self._asked(request))

    # --- requests about items -----------------------------------------------------------------------------------------

    def _amend(self, entry: ItemMeta, amendment: dict[str, Any], meta: ItemRevised | ItemRetired) -> Command:
        run = self._words.maybe("run", meta.run)
        asked = self._asked(meta.request)
        return command_of("memory.amend", item=self._ids[entry.item], amendment=amendment, run=run, **asked)

    def _skill(self, verb: str, whose: Owner, entry: ItemMeta, request: LifecycleRequest, edit: Any = None) -> Command:
        named = entry.entry.named
        assert named is not None, "skills have names"
        name = self._requests.skill(named.name)
        return command_of(verb, subject=whose.subject, name=name, edit=edit, **self._asked(request))

    def _decide(self, proposal: ItemMeta, verdict: str, request: LifecycleRequest) -> Command:
        name = self._ids[proposal.item]
        return command_of("notebook.decide", proposal=name, verdict=verdict, **self._asked(request))

    def _undone(self, run: str | None, request: LifecycleRequest) -> Iterator[Command]:
        if self._is_first("undo", run, request.requester, request.requested_ms):
            yield command_of("notebook.undo", run=self._words.maybe("run", run), **self._asked(request))

    def _run(self, _event: LiveEvent, meta: RunRecorded) -> Iterator[Command]:
        """Yield what a request of a run asked for; one that decided nothing was an amendment, a command already."""
        self._retired_in.setdefault(meta.run, set()).update(meta.retired)
        if not meta.decisions:
            if self._waiting and self._waiting[-1].former is not None:
                yield from self._put_in_place()
            return
        waiting, self._waiting = self._waiting, []
        nothing = {"subject": self._words.name("subject", ""), "kind": "fact", "topic": "none", "text": "none"}
        others = [
            {**nothing, "attested": True, "judgement": {"decision": ruling}}
            for ruling in (Ruling.REFUSE, Ruling.DEFER, Ruling.HAND_OFF)
            for _ in range(meta.decisions.get(ruling, 0))
        ]
        yield self._remember([each.candidate for each in waiting] + others, meta.writer, meta.run)

    # --- policies -----------------------------------------------------------------------------------------------------

    def _policy(self, _event: LiveEvent, meta: MemoryPolicySet) -> Iterator[Command]:
        yield from self.flushed()
        selector, policy = meta.selector, meta.ends[-1] if meta.ends else meta.policy
        self._patterns.setdefault(meta.policy, self._patterns.get(policy))
        given: dict[str, Any] = {"kind": selector.kind, "scope": selector.scope}
        if selector.subject is not None:
            given["subject"] = self._words.name("subject", selector.subject)
        if selector.conversation is not None:
            given |= self._around.conversation(selector.channel or "", selector.conversation)
        if selector.has_pattern:
            given["topic"] = self._requests.pattern(self._patterns[policy], policy)
        elif selector.topic is not None:
            given["topic"] = self._whole.digests.get(selector.topic, self._words.name("topic", f"\0{selector.topic}"))
        about = plain(given) or {"everything": True}
        until_ms = self._around.moved(meta.until_ms) if meta.until_ms else None
        asked = self._asked(meta.request)
        yield command_of("notebook.set_policy", action=meta.action, selector=about, until_ms=until_ms, **asked)

    # --- tools --------------------------------------------------------------------------------------------------------

    def _tools(self, event: LiveEvent, meta: ToolsRegistered) -> Iterator[Command]:
        yield from self.flushed()
        registry, taken_over = meta.registry.registry, self._taken_over
        former, self._taken_over = self._registered.get(registry), None
        self._registered[registry] = meta
        if taken_over == registry and former is not None and former.registry.owner == meta.registry.owner:
            return  # of somebody else, registered again behind an erasure
        content = self._content(event)
        snapshot = self._requests.snapshot(meta, content if isinstance(content, RegistryContent) else None)
        yield command_of("tools.register", snapshot=snapshot, requester=self._words.name("requester", meta.requester))

    def _tools_gone(self, event: LiveEvent, meta: ToolsRemoved) -> Iterator[Command]:
        yield from self.flushed()
        if event.header.reason != Transition.ERASE:
            registry = self._words.name("registry", meta.registry)
            yield command_of("tools.remove", registry=registry, **self._asked(meta.request))
        elif REPLACED in event.header.refs:
            self._around.left_out[event.row.kind] += 1
        else:
            self._taken_over = meta.registry
            yield from self.erased(meta.request)

    # --- parts --------------------------------------------------------------------------------------------------------

    def _about(self, event: LiveEvent) -> list[ItemMeta]:
        """Return the entries that an event is about."""
        span, entries = span_of(event.header.about), self._entries[event.row.stream]
        return [entry for number, entry in enumerate(entries, start=1) if span.includes(number)]

    def _content(self, event: LiveEvent) -> Any:
        try:
            return self._space.ledger.content(event.opened)[1]
        except (KeyMissing, Corrupt):
            return None

    def _kept(self, item: str, path: str, command: Command) -> Command:
        """Return a command whose report has the id of an item, which later commands look up there."""
        name = f"item-{len(self._ids)}"
        self._ids[item] = {"$from": f"{name}.{path}"}
        return Command(do=command.do, given=command.given, kept_as=name)

    def _asked(self, request: LifecycleRequest) -> dict[str, str]:
        reason = self._words.text(request.reason) if request.reason.strip() else "x"
        return {"reason": reason, "requester": self._words.name("requester", request.requester)}

    def _is_first(self, *request: object) -> bool:
        """Tell whether a request of several events was not met before."""
        is_new = request not in self._once
        self._once.add(request)
        return is_new
