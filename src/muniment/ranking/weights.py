"""How much each signal counts. Every number has a name, and a request may set it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Weight = Annotated[float, Meta(ge=0, le=10)]


class Weights(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each signal adds to the score of a message; 0 leaves it out.

    `keyword` and `semantic` are scaled by the best of all candidates, so that 1 is the best there is. `neighbours` is
    the share of their own score that the messages before and after lend, `beyond` that of the ones next to these, and
    `session` counts for the session with the best ones; `speaker` counts when the question names who said it, `role`
    for what users said, or assistants when the question asks for that, `date` when it names a time; `recency` favours
    what was said last.
    """

    keyword: Weight = 1.0
    semantic: Weight = 0.7
    neighbours: Weight = 0.35
    beyond: Weight = 0.0
    session: Weight = 0.4
    speaker: Weight = 0.7
    role: Weight = 0.5
    date: Weight = 0.8
    recency: Weight = 0.0

    @property
    def most(self) -> float:
        """The score that none exceeds: every signal is at most 1, and each of four neighbours lends its share."""
        own = self.keyword + self.semantic
        lent = 2 * (self.neighbours + self.beyond) * own
        return own + lent + self.session + self.speaker + self.role + self.date + self.recency


# Without weights, `words` counts where there are no vectors and `meaning` where there are some (decision 0100). `seed`
# is the plain sum of other stores of this kind: no priors, and the newest first among equals.
PRESETS: dict[str, Weights] = {
    "words": Weights(),
    "meaning": Weights(beyond=0.1, speaker=0.9, date=1.0),
    "seed": Weights(
        keyword=0.35, semantic=0.55, recency=0.1, neighbours=0, beyond=0, session=0, speaker=0, role=0, date=0
    ),
}
