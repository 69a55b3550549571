"""Feeds: reports that go on behind a cursor for as long as somebody wants to know what comes next.

An operation whose report is a `FeedPage` takes `after`, the id of an entry or the cursor of a page, and `limit`. A
transport may ask for one page after the other, whenever the log of the space has grown, and hand out the entries as
they come. It needs to know nothing else of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class FeedEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of a feed: an opaque id, behind which the feed goes on, and its type in one word."""

    id: str
    type: str


class FeedPage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of a feed. The feed goes on behind `cursor`; with `has_more` there is something behind it now."""

    cursor: str
    has_more: bool

    @property
    def entries(self) -> Sequence[FeedEntry]:
        """Return the entries of the page, in their order."""
        raise NotImplementedError
