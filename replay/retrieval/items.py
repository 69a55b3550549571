"""Recall over memory items: a labelled question has one that holds its answer, with the turns of the set as evidence.

An item says the answer as it stands and nothing of the question, so the question has few words in common with it. Its
topic are the speakers of its turns. Plain FTS5 has the same items, topic and text.

How often is there honestly no answer? Questions of other conversations have none here, and adversarial ones have none
anywhere. Both are asked of items and messages together, and compared with the questions that are answered, for several
values of `least_relevance`.
"""

from __future__ import annotations

import gzip
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from muniment.events.identity import ConversationId, ConversationKey, SubjectId, TurnId
from muniment.governance.views import View
from muniment.memory.candidate import Candidate, ItemSource, Ruling, SemanticJudgement
from muniment.operations.memory.recall_report import RecallPlane, RecallRanking, RecallScope, Recollection
from muniment.runtime.runtime import Runtime
from replay.fts5 import PlainIndex
from replay.measure import percentile
from replay.retrieval.methods import PLAIN_FLAVOURS, QUERY_CHARACTERS_MAX, Given, Method, turn_of, when_ms
from replay.retrieval.sets import ADVERSARIAL, Labelled, Row
from replay.stores import opened

FOUND_IN = 5
THRESHOLDS = (0.0, 0.1, 0.15, 0.2, 0.25, 0.3)
AT_ONCE = 100
FOREIGN_EACH = 4  # of the questions of other conversations, every fourth is asked
WRITER = "retrieval"
ALONE = RecallScope(planes=[RecallPlane.LONG_TERM])
ANYTHING = RecallRanking(least_relevance=0.0)


class Item(NamedTuple):
    """The item of a question, by its topic."""

    question: str
    topic: str
    candidate: Candidate


class Talk(NamedTuple):
    """A conversation of a set with its questions."""

    turns: list[Given]
    questions: list[Row]


class Answered(NamedTuple):
    """How relevant the best hit of a question was, and the best one that is right (-1: there was none)."""

    best: float
    right: float


class ItemScores(NamedTuple):
    """What a method did: the share of questions whose item is among the first, and the wall milliseconds of each.

    `asked` are the answers of items and messages together, by what kind of question it was.
    """

    name: str
    found: list[bool]
    walls: list[float]
    asked: dict[str, list[Answered]]


class ItemTable(NamedTuple):
    """A set with all methods."""

    name: str
    scored: list[ItemScores]


ANSWERED, FOREIGN = "answered", "of another conversation"


def talks_of(labelled: Labelled, data: Path) -> list[Talk]:
    """Return the conversations of a set."""
    questions: defaultdict[str, list[Row]] = defaultdict(list)
    for row in _lines(data / f"{labelled.name}.questions.jsonl.gz"):
        questions[row["conv_id"]].append(row)
    return [
        Talk(one["turns"], questions[one["conv_id"]])
        for one in _lines(data / f"{labelled.name}.conversations.jsonl.gz")
    ]


def _lines(path: Path) -> Iterator[Row]:
    with gzip.open(path) as lines:
        yield from map(msgspec.json.decode, lines)


def items_of(talk: Talk, subject: SubjectId) -> list[Item]:
    """Return an item for each question that has an answer and evidence."""
    turns, made = {turn["id"]: turn for turn in talk.turns}, list[Item]()
    for row in talk.questions:
        evidence = [turns[name] for name in row["evidence"] if name in turns]
        if row["category"] == ADVERSARIAL or not row.get("answer") or not evidence:
            continue
        speakers = sorted({turn["speaker"] for turn in evidence})
        topic = f"{' and '.join(speakers)} #{len(made)}"
        candidate = Candidate(
            subject=subject,
            kind="fact",
            topic=topic,
            text=str(row["answer"]),
            observed_ms=max(when_ms(turn["date"]) or 0 for turn in evidence),
            entities=speakers,
            evidence=[_source(turn) for turn in evidence],
            judgement=SemanticJudgement(decision=Ruling.ACCEPT),
        )
        made.append(Item(row["question"], topic, candidate))
    return made


def _source(turn: Given) -> ItemSource:
    conversation = ConversationKey(conversation=ConversationId(turn["session"]))
    return ItemSource(conversation=conversation, turn=TurnId(turn["id"]))


