"""The noun group `redactions`: withhold a text everywhere, with a preview.

`find` searches and changes nothing. Its token is bound to what was sought, to the views, and to exactly the set of
places that are not withheld yet; `apply` searches again and appends only when it finds the same set, in one transaction
on the very state that was searched. So nothing is withheld that nobody saw, and nothing that was said meanwhile slips
through.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.operation import Effect, Family, Group, SecondRight, operation
from muniment.declaration.session import Session
from muniment.errors import CursorStale, InvalidInput
from muniment.events.changes import RedactionReason
from muniment.events.identity import check_name
from muniment.governance.views import View
from muniment.operations.parameters import Requester
from muniment.operations.redactions.append_found import append_all
from muniment.operations.redactions.found_places import FoundPassage, SearchedSpace, SoughtText
from muniment.operations.redactions.occurrences import Extent
from muniment.operations.redactions.search_all import search_all
from muniment.operations.transcripts.redact import ReasonCode, RedactionRequest, check_request

ATTEMPTS_MAX = 8  # to append to the state that was searched
OWNER = SecondRight(views=(View.RAW_OWNER,))
WithheldFrom = Annotated[
    list[View] | None,
    Meta(description="A view that no longer shows it; may be repeated. Without it: every view but raw_owner."),
]
ALL_BUT_OWNER: list[View] = [view for view in View if view is not View.RAW_OWNER]
TextToFind = Annotated[SoughtText, Meta(description="What to find, how, and where.")]


class RedactionPreview(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a text occurs, and what `apply` would withhold.

    `matches` counts all places: `to_redact` of them are not withheld from all the views yet, `already` are, and
    `not_redactable` are in values of attributes. `by_extent` counts them by what is withheld. `masked_turns` were not
    searched. `places` lists the first ones.
    """

    token: str
    matches: int
    to_redact: int
    already: int
    not_redactable: int
    conversations: int
    turns: int
    masked_turns: int
    by_extent: dict[Extent, int] = {}
    places: list[FoundPassage] = []
    clipped: bool = False


class BulkRedactionReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was withheld: how many places in how many turns, and what could not be or was not searched."""

    changed: bool
    redacted: int
    already: int
    not_redactable: int
    turns: int
    masked_turns: int
    views: list[View]
    reason: RedactionReason


class Redactions(Group):
    """Find a text everywhere, and withhold it from views in one step."""

    name = "redactions"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.READ, family=Family.LIFECYCLE, also=(OWNER,))
    def find(
        self,
        sought: TextToFind,
        views: WithheldFrom = None,
        limit: Annotated[int, Meta(description="Maximum of places to list; the counts are complete.")] = 100,
    ) -> RedactionPreview:
        """Find a text in everything that the raw owner sees, and show what a redaction would withhold.

        Searches texts, reasoning, arguments and results of tools, addresses, names of files, summaries, labels and
        values of attributes, each alone. The token of the report goes to `redactions.apply`. Changes nothing. Needs the
        view `raw_owner`. Raises `transcript.unknown_conversation`, `request.limit_exceeded` for too many places,
        `request.invalid` for a text that says too little.
        """
        return _preview(self._session, sought, _named(views), limit)

    @operation(Effect.APPEND, family=Family.LIFECYCLE, also=(OWNER,), idempotent=True)
    def apply(
        self,
        sought: TextToFind,
        token: Annotated[str, Meta(description="The token of the preview.")],
        reason: ReasonCode,
        requester: Requester,
        views: WithheldFrom = None,
        note: Annotated[str | None, Meta(description="Why, in your own words; recorded.")] = None,
    ) -> BulkRedactionReport:
        """Withhold a text from views at every place that a preview has shown, in one atomic step.

        Appends one `turn.redacted` for each place, as `transcripts.redact` does. Raises `cursor.stale`, and appends
        nothing, when the places are no longer those of the preview; repeat `redactions.find` then. Where nothing is
        left to withhold it completes with `changed` false. Raises `cursor.invalid` for a token of another request,
        `access.denied` for a view that the access does not include.
        """
        return _apply(
            self._session,
            sought,
            _named(views),
            token,
            RedactionRequest(reason=reason, requester=requester, note=note or ""),
        )


def _named(views: list[View] | None) -> list[View]:
    return ALL_BUT_OWNER if views is None else views


def _checked(session: Session, sought: SoughtText, views: list[View]) -> None:
    if not views:
        raise InvalidInput(at="views", problem="empty")
    for view in (View.RAW_OWNER, *views):
        session.access.require_view(view)
    for name in ("channel", "conversation"):
        if (given := getattr(sought, name)) is not None:
            check_name(given, at=f"sought.{name}")


def _preview(session: Session, sought: SoughtText, views: list[View], limit: int) -> RedactionPreview:
    _checked(session, sought, views)
    if limit < 0:
        raise InvalidInput(at="limit", problem="negative", found=limit)
    found = search_all(session, sought, views)
    by_extent = {extent: count for extent in Extent if (count := found.count(extent))}
    return RedactionPreview(
        token=found.token(session),
        matches=len(found.passages),
        to_redact=len(found.pending),
        already=found.already,
        not_redactable=found.count(Extent.ATTRIBUTE),
        conversations=len({one.conversation for one in found.passages}),
        turns=len({(one.conversation, one.turn) for one in found.passages}),
        masked_turns=found.masked_turns,
        by_extent=by_extent,
        places=found.passages[:limit],
        clipped=len(found.passages) > limit,
    )


def _apply(
    session: Session, sought: SoughtText, views: list[View], token: str, request: RedactionRequest
) -> BulkRedactionReport:
    _checked(session, sought, views)
    check_request(request)
    for _ in range(ATTEMPTS_MAX):
        found = search_all(session, sought, views)
        found.check(session, token)
        if not found.pending or append_all(session, found, request):
            return _report(found, request)
    raise CursorStale(problem="changed")


def _report(found: SearchedSpace, request: RedactionRequest) -> BulkRedactionReport:
    return BulkRedactionReport(
        changed=bool(found.pending),
        redacted=len(found.pending),
        already=found.already,
        not_redactable=found.count(Extent.ATTRIBUTE),
        turns=len({(one.stream, one.sequence) for one in found.pending}),
        masked_turns=found.masked_turns,
        views=sorted(found.views),
        reason=request.reason,
    )
