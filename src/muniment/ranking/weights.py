"""How much each signal counts. Every number is named, and may be set by whoever asks."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Weight = Annotated[float, Meta(ge=0, le=10)]


class Weights(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each signal adds to the score of a message; 0 leaves it out.

    `keyword` and `semantic` are scaled by the best of all candidates, so that 1 is the best there is. `neighbours` is
    the share of their own score that the messages before and after lend, `session` that of the best ones of the
    session; `speaker` counts when the question names who said it, `role` when it tells whether the user or the
    assistant did, `date` when it names a time; `recency` favours what was said last.
    """

    keyword: Weight = 1.0
    semantic: Weight = 0.6
    neighbours: Weight = 0.3
    session: Weight = 0.3
    speaker: Weight = 0.35
    role: Weight = 0.4
    date: Weight = 0.7
    recency: Weight = 0.0

    @property
    def most(self) -> float:
        """The score that none exceeds: every signal is between 0 and 1, and each of two neighbours lends its share."""
        own = self.keyword + self.semantic
        return own + 2 * self.neighbours * own + self.session + self.speaker + self.role + self.date + self.recency


PLAIN = Weights(neighbours=0, session=0, speaker=0, role=0, date=0)

# The defaults are those of `words` without vectors and of `meaning` with them (decision 0100).
PRESETS: dict[str, Weights] = {
    "words": Weights(),
    "meaning": Weights(speaker=0.6),
    "seed": Weights(
        keyword=0.35, semantic=0.55, recency=0.1, neighbours=0, session=0, speaker=0, role=0, date=0
    ),  # what hosts of the first hour knew: no priors
}
