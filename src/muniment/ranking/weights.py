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
