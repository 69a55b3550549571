"""Policies: which operations and views a deployment keeps hidden, and which it records, as tables.

Every operation declares one family, a policy hides families and views or has families recorded, and policies only add
up (decision 0081). Without a policy nothing is hidden, and what is read is not recorded (decision 0135). What a policy
hides is refused with `capability.hidden` and listed by `system.capabilities`. The family `system` reports what is
hidden and closes what is open, so no policy hides it. guide/profiles.md is generated from the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from muniment.governance.views import View


class Policy(StrEnum):
    """A rule of a deployment about what is hidden or recorded, whatever the rights of a caller."""

    NO_EXPORT = "no_export"
    NO_DEBUG_REPLAY = "no_debug_replay"
    RECORD_READS = "record_reads"


class Family(StrEnum):
    """Operations that a policy treats alike."""

    COMMIT = "commit"
    REPLAY = "replay"
    LISTING = "listing"
    REVEAL = "reveal"
    LIFECYCLE = "lifecycle"
    VALIDATION = "validation"
    EXPORT = "export"
    IMPORT = "import"
    STORE = "store"
    SYSTEM = "system"


class Hides(Struct, frozen=True, kw_only=True):
    """What a policy hides: families of operations, and views in every operation."""

    families: frozenset[Family] = frozenset()
    views: frozenset[View] = frozenset()


HIDES: dict[Policy, Hides] = {
    Policy.NO_EXPORT: Hides(families=frozenset({Family.EXPORT})),
    Policy.NO_DEBUG_REPLAY: Hides(
        families=frozenset({Family.REVEAL}), views=frozenset({View.RAW_OWNER, View.OPERATOR_AUDIT})
    ),
    Policy.RECORD_READS: Hides(),
}

# policy -> the families of operations of which every call is recorded before it returns
RECORDS: dict[Policy, frozenset[Family]] = {Policy.RECORD_READS: frozenset({Family.REPLAY})}
RECORDED_FAMILIES: frozenset[Family] = frozenset().union(*RECORDS.values())


def hiding_family(family: Family, policies: Iterable[Policy]) -> Policy | None:
    """Return the policy, of these, that hides a family of operations, or None."""
    return next((policy for policy in sorted(policies) if family in HIDES[policy].families), None)


def is_recorded(family: Family, policies: Iterable[Policy]) -> bool:
    """Tell whether one of these policies has every call of a family of operations recorded."""
    return any(family in RECORDS.get(policy, frozenset()) for policy in policies)


def hiding_view(view: View, policies: Iterable[Policy]) -> Policy | None:
    """Return the policy, of these, that hides a view, or None."""
    return next((policy for policy in sorted(policies) if view in HIDES[policy].views), None)
