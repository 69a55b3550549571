"""What an archive leaves out: content, counted by reason, and without private material also what hints at it.

Without private material an archive says who, when and what happened. What people wrote about it (the reasons of
requests), ids that lead from a turn to other systems (of the request, of the conversation there, of memory candidates)
and the ranges of redactions, which tell how long a text is, stay behind with the content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from muniment.events.changes import TurnLifecycle
from muniment.events.records import MetaBody, TurnMeta, worded_no_more

LEFT_OUT = "left out of an archive"


class OmissionReason(StrEnum):
    """Why content is not in an archive."""

    ERASED = "erased"
    PRIVATE = "private"
    SOUL_GOVERNANCE = "soul_governance"
    NO_ITEM = "no_item"  # a proposal, or the words of a policy of memory


class LeftOutContent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Content that an archive leaves out for one reason.

    Whole turns, messages (those of the turns too), items, and tool registries.
    """

    reason: OmissionReason
    turns: int
    messages: int
    items: int = 0
    registries: int = 0


class ArchiveOmissions:
    """Counts what an archive leaves out."""

    def __init__(self) -> None:
        self._turns: Counter[OmissionReason] = Counter()
        self._messages: Counter[OmissionReason] = Counter()
        self._items: Counter[OmissionReason] = Counter()
        self._registries: Counter[OmissionReason] = Counter()

    def whole(self, reason: OmissionReason, meta: TurnMeta) -> None:
        """Count a turn whose content is left out."""
        self._turns[reason] += 1
        self._messages[reason] += len(meta.messages)

    def messages(self, reason: OmissionReason, places: Iterable[int]) -> None:
        """Count messages of a turn that are left out alone."""
        self._messages[reason] += sum(1 for _ in places)

    def items(self, reason: OmissionReason, count: int) -> None:
        """Count memory items whose words are left out."""
        self._items[reason] += count

    def registries(self, reason: OmissionReason, count: int) -> None:
        """Count tool registries that are left out."""
        self._registries[reason] += count

    def counts(self) -> list[LeftOutContent]:
        """Return the counts, without reasons that do not occur."""
        return [
            LeftOutContent(
                reason=reason,
                turns=self._turns[reason],
                messages=self._messages[reason],
                items=self._items[reason],
                registries=self._registries[reason],
            )
            for reason in OmissionReason
            if any(counted[reason] for counted in (self._turns, self._messages, self._items, self._registries))
        ]


def without_private_hints(meta: MetaBody) -> MetaBody:
    """Return a meta body as an archive without private material holds it."""
    if isinstance(meta, TurnMeta):
        return replace(meta, source=replace(meta.source, conversation_hint=None, request_id=None), candidates=[])
    if isinstance(meta, TurnLifecycle) and meta.request.reason == LEFT_OUT:
        return meta  # nobody's words
    return worded_no_more(meta)
