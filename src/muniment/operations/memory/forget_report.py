"""The report about a request to forget, and why one is refused."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from muniment.operations.lifecycle.report import ErasureReceipt
from muniment.operations.not_done import AnsweredRequest

TARGET_NOT_FOUND, AMBIGUOUS = "target_not_found", "ambiguous"
CONFIRMATION_REQUIRED, CONFIRMATION_DIFFERS, KEPT = "confirmation_required", "confirmation_differs", "kept"


class ForgetReport(AnsweredRequest, Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a request to forget. One that is not accepted has a reason, and changed nothing.

    `items` are the ids of the items that match, `kept` those of them that a hold keeps. `token` confirms a query, once:
    it is bound to the query and to what matched it. A dry run has the reason that the request would have.
    """

    accepted: bool
    changed: bool
    dry_run: bool
    items: list[str]
    kept: list[str] = []
    reason: str | None = None
    token: str | None = None
    position: int | None = None
    receipt: ErasureReceipt | None = None

    def words(self) -> Iterator[str | None]:
        """Yield why nothing was forgotten, and that something is kept."""
        yield self.reason
        yield KEPT if self.kept else None
