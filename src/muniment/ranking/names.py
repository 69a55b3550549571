"""Speakers by their names, whatever their ids are.

1. A speaker is named by a word of their id: `Ada`, `user:ada`.
2. Many ids contain no name (`user:17`). Then greetings do: the speaker before or after a message that begins with one
   ("Hi Ada") has that name. Only capitalised words are searched like this, and one greeting is not enough ("thanks
   God").
3. A word that names many speakers names none, nor does a role ("user").
"""

from __future__ import annotations

import re
from collections import Counter

from muniment.ranking.columns import NO_ROW, Corpus
from muniment.ranking.words import COMMON, GREETINGS, NAME, ROLE_WORDS

PIECE = re.compile(r"[^\W_]+")
NAMED_MAX = 8
GREETED_MIN = 2
MOST_SHARE = 0.5  # of all greetings by a name, its speaker has more than this share


def named(word: str, corpus: Corpus) -> list[int]:
    """Return the speakers that a word names."""
    speakers = {speaker for term in corpus.terms(word) for speaker in corpus.named(term)}
    speakers = {speaker for speaker in speakers if _is_in(word, corpus.columns.speakers[speaker])}
    if speakers:
        return sorted(speakers) if len(speakers) <= NAMED_MAX else []
    return _called(word, corpus) if word[:1].isupper() and word.lower() not in COMMON else []


def _is_in(word: str, name: str) -> bool:
    """Tell whether a name has a piece of a word as it stands: `Mark` is not named by "marks"."""
    if name.lower() in ROLE_WORDS:
        return False
    pieces = [piece for piece in PIECE.findall(word.lower()) if not piece.isdigit()]
    return not name.isascii() or any(piece in PIECE.findall(name.lower()) for piece in pieces)


def _called(word: str, corpus: Corpus) -> list[int]:
    columns, votes = corpus.columns, Counter[int]()
    for pattern in GREETINGS:
        rows = corpus.beginning(corpus.terms(pattern.replace(NAME, word)))
        for link in (columns.previous, columns.following):
            near = link[rows]
            near, greeting = near[near != NO_ROW], rows[near != NO_ROW]
            others = columns.speaker[near]
            votes.update(others[others != columns.speaker[greeting]].tolist())
    if not votes:
        return []
    greatest = max(votes.values())
    if greatest < GREETED_MIN or greatest <= MOST_SHARE * votes.total():
        return []
    return [speaker for speaker, count in votes.items() if count == greatest]
