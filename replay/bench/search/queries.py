"""The queries: several kinds, taken from the messages, the same ones in every run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from muniment.events.identity import ConversationId
from muniment.events.message import TextPart, ToolCallPart
from muniment.formats.reading.otel import OtelInputLine
from muniment.operations.transcripts.hits import SearchScope
from replay.bench.search.corpora import Corpus, is_user
from replay.fts5 import STOP_WORDS

EACH = 25  # questions of a kind
SAMPLE_MESSAGES = 40_000
SENTENCE_WORDS = 9
SHORT = 2  # characters of a word that is not looked for on its own
WORD = re.compile(r"[^\W_]+")


class Kind(StrEnum):
    """What a question is made of."""

    RARE = "a rare word"
    COMMON = "two common words"
    SENTENCE = "a sentence"
    PHRASE = "a phrase"
    TOOL = "the name of a tool"
    SPEAKER = "a word that a speaker said"
    DATE = "a word that was said in a time range"


PLAIN_KINDS = (Kind.RARE, Kind.COMMON, Kind.SENTENCE, Kind.PHRASE, Kind.TOOL)  # what plain FTS5 answers, too


class Query(NamedTuple):
    """A question, where it looks, and for plain FTS5 the conversation that it looks into."""

    kind: Kind
    text: str
    within: SearchScope = SearchScope()
    conversation: str | None = None


class BenchQueries(NamedTuple):
    """All questions: to the whole space, and to one conversation."""

    everywhere: list[Query]
    in_one: list[Query]


def asked(corpus: Corpus) -> BenchQueries:
    """Return questions that are taken from what was said."""
    messages = list(islice(corpus.messages(), SAMPLE_MESSAGES))
    often = Counter(word for message in messages for word in set(_words(message)))
    common = [word for word, _ in often.most_common(200)][20:120]
    users = [
        message
        for message in messages
        if is_user(message) and len(_words(message)) > SENTENCE_WORDS and _telling(_words(message))
    ]
    chosen = users[:: max(1, len(users) // EACH)][:EACH]
    everywhere = [
        query for number, message in enumerate(chosen) for query in _of_message(message, often, common, number)
    ]
    tools = sorted({part.name for one in messages for part in one.parts if isinstance(part, ToolCallPart)})
    everywhere += [Query(Kind.TOOL, name) for name in tools[:: max(1, len(tools) // EACH)][:EACH]]
    in_one = [
        Query(
            Kind.SENTENCE,
            _sentence(message),
            SearchScope(conversation=ConversationId(message.conversation_id)),
            message.conversation_id,
        )
        for message in chosen
    ]
    return BenchQueries(everywhere, in_one)


def _of_message(message: OtelInputLine, often: Counter[str], common: list[str], number: int) -> Iterator[Query]:
    words = _words(message)
    telling = sorted(_telling(words), key=lambda word: (often[word], word))
    yield Query(Kind.RARE, telling[0])
    yield Query(Kind.COMMON, f"{common[number % len(common)]} {common[(7 * number + 3) % len(common)]}")
    yield Query(Kind.SENTENCE, _sentence(message))
    at = max(range(len(words) - 1), key=lambda at: (-min(often[words[at]], often[words[at + 1]]), -at))
    yield Query(Kind.PHRASE, f'"{words[at]} {words[at + 1]}"')
    middle = telling[len(telling) // 2]
    yield Query(Kind.SPEAKER, middle, SearchScope(speaker=message.actor or "user"))
    if message.ts is not None:
        yield Query(Kind.DATE, middle, SearchScope(from_ms=message.ts - 86_400_000, until_ms=message.ts + 86_400_000))


def _sentence(message: OtelInputLine) -> str:
    return " ".join(_words(message)[:SENTENCE_WORDS])


def _telling(words: list[str]) -> set[str]:
    """Return the words that say something on their own."""
    return {word for word in words if len(word) > SHORT and word not in STOP_WORDS}


def _words(message: OtelInputLine) -> list[str]:
    text = " ".join(part.content for part in message.parts if isinstance(part, TextPart))
    return WORD.findall(text.lower())
