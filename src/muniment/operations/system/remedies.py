"""What to do about what can be wrong: one table for everything that health, inspection, audit and recovery can find.

`remedy_of` knows the code of every error and the kind of every finding, and what only `system.doctor` looks for
(`Ailment`). Each remedy is a sentence that names a command. The guide's table is generated from this.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from muniment.errors import Kind
from muniment.projections.inspection.findings import MEANS, FindingKind


class Ailment(StrEnum):
    """What `system.doctor` looks for itself."""

    LOG_LOST = "log_lost"
    NOT_PINNED = "not_pinned"
    NOT_SIGNED = "not_signed"
    KEY_EXPOSED = "key_exposed"
    STORE_EXPOSED = "store_exposed"
    KEY_BESIDE_STORE = "key_beside_store"
    ROTATION_UNFINISHED = "rotation_unfinished"
    ROOT_ROTATION_UNFINISHED = "root_rotation_unfinished"
    RESERVE_MISSING = "reserve_missing"
    DISK_LOW = "disk_low"
    DISK_FULL = "disk_full"
    MODEL_UNUSABLE = "model_unusable"
    SETTING_UNKNOWN = "setting_unknown"


class Remedy(Struct, frozen=True, kw_only=True):
    """What is wrong and what to do next. `verdict` None is a warning: the store may be used."""

    what: str
    next: str
    verdict: Kind | None = Kind.CORRUPT


RESTORE = "Keep a copy of the store, then restore a backup: `muniment spaces restore BACKUP --replace`."
LOOK = "Keep a copy of the store; `muniment evidence inspect` lists every finding; then restore a backup."
SOURCES = "The source may be in another store or older; `muniment evidence links` shows what is left of it."
RECOVER = "Destroy it again: `muniment system recover`; then look again: `muniment evidence inspect`."
TAKEN = "Look at the two with `muniment memory list`, and invalidate one of them: `muniment memory amend`."
UPGRADE = "Install a newer release: `pip install --upgrade muniment`."
AGAIN = "Wait until other processes are done, then run `muniment doctor` again."

_BY_FINDING: dict[FindingKind, str] = {
    FindingKind.RECORD_UNKNOWN: UPGRADE,
    FindingKind.CONTENT_LEFT: RECOVER,
    FindingKind.PROJECTION_MISMATCH: "Rebuild what is in memory: `muniment system recover`.",
    FindingKind.ORPHAN_REFERENCE: SOURCES,
    FindingKind.MISSING_SOURCE_TURN: SOURCES,
    FindingKind.MISSING_SOURCE_MESSAGE: SOURCES,
    FindingKind.MISMATCHED_SOURCE_KEY: SOURCES,
    FindingKind.MISMATCHED_SOURCE_SUBJECT: SOURCES,
    FindingKind.MISMATCHED_SOURCE_DIGEST: SOURCES,
    FindingKind.SLOT_IN_USE_TWICE: TAKEN,
    FindingKind.ROLLED_BACK: "Restore a newer copy, or accept the loss: `muniment spaces restore BACKUP --replace`.",
    FindingKind.UNATTESTED: RESTORE,
}

# code of an error -> the remedy; `what` is left to the error itself
_BY_CODE: dict[str, Remedy] = {
    "store.missing": Remedy(
        what="there is no store here, or no such space in it",
        next="Check --store and --space, or begin one: `muniment transcripts commit TURN.json`.",
        verdict=Kind.MISSING,
    ),
    "store.corrupt": Remedy(what="stored data does not match its proof", next=LOOK),
    "store.former_life": Remedy(
        what="the store was replaced by a restored backup, and its former files came back",
        next="Put the restored files back, or restore again: `muniment spaces restore BACKUP --replace`.",
    ),
    "store.rolled_back": Remedy(
        what="the store is older than its pinned checkpoint", next=_BY_FINDING[FindingKind.ROLLED_BACK]
    ),
    "store.newer": Remedy(what="a newer release wrote the store", next=UPGRADE, verdict=Kind.UNAVAILABLE),
    "store.full": Remedy(
        what="the disk is full",
        next="Free some space, or erase: `muniment lifecycle erase` works on a full disk.",
        verdict=Kind.EXHAUSTED,
    ),
    "store.read_only": Remedy(
        what="the store cannot be written",
        next="Copy it to a writable directory and name that: `muniment doctor --store COPY`.",
        verdict=Kind.UNAVAILABLE,
    ),
    "store.busy": Remedy(what="others use the store", next=AGAIN, verdict=Kind.UNAVAILABLE),
    "store.fault": Remedy(
        what="the disk fails", next="Check the disk, then run `muniment doctor` again.", verdict=Kind.UNAVAILABLE
    ),
    "store.closed": Remedy(
        what="the store is closed", next="Open it again: `muniment doctor`.", verdict=Kind.UNAVAILABLE
    ),
    "space.erased": Remedy(
        what="the space is erased; that is final",
        next="Use another space: `muniment spaces list`.",
        verdict=Kind.MISSING,
    ),
    "key.wrong": Remedy(
        what="this root key does not open the store",
        next="Name the one that does: `muniment doctor --keys PATH`.",
        verdict=Kind.DENIED,
    ),
    "key.unavailable": Remedy(
        what="the root key cannot be read",
        next="Name it: `muniment doctor --keys PATH`, or put it back from its own backup.",
        verdict=Kind.UNAVAILABLE,
    ),
    "key.exposed": Remedy(
        what="others can read the root key",
        next="Make it private with `chmod 600`, then replace it: `muniment spaces rotate --root NEW.key`.",
        verdict=Kind.DENIED,
    ),
    "key.invalid": Remedy(
        what="what --keys names is no root key", next="Name one: `muniment doctor --keys PATH`.", verdict=Kind.INVALID
    ),
    "key.missing": Remedy(what="a key is missing for content that was never erased", next=RESTORE),
}

_BY_AILMENT: dict[Ailment, Remedy] = {
    Ailment.LOG_LOST: Remedy(
        what="the log of the space is missing or empty, although it was written",
        next="Restore a backup: `muniment spaces restore BACKUP --replace`. Without one its content is lost.",
    ),
    Ailment.NOT_PINNED: Remedy(
        what="nothing is pinned: an older copy of the store would not be noticed",
        next="Pin the head: `muniment evidence checkpoint`.",
        verdict=None,
    ),
    Ailment.NOT_SIGNED: Remedy(
        what="the last events are not signed yet",
        next="Sign and pin the head: `muniment evidence checkpoint`.",
        verdict=None,
    ),
    Ailment.KEY_EXPOSED: _BY_CODE["key.exposed"],
    Ailment.STORE_EXPOSED: Remedy(
        what="others can look into the directory of the store",
        next="Make it private with `chmod 700`; its contents are encrypted all the same. Then `muniment doctor`.",
        verdict=None,
    ),
    Ailment.KEY_BESIDE_STORE: Remedy(
        what="the root key is in the directory of the store: a copy of one is a copy of both",
        next="Move the key elsewhere and name it: `muniment doctor --keys PATH`.",
        verdict=None,
    ),
    Ailment.ROTATION_UNFINISHED: Remedy(
        what="a rotation of the key of the space, perhaps of an erasure, was interrupted",
        next="Complete it: `muniment system recover`.",
        verdict=None,
    ),
    Ailment.ROOT_ROTATION_UNFINISHED: Remedy(
        what="a rotation of the root key was interrupted",
        next="Complete it: `muniment spaces rotate --root NEW.key`, with the same new key.",
        verdict=None,
    ),
    Ailment.RESERVE_MISSING: Remedy(
        what="there is no reserve for erasures on a full disk",
        next="Free some space; the next opening makes it: `muniment system health`.",
        verdict=None,
    ),
    Ailment.DISK_LOW: Remedy(
        what="little disk space is left",
        next="Free some space, or see what the space holds: `muniment spaces usage`.",
        verdict=None,
    ),
    Ailment.DISK_FULL: _BY_CODE["store.full"],
    Ailment.MODEL_UNUSABLE: Remedy(
        what="the model for semantic search cannot be used; searches find by words alone",
        next="Import one: `muniment system import-model FOLDER`, or complete its settings.",
        verdict=None,
    ),
    Ailment.SETTING_UNKNOWN: Remedy(
        what="the environment sets MUNIMENT_ variables that mean nothing",
        next="Check their names: `muniment guide keys`.",
        verdict=None,
    ),
}

OTHERWISE = Remedy(what="an operation failed", next="Read the message, then run `muniment doctor` again.")

REMEDIES: dict[str, Remedy] = {
    **{kind.value: Remedy(what=MEANS[kind], next=_BY_FINDING.get(kind, LOOK)) for kind in FindingKind},
    **_BY_CODE,
    **{ailment.value: remedy for ailment, remedy in _BY_AILMENT.items()},
}


def remedy_of(kind: str) -> Remedy:
    """Return the remedy for the kind of a finding, the code of an error, or an ailment."""
    return REMEDIES.get(kind, OTHERWISE)
