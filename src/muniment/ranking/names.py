"""Who is named: speakers by what they are called, whatever their id says.

1. A speaker is named by a word of their id: `Ada`, `user:ada`.
2. Ids often say nothing (`user:17`). Then others say what somebody is called: whoever speaks before or after a message
   that begins with a greeting ("Hi Ada") is called so. Only capitalised words are looked for like this, and one
   greeting is no proof ("thanks God").
3. A word that many speakers are called is the name of none, nor is a role ("user").
"""

from __future__ import annotations

import re
from collections import Counter

from muniment.ranking.columns import NO_ROW, Corpus
from muniment.ranking.words import COMMON, GREETINGS, NAME, ROLE_WORDS

PIECE = re.compile(r"[^\W_]+")
NAMED_MAX = 8
GREETED_MIN = 2
MOST_SHARE = 0.5  # of all that were greeted by a name, who bears it has more than this share


def named(word: str, corpus: Corpus) -> list[int]:
    """Return the speakers that a word names."""
    found = {speaker for term in corpus.terms(word) for speaker in corpus.named(term)}
    found = {speaker for speaker in found if _is_in(word, corpus.columns.speakers[speaker])}
    if found:
        return sorted(found) if len(found) <= NAMED_MAX else []
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
        for beside in (columns.previous, columns.following):
            near = beside[rows]
            near, said = near[near != NO_ROW], rows[near != NO_ROW]
            others = columns.speaker[near]
            votes.update(others[others != columns.speaker[said]].tolist())
    if not votes:
        return []
    most = max(votes.values())
    if most < GREETED_MIN or most <= MOST_SHARE * votes.total():
        return []
    return [speaker for speaker, count in votes.items() if count == most]
