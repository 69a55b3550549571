"""Limits of sizes: larger input is refused, never truncated. A store can be opened with other limits."""

from __future__ import annotations

from msgspec import Struct

KIB = 2**10
MIB = 2**20


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
    page_turns_max: int = 500
    report_items_max: int = 1000
    activity_ranges_max: int = 1000
    derivations_max: int = 256
    source_turns_max: int = 10_000
