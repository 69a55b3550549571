"""Parsing a question: its words, the speakers, role and time that it asks about.

1. Words are what stands between blanks, without the marks around them and a `'s` behind. A word of several pieces
   (`4711-zephyr`, `find_restaurants`) is a phrase beside its pieces. A run of Chinese, Japanese or Korean is cut by the
   corpus into terms of its own.
2. A word that names who takes part says whose messages are meant, and is searched for as well: it finds what any word
   finds. It counts for less there (`NAME_SHARE` in `ranking`), or it would match above all what calls somebody by it.
3. Words that every sentence has, and those that make it a question, are not searched for; numbers of a date neither.
4. What the corpus takes for a term where no word was seen here (scripts that Python does not know) is searched for.
5. Whatever these rules leave nothing of is searched for as it stands: "who", or a name alone, is a query too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from muniment.events.message import Role
from muniment.ranking.columns import Corpus, Rows
from muniment.ranking.dates import DateRange, dates
from muniment.ranking.names import PIECE, named
from muniment.ranking.words import ASKS_ROLE, ASKS_WHEN, COMMON, FORMS

QUESTION_CHARS = 4096  # of a longer one, the beginning is read
PHRASES_MAX = 64

WORD = re.compile(r"\w+(?:['\u2019\-_./@:#+]+\w+)*")
ENDING = re.compile(r"['\u2019](?:s|t|d|m|ll|re|ve)$", re.IGNORECASE)


class Question(NamedTuple):
    """What is asked, in free text, and when (UTC milliseconds): relative dates count from there."""

    text: str
    asked_ms: int


class ParsedQuestion(NamedTuple):
    """What was understood of a question.

    `asked_ms` is when (UTC milliseconds). `phrases` are searched for, each one term or several side by side, and so are
    `names`, which count for less; the words in `left_out` are not. `meaning` is the question without names that are
    written as such, for vectors. `role` is whose words are asked for,
    where that is said. `only_times`: nothing but times is asked for (and who said it); `when`: the time of something
    is.
    """

    asked_ms: int
    phrases: list[list[str]]
    names: list[list[str]]
    speakers: list[int]
    role: Role | None
    ranges: list[DateRange]
    only_times: bool
    when: bool
    meaning: str
    left_out: list[str]

    @property
    def searched(self) -> list[list[str]]:
        """All phrases that are searched for."""
        return self.phrases + self.names


class QuestionWord(NamedTuple):
    """A word of a question: the pieces of letters and digits that it consists of, and where it stands."""

    text: str
    pieces: list[str]
    start: int


def parse_question(question: Question, corpus: Corpus, within: Rows) -> ParsedQuestion:
    """Return what a question asks of some documents of a corpus, in ascending order."""
    text = question.text[:QUESTION_CHARS]
    times = dates(text, question.asked_ms)
    words = list(_words(text))
    roles = {role: match for role, asks in ASKS_ROLE.items() if (match := asks.search(text)) is not None}
    role_spans = [match.span() for match in roles.values()]
    called = {word.start: who for word in words if (who := _named(word, words[0].start, corpus, within))}
    left_out: list[str] = []
    phrases: dict[tuple[str, ...], None] = {}
    names: dict[tuple[str, ...], None] = {}
    only_times = bool(times)
    for word in words:
        in_date = any(time.start <= word.start < time.end for time in times)
        in_role = any(start <= word.start < end for start, end in role_spans)
        if word.start in called:
            names.update(dict.fromkeys(_forms(word, corpus)))
        elif _is_common(word) or in_role or (in_date and _is_numeric(word)):
            left_out.append(word.text)
        else:
            only_times &= in_date
            phrases.update(dict.fromkeys(_forms(word, corpus)))
    seen = {term for match in WORD.finditer(text) for term in corpus.terms(match.group())}
    phrases.update({(term,): None for term in corpus.terms(text) if term not in seen})
    for word in () if phrases else words:
        phrases.update(dict.fromkeys(_phrases(word, corpus, whole=True)))
    names = {name: None for name in names if name not in phrases}
    return ParsedQuestion(
        asked_ms=question.asked_ms,
        phrases=[list(phrase) for phrase in phrases][:PHRASES_MAX],
        names=[list(name) for name in names][:PHRASES_MAX],
        speakers=sorted(
            {speaker for who in called.values() for speaker in who}, key=corpus.columns.speakers.__getitem__
        ),
        role=min(roles, key=lambda role: roles[role].start(), default=None),
        ranges=[time.range for time in times],
        only_times=only_times,
        when=ASKS_WHEN.search(text) is not None,
        meaning=_without(text, [word for word in words if word.start in called and word.text[:1].isupper()]),
        left_out=left_out,
    )


def _words(text: str) -> list[QuestionWord]:
    words: list[QuestionWord] = []
    for match in WORD.finditer(text):
        word = ENDING.sub("", match.group())
        words.append(QuestionWord(word, PIECE.findall(word), match.start()))
    return words


def _named(word: QuestionWord, first: int, corpus: Corpus, within: Rows) -> list[int]:
    """Return the speakers that a word names. What is also a common word names somebody only where it is capitalised."""
    if _is_common(word) and (not word.text[:1].isupper() or word.start == first):
        return []
    return named(word.text, corpus, within)


def _forms(word: QuestionWord, corpus: Corpus) -> list[tuple[str, ...]]:
    """Return the phrases to search for a word, its irregular forms included."""
    forms = [(term,) for form in FORMS.get(word.text.lower(), ()) for term in corpus.terms(form)]
    return [*_phrases(word, corpus), *forms]


def _phrases(word: QuestionWord, corpus: Corpus, *, whole: bool = False) -> list[tuple[str, ...]]:
    """Return the phrases to search for a word: itself, and its pieces without the common ones."""
    pieces: list[tuple[str, ...]] = [
        (term,)
        for piece in word.pieces
        if whole or len(word.pieces) == 1 or piece.lower() not in COMMON
        for term in corpus.terms(piece)
    ]
    phrase = tuple(corpus.terms(word.text))
    return [phrase, *pieces] if len(word.pieces) > 1 and len(phrase) > 1 else pieces


def _is_common(word: QuestionWord) -> bool:
    return len(word.pieces) == 1 and word.pieces[0].lower() in COMMON


def _is_numeric(word: QuestionWord) -> bool:
    return all(piece.isdigit() for piece in word.pieces)


def _without(text: str, words: list[QuestionWord]) -> str:
    """Return a text without some of its words."""
    kept, at = "", 0
    for word in words:
        kept += text[at : word.start]
        at = word.start + len(word.text)
        at += len(match.group()) if (match := re.match(r"['\u2019]s\b", text[at:])) else 0
    return " ".join((kept + text[at:]).split())
