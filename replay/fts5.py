"""The floor of search: plain FTS5 of SQLite in memory, as a careful programmer uses it without any of ours.

Readable, not erasable, one index for everybody; any word of a question counts (OR), bm25 decides. `PORTER` is the usual
one: English endings and words that say nothing do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import apsw

WORD = re.compile(r"\w+")
STOP_WORDS = frozenset(
    [
        "a",
        "about",
        "after",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "between",
        "both",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "during",
        "each",
        "for",
        "from",
        "further",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "here",
        "hers",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "me",
        "more",
        "most",
        "my",
        "no",
        "nor",
        "not",
        "of",
        "off",
        "on",
        "once",
        "only",
        "or",
        "other",
        "our",
        "out",
        "over",
        "own",
        "s",
        "same",
        "she",
        "should",
        "so",
        "some",
        "such",
        "t",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)


class Flavour(NamedTuple):
    """How an index is made: its tokenizer, and whether words that say nothing are left out of questions."""

    name: str
    tokenizer: str
    drops_stop_words: bool


WORDS = Flavour("plain FTS5, unicode61, all words", "unicode61", drops_stop_words=False)
PORTER = Flavour(
    "plain FTS5, porter, stop words removed", "porter unicode61 remove_diacritics 2", drops_stop_words=True
)


class PlainIndex:
    """Texts by a number of the caller's, some of them in a group (a conversation)."""

    def __init__(self, flavour: Flavour = PORTER) -> None:
        self._flavour = flavour
        self._database = apsw.Connection(":memory:")
        self._database.execute(
            f"CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize='{flavour.tokenizer}')"
        )
        self._database.execute("CREATE TABLE places (id INTEGER PRIMARY KEY, grouped TEXT NOT NULL)")

    def put(self, texts: Iterable[tuple[int, str, str]]) -> None:
        """Add texts: number, group, words."""
        with self._database:
            for number, group, words in texts:
                self._database.execute("INSERT INTO texts (rowid, text) VALUES (?, ?)", (number, words))
                self._database.execute("INSERT INTO places VALUES (?, ?)", (number, group))

    def search(self, question: str, most: int, group: str | None = None) -> list[int]:
        """Return the numbers of the best texts, best first; with a group, of that alone."""
        asked = self._asked(question)
        if not asked:
            return []
        within = "" if group is None else "AND +rowid IN (SELECT id FROM places WHERE grouped = :group)"
        rows = self._database.execute(
            f"SELECT rowid FROM texts WHERE texts MATCH :asked {within} ORDER BY rank, rowid DESC LIMIT :most",  # noqa: S608 - no part of it came from outside
            {"asked": asked, "group": group, "most": most},
        )
        return [int(number) for (number,) in rows]

    def close(self) -> None:
        """Forget everything."""
        self._database.close()

    def _asked(self, question: str) -> str:
        words = WORD.findall(question.lower())
        if self._flavour.drops_stop_words:
            words = [word for word in words if word not in STOP_WORDS] or words
        return " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