def item_table(labelled: Labelled, methods: Sequence[Method], data: Path, tell: Callable[[str], None]) -> ItemTable:
    """Score plain FTS5, and recall with every model that is asked for; nothing where no question has an answer."""
    talks, scored = talks_of(labelled, data), list[ItemScores]()
    for method in methods:
        flavour = PLAIN_FLAVOURS.get(method.name)
        one = ItemScores(method.name, [], [], defaultdict(list))
        for number, talk in enumerate(talks):
            items = items_of(talk, SubjectId(f"talk-{number}"))
            if not items:
                continue
            if flavour is not None:
                _plain(PlainIndex(flavour), items, one)
                continue
            foreign = [row["question"] for other in talks if other is not talk for row in other.questions]
            with tempfile.TemporaryDirectory(prefix="muniment-retrieval-") as scratch:
                _ours(Path(scratch), method, talk, items, foreign[::FOREIGN_EACH], one)
        scored.append(one)
        tell(f"{labelled.name}: items: {method.name}: found in the first {FOUND_IN} {share(one.found):.3f}")
    return ItemTable(labelled.name, scored)


def _plain(index: PlainIndex, items: list[Item], into: ItemScores) -> None:
    index.put((number, "", f"{item.topic}\n{item.candidate.text}") for number, item in enumerate(items))
    for number, item in enumerate(items):
        start = time.perf_counter()
        found = index.search(item.question, FOUND_IN)
        into.walls.append((time.perf_counter() - start) * 1000)
        into.found.append(number in found)
    index.close()


def _ours(directory: Path, method: Method, talk: Talk, items: list[Item], foreign: list[str], into: ItemScores) -> None:
    with opened(directory, options=method.embedder.options() if method.embedder else None) as runtime:
        subject = items[0].candidate.subject
        for turn in talk.turns:
            runtime.transcripts.commit(turn_of(turn, subject))
        left = iter(items)
        while batch := list(islice(left, AT_ONCE)):
            runtime.memory.remember([item.candidate for item in batch], WRITER)
        if method.embedder:
            method.embedder.embed(runtime, View.MODEL_CONTEXT)
        for item in items:
            start = time.perf_counter()
            hits = _asked(runtime, subject, item.question, ALONE).hits
            into.walls.append((time.perf_counter() - start) * 1000)
            into.found.append(any(hit.topic == item.topic for hit in hits))
        for row in talk.questions:
            kind = ADVERSARIAL if row["category"] == ADVERSARIAL else ANSWERED
            into.asked[kind].append(_answered(_asked(runtime, subject, row["question"]), set(row["evidence"])))
        for question in foreign:
            into.asked[FOREIGN].append(_answered(_asked(runtime, subject, question), set()))


def _asked(runtime: Runtime, subject: SubjectId, question: str, scope: RecallScope | None = None) -> Recollection:
    text = question[:QUERY_CHARACTERS_MAX]
    return runtime.memory.recall(subject, text, scope=scope or RecallScope(), ranking=ANYTHING, limit=FOUND_IN)


def _answered(answer: Recollection, evidence: set[str]) -> Answered:
    right = [hit.relevance for hit in answer.hits if any(source.turn in evidence for source in hit.evidence)]
    return Answered(max((hit.relevance for hit in answer.hits), default=-1.0), max(right, default=-1.0))


def share(found: Sequence[bool]) -> float:
    """Return the share of what is true."""
    return sum(found) / len(found) if found else float("nan")


# --- the report -------------------------------------------------------------------------------------------------------

ITEM_READING = (
    "The item of a question holds its answer and nothing of the question; its topic are the speakers of its turns.",
    f"Found: the share of questions whose item is among the first {FOUND_IN} hits of `memory.recall` in its plane.",
    "Right: a hit that is a message of the evidence, or an item that rests on one, among items and messages together.",
    f"No answer: nothing reaches `least_relevance`. Questions {FOREIGN} of the set have no answer there;",
    "adversarial ones ask something of the wrong person in the words of what was said, so their hits are as relevant.",
)


def item_lines(table: ItemTable) -> Iterator[str]:
    """Yield the part of the report about the items of a set."""
    yield f"### Items made from the answers of {table.name}: {len(table.scored[0].found)}"
    yield ""
    yield f"| method | found in the first {FOUND_IN} | p50 | p95 |"
    yield "|---|---|---|---|"
    for one in table.scored:
        p50, p95 = (percentile(one.walls, part) for part in (0.5, 0.95))
        yield f"| {one.name} | {_number(share(one.found))} | {p50:.1f} | {p95:.1f} |"
    yield ""
    yield f"| method | least relevance | right | no answer: answered | {FOREIGN} | {ADVERSARIAL} |"
    yield "|---|---|---|---|---|---|"
    for one in table.scored:
        for least in THRESHOLDS if one.asked else ():
            empty = [
                _number(share([answer.best < least for answer in one.asked.get(kind, ())]))
                for kind in (ANSWERED, FOREIGN, ADVERSARIAL)
            ]
            right = _number(share([answer.right >= least for answer in one.asked[ANSWERED]]))
            yield f"| {one.name} | {least} | {right} | {' | '.join(empty)} |"


def _number(value: float) -> str:
    return f"{value:.3f}".removeprefix("0") if value == value else ""  # noqa: PLR0124 - nan differs from itself
