"""Speakers by their names, whatever their ids are.

1. A speaker is named by a word of their id: `Ada`, `user:ada`.
2. Many ids contain no name (`user:17`). Then greetings do: the speaker before or after a message that begins with one
   ("Hi Ada") has that name. Only capitalised words are searched like this, and one greeting is not enough ("thanks
   God").
3. A word that names many speakers names none, nor does a role ("user").
4. Only speakers of the documents that may answer are named, by these documents alone: whatever is not in a search
   changes nothing in it.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from muniment.ranking.columns import NO_ROW, Corpus, Rows
from muniment.ranking.words import COMMON, GREETINGS, NAME, ROLE_WORDS

PIECE = re.compile(r"[^\W_]+")
NAMED_MAX = 8
GREETED_MIN = 2
MOST_SHARE = 0.5  # of all greetings by a name, its speaker has more than this share


def named(word: str, corpus: Corpus, within: Rows) -> list[int]:
    """Return the speakers of some documents, in ascending order, that a word names."""
    columns = corpus.columns
    speakers = {speaker for term in corpus.terms(word) for speaker in corpus.named(term)}
    speakers = {speaker for speaker in speakers if _is_in(word, columns.speakers[speaker])}
    speakers &= set(np.unique(columns.speaker[within]).tolist()) if speakers else speakers
    if speakers:
        return sorted(speakers) if len(speakers) <= NAMED_MAX else []
    return _called(word, corpus, within) if word[:1].isupper() and word.lower() not in COMMON else []


def _is_in(word: str, name: str) -> bool:
    """Tell whether a name has a piece of a word as it stands: `Mark` is not named by "marks"."""
    if name.lower() in ROLE_WORDS:
        return False
    pieces = [piece for piece in PIECE.findall(word.lower()) if not piece.isdigit()]
    return not name.isascii() or any(piece in PIECE.findall(name.lower()) for piece in pieces)


def _called(word: str, corpus: Corpus, within: Rows) -> list[int]:
    columns, votes = corpus.columns, Counter[int]()
    if len(columns.speakers) < 2:  # nobody greets, and nobody is greeted
        return []
    for pattern in GREETINGS:
        rows = corpus.beginning(corpus.terms(pattern.replace(NAME, word)), within)
        for link in (columns.previous, columns.following):
            near = link[rows]
            present = (near != NO_ROW) & np.isin(near, within)
            near, greeting = near[present], rows[present]
            others = columns.speaker[near]
            votes.update(others[others != columns.speaker[greeting]].tolist())
    if not votes:
        return []
    greatest = max(votes.values())
    if greatest < GREETED_MIN or greatest <= MOST_SHARE * votes.total():
        return []
    return [speaker for speaker, count in votes.items() if count == greatest]
