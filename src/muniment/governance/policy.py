"""Policies: which operations and views a deployment keeps hidden, as tables.

An operation belongs to one family, a policy hides families and views, and policies only add up (decision 0081). An
operation that no family lists is hidden by every policy, so that nothing new slips past one; without a policy nothing
is hidden. What a policy hides is refused with `capability.hidden` and listed by `system.capabilities`. The operations
of `system` say what is hidden and end what is open, so no policy hides them. guide/profiles.md is generated from the
tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from muniment.governance.views import View


class Policy(StrEnum):
    """A rule of a deployment about what is hidden, whatever the rights of a caller."""

    NO_EXPORT = "no_export"
    NO_DEBUG_REPLAY = "no_debug_replay"


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


FAMILIES: dict[str, Family] = {
    "transcripts.commit": Family.COMMIT,
    "transcripts.replay": Family.REPLAY,
    "transcripts.timeline": Family.REPLAY,
    "transcripts.activity": Family.LISTING,
    "transcripts.search": Family.REPLAY,
    "transcripts.context": Family.REPLAY,
    "transcripts.conversations": Family.LISTING,
    "transcripts.redact": Family.LIFECYCLE,
    "transcripts.annotate": Family.COMMIT,
    "lifecycle.request": Family.LIFECYCLE,
    "lifecycle.erase": Family.LIFECYCLE,
    "lifecycle.review": Family.LIFECYCLE,
    "lifecycle.hold": Family.LIFECYCLE,
    "lifecycle.release": Family.LIFECYCLE,
    "lifecycle.retain": Family.LIFECYCLE,
    "lifecycle.apply_retention": Family.LIFECYCLE,
    "lifecycle.receipts": Family.LIFECYCLE,
    "evidence.checkpoint": Family.VALIDATION,
    "evidence.prove": Family.EXPORT,
    "evidence.export": Family.EXPORT,
    "evidence.verify": Family.VALIDATION,
    "evidence.audit": Family.VALIDATION,
    "evidence.disclosures": Family.VALIDATION,
    "disclosure.reveal": Family.REVEAL,
    "evidence.links": Family.VALIDATION,
    "evidence.inspect": Family.VALIDATION,
    "provenance.record": Family.COMMIT,
    "spaces.list": Family.STORE,
    "spaces.import": Family.IMPORT,
    "spaces.export": Family.EXPORT,
    "spaces.usage": Family.STORE,
    "spaces.rotate": Family.STORE,
    "spaces.backup": Family.STORE,
    "spaces.restore": Family.STORE,
    "archives.export": Family.EXPORT,
    "archives.inspect": Family.VALIDATION,
    "archives.import": Family.IMPORT,
    "system.capabilities": Family.SYSTEM,
    "system.health": Family.SYSTEM,
    "system.recover": Family.SYSTEM,
    "system.import_model": Family.SYSTEM,
    "system.reembed": Family.SYSTEM,
    "system.close": Family.SYSTEM,
}


class Hides(Struct, frozen=True, kw_only=True):
    """What a policy hides: families of operations, and views in every operation."""

    families: frozenset[Family] = frozenset()
    views: frozenset[View] = frozenset()


HIDES: dict[Policy, Hides] = {
    Policy.NO_EXPORT: Hides(families=frozenset({Family.EXPORT})),
    Policy.NO_DEBUG_REPLAY: Hides(
        families=frozenset({Family.REVEAL}), views=frozenset({View.RAW_OWNER, View.OPERATOR_AUDIT})
    ),
}

# Operations that answer for a space that is open for inspection only; all others raise its fault.
INSPECTING = frozenset({
    "evidence.verify",
    "evidence.audit",
    "evidence.inspect",
    "spaces.list",
    "spaces.restore",
    "system.capabilities",
    "system.health",
    "system.recover",
    "system.close",
})  # fmt: skip


def hiding_operation(operation: str, policies: Iterable[Policy]) -> Policy | None:
    """Return the policy, of these, that hides an operation (`group.verb`), or None."""
    family = FAMILIES.get(operation)
    return next((each for each in sorted(policies) if family is None or family in HIDES[each].families), None)


def hiding_view(view: View, policies: Iterable[Policy]) -> Policy | None:
    """Return the policy, of these, that hides a view, or None."""
    return next((each for each in sorted(policies) if view in HIDES[each].views), None)
