"""Limits of sizes: larger input is refused, never truncated. A store can be opened with other limits."""

from __future__ import annotations

from msgspec import Struct

from muniment.errors import LimitExceeded

KIB = 2**10
MIB = 2**20
ATTACHMENT_BYTES_MAX = 16 * 1024 * MIB  # a log numbers no more chunks of a file


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of a space."""

    message_bytes_max: int = MIB
    message_parts_max: int = 1024
    turn_bytes_max: int = 4 * MIB
    turn_messages_max: int = 256
    turn_host_refs_max: int = 64
    turn_tools_max: int = 256
    turn_candidates_max: int = 256
    turn_attributes_max: int = 64
    attribute_bytes_max: int = 64 * KIB
    attributes_max: int = 1000
    attachment_bytes_max: int = 1024 * MIB
    page_turns_max: int = 500
    report_items_max: int = 1000
    activity_ranges_max: int = 1000
    derivations_max: int = 256
    batch_turns_max: int = 1000
    batch_bytes_max: int = 16 * MIB
    source_turns_max: int = 10_000
    candidates_max: int = 256
    item_bytes_max: int = 64 * KIB
    items_max: int | None = None
    tables_bytes_max: int = 2 * 1024 * MIB  # of the tables of one view, in memory
    statement_seconds_max: int = 30
    result_rows_max: int = 100_000
    result_bytes_max: int = 64 * MIB

    def __post_init__(self) -> None:
        """Refuse what a log cannot hold."""
        if self.attachment_bytes_max > ATTACHMENT_BYTES_MAX:
            found = self.attachment_bytes_max
            raise LimitExceeded(at="attachment_bytes_max", problem="too_large", limit=ATTACHMENT_BYTES_MAX, found=found)
