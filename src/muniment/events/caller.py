"""Who acted, as events name it."""

from __future__ import annotations

from msgspec import Struct


class Caller(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The access of a caller: its views, and the subject that it acted for."""

    views: list[str]
    subject: str | None = None
