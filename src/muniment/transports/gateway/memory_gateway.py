"""The memory gateway: search before a run of an agent, keep the exchange after it, flush (GW-06 to GW-10).

An exchange is a turn of the conversation `chat:<session>`. Its id is made of its two times, so that a repeat after a
lost answer is the same turn, and no digest of what was said outlives an erasure. Two exchanges of the same times are
told apart by what was said, and numbered.

A search is one recall of the user, in which each hit is of the narrowest scope that was asked for: a message of the
conversation that goes on; a resource, which has an address; anything else that is known of the user. Without
`all_user_memory`, the conversation is searched by itself, and resources are looked for among the best hits of a recall.

Nothing here extracts items from what was said: that takes a model, and the host has one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote

from msgspec import Struct

from muniment.errors import InvalidInput, TurnConflict, UnknownConversation, UnknownPlace
from muniment.events.identity import ConversationKey, SubjectId, TurnId
from muniment.events.message import Message, Role, UriPart
from muniment.events.references import HostReference
from muniment.events.turn import Source, Turn
from muniment.governance.admission import OBSERVED_MS_MAX
from muniment.governance.slices import SliceTurn
from muniment.governance.views import View
from muniment.operations.conversations.activity import TimeRange
from muniment.operations.memory.recall_report import RecallHit, RecallPlane, RecallScope, Recollection
from muniment.operations.transcripts.hits import SearchScope, SemanticCoverage
from muniment.operations.transcripts.timeline import Anchor, AnchorKind
from muniment.runtime.runtime import Runtime
from muniment.search.query import without_syntax
from muniment.transports.gateway.memory_wire import (
    AddAnswer,
    AddExchange,
    AddStatus,
    Due,
    DueWork,
    FlushAnswer,
    FlushSession,
    FoundMemory,
    MemoryResults,
    MemoryScope,
    ProjectRequest,
    SearchMemories,
)

VIEW = View.MODEL_CONTEXT
HITS_READ = 100  # among which resources are looked for, where not everything is asked for
SAME_TIMES_MAX = 16  # exchanges of one session at the same two milliseconds
ALL_TIME = TimeRange(from_ms=0, until_ms=OBSERVED_MS_MAX)
AGENT = "agent"


def search(runtime: Runtime, user: SubjectId, asked: SearchMemories) -> MemoryResults:
    """Find what is known of a user on a question, in the scopes that are asked for."""
    if not asked.scope:
        raise InvalidInput(at="scope", problem="empty", choices=[*MemoryScope])
    key, scopes = asked.conversation(asked.conversation_id, "conversation_id"), frozenset(asked.scope)
    finder = _Finder(runtime, user, asked.query, key)
    if MemoryScope.ALL_USER_MEMORY in scopes:
        return MemoryResults(results=finder.recalled(scopes, asked.top_k))
    found: list[FoundMemory] = []
    if MemoryScope.CURRENT_CHAT in scopes:
        found += finder.said(asked.top_k)
    if MemoryScope.RESOURCES in scopes:
        known = {each.id for each in found}
        found += [each for each in finder.recalled(scopes, HITS_READ) if each.id not in known]
    return MemoryResults(results=sorted(found, key=lambda each: -each.score)[: asked.top_k])


def add(runtime: Runtime, user: SubjectId, asked: AddExchange) -> AddAnswer:
    """Commit an exchange as one delivered turn, unless it was committed before."""
    asked.check()
    key = asked.conversation(asked.session_id, "session_id")
    question, answer = asked.messages
    messages = [
        Message(
            role=role,
            content=said.content,
            speaker_id=said.sender_id,
            speaker_kind=kind,
            observed_ms=said.timestamp,
        )
        for role, said, kind in ((Role.USER, question, None), (Role.ASSISTANT, answer, AGENT))
    ]
    name = f"{question.timestamp}-{answer.timestamp}"
    for number in range(1, SAME_TIMES_MAX + 1):
        turn = Turn(
            turn=TurnId(name if number == 1 else f"{name}-{number}"),
            subject=user,
            conversation=key.conversation,
            channel=key.channel,
            messages=messages,
            source=Source(endpoint="/memories/add"),
        )
        try:
            receipt = runtime.transcripts.commit(turn)
        except TurnConflict:
            continue
        return AddAnswer(
            status=AddStatus.ACCEPTED if receipt.committed else AddStatus.DUPLICATED,
            session_id=key.conversation,
            turn=receipt.turn,
            sequence=receipt.sequence,
            messages=len(messages),
            reason=receipt.reason,
        )
    raise TurnConflict(at="messages.timestamp")


def flush(runtime: Runtime, user: SubjectId, asked: FlushSession) -> FlushAnswer:
    """Bring the indexes up to date, and count what is durable, indexed and due."""
    key = asked.conversation(asked.session_id, "session_id")
    durable = _turns_of(runtime, key)
    caught_up = runtime.memory.recall(user, key.conversation, VIEW, RecallScope(planes=[RecallPlane.TRANSCRIPT]))
    due: list[Due] = []
    if caught_up.semantic is SemanticCoverage.PARTIAL or caught_up.semantic_reason is not None:
        due.append(Due(work=DueWork.MEANING, turns=durable, reason=caught_up.semantic_reason))
    proposals = runtime.notebook.proposals(user, VIEW, limit=1).total
    if proposals:
        due.append(Due(work=DueWork.DECISION, proposals=proposals))
    return FlushAnswer(
        session_id=key.conversation, durable=durable, indexed=durable, meaning=caught_up.semantic, due=due
    )


def _turns_of(runtime: Runtime, key: ConversationKey) -> int:
    activity = runtime.conversations.activity([ALL_TIME], key.channel, key.conversation)
    return activity.ranges[0].turns


class _Finder:
    """One search of one user. Turns are read once."""

    def __init__(self, runtime: Runtime, user: SubjectId, query: str, key: ConversationKey) -> None:
        self._runtime = runtime
        self._user = user
        self._query = query
        self._key = key
        self._turns: dict[tuple[ConversationKey, str], SliceTurn | None] = {}

    def recalled(self, scopes: frozenset[MemoryScope], limit: int) -> list[FoundMemory]:
        """Return the hits of a recall that are in some scopes."""
        found = [self._found(hit, scopes) for hit in self._recollection(scopes, limit).hits]
        return [each for each in found if each is not None]

    def said(self, limit: int) -> list[FoundMemory]:
        """Return messages of the conversation that goes on; none where it has not begun."""
        within = SearchScope(channel=self._key.channel, conversation=self._key.conversation)
        try:
            page = self._runtime.transcripts.search(without_syntax(self._query), VIEW, within, limit=limit)
        except UnknownConversation:
            return []
        except InvalidInput as refused:
            if refused.problem != "without_term":
                raise
            return []
        return [
            FoundMemory(
                id=hit.place.message or hit.place.turn,
                session_id=self._key.conversation,
                text=hit.excerpt.text,
                score=hit.score,
                source_scope=MemoryScope.CURRENT_CHAT,
            )
            for hit in page.hits
        ]

    def _recollection(self, scopes: frozenset[MemoryScope], limit: int) -> Recollection:
        left_out = set() if MemoryScope.RESOURCES in scopes else {RecallPlane.AGENT_SKILL}
        planes = [plane for plane in RecallPlane if plane not in left_out]
        going_on = RecallScope(planes=planes, conversation=self._key.conversation, channel=self._key.channel)
        recall = self._runtime.memory.recall
        try:
            return recall(self._user, self._query, VIEW, going_on, limit=limit)
        except UnknownConversation:  # it has not begun
            return recall(self._user, self._query, VIEW, RecallScope(planes=planes), limit=limit)

    def _found(self, hit: RecallHit, scopes: frozenset[MemoryScope]) -> FoundMemory | None:
        """Return a hit as a result of the narrowest scope that it is in, or None."""
        places = [(each.conversation, each.turn) for each in hit.evidence if each.conversation is not None]
        session = places[0][0] if places else None
        is_here = hit.plane is RecallPlane.TRANSCRIPT and session == self._key
        uri = self._uri_of(hit) if MemoryScope.RESOURCES in scopes else None
        fits = {
            MemoryScope.CURRENT_CHAT: is_here,
            MemoryScope.RESOURCES: uri is not None,
            MemoryScope.ALL_USER_MEMORY: hit.plane is not RecallPlane.AGENT_SKILL,
        }
        scope = next((scope for scope in MemoryScope if scope in scopes and fits[scope]), None)
        if scope is None:
            return None
        return FoundMemory(
            id=hit.id,
            session_id=None if session is None else session.conversation,
            text=hit.text,
            score=hit.score,
            source_scope=scope,
            resource_uri=uri,
        )

    def _uri_of(self, hit: RecallHit) -> str | None:
        """Return the address of what a hit refers to: a skill of the host, or what its turn links to."""
        if hit.plane is RecallPlane.AGENT_SKILL:
            return f"skill://{quote(hit.id)}"
        for evidence in hit.evidence:
            if evidence.withheld is None and evidence.conversation is not None and evidence.turn is not None:
                turn = self._turn(evidence.conversation, evidence.turn)
                uri = None if turn is None else uri_in(turn, evidence.message)
                if uri is not None:
                    return uri
        return None

    def _turn(self, key: ConversationKey, turn: TurnId) -> SliceTurn | None:
        """Return a turn as models see it, or None."""
        if (key, turn) not in self._turns:
            anchor = Anchor(at=AnchorKind.AROUND, turn=turn)
            try:
                shown = self._runtime.transcripts.timeline(key, anchor, VIEW, limit=1).turns
            except (UnknownConversation, UnknownPlace):
                shown = []
            self._turns[key, turn] = shown[0] if shown and shown[0].turn == turn else None
        return self._turns[key, turn]


def uri_in(turn: SliceTurn, message: str | None) -> str | None:
    """Return the first address in a message of a turn, or in any where none is named; else that of its reference."""
    said = [each for each in turn.messages if message in {None, each.id}]
    links = (part.uri for each in said for part in each.parts if isinstance(part, UriPart))
    return next(links, next(map(uri_of, turn.host_refs), None))


def uri_of(reference: HostReference) -> str:
    """Return a reference of a host as an address: its id where that is one, else made of its names."""
    if "://" in reference.id:
        return reference.id
    return f"{quote(reference.host, safe='')}:{quote(reference.type, safe='')}/{quote(reference.id, safe='')}"


class GatewayPath(NamedTuple):
    """A path of the memory gateway: what it is asked, what answers, with what, and what it is for."""

    asked: type[ProjectRequest]
    report: type[Struct]
    answer: Callable[[Runtime, SubjectId, Any], Struct]
    summary: str


GATEWAY_PATHS = {
    "/memories/search": GatewayPath(
        SearchMemories, MemoryResults, search, "Find what is known of the user on a question."
    ),
    "/memories/add": GatewayPath(AddExchange, AddAnswer, add, "Keep a question and its answer as one turn."),
    "/memories/flush": GatewayPath(FlushSession, FlushAnswer, flush, "Bring the indexes of a session up to date."),
}
CREDENTIALS = {"user_id": "The user, who is the subject of the key.", "user_key": "Client key of the user."}
